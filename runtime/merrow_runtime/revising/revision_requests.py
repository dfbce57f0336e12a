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
from merrow_runtime.store.contract import AskRecord, RevisionRecord
from merrow_runtime.store.database import Store, damaged_run
from merrow_runtime.store.revisions import has_finished
from merrow_runtime.visit import own_node
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
    unneeded: list[AskRecord] = []
    try:
        workflow = _loaded(source)
        made = replace(made, text=json.dumps(workflow.snapshot()))
        if not under_way:
            before = restore(json.loads(snapshot_at(store, record.id)))
            options = RunOptions.from_json(record.snapshot.get("options", {}))
            made = _looked_at(store, record.id, before, workflow, made, options)
            if made.state == "asked":
                unneeded = _unneeded(store, record.id, difference(before, workflow, options=options))
    except InputError:
        raise
    except UsageFailure as problem:
        refused = RevisionDifference(refused=(str(problem),)).to_json()
        # A process that works on the run refuses it, and tells its readers so.
        made = replace(made, state="asked" if under_way else "refused", reason=str(problem), adopted=refused, text="")
    return RevisionRequest(
        record.id, store.add_revision(record.id, lambda number: replace(made, number=number), unneeded), under_way
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


def _unneeded(store: Store, run: str, changes: RevisionDifference) -> list[AskRecord]:
    """The open questions that the run may not ask after a revision: those of nodes that are gone, ask something else, or are
    given something else. What it asks all the same is put again when it is resumed.
    """
    asking = {changes.renamed.get(name, name) for name in changes.kept}
    return [ask for ask in store.asks(run) if ask.state == "asked" and own_node(ask.visit) not in asking]


def _looked_at(
    store: Store, run: str, before: Workflow, workflow: Workflow, made: RevisionRecord, options: RunOptions
) -> RevisionRecord:
    """A revision of a run that no process works on: what it would keep, or that it is refused."""
    finished = {node.node for node in store.nodes(run) if node.status in ("finished", "reused", "skipped")}
    changes = difference(before, workflow, finished, options=options)
    if changes.refused:
        return replace(made, state="refused", reason=" ".join(changes.refused), adopted=changes.to_json(), text="")
    # One that is asked for and not looked at yet is replaced by this one, also where that changes nothing of what the run has.
    replaces = any(revision.state == "asked" for revision in store.revisions(run))
    if changes.is_empty and workflow.text == before.text and not replaces:
        return replace(made, state="unchanged", adopted=changes.to_json(), text="")
    return replace(made, adopted=changes.to_json())
