"""Starting runs: from a file, from the journal, from a node on, of a single node."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import replace

from merrow_runtime.errors import UsageFailure
from merrow_runtime.job import Job
from merrow_runtime.loading import load
from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.models.offline import OFFLINE_ORIGIN
from merrow_runtime.options import RunOptions
from merrow_runtime.resources import NoEndpoint, Resources
from merrow_runtime.running import Run, RunResult
from merrow_runtime.store.contract import NodeRecord, RunRecord
from merrow_runtime.store.database import Store
from merrow_runtime.values import Value
from merrow_runtime.workflow import Workflow, restore


async def run(
    source: str | os.PathLike[str] | Workflow,
    inputs: Mapping[str, Value] | None = None,
    *,
    options: RunOptions | None = None,
    endpoint: Endpoint | None = None,
    store: Store | None = None,
) -> RunResult:
    """Run a workflow to its end; see `start`. Cancelling cancels the run."""
    begun = start(source, inputs, options=options, endpoint=endpoint, store=store)
    return await finish(begun)


async def finish(begun: Run) -> RunResult:
    """The result of a run that is this task's own: cancelled with it, and its end waited for."""
    try:
        return await begun.result()
    except asyncio.CancelledError:
        begun.cancel()
        await begun.result()
        raise


def start(
    source: str | os.PathLike[str] | Workflow,
    inputs: Mapping[str, Value] | None = None,
    *,
    options: RunOptions | None = None,
    endpoint: Endpoint | None = None,
    store: Store | None = None,
) -> Run:
    """Begin a run, in the running event loop.

    ``source`` is a path (``FILE.md#2`` names a block) or a `Workflow`; ``inputs`` has values by input node, in any case
    of letters. Without ``endpoint`` it is chosen by options and environment, without ``store`` the user's journal is
    used; what is given stays the caller's to close. Raises `UsageFailure` or `StoreFailure` before anything is called.
    """
    options = RunOptions() if options is None else options
    workflow = source if isinstance(source, Workflow) else load(source)
    with Resources(options, endpoint, store) as resources:
        earlier: RunRecord | None = None
        nodes: dict[str, NodeRecord] = {}
        if options.from_run is not None:
            earlier = resources.store.run(options.from_run)
            options = replace(options, from_run=earlier.id)
            nodes = {node.node: node for node in resources.store.nodes(earlier.id)}
        given = dict(inputs or {})
        if earlier is not None:
            named = {name.casefold() for name in given}
            here = {node.id for node in workflow.graph.inputs}
            before = earlier.snapshot.get("inputs", {})
            given.update({name: before[name] for name in before if name in here and name.casefold() not in named})
        job = Job(workflow, options, given, resources, nodes)
        asyncio.get_running_loop()  # Raises where there is none, before anything is begun.
        identity = f"{time.strftime('%y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
        snapshot = {
            "workflow": workflow.snapshot(),
            "inputs": job.inputs,
            "options": options.to_json(),
            "base_url": resources.base_url,
            "origin": job.chosen.endpoint.origin,
        }
        # A journal serves all folders: a file is known there by its whole path.
        place = workflow.name if isinstance(source, Workflow) else os.path.abspath(workflow.name)  # noqa: PTH100 (#2 may follow)
        record = RunRecord(
            identity,
            place,
            "running",
            time.time(),
            snapshot=snapshot,
            parent=None if earlier is None else earlier.id,
        )
        resources.tidy()
        return job.begin(record, resources.store.begin(record))


def resume(
    run_id: str,
    *,
    options: RunOptions | None = None,
    endpoint: Endpoint | None = None,
    store: Store | None = None,
) -> Run:
    """Go on with a run that ended early, in the running event loop.

    It runs what the journal has: text, prompts, libraries, settings, inputs and options, whatever the files say now.
    Calls that finished are not made again, and what was spent counts. Of ``options`` only those of this process count
    (``record``, ``replay``, ``stream``, ``base_url``, ``concurrency``, sandbox), and budgets that are set: how else would
    a run whose budget was used up go on? Raises `UsageFailure`, and `StoreFailure` where another process works on it.
    """
    own = RunOptions() if options is None else options
    with Resources(own, endpoint, store) as resources:
        record = resources.store.run(run_id)
        workflow = restore(record.snapshot["workflow"])
        kept = RunOptions.from_json(record.snapshot["options"])
        merged = replace(
            own,
            **{name: getattr(kept, name) for name in _KEPT},
            **{name: getattr(kept, name) for name in _BUDGETS if getattr(own, name) is None},
        )
        resources.prefer(record.snapshot.get("base_url"))
        reused = {node.node: node for node in resources.store.nodes(record.id) if node.status == "reused"}
        job = Job(workflow, merged, record.snapshot["inputs"], resources, _earlier(resources.store, merged, reused))
        if endpoint is None and own.base_url is None and own.replay is None and record.status != "finished":
            _check_same_origin(record, job.chosen.endpoint.origin)
        asyncio.get_running_loop()
        record, journal = resources.store.take(record.id)
        return job.begin(record, journal, elapsed=_worked(resources.store, record.id))


_KEPT = ("model", "default_model", "seed", "repeat", "fresh", "from_run", "from_node", "only", "set_values")
_BUDGETS = ("budget_usd", "budget_tokens", "budget_seconds")


def _check_same_origin(record: RunRecord, now: str) -> None:
    """Raise `UsageFailure` where another endpoint than the run's would answer, since the environment has changed or what
    it was replayed from isn't named: nobody asked for that.
    """
    before = record.snapshot.get("origin", now)
    if before == now:
        return
    if before == NoEndpoint.origin:
        raise UsageFailure(
            f"Run {record.id} was replayed from a recording; go on with --replay F, or name an endpoint with --base-url."
        )
    other = "the embedded offline model" if now == OFFLINE_ORIGIN else now
    raise UsageFailure(
        f"Run {record.id} was answered by {before}, and {other} would go on with it; set the environment as it was then, or"
        " name the endpoint with --base-url."
    )


def _earlier(store: Store, options: RunOptions, reused: Mapping[str, NodeRecord]) -> dict[str, NodeRecord]:
    """The results that a resumed run takes over: of its parent as far as it is still there, and its own."""
    nodes: dict[str, NodeRecord] = {}
    if options.from_run is not None:
        try:
            nodes = {node.node: node for node in store.nodes(store.run(options.from_run).id)}
        except UsageFailure:
            nodes = {}
    return {**nodes, **reused}


def _worked(store: Store, run: str) -> float:
    """The seconds in which calls of a run were on their way: the time of a run that was not always at work."""
    total = end = 0.0
    for started, seconds in sorted((call.started, call.seconds) for call in store.calls(run)):
        total += max(0.0, started + seconds - max(started, end))
        end = max(end, started + seconds)
    return total
