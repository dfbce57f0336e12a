"""Evaluations and the scores of their items, in the user's store: what was scored once is found again by its keys."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from merrow_runtime.records import record
from merrow_runtime.store import rows
from merrow_runtime.store.listed import Listed, ListedStatus, read_by
from merrow_runtime.store.sql import PLACES, Database, in_parts
from merrow_runtime.usage import Usage


@record(frozen=True, slots=True)
class EvaluationRecord:
    """An evaluation as the store knows it. ``workflow`` is the whole path of its file; ``dataset`` the hash of its items;
    ``plan`` is all else that a resume needs, as plain data. ``error`` says why it stopped.
    """

    id: str
    workflow: str
    status: ListedStatus
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
    JSON; None where there is none. ``run`` is the run to open, "" where none began; ``seconds`` are its time, and ``exhausted``
    counts its Loops that still wanted another turn when their turns or their budget ran out. ``fields`` has, where the fields of
    answers are scored, for each one its ``value``, and ``read``, ``gold`` and ``reason`` as texts. ``others`` are the values of
    the outputs beside the one that is the answer, as JSON; None where there is one output, or they are the answer together.
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
    exhausted: int = 0
    fields: Mapping[str, Mapping[str, Any]] | None = None
    others: str | None = None


SCORE_COLUMNS = "item, repeat, status, value, read, reason, usage, seconds, run, work, scored, exhausted, fields"
"""Of a score, in whichever table."""
ANSWER_COLUMNS = ", output, others"
"""And of its answer, which may be long."""
_KEEP = (
    f"INSERT OR REPLACE INTO scores (evaluation, {SCORE_COLUMNS}{ANSWER_COLUMNS})"  # noqa: S608
    f" SELECT number, {', '.join('?' * 15)} FROM evaluations WHERE id = ?"
)
_SCORES = "SELECT {} FROM scores WHERE evaluation = (SELECT number FROM evaluations WHERE id = ?)"
_SOME = f"{_SCORES.format(SCORE_COLUMNS + ANSWER_COLUMNS)} AND item IN ({PLACES})"
_RANGE = _SCORES.format("min(number), max(number)")
# Of all scores from a number on, not of those of an evaluation, which would be put in order for each page: they are together.
_PAGE = (
    " FROM scores WHERE +evaluation = (SELECT number FROM evaluations WHERE id = ?) AND number > ? AND number <= ?"
    " ORDER BY number LIMIT 500"
)
_KNOWN = " UNION ALL ".join(
    f"SELECT * FROM (SELECT {SCORE_COLUMNS}{ANSWER_COLUMNS} FROM {table} WHERE work = :work ORDER BY number DESC) AS {table}"  # noqa: S608
    for table in ("scores", "trials")
)


class KeptScores(Iterable[ScoreRecord]):
    """The scores of an evaluation in the order they came, as often as they are wanted. They are read a page at a time: all of
    many would fill the memory. What comes while they are read is left out.
    """

    def __init__(self, read: Callable[[str, Sequence[Any]], list[Any]], evaluation: str, columns: str) -> None:
        self._read = read
        self._first: int | None
        self._last: int | None
        ((self._first, self._last),) = read(_RANGE, (evaluation,))
        self._of = evaluation
        self._page = f"SELECT number, {columns}{_PAGE}"

    def __iter__(self) -> Iterator[ScoreRecord]:
        return (score for _, score in self.numbered())

    @property
    def last(self) -> int | None:
        """The greatest of their numbers, which is another one once there is another score; None where there is none."""
        return self._last

    def numbered(self) -> Iterator[tuple[int, ScoreRecord]]:
        """Each with its number in the journal, which another score in its place doesn't have."""
        before = -1 if self._first is None else self._first - 1
        while self._last is not None and before < self._last:
            page = self._read(self._page, (self._of, before, self._last))
            for number, *row in page:
                yield number, score_of(row)
            before = page[-1][0] if page else self._last


BATCH = "batch"
"""In the place of a metric, of an evaluation that scores nothing."""


