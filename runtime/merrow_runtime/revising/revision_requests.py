"""A person asks for another workflow of a run, from whatever process."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from merrow_runtime.errors import InputError, StoreFailure, UsageFailure
from merrow_runtime.options import RunOptions
from merrow_runtime.program.loading import load
from merrow_runtime.revising.difference import RevisionDifference, difference
from merrow_runtime.store.contract import RevisionRecord
from merrow_runtime.store.database import Store, damaged_run
from merrow_runtime.store.revisions import has_finished
from merrow_runtime.workflow import Workflow, restore


@dataclass(frozen=True, slots=True)
class RevisionRequest:
    """A revision of ``run`` that was asked for. ``is_under_way`` says that a living process works on the run, which
    applies or refuses it; else it is ``record`` that says whether the run will be resumed with it.
    """

    run: str
    record: RevisionRecord
    is_under_way: bool


def ask_for(store: Store, run: str, source: str | Path | Workflow | Callable[[], Workflow]) -> RevisionRequest:
    """Ask for a run to continue as another workflow: a path, a loaded one, or what loads it.

    Raises `UsageFailure` where the run has finished, where the file can't be read, or where a process of its own works on the
    run's evaluation; `StoreFailure`.
    """
    record = store.run(run)
    if record.status == "finished":
        raise UsageFailure(has_finished(record.id))
    under_way = store.is_worked_on(record.id)
    made = RevisionRecord(0, "asked", "person", at=time.time())
    try:
        workflow = _loaded(source)
        made = replace(made, text=json.dumps(workflow.snapshot()))
        if not under_way:
            made = _looked_at(store, record.id, workflow, made)
    except InputError:
        raise
    except UsageFailure as problem:
        refused = RevisionDifference(refused=(str(problem),)).to_json()
        # A process that works on the run refuses it, and tells its readers so.
        made = replace(made, state="asked" if under_way else "refused", reason=str(problem), adopted=refused, text="")
    return RevisionRequest(
        record.id, store.add_revision(record.id, lambda number: replace(made, number=number)), under_way
    )


def _loaded(source: str | Path | Workflow | Callable[[], Workflow]) -> Workflow:
    if isinstance(source, Workflow):
        return source
    return load(source) if isinstance(source, str | Path) else source()


def snapshot_at(store: Store, run: str, number: int | None = None) -> str:
    """The workflow of a run as the revision with this number had it, a JSON text; without a number, as it is resumed. 0 is
    the one that it began with. Raises `UsageFailure` where there is none, `StoreFailure`.
    """
    record = store.run(run)
    revisions = store.revisions(record.id)
    if number is None:
        revision = next((candidate for candidate in reversed(revisions) if candidate.state == "applied"), None)
    else:
        revision = next((candidate for candidate in revisions if candidate.number == number), None)
        if revision is None and number != 0:
            known = f"it has {len(revisions)}" if revisions else "it has none"
            raise UsageFailure(f"Run {record.id} has no revision {number}: {known}. See: merrow show {record.id}")
    if revision is None:
        if "workflow" not in record.snapshot:
            raise StoreFailure(damaged_run(record.id))
        return json.dumps(record.snapshot["workflow"])
    if not revision.text:
        reason = revision.reason or "nothing was to be changed"
        raise UsageFailure(
            f"Revision {number} of run {record.id} has no workflow, since it was {revision.state}: {reason}"
        )
    return revision.text


def _looked_at(store: Store, run: str, workflow: Workflow, made: RevisionRecord) -> RevisionRecord:
    """A revision of a run that no process works on: what it would keep, or that it is refused."""
    before = restore(json.loads(snapshot_at(store, run)))
    finished = {node.node for node in store.nodes(run) if node.status in ("finished", "reused", "skipped")}
    options = RunOptions.from_json(store.run(run).snapshot.get("options", {}))
    changes = difference(before, workflow, finished, options=options)
    if changes.refused:
        return replace(made, state="refused", reason=" ".join(changes.refused), adopted=changes.to_json(), text="")
    if changes.is_empty and workflow.text == before.text:
        return replace(made, state="unchanged", adopted=changes.to_json(), text="")
    return replace(made, adopted=changes.to_json())
