"""Evaluations and the scores of their items, in the user's store: what was scored once is found again by its keys."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from merrow_runtime.errors import StoreFailure, UsageFailure
from merrow_runtime.records import record
from merrow_runtime.store import rows
from merrow_runtime.store.writer import Statement, Writer, explained
from merrow_runtime.usage import Usage

EvaluationStatus = Literal["running", "finished", "stopped", "cancelled"]


@record(frozen=True, slots=True)
class EvaluationRecord:
    """An evaluation as the store knows it. ``workflow`` is the whole path of its file; ``dataset`` the hash of its items;
    ``plan`` is all else that a resume needs, as plain data. ``error`` says why it stopped.
    """

    id: str
    workflow: str
    status: EvaluationStatus
    started: float
    dataset: str
    part: str
    metric: str
    model: str
    seed: int
    repeats: int
    plan: Mapping[str, Any]
    ended: float | None = None
    seconds: float = 0.0
    error: str | None = None


@record(frozen=True, slots=True)
class ScoreRecord:
    """What one answer to an item came to.

    ``work`` is the key of what decides the answer, ``scored`` the key of what decides its score. ``output`` is the answer as
    JSON; None where there is none. ``run`` is the run to open, "" where none began; ``seconds`` are its time.
    """

    item: str
    repeat: int
    status: str
    value: float | None
    read: str
    reason: str
    usage: Usage
    seconds: float
    run: str
    work: bytes
    scored: bytes
    output: str | None = None


_EVALUATION_COLUMNS = (
    "id, workflow, status, started, dataset, part, metric, model, seed, repeats, ended, seconds, error, plan"
)
_SCORE_COLUMNS = "item, repeat, status, value, read, reason, usage, seconds, run, work, scored"
_BEGIN = f"INSERT INTO evaluations ({_EVALUATION_COLUMNS}) VALUES ({', '.join('?' * 14)})"  # noqa: S608 (texts of this module)
_KEEP = (
    f"INSERT OR REPLACE INTO scores (evaluation, {_SCORE_COLUMNS}, output)"  # noqa: S608
    f" SELECT number, {', '.join('?' * 12)} FROM evaluations WHERE id = ?"
)
_SCORES = "SELECT {} FROM scores WHERE evaluation = (SELECT number FROM evaluations WHERE id = ?)"
_KNOWN = f"SELECT {_SCORE_COLUMNS}, output FROM scores WHERE work = ? ORDER BY number DESC"  # noqa: S608


class Evaluations:
    """The evaluations of a store. Everything raises `StoreFailure` where the store can't be read or written."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._cursor = writer.database.cursor()

    def begin(self, evaluation: EvaluationRecord) -> None:
        """Put a new evaluation into the store."""
        values = [getattr(evaluation, name) for name in _EVALUATION_COLUMNS.split(", ")[:-1]]
        plan = rows.text_of(dict(evaluation.plan))
        self._writer.now(lambda database: database.execute(_BEGIN, [*map(_column, values), plan]))

    def update(
        self,
        evaluation: str,
        status: EvaluationStatus,
        error: str | None = None,
        ended: float | None = None,
        seconds: float = 0.0,
    ) -> None:
        """Keep how an evaluation goes on or ended; ``seconds`` are added to those that it took before."""
        self._writer.now(
            lambda database: database.execute(
                "UPDATE evaluations SET status = ?, error = ?, ended = ?, seconds = seconds + ? WHERE id = ?",
                (status, _column(error), ended, seconds, evaluation),
            )
        )

    def identity(self, evaluation: str) -> str | None:
        """The id of the evaluation with this id, else of the only one whose id begins with it; None where there is none.

        Raises `UsageFailure` where there are several.
        """
        found = [row[0] for row in self._rows("SELECT id FROM evaluations WHERE id = ?", (evaluation,))]
        if not found and evaluation.isalnum():
            found = [row[0] for row in self._rows("SELECT id FROM evaluations WHERE id GLOB ?", (f"{evaluation}*",))]
        if len(found) > 1:
            raise UsageFailure(
                f"Several evaluations begin with {evaluation!r}; give more of the id: {found[0]}, {found[1]}, ..."
            )
        return found[0] if found else None

    def get(self, evaluation: str) -> EvaluationRecord:
        """The evaluation with this id, or with the only id that begins with it. Raises `UsageFailure`."""
        identity = self.identity(evaluation)
        if identity is None:
            raise UsageFailure(f"There is no evaluation {evaluation!r}; list them with: merrow evaluations")
        (row,) = self._rows(f"SELECT {_EVALUATION_COLUMNS} FROM evaluations WHERE id = ?", (identity,))  # noqa: S608
        return _evaluation(row)

    def newest(self, limit: int = 20, workflow: str | None = None) -> list[EvaluationRecord]:
        """The newest evaluations, newest first, of one workflow where given."""
        where, values = ("", ()) if workflow is None else ("WHERE workflow = ?", (workflow,))
        return [
            _evaluation(row)
            for row in self._rows(
                f"SELECT {_EVALUATION_COLUMNS} FROM evaluations {where} ORDER BY number DESC LIMIT ?",  # noqa: S608
                (*values, limit),
            )
        ]

    def delete(self, evaluation: str) -> None:
        """Take an evaluation with its scores out of the store. Answers of models stay in the cache."""
        self._writer.now(lambda database: database.execute("DELETE FROM evaluations WHERE id = ?", (evaluation,)))

    def readings(self, dataset: str, part: str) -> int:
        """How many evaluations have read this part of a data set, alone or with all others."""
        sql = "SELECT count(*) FROM evaluations WHERE dataset = ? AND part IN (?, 'all')"
        (row,) = self._rows(sql, (dataset, part))
        return int(row[0])

    def replan(self, evaluation: str, plan: Mapping[str, Any]) -> None:
        """Keep what a later resume needs, where that changed."""
        text = rows.text_of(dict(plan))
        self._writer.now(
            lambda database: database.execute("UPDATE evaluations SET plan = ? WHERE id = ?", (text, evaluation))
        )

    def status(self, evaluation: str) -> EvaluationStatus | None:
        """How an evaluation is by what was written down last, whoever wrote it; None where it was deleted."""
        found = self._rows("SELECT status FROM evaluations WHERE id = ?", (evaluation,))
        return found[0][0] if found else None

    def older_than(self, seconds: float) -> list[EvaluationRecord]:
        """The evaluations that began, and ended where they did, so long ago."""
        before = time.time() - seconds
        sql = f"SELECT {_EVALUATION_COLUMNS} FROM evaluations WHERE started < ? AND coalesce(ended, started) < ?"  # noqa: S608
        return [_evaluation(row) for row in self._rows(sql, (before, before))]

    def keep(self, evaluation: str, score: ScoreRecord) -> asyncio.Future[None]:
        """Keep a score, in place of an earlier one of the same item and repeat; done once it is committed."""
        return self._writer.write(_kept(evaluation, score))

    def scores(self, evaluation: str, *, outputs: bool = False) -> list[ScoreRecord]:
        """The scores of an evaluation, in the order they came, with the answers where asked for."""
        columns = _SCORE_COLUMNS + (", output" if outputs else "")
        return [_score(row) for row in self._rows(f"{_SCORES.format(columns)} ORDER BY number", (evaluation,))]

    def score(self, evaluation: str, item: str, repeat: int) -> ScoreRecord | None:
        """One score with its answer; None where there is none."""
        sql = f"{_SCORES.format(_SCORE_COLUMNS + ', output')} AND item = ? AND repeat = ?"
        found = self._rows(sql, (evaluation, rows.storable(item), repeat))
        return _score(found[0]) if found else None

    def known(self, work: bytes) -> list[ScoreRecord]:
        """The scores of answers that were decided by the same, the newest first, of whatever evaluation."""
        try:
            return [_score(row) for row in self._cursor.execute(_KNOWN, (work,)).fetchall()]
        except sqlite3.Error as problem:
            raise explained(problem) from problem

    def _rows(self, sql: str, values: Sequence[Any]) -> list[Any]:
        self._writer.flush()
        try:
            return self._cursor.execute(sql, values).fetchall()
        except sqlite3.Error as problem:
            raise explained(problem) from problem


