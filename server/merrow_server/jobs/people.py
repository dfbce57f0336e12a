"""Questions of runs to people, as an editor is shown them and answers them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from merrow_analysis.people.forms import UnanswerableError, read_form
from merrow_runtime.people.answering import answer, open_questions, question_at
from merrow_runtime.store.contract import AskRecord
from merrow_server.jobs.places import place_of
from merrow_server.jobs.session import Session

Json = dict[str, Any]

LONGEST_LISTED = 500
"""Characters of a question in a list."""
_LOOK = 0.1
"""Seconds between looks at whether the process that works on a run has seen an answer."""
_PATIENCE = 10.0
"""Seconds after which that is no longer waited for."""


def list_questions(session: Session, workflow: str | None, limit: int) -> list[Json]:
    """The open questions of the waiting runs, those of the newest run first, of one workflow where its name is given: in short,
    without their forms. Raises `StoreFailure`.
    """
    with session.reading() as store:
        now = store.now()
        asks = [(run, ask) for run in store.waiting(workflow=workflow) for ask in run.asks]
    is_open = [(run, ask) for run, ask in asks if ask.due is None or ask.due > now]
    return [_in_short(run.id, run.workflow, ask) for run, ask in is_open[:limit]]


def questions_of(session: Session, run: str) -> list[Json]:
    """The open questions of one run with their forms, in the order in which they were put. Raises `UsageFailure` where there is
    no such run, and `StoreFailure`.
    """
    with session.reading() as store:
        record = store.run(run)
        return [_whole(record.id, record.workflow, ask) for ask in open_questions(store, record.id)]


def find(session: Session, run: str, node: str) -> Json:
    """The open question of a node, by its id or its visit, with its form. Raises `UsageFailure`, `StoreFailure`."""
    with session.reading() as store:
        record = store.run(run)
        return _whole(record.id, record.workflow, question_at(store, record.id, node))


def is_open(session: Session, run: str, number: int) -> bool:
    """Whether a question is still to be answered. Raises `UsageFailure`, `StoreFailure`."""
    return any(ask.number == number for ask in open_questions(session.store, run))


def give(
    session: Session, run: str, node: str, given: str | Mapping[str, Any] | None, number: int | None = None
) -> Json:
    """Answer for the user of this process, or decline to (None): `merrow_runtime.people.answering.answer`. ``hash`` of the result
    says which question it was. Raises `UsageFailure`, `StoreFailure`.
    """
    store = session.store
    identity = store.identity(run)
    ask = answer(store, identity, node, given, number=number)
    here = session.runs.going.get(identity)
    if here is not None:
        here.look()
    return {"run": identity, "node": ask.visit.name, "state": ask.state, "by": ask.by, "hash": ask.hash}


async def is_left_to_us(session: Session, run: str, node: str, digest: str) -> bool:
    """Whether a run is to be continued here after a question of it was answered: no process works on it, and none has taken the
    answer. One that does sees it, unless it was about to end when that came. Raises `StoreFailure`.
    """
    store = session.store
    end = time.monotonic() + _PATIENCE
    while True:
        is_worked_on = store.is_worked_on(run)
        if any(call.kind == "person" and call.request_hash == digest for call in store.calls(run, node)):
            return False
        if not is_worked_on:
            return store.status(run) not in ("finished", "cancelled")
        if time.monotonic() > end:
            return False
        await asyncio.sleep(_LOOK)


def _in_short(run: str, workflow: str, ask: AskRecord) -> Json:
    question = " ".join(str(ask.question.get("ask", "")).split())
    if len(question) > LONGEST_LISTED:
        question = f"{question[:LONGEST_LISTED]}..."
    visit = ask.visit
    return {
        "run": run,
        "workflow": workflow,
        **place_of(workflow),
        "node": visit.node,
        "path": visit.path,
        "visit": visit.name,
        "question": question,
        "kind": _kind(ask),
        "asked": ask.asked,
        "deadline": ask.due,
        "from": workflow,
    }


def _whole(run: str, workflow: str, ask: AskRecord) -> Json:
    question = ask.question
    return {
        **_in_short(run, workflow, ask),
        "number": ask.number,
        "question": str(question.get("ask", "")),
        "schema": question.get("schema", {}),
        "shown": question.get("shown", []),
        "problems": question.get("problems", []),
    }


def _kind(ask: AskRecord) -> str:
    try:
        return read_form(ask.question.get("schema", {})).kind
    except UnanswerableError:  # of a journal that somebody has changed
        return "form"
