"""Searches for better workflows, in the user's store: their candidates, what was drawn, and the answers that were scored."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from merrow_runtime.records import record
from merrow_runtime.store import rows
from merrow_runtime.store.evaluations import ANSWER_COLUMNS, SCORE_COLUMNS, ScoreRecord, score_of, score_values
from merrow_runtime.store.listed import Listed, ListedStatus, column_of, read_by
from merrow_runtime.store.sql import Database

HELD_OUT = 0
"""In place of the number of a draw: the reading of the held-out items."""
SHOWN = -1
"""In place of the number of a draw: an answer that scores nobody, so that a model may be shown it."""


@record(frozen=True, slots=True)
class OptimizationRecord:
    """A search as the store knows it. ``workflow`` is the whole path of the file that it begins with; ``dataset`` the hash of all
    items of the data; ``part`` the part that is searched; ``plan`` is all else that a resume needs, as plain data.

    ``over`` says why no other draw is made, None while some may be; ``held_out`` is what the held-out items say, as plain data;
    ``error`` says why it stopped before its end.
    """

    id: str
    workflow: str
    status: ListedStatus
    started: float
    dataset: str
    part: str
    metric: str
    model: str
    strategy: str
    proposer: str
    seed: int
    jobs: int
    plan: Mapping[str, Any]
    over: str | None = None
    held_out: Mapping[str, Any] | None = None
    ended: float | None = None
    seconds: float = 0.0
    error: str | None = None


@record(frozen=True, slots=True)
class CandidateRecord:
    """A workflow that a search scores or has scored, see `merrow_optimizer.search.candidates.CandidateDraft`.

    ``cost`` is what it uses for one item by a dry run, in US dollars; None where a price is not known. ``told`` is what the
    search estimated its score to be when its last draw had been applied.
    """

    number: int
    parents: tuple[int, ...]
    operator: str
    title: str
    key: str
    calls: int
    nodes: int
    cost: float | None
    text: str
    told: float | None = None


@record(frozen=True, slots=True)
class DrawRecord:
    """Which answers of a candidate were asked for: each an item by its number, and a repeat. ``outcome`` has the score of each,
    None for one that says nothing; it is None itself before all have ended. ``crown`` is the best candidate once the outcome
    was applied, and ``told`` its estimated score; None before.
    """

    number: int
    candidate: int
    places: tuple[tuple[int, int], ...]
    outcome: tuple[float | None, ...] | None = None
    crown: int | None = None
    told: float | None = None


@record(frozen=True, slots=True)
class TrialRecord:
    """An answer of a candidate with its score: of a draw, of the reading of the held-out items (`HELD_OUT`), or `SHOWN`."""

    candidate: int
    draw: int
    score: ScoreRecord


_CANDIDATE_COLUMNS = "candidate, parents, operator, title, key, calls, nodes, cost, told, text"
_NUMBER = "(SELECT number FROM optimizations WHERE id = ?)"
_ADD = f"INSERT INTO candidates (optimization, {_CANDIDATE_COLUMNS}) VALUES ({_NUMBER}, {', '.join('?' * 10)})"  # noqa: S608
_DRAW = f"INSERT INTO draws (optimization, draw, candidate, places) VALUES ({_NUMBER}, ?, ?, ?)"  # noqa: S608
_OUTCOME = f"UPDATE draws SET outcome = ? WHERE optimization = {_NUMBER} AND draw = ?"  # noqa: S608
_CROWN = f"UPDATE draws SET crown = ?, told = ? WHERE optimization = {_NUMBER} AND draw = ?"  # noqa: S608
_TOLD = f"UPDATE candidates SET told = ? WHERE optimization = {_NUMBER} AND candidate = ?"  # noqa: S608
_PROPOSED = f"INSERT OR REPLACE INTO proposals (optimization, draw, said) VALUES ({_NUMBER}, ?, ?)"  # noqa: S608
_KEEP = (
    f"INSERT OR REPLACE INTO trials (optimization, candidate, draw, {SCORE_COLUMNS}{ANSWER_COLUMNS})"  # noqa: S608
    f" VALUES ({_NUMBER}, ?, ?, {', '.join('?' * 15)})"
)


class Optimizations(Listed[OptimizationRecord]):
    """The searches of a store. Everything raises `StoreFailure` where the store can't be read or written."""

    table, word, words, damaged = "optimizations", "search", "searches", "begin another search"
    columns = (
        "id, workflow, status, started, dataset, part, metric, model, strategy, proposer, seed, jobs, over, ended, seconds,"
        " error, held_out, plan"
    )

    def _record(self, row: Sequence[Any]) -> OptimizationRecord:
        fields = self._fields(row)
        held_out = fields["held_out"]
        return OptimizationRecord(
            **{**fields, "held_out": None if held_out is None else self._said(fields["id"], held_out)}
        )

    def begin(self, search: OptimizationRecord, part: str, semantic: str) -> None:
        """Put a new search into the store, which reads this ``part`` of the data with a workflow of this semantic hash."""

        def work(database: Database) -> None:
            self._begin(database, search)
            read_by(database, search.dataset, part, search.id, semantic)

        self._writer.now(work)

    def draw(self, search: str, draw: DrawRecord, new: Sequence[CandidateRecord]) -> None:
        """Keep a draw, with the candidates that are new in it, before anything is asked for it."""
        places = rows.text_of([list(place) for place in draw.places])

        def work(database: Database) -> None:
            database.executemany(_ADD, [(search, *_candidate_values(candidate)) for candidate in new])
            database.execute(_DRAW, (search, draw.number, draw.candidate, places))

        self._writer.now(work)

    def keep(self, search: str, trial: TrialRecord) -> asyncio.Future[bool]:
        """Keep an answer, in place of an earlier one of the same item and repeat; done once it is committed."""
        return self._writer.write((_KEEP, (search, trial.candidate, trial.draw, *score_values(trial.score))))

    def propose(self, search: str, draw: int, proposal: Mapping[str, Any]) -> None:
        """Keep what a model proposed before a draw, in place of what it did before, as plain data."""
        text = rows.text_of(dict(proposal))
        self._writer.now(lambda database: database.execute(_PROPOSED, (search, draw, text)))

    def asking(self, search: str, draw: int, used: Mapping[str, Any]) -> asyncio.Future[bool]:
        """Keep what a question before a draw has used so far, in place of what there was of it; done once it is committed."""
        return self._writer.write((_PROPOSED, (search, draw, rows.text_of(dict(used)))))

    def proposals(self, search: str) -> dict[int, Mapping[str, Any]]:
        """What a model proposed, by the number of the draw before which it did, in their order."""
        sql = f"SELECT draw, said FROM proposals WHERE optimization = {_NUMBER} ORDER BY draw"  # noqa: S608
        return {draw: self._said(search, proposal) for draw, proposal in self._rows(sql, (search,))}

    def outcome(self, search: str, draw: int, scores: Sequence[float | None]) -> None:
        """Keep the outcome of a draw, before it counts."""
        text = rows.text_of(list(scores))
        self._writer.now(lambda database: database.execute(_OUTCOME, (text, search, draw)))

    def applied(
        self, search: str, draw: int, crown: int, told: float | None, scores: Mapping[int, float | None]
    ) -> None:
        """Keep what is believed once the outcome of a draw was applied: the crown with its estimated score, and the estimated
        ``scores`` of candidates, by number.
        """

        def work(database: Database) -> None:
            database.execute(_CROWN, (crown, told, search, draw))
            database.executemany(_TOLD, [(score, search, candidate) for candidate, score in scores.items()])

        self._writer.now(work)

    def over(self, search: str, why: str) -> None:
        """Keep that no other draw is made, and why."""
        sql = "UPDATE optimizations SET over = ? WHERE id = ?"
        self._writer.now(lambda database: database.execute(sql, (column_of(why), search)))

    def read_held_out(self, search: OptimizationRecord, part: str, semantic: str) -> None:
        """Note that the held-out ``part`` of the data is read now, with a workflow of this semantic hash."""
        self._writer.now(lambda database: read_by(database, search.dataset, part, search.id, semantic))

    def conclude(self, search: str, held_out: Mapping[str, Any]) -> None:
        """Keep what the held-out items say."""
        sql, text = "UPDATE optimizations SET held_out = ? WHERE id = ?", rows.text_of(dict(held_out))
        self._writer.now(lambda database: database.execute(sql, (text, search)))

    def candidates(self, search: str) -> list[CandidateRecord]:
        """The candidates of a search, by number."""
        sql = f"SELECT {_CANDIDATE_COLUMNS} FROM candidates WHERE optimization = {_NUMBER} ORDER BY candidate"  # noqa: S608
        with self._reading(search):
            return [_candidate(row) for row in self._rows(sql, (search,))]

    def draws(self, search: str) -> list[DrawRecord]:
        """The draws of a search, in order."""
        sql = (
            f"SELECT draw, candidate, places, outcome, crown, told FROM draws WHERE optimization = {_NUMBER}"  # noqa: S608
            " ORDER BY draw"
        )
        with self._reading(search):
            return [_draw(row) for row in self._rows(sql, (search,))]

    def trials(self, search: str, *, outputs: bool = False) -> list[TrialRecord]:
        """The answers of a search, in the order they came, with the answers themselves where asked for."""
        columns = SCORE_COLUMNS + (ANSWER_COLUMNS if outputs else "")
        sql = f"SELECT candidate, draw, {columns} FROM trials WHERE optimization = {_NUMBER} ORDER BY number"  # noqa: S608
        return [TrialRecord(row[0], row[1], score_of(row[2:])) for row in self._rows(sql, (search,))]

    def _said(self, search: str, text: str) -> Mapping[str, Any]:
        with self._reading(search):
            return rows.object_of(text)


def _candidate_values(candidate: CandidateRecord) -> tuple[Any, ...]:
    parents = rows.text_of(list(candidate.parents))
    return (
        candidate.number,
        parents,
        candidate.operator,
        column_of(candidate.title),
        candidate.key,
        candidate.calls,
        candidate.nodes,
        candidate.cost,
        candidate.told,
        column_of(candidate.text),
    )


def _candidate(row: Sequence[Any]) -> CandidateRecord:
    number, parents, operator, title, key, calls, nodes, cost, told, text = row
    before = tuple(int(parent) for parent in json.loads(parents))
    return CandidateRecord(number, before, operator, title, key, calls, nodes, cost, text, told)


def _draw(row: Sequence[Any]) -> DrawRecord:
    number, candidate, places, outcome, crown, told = row
    asked = tuple((int(item), int(repeat)) for item, repeat in json.loads(places))
    scores = None
    if outcome is not None:
        scores = tuple(None if score is None else float(score) for score in json.loads(outcome))
    return DrawRecord(number, candidate, asked, scores, crown, told)
