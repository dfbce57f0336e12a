"""Starting runs: from a file, from the journal, from a node on, of a single node."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from merrow_analysis.collector import collection_paused
from merrow_runtime.calls.carried import Carried
from merrow_runtime.errors import StoreFailure, UsageFailure
from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.models.spending_limits import SpendingLimits
from merrow_runtime.options import RunOptions
from merrow_runtime.program.loading import load
from merrow_runtime.program.workflow_files import whole_path
from merrow_runtime.provenance import OFFLINE_ORIGIN, REPLAY_ORIGIN, named
from merrow_runtime.revising.reviser import Reviser
from merrow_runtime.running.executions import held
from merrow_runtime.running.job import AppliedRevisions, PreparedRun
from merrow_runtime.running.resources import RunResources
from merrow_runtime.running.retelling import retell
from merrow_runtime.running.revisions import called_before
from merrow_runtime.running.run import Run, RunResult
from merrow_runtime.running.set_outputs import inherited
from merrow_runtime.spending.meter import Meter
from merrow_runtime.store.contract import CallRecord, NodeRecord, RunRecord
from merrow_runtime.store.database import Store, damaged_run
from merrow_runtime.store.names import check_name, new_id
from merrow_runtime.store.recordings.recording import REVISER
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.values import Value
from merrow_runtime.workflow import Workflow, restore

if TYPE_CHECKING:
    from merrow_runtime.calls.tool_servers import ToolServers


async def run(
    source: str | os.PathLike[str] | Workflow,
    inputs: Mapping[str, Value] | None = None,
    *,
    options: RunOptions | None = None,
    endpoint: Endpoint | None = None,
    store: Store | None = None,
    run_id: str | None = None,
) -> RunResult:
    """Run a workflow to its end; see `start`. Cancelling cancels the run."""
    return await finish(await begin(source, inputs, options=options, endpoint=endpoint, store=store, run_id=run_id))


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
    run_id: str | None = None,
    reviser: Reviser | None = None,
    limits: SpendingLimits | None = None,
    tools: ToolServers | None = None,
    root: Path | None = None,
) -> Run:
    """Begin a run, in the running event loop.

    ``source`` is a path (``FILE.md#2`` names a block) or a `Workflow`; ``inputs`` has values by input node, in any case
    of letters. Without ``endpoint`` it is chosen by options and environment, without ``store`` the user's journal is
    used; what is given stays the caller's to close. ``reviser`` changes the workflow while it runs, where that or the options
    ask for it (`refine`). ``run_id`` names the run; without it the run has an id of its own. ``limits`` are those of the user's
    settings, where the caller has read them already: with an ``endpoint`` nothing else is looked up there. ``tools`` are the
    servers of its tools, which stay the caller's to close; None: those of the user's settings, started for this run. ``root`` is
    the folder of the workflow's file, None for the one by its name.
    Raises `UsageFailure` (where there is a run of that name already, too; `ForeignResults` where earlier results of
    another endpoint would be reused and ``options.reuse`` says nothing) or `StoreFailure` before anything is called.
    """
    options = RunOptions() if options is None else options
    workflow = _named(source, run_id)
    with RunResources(options, endpoint, store, limits, tools) as resources:
        job, record, meter = _prepared(workflow, inputs, options, resources, run_id, reviser, root)
        return job.begin(record, resources.store.begin(record), meter)


async def begin(
    source: str | os.PathLike[str] | Workflow,
    inputs: Mapping[str, Value] | None = None,
    *,
    options: RunOptions | None = None,
    endpoint: Endpoint | None = None,
    store: Store | None = None,
    run_id: str | None = None,
    reviser: Reviser | None = None,
    limits: SpendingLimits | None = None,
    tools: ToolServers | None = None,
) -> Run:
    """The same as `start`, while the event loop goes on: calls of other runs don't wait where a journal on a server is away."""
    options = RunOptions() if options is None else options
    workflow = _named(source, run_id)
    with RunResources(options, endpoint, store, limits, tools) as resources:
        job, record, meter = _prepared(workflow, inputs, options, resources, run_id, reviser)
        return job.begin(record, await resources.store.begin_off_loop(record), meter)


def _named(source: str | os.PathLike[str] | Workflow, run_id: str | None) -> Workflow:
    """The workflow of a run with this name, both of which are checked."""
    if run_id is not None:
        check_name(run_id)
    return source if isinstance(source, Workflow) else load(source)


def _prepared(
    workflow: Workflow,
    inputs: Mapping[str, Value] | None,
    options: RunOptions,
    resources: RunResources,
    run_id: str | None,
    reviser: Reviser | None,
    root: Path | None = None,
) -> tuple[PreparedRun, RunRecord, Meter | None]:
    """A run that may begin, its record, and what counts its calls; see `start`."""
    earlier: RunRecord | None = None
    nodes: list[NodeRecord] = []
    damaged: list[str] = []
    if options.from_run is not None:
        earlier = resources.store.run(options.from_run)
        options = replace(options, from_run=earlier.id)
        nodes = resources.store.nodes(earlier.id, damaged.append)
    given = dict(inputs or {})
    if earlier is not None:
        named = {name.casefold() for name in given}
        here = {node.id for node in workflow.graph.inputs}
        before = earlier.snapshot.get("inputs", {})
        given.update({name: before[name] for name in before if name in here and name.casefold() not in named})
        kept, problems = inherited(
            workflow, _set_before(earlier), options.set_outputs, options.from_node or options.only
        )
        damaged += problems
        if options.only is None:
            options = replace(options, set_outputs={**kept, **options.set_outputs})
    job = PreparedRun(
        workflow,
        options,
        given,
        resources,
        nodes,
        notices=[*workflow.how_read, *damaged],
        reviser=reviser,
        root=root,
    )
    if earlier is not None:
        job.check_reuse(earlier.id, job.answered_by_others())
    asyncio.get_running_loop()  # Raises where there is none, before anything starts.
    snapshot = {
        "workflow": workflow.snapshot(),
        "inputs": job.inputs,
        "options": job.options.to_json(),
        "base_url": resources.base_url,
        "origin": job.endpoint,
    }
    place = workflow.name if workflow.path is None else whole_path((root or Path()) / workflow.name)
    record = RunRecord(
        new_id() if run_id is None else run_id,
        place,
        "running",
        time.time(),
        snapshot=snapshot,
        parent=None if earlier is None else earlier.id,
    )
    meter = resources.meter(record.workflow)
    resources.tidy()
    return job, record, meter


def resume(
    run_id: str,
    *,
    options: RunOptions | None = None,
    endpoint: Endpoint | None = None,
    store: Store | None = None,
    reviser: Reviser | None = None,
    limits: SpendingLimits | None = None,
    tools: ToolServers | None = None,
) -> Run:
    """Resume a run that stopped before it finished, in the running event loop.

    It runs what the journal has: text, prompts, libraries, settings, inputs and options, even if the files have changed.
    Calls that finished are not made again, and what was spent counts. A run that had finished is only reported again: its
    record stays as it is. Of ``options`` only those of this process count
    (``record``, ``replay``, ``stream``, ``base_url``, ``concurrency``, ``reuse``, sandbox), and budgets that are set: otherwise
    a run whose budget was used up could not continue. Raises `UsageFailure` (`ForeignResults` where another endpoint answered
    a part of it and ``reuse`` says nothing), and `StoreFailure` where another process works on it.
    """
    own = RunOptions() if options is None else options
    with collection_paused(), RunResources(own, endpoint, store, limits, tools) as resources:
        asyncio.get_running_loop()  # Raises where there is none, before anything starts.
        record = resources.store.run(run_id)
        if record.status == "finished":
            return retell(record, resources.store, own, resources.close_files)
        revisions = resources.store.revisions(record.id)
        applied = next((revision for revision in reversed(revisions) if revision.state == "applied"), None)
        try:
            workflow = restore(record.snapshot["workflow"] if applied is None else json.loads(applied.text))
            kept = RunOptions.from_json(record.snapshot["options"])
            inputs = record.snapshot["inputs"]
        except (KeyError, TypeError, AttributeError, ValueError):
            raise StoreFailure(damaged_run(record.id)) from None
        merged = replace(
            own,
            **{name: getattr(kept, name) for name in _KEPT},
            **{name: getattr(kept, name) for name in _BUDGETS if getattr(own, name) is None},
        )
        resources.prefer(record.snapshot.get("base_url"))
        damaged: list[str] = []
        earlier = _parents(resources.store, merged, damaged.append)
        moved: dict[tuple[str, str | None], float] = {}
        if applied is None:
            own_nodes = resources.store.nodes(record.id, damaged.append)
        else:
            own_nodes, moved = held(resources.store.executions(record.id, damaged.append))
        renamed: dict[str, str] = {}
        for revision in revisions:
            if revision.state == "applied":
                renamed = called_before(renamed, revision.adopted.get("renamed", {}), workflow)
        by_model = [revision for revision in revisions if revision.trigger != "person"]
        left_open = next(
            (revision for revision in by_model if revision.state in ("open", "waiting", "agreed", "declined")), None
        )
        last = revisions[-1].at if revisions else 0.0
        counted = frozenset(node.visit.name for node in own_nodes if node.ended <= last)
        # What is known of the one that is left open is counted when it is found again.
        settled = {revision.number for revision in by_model} - ({left_open.number} if left_open is not None else set())
        used = _used_by_reviser(resources.store.calls(record.id) if settled else (), settled)
        number = 0 if applied is None else applied.number
        carried = Carried() if applied is None else Carried.read(applied.adopted.get("carried"))
        first = None if applied is None else cache(partial(restore, record.snapshot["workflow"]))
        revised = AppliedRevisions(number, moved, renamed, len(by_model), left_open, counted, carried, used, first)
        elapsed = _worked(resources.store.times(record.id, damaged.append))
        if endpoint is None and own.base_url is None and own.replay is None:
            _check_same_origin(record, resources.chosen(workflow.machine).endpoint.origin)
        # The current folder may be another one by now.
        root = None if workflow.path is None else Path(record.workflow).parent
        job = PreparedRun(workflow, merged, inputs, resources, earlier, own_nodes, damaged, revised, reviser, root)
        if own.reuse is None and job.endpoint == record.snapshot.get("origin"):
            job.options = replace(merged, reuse=kept.reuse)
        others = resources.store.answered_by_others(record.id, job.endpoint)
        job.check_reuse(record.id, [*others, *job.answered_by_others()])
        meter = resources.meter(record.workflow)
        record, journal = resources.store.take(record.id)
        return job.begin(record, journal, meter, elapsed)


def _used_by_reviser(calls: Iterable[CallRecord], revisions: Collection[int]) -> Usage:
    """What a reviser's calls for some revisions have used."""
    paid = (
        call for call in calls if call.key.node == REVISER and call.key.redo in revisions and call.origin == "endpoint"
    )
    return sum((call.usage for call in paid), NOTHING)


_KEPT = (
    "model",
    "default_model",
    "seed",
    "repeat",
    "fresh",
    "from_run",
    "from_node",
    "only",
    "set_values",
    "set_outputs",
    "refine",
    "mask",
    "mask_only",
    "mask_every",
    "mask_key",
)
_BUDGETS = ("budget_usd", "budget_tokens", "budget_seconds")


def _check_same_origin(record: RunRecord, now: str) -> None:
    """Raise `UsageFailure` where another endpoint than the run's would answer, since the environment has changed or what
    it was replayed from isn't named: the user did not ask for that.
    """
    before = record.snapshot.get("origin", now)
    if before == now:
        return
    if before == REPLAY_ORIGIN:
        raise UsageFailure(
            f"Run {record.id} was replayed from a recording. Resume it with --replay F, or name an endpoint with --base-url."
        )
    again = "use --base-url offline" if before == OFFLINE_ORIGIN else "set the environment as it was"
    raise UsageFailure(
        f"Run {record.id} was answered by {named(before)}, but {named(now)} would answer now. To resume it as it was,"
        f" {again}; to change the endpoint, name it with --base-url."
    )


def _set_before(run: RunRecord) -> Mapping[str, Value]:
    """The outputs that a person set in a run, or in those that it was made from."""
    options = run.snapshot.get("options")
    set_outputs = options.get("set_outputs") if isinstance(options, Mapping) else None
    return set_outputs if isinstance(set_outputs, Mapping) else {}


def _parents(store: Store, options: RunOptions, report: Callable[[str], object]) -> list[NodeRecord]:
    """The results of the run that a resumed one reuses, as far as the journal still has it."""
    if options.from_run is not None:
        with contextlib.suppress(UsageFailure):
            return store.nodes(store.identity(options.from_run), report)
    return []


def _worked(times: Iterable[tuple[float, float]]) -> float:
    """The seconds in which calls of a run were in flight: the time of a run that was not always at work. ``times`` say of each
    when it began, and how long it took.
    """
    total = end = 0.0
    for started, seconds in sorted(times):
        total += max(0.0, started + seconds - max(started, end))
        end = max(end, started + seconds)
    return total
