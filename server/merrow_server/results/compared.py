"""Two evaluations of the same data side by side: a row for each answer, those that turned first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from merrow_optimizer.evaluation.summary import Comparison
from merrow_runtime.errors import UsageFailure
from merrow_server.results.scored import ITEM, LAST, ScoredTable
from merrow_server.results.table import Cell, Column, Json, ResultTable

_TURNED = ("worse", "better", "same", "left out")
"""In the order of the rows."""
_BEFORE, _AFTER = "before", "after"


class ComparedTable(ResultTable):
    """``before`` and ``after`` are the tables of the evaluations; ``note`` says what is odd about comparing them."""

    def __init__(self, before: ScoredTable, after: ScoredTable, compared: Comparison, note: str | None) -> None:
        super().__init__()
        self._sides = {_BEFORE: before, _AFTER: after}
        self._compared, self._note = compared, note
        first, second = before.by_answer(), after.by_answer()
        better, worse = set(compared.better), set(compared.worse)
        rows: list[tuple[int, int | None, int | None]] = []
        for answer in dict.fromkeys([*second, *first]):
            one, other = first.get(answer), second.get(answer)
            item = answer[1]
            counted = one is not None and other is not None
            turned = "worse" if item in worse else "better" if item in better else "same" if counted else "left out"
            rows.append((_TURNED.index(turned), one, other))
        rows.sort(key=lambda row: row[0])
        self.verdicts = [_TURNED[turned] for turned, *_ in rows]
        self._rows = [(one, other) for _, one, other in rows]
        self._names = [name for name in after.fields if name in before.fields]
        own = after.columns
        answers = [*_answers(self._names)]
        self.columns = (
            ITEM,
            *(one for one in own if one.kind == "input"),
            *answers,
            *(one for one in own if one.kind == "expected"),
            Column("turned", "Turned", "verdict"),
            *LAST[1:],
        )

    def head(self) -> Json:
        """Both evaluations, and the difference on the items that both scored."""
        heads = {side: table.head() for side, table in self._sides.items()}
        return {**heads, **self._compared.to_json(), "note": self._note}

    def read(self, places: Sequence[int], longest: int) -> list[tuple[Json, list[Cell]]]:
        """Some rows: inputs, the right answer, cost and time are those of the second evaluation, where it has the answer."""
        pairs = [self._rows[place] for place in places]
        sides = {
            side: _by_place(table, [pair[number] for pair in pairs], longest)
            for number, (side, table) in enumerate(self._sides.items())
        }
        rows = []
        for place, (one, other) in zip(places, pairs, strict=True):
            before = None if one is None else sides[_BEFORE].get(one)
            after = None if other is None else sides[_AFTER].get(other)
            rows.append(self._row(self.verdicts[place], before, after))
        return rows

    def known(self, column: Column) -> Sequence[Any] | None:
        """What turned, and what the second evaluation knows."""
        if column.name == "turned":
            return [_TURNED.index(turned) for turned in self.verdicts]
        values = self._sides[_AFTER].known(column)
        if values is None:
            return None
        return [None if other is None else values[other] for _, other in self._rows]

    def pairs(self, field: str) -> Sequence[tuple[str, str]]:
        """Of the second evaluation."""
        pairs = self._sides[_AFTER].pairs(field)
        return [("", "") if other is None else pairs[other] for _, other in self._rows]

    def whole(self, key: str) -> Json:
        """Both answers; what is in only one evaluation is None in the other."""
        found: dict[str, Json | None] = {}
        for side, table in self._sides.items():
            try:
                found[side] = table.whole(key)
            except UsageFailure:
                found[side] = None
        if found[_BEFORE] is None and found[_AFTER] is None:
            raise UsageFailure(f"Neither evaluation has an answer to {key.partition(' ')[2]}.")
        return found

    def _row(
        self, turned: str, before: tuple[Json, list[Cell]] | None, after: tuple[Json, list[Cell]] | None
    ) -> tuple[Json, list[Cell]]:
        shown = after or before
        if shown is None:
            return {"key": "", "verdict": turned, "run": "", "wrong": [], "reason": ""}, [None] * len(self.columns)
        of_shown = self._sides[_AFTER if after is not None else _BEFORE]
        cells: Mapping[str, Cell] = _named(of_shown, shown)
        sides = {
            _BEFORE: {} if before is None else _named(self._sides[_BEFORE], before),
            _AFTER: {} if after is None else _named(self._sides[_AFTER], after),
        }
        found: list[Cell] = []
        for column in self.columns:
            side, _, name = column.name.partition(" ")
            if column.name == "turned":
                found.append(_turned_words(before, after))
            elif side in sides and column.kind == "answer":
                found.append(sides[side].get(name))
            else:
                found.append(cells.get(column.name))
        wrong: list[str] = []
        for side, row in ((_BEFORE, before), (_AFTER, after)):
            if row is not None:
                names = row[0]["wrong"] if self._names else [""] if row[0]["verdict"] == "wrong" else []
                wrong += [f"{side} {name}" for name in names]
        return {**shown[0], "verdict": turned, "wrong": wrong}, found


def _answers(fields: Sequence[str]) -> Iterator[Column]:
    """Both answers, or both of each field that both scored, beside each other."""
    for name in fields:
        for side in (_BEFORE, _AFTER):
            yield Column(f"{side} answer {name}", f"{name} ({side})", "answer", name)
    if not fields:
        yield Column("before answer", "Before", "answer")
        yield Column("after answer", "After", "answer")


def _by_place(table: ScoredTable, places: Sequence[int | None], longest: int) -> dict[int, tuple[Json, list[Cell]]]:
    known = [place for place in places if place is not None]
    return dict(zip(known, table.read(known, longest), strict=True))


def _named(table: ScoredTable, row: tuple[Json, list[Cell]]) -> dict[str, Cell]:
    return {column.name: cell for column, cell in zip(table.columns, row[1], strict=True)}


def _turned_words(before: tuple[Json, list[Cell]] | None, after: tuple[Json, list[Cell]] | None) -> str:
    one, other = ("not asked" if row is None else str(row[0]["verdict"]) for row in (before, after))
    return one if one == other else f"{one} → {other}"