class Evaluations(Listed[EvaluationRecord]):
    """The evaluations of a store. Everything raises `StoreFailure` where the store can't be read or written."""

    table, word, words, damaged = "evaluations", "evaluation", "evaluations", "evaluate again"
    columns = "id, workflow, status, started, dataset, part, metric, model, seed, repeats, ended, seconds, error, plan"

    @property
    def _listed(self) -> str:
        return f"(SELECT * FROM {self.table} WHERE metric <> '{BATCH}') AS {self.table}"  # noqa: S608 (texts of this module)

    def _record(self, row: Sequence[Any]) -> EvaluationRecord:
        return EvaluationRecord(**self._fields(row))

    def begin(self, evaluation: EvaluationRecord) -> None:
        """Put a new evaluation into the store, which reads its part of the data."""
        semantic = str(evaluation.plan.get("semantic", ""))

        def work(database: Database) -> None:
            self._begin(database, evaluation)
            read_by(database, evaluation.dataset, evaluation.part, evaluation.id, semantic)

        self._writer.now(work)

    def readings(self, dataset: str, parts: Sequence[str], *, but: str = "", of_others: str = "") -> int:
        """How many evaluations and searches have read one of these parts of the data with this hash; without ``but``, the id of
        one, and without those of the workflow with the semantic hash ``of_others``.
        """
        places = ", ".join("?" * len(parts))
        sql = (
            "SELECT count(DISTINCT reader) FROM readings WHERE dataset = ? AND reader <> ?"  # noqa: S608 (places alone)
            f" AND (? = '' OR semantic <> ?) AND part IN ({places})"
        )
        (row,) = self._rows(sql, (dataset, but, of_others, of_others, *parts))
        return int(row[0])

    def keep(self, evaluation: str, score: ScoreRecord) -> asyncio.Future[bool]:
        """Keep a score, in place of an earlier one of the same item and repeat; done once it is committed."""
        return self._writer.write((_KEEP, (*score_values(score), evaluation)))

    def scores(self, evaluation: str, *, outputs: bool = False) -> KeptScores:
        """The scores that an evaluation has now, with the answers where asked for."""
        return KeptScores(self._rows, evaluation, SCORE_COLUMNS + (ANSWER_COLUMNS if outputs else ""))

    def scored(self, numbers: Sequence[int], *, outputs: bool = False) -> list[ScoreRecord]:
        """The scores with these numbers (`KeptScores.numbered`), in this order, with the answers where asked for; one that
        another took the place of since is left out.
        """
        columns = SCORE_COLUMNS + (ANSWER_COLUMNS if outputs else "")
        sql = f"SELECT number, {columns} FROM scores WHERE number IN ({PLACES})"  # noqa: S608 (texts of this module)
        found = {row[0]: score_of(row[1:]) for part in in_parts(numbers) for row in self._rows(sql, tuple(part))}
        return [found[number] for number in numbers if number in found]

    def score(self, evaluation: str, item: str, repeat: int) -> ScoreRecord | None:
        """One score with its answer; None where there is none."""
        sql = f"{_SCORES.format(SCORE_COLUMNS + ANSWER_COLUMNS)} AND item = ? AND repeat = ?"
        scores = self._rows(sql, (evaluation, rows.storable(item), repeat))
        return score_of(scores[0]) if scores else None

    def some(self, evaluation: str, wanted: Sequence[tuple[str, int]]) -> list[ScoreRecord | None]:
        """The scores of some items and repeats with their answers, in this order; None where there is none."""
        found: dict[tuple[str, int], ScoreRecord] = {}
        items = [rows.storable(item) or "" for item, _ in wanted]
        for several in in_parts(sorted(set(items))):
            for row in self._rows(_SOME, (evaluation, *several)):
                score = score_of(row)
                found[score.item, score.repeat] = score
        return [found.get((item, repeat)) for item, (_, repeat) in zip(items, wanted, strict=True)]

    def known(self, work: bytes) -> list[ScoreRecord]:
        """The scores of answers that were decided by the same, of whatever evaluation or search; those of either newest first."""
        return [score_of(row) for row in self._cursor.execute(_KNOWN, {"work": work}).fetchall()]


class Batches(Evaluations):
    """Evaluations that score nothing: a run for each row of data."""

    only = f"metric = '{BATCH}'"
    listed_by = "runs --kind batch"
    word, words, damaged = "batch", "batches", "run the batch again"

    @property
    def _listed(self) -> str:
        return self._source


def score_values(score: ScoreRecord) -> tuple[Any, ...]:
    """In the order of `SCORE_COLUMNS`, then the answer."""
    return (
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
        score.exhausted,
        None if score.fields is None else rows.text_of(dict(score.fields)),
        score.output,
        score.others,
    )


def score_of(row: Sequence[Any]) -> ScoreRecord:
    """A row of `SCORE_COLUMNS`, with the answer where it was asked for."""
    item, repeat, status, value, read, reason, usage, seconds, run, work, scored, exhausted, fields, *answer = row
    used = rows.usage_or_unknown(usage)
    return ScoreRecord(
        item,
        repeat,
        status,
        value,
        read,
        reason,
        used,
        seconds,
        run,
        work,
        scored,
        answer[0] if answer else None,
        exhausted,
        None if fields is None else _fields_of(fields),
        answer[1] if answer else None,
    )


def _fields_of(text: str) -> dict[str, Any] | None:
    """What each field is worth; None where that is damaged, which the score itself need not be."""
    try:
        return rows.object_of(text)
    except rows.Damaged:
        return None


def output_text(output: Any) -> str:
    """An answer as it is kept."""
    return rows.text_of(output)


def output_of(text: str) -> Any:
    """The inverse of `output_text`."""
    return json.loads(text)
