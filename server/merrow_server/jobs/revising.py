"""Revisions of runs as an editor asks for them, in the thread of the runs."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from merrow_runtime.errors import UsageFailure
from merrow_runtime.options import RunOptions
from merrow_runtime.revising.difference import RevisionDifference, difference
from merrow_runtime.revising.revision_requests import RevisionRequest, ask_for, snapshot_at
from merrow_runtime.store.contract import RevisionRecord
from merrow_runtime.store.database import Store
from merrow_runtime.workflow import Workflow, restore
from merrow_server.jobs.checked import check
from merrow_server.jobs.orders import EditorWorkflow, RevisionOrder
from merrow_server.jobs.places import place_of
from merrow_server.jobs.session import Session
from merrow_server.reports.run_report import revision_object

Json = dict[str, Any]
_LOOK = 0.05
"""Seconds between looks at what became of a revision."""
_PATIENCE = 30.0
"""Seconds after which nobody waits any longer for the process that works on the run."""
_OPEN = ("asked", "open")
_HOLDS = ("finished", "reused", "skipped")


async def revise(session: Session, order: RevisionOrder) -> Json:
    """Have a run continue as another workflow, whichever process works on it: ``{run, revision, state, reason?, diff, resumes}``
    as `merrow revise` says it; ``resumes``: it does when it is resumed. Raises `UsageFailure`, `StoreFailure`.
    """
    store = session.store
    run = store.identity(order.run)
    asked = ask_for(store, run, lambda: _workflow(store, run, order))
    ended = await _settled(store, asked.run, asked.record.number) if asked.is_under_way else asked.record
    told: Json = {"run": run, "revision": ended.number, "state": ended.state}
    if ended.reason:
        told["reason"] = ended.reason
    return {**told, "diff": dict(ended.adopted), "resumes": _resumes(store, asked)}


def compare(session: Session, order: RevisionOrder) -> Json:
    """What a run would keep that continued as another workflow, as `merrow diff` says it. Raises `UsageFailure`,
    `StoreFailure`.
    """
    store = session.store
    run = store.identity(order.run)
    before = restore(json.loads(snapshot_at(store, run)))
    finished = {node.node for node in session.runs.nodes(run) if node.status in _HOLDS}
    options = RunOptions.from_json(store.run(run).snapshot.get("options", {}))
    return _compared(lambda: difference(before, _workflow(store, run, order), finished, options=options))


def compare_texts(old: EditorWorkflow, new: EditorWorkflow, finished: list[str] | None) -> Json:
    """The same of two texts, where the nodes ``finished`` are (None: all). Raises `UsageFailure` where ``old`` can't be run."""
    before = check(old)
    for name in finished or ():
        if name not in before.graph.by_id:
            raise UsageFailure(f"{old.name} has no node {name}.")
    return _compared(lambda: difference(before, check(new), finished))


async def revision(session: Session, run: str, number: int) -> Json:
    """A revision of a run with its text, and the texts of the run before it (``earlier``: as it began, then by each revision
    that was applied). 0 is how the run began. Raises `UsageFailure` where there is none, `StoreFailure`.
    """
    store = session.store
    record = store.run(store.identity(run))
    revised = (
        await _settled(store, record.id, number) if number else RevisionRecord(0, "applied", "start", at=record.started)
    )
    earlier = [
        0,
        *(other.number for other in store.revisions(record.id) if other.state == "applied" and other.number < number),
    ]
    return {
        "run": record.id,
        **place_of(record.workflow),
        **revision_object(revised),
        "text": _text(store, record.id, number) if number == 0 or revised.text else None,
        "earlier": [_text(store, record.id, other) for other in earlier] if number else [],
    }


def texts(session: Session, run: str, number: int | None) -> tuple[str, list[str]]:
    """The text of a run as a revision has it (None: as it is now), and all the texts that it ever had, the newest last. Raises
    `UsageFailure`, `StoreFailure`.
    """
    store = session.store
    identity = store.identity(run)
    numbers = [0, *(record.number for record in store.revisions(identity) if record.state == "applied")]
    if number is not None and number not in numbers:
        raise UsageFailure(f"Revision {number} of run {identity} was not applied, so the run never was so.")
    return _text(store, identity, number), [_text(store, identity, other) for other in numbers]


def _workflow(store: Store, run: str, order: RevisionOrder) -> Workflow:
    """Raises `UsageFailure`."""
    if order.workflow is not None:
        return check(order.workflow)
    return restore(json.loads(snapshot_at(store, run, order.number)))


def _compared(work: Any) -> Json:
    try:
        changes: RevisionDifference = work()
    except UsageFailure as problem:
        changes = RevisionDifference(refused=(str(problem),))
    return changes.to_json()


def _text(store: Store, run: str, number: int | None) -> str:
    text: str = json.loads(snapshot_at(store, run, number))["text"]
    return text


def _resumes(store: Store, asked: RevisionRequest) -> bool:
    """Whether the run stands still; one that has ended on the revision meanwhile has nothing to resume."""
    return not store.is_worked_on(asked.run) and store.run(asked.run).status != "finished"


async def _settled(store: Store, run: str, number: int) -> RevisionRecord:
    """A revision once it is applied or refused; as it stands where nobody works on the run, or that takes too long. Raises
    `UsageFailure` where there is none.
    """
    end = time.monotonic() + _PATIENCE
    while True:
        # In this order: a process that ends may settle it with its last commit.
        worked_on = store.is_worked_on(run)
        record = next((candidate for candidate in store.revisions(run) if candidate.number == number), None)
        if record is None:
            raise UsageFailure(f"Run {run} has no revision {number}.")
        if record.state not in _OPEN or not worked_on or time.monotonic() > end:
            return record
        await asyncio.sleep(_LOOK)
