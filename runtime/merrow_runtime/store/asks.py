"""Questions of runs to people, in the journal: whoever answers first is the one who answered."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from merrow_runtime.requests import CallKey
from merrow_runtime.store import rows
from merrow_runtime.store.contract import AskRecord, AskState, WaitingRun
from merrow_runtime.store.sql import Database, Statement
from merrow_runtime.visit import Visit

ASK_COLUMNS = "node, path, redo, sample, step, hash, state, asked, due, answered, by, question, answer"
"""Of a question, but for its run and its number."""

_ASK = f"INSERT INTO asks (run, {ASK_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, 'asked', ?, ?, NULL, NULL, ?, NULL)"  # noqa: S608 (texts of this module)
_AGAIN = (
    "UPDATE asks SET state = 'asked', asked = ?, due = ?, answered = NULL, by = NULL, answer = NULL"
    " WHERE number = ? AND state = 'withdrawn'"
)
_SELECT = f"SELECT number, {ASK_COLUMNS} FROM asks"  # noqa: S608 (texts of this module)


_WEIGHTS: Mapping[AskState, int] = {"withdrawn": 0, "asked": 1, "expired": 2, "declined": 2, "answered": 2}
"""Which of two rows of one question counts."""


def asking(run: int, ask: AskRecord) -> Statement:
    """What puts a question of the run with this number into the journal; with one that was withdrawn it is put again."""
    if ask.number:
        return _AGAIN, (ask.asked, ask.due, ask.number)
    key = ask.key
    place = (key.node, key.path, key.redo, key.sample, key.step)
    return _ASK, (run, *place, ask.hash, ask.asked, ask.due, rows.text_of(dict(ask.question)))


def withdrawing(run: int, ask: AskRecord | None = None) -> Statement:
    """What closes a question of a run that nobody needs any more; without one, all of them."""
    sql = "UPDATE asks SET state = 'withdrawn' WHERE run = ? AND state = 'asked'"
    if ask is None:
        return sql, (run,)
    key = ask.key
    values = (key.node, key.path, key.redo, key.sample, key.step, ask.hash)
    return f"{sql} AND node = ? AND path = ? AND redo = ? AND sample = ? AND step = ? AND hash = ?", (run, *values)


def read(database: Database, run: int) -> list[AskRecord]:
    """The questions of the run with this number, in the order in which they were put. Of one that was put twice, as two processes
    may that both take a run for their own, the row that has an answer counts, else the first. Raises `StoreFailure`.
    """
    asks: dict[tuple[CallKey, str], AskRecord] = {}
    for row in database.execute(f"{_SELECT} WHERE run = ? ORDER BY number", (run,)).fetchall():
        ask = _record(row)
        known = asks.get((ask.key, ask.hash))
        if known is None or _WEIGHTS.get(ask.state, 0) > _WEIGHTS.get(known.state, 0):
            asks[ask.key, ask.hash] = ask
    return list(asks.values())


def answer(database: Database, ask: AskRecord, content: Mapping[str, Any] | None, by: str) -> bool:
    """Answer a question, or decline to (None), inside a transaction; False where somebody has, or it is closed by now."""
    now = database.now()
    changed = database.execute(
        "UPDATE asks SET state = ?, answered = ?, by = ?, answer = ? WHERE number = ? AND state = 'asked'"
        " AND (due IS NULL OR due > ?)",
        (
            "declined" if content is None else "answered",
            now,
            rows.storable(by),
            None if content is None else rows.text_of(dict(content)),
            ask.number,
            now,
        ),
    )
    return changed.rowcount > 0


def expire(database: Database, run: int | None = None) -> int:
    """Close the questions whose deadline has passed, inside a transaction; how many. Of one run where its number is given."""
    sql = "UPDATE asks SET state = 'expired' WHERE state = 'asked' AND due IS NOT NULL AND due <= ?"
    values: tuple[Any, ...] = (database.now(),)
    if run is not None:
        sql, values = f"{sql} AND run = ?", (*values, run)
    count: int = database.execute(sql, values).rowcount
    return count


def one(database: Database, number: int) -> AskRecord | None:
    """The question with a number."""
    row = database.execute(f"{_SELECT} WHERE number = ?", (number,)).fetchone()
    return None if row is None else _record(row)


def of(database: Database, run: str) -> list[AskRecord]:
    """The questions of the run with this id."""
    row = database.execute("SELECT number FROM runs WHERE id = ?", (run,)).fetchone()
    return [] if row is None else read(database, row[0])


WAITING = (
    "runs.status = 'waiting' OR (runs.status = 'running'"
    " AND EXISTS (SELECT 1 FROM asks WHERE asks.run = runs.number AND asks.state = 'asked'))"
)
"""The condition of a row of ``runs`` that waits for people: it is waiting, or was about to when its process was killed."""


def waiting(database: Database, where: str, values: Sequence[Any], limit: int) -> list[WaitingRun]:
    """The runs that wait for people, the newest first, with their open questions; ``where`` is a further condition of a row of
    ``runs``.
    """
    runs = database.execute(
        f"SELECT number, id, workflow, started, '' AS author FROM runs WHERE ({WAITING}) {where}"  # noqa: S608 (texts of this package)
        " ORDER BY started DESC, id LIMIT ?",
        (*values, limit),
    ).fetchall()
    asks: dict[int, list[AskRecord]] = {number: [] for number, *_ in runs}
    for run, *row in database.execute(
        f"SELECT run, number, {ASK_COLUMNS} FROM asks WHERE state = 'asked' ORDER BY number"  # noqa: S608 (texts of this module)
    ).fetchall():
        if run in asks:
            asks[run].append(_record(row))
    return [
        WaitingRun(identity, workflow, started, author, asks[number])
        for number, identity, workflow, started, author in runs
    ]


def ready(database: Database) -> list[str]:
    """The ids of the runs that wait no more, the oldest first: a question of theirs has an answer, or its time is up. An answer
    that came to nothing, since a revision had the visit ask something else, is none that a run waits for.
    """
    found = database.execute(
        "SELECT id FROM runs WHERE status = 'waiting' AND EXISTS (SELECT 1 FROM asks WHERE asks.run = runs.number"
        " AND (asks.state = 'asked' AND asks.due <= ? OR asks.state IN ('answered', 'declined', 'expired')"
        " AND NOT EXISTS (SELECT 1 FROM calls WHERE calls.run = runs.number AND calls.kind = 'person'"
        " AND calls.node = asks.node AND calls.path = asks.path AND calls.redo = asks.redo AND calls.sample = asks.sample"
        " AND calls.step = asks.step AND calls.request_hash = asks.hash)"
        " AND NOT EXISTS (SELECT 1 FROM asks AS newer WHERE newer.run = asks.run AND newer.number > asks.number"
        " AND newer.node = asks.node AND newer.path = asks.path AND newer.redo = asks.redo"
        " AND newer.sample = asks.sample AND newer.step = asks.step))) ORDER BY started, id",
        (database.now(),),
    ).fetchall()
    return [run for (run,) in found]


def damaged(database: Database) -> Iterator[tuple[str, str, str]]:
    """The questions of all runs that can't be as they are kept: run, visit, and what is wrong, as the rest of a sentence."""
    for run, *row in database.execute(
        f"SELECT id, asks.number, {ASK_COLUMNS} FROM asks JOIN runs ON runs.number = asks.run ORDER BY asks.number"  # noqa: S608 (texts of this module)
    ).fetchall():
        ask = _record(row)
        wrong = _wrong(ask, row[-1])
        if wrong is not None:
            yield run, ask.visit.name, wrong