def _kept(evaluation: str, score: ScoreRecord) -> Statement:
    return _KEEP, (
        rows.storable(score.item),
        score.repeat,
        score.status,
        score.value,
        rows.storable(score.read),
        rows.storable(score.reason),
        rows.usage_text(score.usage),
        score.seconds,
        score.run,
        score.work,
        score.scored,
        score.output,
        evaluation,
    )


def _evaluation(row: Sequence[Any]) -> EvaluationRecord:
    try:
        plan = rows.object_of(row[-1])
    except rows.Damaged:
        raise StoreFailure(f"The record of evaluation {row[0]} is damaged in the journal; evaluate again.") from None
    given = dict(zip(_EVALUATION_COLUMNS.split(", ")[:-1], row, strict=False))
    return EvaluationRecord(plan=plan, **given)


def _score(row: Sequence[Any]) -> ScoreRecord:
    given = dict(zip((*_SCORE_COLUMNS.split(", "), "output"), row, strict=False))
    return ScoreRecord(**{**given, "usage": rows.usage_or_unknown(given["usage"])})


def _column(value: Any) -> Any:
    return rows.storable(value) if isinstance(value, str) else value


def output_text(output: Any) -> str:
    """An answer as it is kept."""
    return rows.text_of(output)


def output_of(text: str) -> Any:
    """The inverse of `output_text`."""
    return json.loads(text)
