"""The candidates of a search: a row for each, the best first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from merrow_optimizer.optimization.record import RecordedCandidate, SearchRecord
from merrow_optimizer.search.candidates import START
from merrow_runtime.errors import UsageFailure
from merrow_server.optimizations.search_data import analyses_of, effects_shown, search_object
from merrow_server.optimizations.search_html import charts
from merrow_server.optimizations.search_words import found_lines
from merrow_server.rendering.snippet import plain
from merrow_server.rendering.workflow_sketch import difference_words, sketch
from merrow_server.results.table import Cell, Column, Json, ResultTable, cut

_LONGEST = 40_000
"""Characters of a workflow's text; the rest is in its file."""
_COLUMNS = (
    Column("round", "Round", "item"),
    Column("change", "Change", "text"),
    Column("told", "Estimated", "score"),
    Column("mean", "Scored", "score"),
    Column("answers", "Answers", "number"),
    Column("nodes", "Nodes", "number"),
    Column("calls", "Calls", "number"),
    Column("cost", "Cost of an Item", "cost"),
)
_JUDGED = Column("judged", "Judged", "score")


class CandidateTable(ResultTable):
    """The candidates of a search as it is now; ``place`` says where its workflow is."""

    def __init__(self, search: SearchRecord, place: Json) -> None:
        super().__init__()
        self._search, self._place = search, place
        self._rows = sorted(
            search.candidates,
            key=lambda one: (one.number != search.crown, one.told is None, -(one.told or 0.0), one.number),
        )
        has_judged = any(one.judged is not None for one in self._rows)
        self.columns = (*_COLUMNS, *((_JUDGED,) if has_judged else ()), Column("verdict", "State", "verdict"))
        self.verdicts = [self._verdict(one) for one in self._rows]

    def head(self) -> Json:
        """The search as it is listed, what it found in ``found``, its ``charts`` as SVG, and what helps."""
        shown = search_object(self._search)
        return {
            **{name: value for name, value in shown.items() if name != "folder"},
            **self._place,
            "found": list(found_lines(self._search)),
            "charts": list(charts(self._search)),
            "effects": effects_shown(self._search),
        }

    def read(self, places: Sequence[int], longest: int) -> list[tuple[Json, list[Cell]]]:
        """Some candidates."""
        return [self._row(self._rows[place], longest) for place in places]

    def known(self, column: Column) -> Sequence[Any] | None:
        """All of it is."""
        at = list(self.columns).index(column)
        values = [one.number if column.name == "round" else self._row(one, 1_000)[1][at] for one in self._rows]
        return [None if value in (None, "") else value for value in values]

    def pairs(self, field: str) -> Sequence[tuple[str, str]]:
        """Candidates have no fields."""
        raise UsageFailure(f"Candidates have no field `{field}`.")

    def whole(self, key: str) -> Json:
        """A candidate with its text, its drawing, and what it changes of the one that it comes from."""
        candidate = next((one for one in self._rows if str(one.number) == key), None)
        if candidate is None:
            raise UsageFailure(f"Search {self._search.id} has no candidate {key}.")
        parents = [self._search.candidates[number] for number in candidate.parents[:1]]
        known = analyses_of(self._search, [candidate, *parents])
        analysis, before = known.get(candidate.number), known.get(parents[0].number) if parents else None
        name = f"Round {candidate.number}" + (", what is new or changed is marked" if before else "")
        return {
            "candidate": candidate.number,
            "parents": list(candidate.parents),
            "made": candidate.made_by,
            "title": plain(candidate.title),
            "reason": plain(candidate.reason),
            "criteria": dict(candidate.criteria),
            "changes": [] if analysis is None or before is None else difference_words(before, analysis),
            "picture": "" if analysis is None else sketch(name, analysis, before),
            "text": cut(plain(candidate.text), _LONGEST),
            "exhausted": candidate.exhausted,
        }

    def _row(self, candidate: RecordedCandidate, longest: int) -> tuple[Json, list[Cell]]:
        verdict = self._verdict(candidate)
        title = plain(" ".join(candidate.title.split())) or "the start"
        cells: list[Cell] = [
            str(candidate.number),
            cut(title, longest),
            candidate.told,
            candidate.mean,
            len(candidate.scores),
            candidate.nodes,
            candidate.calls,
            candidate.cost,
            *((candidate.judged,) if _JUDGED in self.columns else ()),
            verdict,
        ]
        row = {
            "key": str(candidate.number),
            "verdict": verdict,
            "run": "",
            "wrong": [],
            "reason": plain(candidate.reason),
        }
        return row, cells

    def _verdict(self, candidate: RecordedCandidate) -> str:
        if candidate.number == self._search.crown and candidate.number != START:
            return "best"
        return "start" if candidate.number == START else "not scored" if candidate.told is None else "scored"


def candidate_of(search: SearchRecord, number: int) -> RecordedCandidate:
    """A candidate by its number. Raises `UsageFailure`."""
    if not 0 <= number < len(search.candidates):
        raise UsageFailure(f"Search {search.id} has no candidate {number}.")
    return search.candidates[number]