def strays(database: Database) -> list[str]:
    """The visits that asked, of questions whose runs are not there."""
    found = database.execute(
        "SELECT node, path, redo FROM asks WHERE run NOT IN (SELECT number FROM runs) ORDER BY number"
    ).fetchall()
    return [Visit(*visit).name for visit in found]


def _wrong(ask: AskRecord, answer: str | None) -> str | None:
    """What is wrong with a question; ``answer`` as it is kept."""
    from merrow_analysis.people.answers import InvalidAnswerError, validated
    from merrow_analysis.people.forms import UnanswerableError, read_form

    if ask.state not in _WEIGHTS:
        return "has a state that there is none of"
    if ask.state == "answered" and answer is None:
        return "is answered, but its answer is missing"
    if answer is not None and ask.answer is None:
        return "has an answer that is not a JSON object"
    try:
        form = read_form(ask.question.get("schema"))
    except UnanswerableError:
        return "has no form that can be read"
    try:
        if ask.answer is not None:
            validated(form, ask.answer)
    except InvalidAnswerError:
        return "has an answer that does not fit its form"
    return None


def _record(row: Sequence[Any]) -> AskRecord:
    number, node, path, redo, sample, step, digest, state, asked, due, answered, by, question, answer = row
    return AskRecord(
        CallKey(node, sample, step, 0, path, redo),
        digest,
        _plain(question) or {},
        state,
        asked,
        due,
        answered,
        by,
        _plain(answer),
        number,
    )


def _plain(text: str | None) -> dict[str, Any] | None:
    """An object as it is kept; None where there is none, or it is damaged."""
    try:
        kept = None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None
    return kept if isinstance(kept, dict) else None
