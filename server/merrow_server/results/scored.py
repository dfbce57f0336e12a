"""The rows of an evaluation or of a batch: a row for each answer, failures first."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from merrow_optimizer.evaluation.scores import Status
from merrow_runtime.errors import RunFailure, UsageFailure
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import BATCH, EvaluationRecord, ScoreRecord, output_of
from merrow_runtime.values import as_text
from merrow_runtime.workflow import restore
from merrow_server.evaluations.batch_data import batch_object
from merrow_server.evaluations.batch_output import ANSWERED, answered, leaf_fields
from merrow_server.evaluations.evaluation_data import (
    InputReader,
    evaluation_object,
    label_object,
    with_inputs,
)
from merrow_server.evaluations.known_items import KnownItems
from merrow_server.results.table import Cell, Column, Json, ResultTable, cut, texts_of

_ORDER = (Status.FAILED, Status.WRONG, Status.INVALID, Status.UNANSWERED, Status.RIGHT)
_MOST_INPUTS = 4
"""Inputs that have a column each."""
_LONGEST = 20_000
"""Characters of one text of a row that is looked at alone."""
ITEM = Column("item", "Item", "item")
LAST = (Column("verdict", "Verdict", "verdict"), Column("cost", "Cost", "cost"), Column("seconds", "Time", "seconds"))


class ScoredTable(ResultTable):
    """The answers of an evaluation, or of a batch, which has none right or wrong; ``place`` says where its workflow is."""

    def __init__(self, user: Store, record: EvaluationRecord, place: Json) -> None:
        super().__init__()
        self._user, self._record = user, record
        self._is_batch = record.metric == BATCH
        self._known = KnownItems.of(record.plan)
        self._place = place
        order: list[tuple[int, int, int]] = []
        cost, seconds = array("d"), array("d")

        def noted() -> Iterator[ScoreRecord]:
            for number, score in user.evaluations.scores(record.id).numbered():
                place = self._known.place(score.item) * record.repeats + score.repeat
                order.append((_ORDER.index(Status(score.status)) << 60 | place, number, len(cost)))
                cost.append(-1.0 if score.usage.cost_usd is None else score.usage.cost_usd)
                seconds.append(score.seconds)
                yield score

        self._head = evaluation_object(user, record, noted())
        # Who looks at a batch knows the rows as their file has them; an evaluation's have no order that anybody knows.
        order.sort(key=self._row_of_file if self._is_batch else None)
        self._numbers = array("q", (number for _, number, _ in order))
        self._cost: list[float | None] = [None if cost[at] < 0 else cost[at] for *_, at in order]
        self._seconds = [seconds[at] for *_, at in order]
        statuses = [_ORDER[key >> 60] for key, *_ in order]
        self.verdicts = [self._verdict(status) for status in statuses]
        self._ranks = [_ORDER.index(status) for status in statuses]
        self._items = [key & (1 << 60) - 1 for key, *_ in order]
        self._inputs = self._input_names()
        self.fields: dict[str, Any] = dict(record.plan.get("fields", {}))
        self._answers = _answer_fields(record) if self._is_batch else []
        self.columns = (ITEM, *input_columns(self._inputs), *self._answer_columns(), *LAST)
        self._pairs: tuple[str, list[tuple[str, str]]] | None = None

    def _row_of_file(self, entry: tuple[int, int, int]) -> tuple[int, int, int]:
        status, place = entry[0] >> 60, entry[0] & (1 << 60) - 1
        return status, self._known.line(place // self._record.repeats), place

    def head(self) -> Json:
        """The evaluation, or the batch, as it is listed."""
        if self._is_batch:
            return {**batch_object(self._user, self._record), **self._place}
        return {**self._head, **self._place}

    def read(self, places: Sequence[int], longest: int) -> list[tuple[Json, list[Cell]]]:
        """Some rows. One that another process has scored again since has no cells."""
        rated = not self._is_batch and bool(self._user.labels.edition)
        scores = self.scores(places, outputs=rated)
        with InputReader(self._user, self._record.id) as inputs:
            asked = inputs.added([{"run": "" if score is None else score.run} for score in scores], longest)
        rows: list[tuple[Json, list[Cell]]] = []
        for place, score, given in zip(places, scores, asked, strict=True):
            if score is None:
                blank: list[Cell] = [None] * len(self.columns)
                rows.append(({"key": "", "verdict": self.verdicts[place], "run": "", "wrong": [], "reason": ""}, blank))
            else:
                rows.append((self._row(score, rated=rated), self._cells(score, given["inputs"], longest)))
        return rows

    def scores(self, places: Sequence[int], *, outputs: bool = False) -> list[ScoreRecord | None]:
        """The scores at some places; None for one that another took the place of since."""
        numbers = [self._numbers[place] for place in places]
        outputs = outputs or self._is_batch
        scores = self._user.evaluations.scored(numbers, outputs=outputs)
        if len(scores) == len(numbers):
            return list(scores)
        return [next(iter(self._user.evaluations.scored([number], outputs=outputs)), None) for number in numbers]

    def known(self, column: Column) -> Sequence[Any] | None:
        """Of what is kept of all rows, and of fields that are scored."""
        if column.name == "item":
            keys = [
                _natural(item) if self._known.title(item) == item else ["", self._known.line(place), ""]
                for place, item in enumerate(self._known)
            ]
            return [(keys[at // self._record.repeats], at % self._record.repeats) for at in self._items]
        of_rows: dict[str, Sequence[Any]] = {
            "verdict": self._ranks,
            "cost": self._cost,
            "seconds": self._seconds,
        }
        return of_rows.get(column.name)

    def pairs(self, field: str) -> Sequence[tuple[str, str]]:
        """Of a field that is scored. Raises `UsageFailure` for another one."""
        if field not in self.fields:
            raise UsageFailure(f"The field `{field}` is not scored in {self._record.id}.")
        if self._pairs is None or self._pairs[0] != field:
            found: dict[int, tuple[str, str]] = {}
            for number, score in self._user.evaluations.scores(self._record.id).numbered():
                each = (score.fields or {}).get(field, {})
                found[number] = str(each.get("read", "")), str(each.get("gold", ""))
            self._pairs = field, [found.get(number, ("", "")) for number in self._numbers]
        return self._pairs[1]

    def whole(self, key: str) -> Json:
        """One answer: what was asked, what each field of it is and should be, what people said of it."""
        repeat, _, item = key.partition(" ")
        score = self._user.evaluations.score(self._record.id, item, int(repeat)) if repeat.isdecimal() else None
        if score is None:
            raise UsageFailure(f"{self._record.id} has no answer to {item}.")
        (row,) = with_inputs(self._user, [{"run": score.run}])
        hashed = self._known.hash(item)
        label: Json = {}
        if not self._is_batch and score.output is not None and hashed is not None:
            label = label_object(self._user.labels.label(hashed, score.output))
        return {
            **self._row(score),
            "title": self._known.title(score.item),
            "status": self._verdict(Status(score.status)),
            "value": score.value,
            "inputs": None if row["inputs"] is None else _cut_all(texts_of(row["inputs"])),
            "answers": [{name: cut(value, _LONGEST) for name, value in each.items()} for each in self._parts(score)],
            "reason": cut(score.reason, _LONGEST),
            "usage": score.usage.to_json(),
            "seconds": score.seconds,
            "exhausted": score.exhausted,
            "canRate": "verdict" in label,
            "people": label.get("verdict"),
            "note": label.get("note", ""),
        }

    def by_answer(self) -> dict[tuple[int, str], int]:
        """The places of the rows by repeat and item."""
        items, repeats = list(self._known), self._record.repeats
        return {(at % repeats, items[at // repeats]): place for place, at in enumerate(self._items)}

    def answer_cells(self, score: ScoreRecord, longest: int) -> list[str]:
        """What an answer has in the columns of answers."""
        if self._is_batch:
            return ["" if value is None else cut(as_text(value), longest) for value in answered(score, self._answers)]
        if self.fields:
            return [cut(str((score.fields or {}).get(name, {}).get("read", "")), longest) for name in self.fields]
        return [cut(score.read, longest)]

    def gold(self, score: ScoreRecord) -> str:
        """The right answer; of scored fields the right value of each."""
        if not self.fields:
            return self._known.gold(score.item)
        return ", ".join(f"{name}: {gold}" for name, gold in self._golds(score).items() if gold)

    def _golds(self, score: ScoreRecord) -> dict[str, str]:
        """The right values of the fields that are scored, also of an answer that has none of them."""
        if score.fields:
            return {name: str(each.get("gold", "")) for name, each in score.fields.items()}
        try:
            known = json.loads(self._known.gold(score.item))
        except ValueError:  # it may be cut
            known = None
        golds = known if isinstance(known, dict) else {}
        return {name: as_text(golds.get(name, "")) for name in self.fields}

    def _row(self, score: ScoreRecord, *, rated: bool = False) -> Json:
        wrong = [name for name, each in (score.fields or {}).items() if each.get("value") != 1]
        row: Json = {
            "key": f"{score.repeat} {score.item}",
            "item": score.item,
            "repeat": score.repeat,
            "verdict": self._verdict(Status(score.status)),
            "reason": cut(score.reason, 400),
            "run": score.run,
            "wrong": wrong,
        }
        if rated and score.output is not None and (hashed := self._known.hash(score.item)) is not None:
            row["people"] = label_object(self._user.labels.label(hashed, score.output))["verdict"]
        return row

    def _cells(self, score: ScoreRecord, inputs: Json | None, longest: int) -> list[Cell]:
        title = self._known.title(score.item)
        name = title if self._record.repeats == 1 else f"{title} ({score.repeat + 1})"
        value = score.value
        part = f" {value:.2f}" if value is not None and 0 < value < 1 else ""
        return [
            cut(name, longest),
            *input_cells(inputs, self._inputs, longest),
            *self.answer_cells(score, longest),
            *([] if self._is_batch else [cut(self.gold(score), longest)]),
            f"{self._verdict(Status(score.status))}{part}",
            score.usage.cost_usd,
            score.seconds,
        ]

    def _verdict(self, status: Status) -> str:
        return ANSWERED if self._is_batch and status == Status.RIGHT else status.value

    def _answer_columns(self) -> Iterator[Column]:
        if self._is_batch:
            yield from (Column(f"answer {each.name}", each.name, "answer", each.name) for each in self._answers)
            return
        if self.fields:
            yield from (Column(f"answer {name}", name, "answer", name) for name in self.fields)
        else:
            yield Column("answer", "Answer", "answer")
        yield Column("expected", "Expected", "expected")

    def _parts(self, score: ScoreRecord) -> Iterator[dict[str, str]]:
        """The answer by its fields, as far as there are any."""
        if self._is_batch:
            for field, value in zip(self._answers, answered(score, self._answers), strict=True):
                yield {"name": field.name, "read": "" if value is None else as_text(value), "gold": "", "reason": ""}
            return
        for name, each in (score.fields or {}).items():
            yield {"name": name, **{key: str(each.get(key, "")) for key in ("read", "gold", "reason")}}
        if not score.fields and self.fields:
            for name, gold in self._golds(score).items():
                yield {"name": name, "read": "", "gold": gold, "reason": ""}
        elif not score.fields:
            whole = score.read if score.output is None else as_text(output_of(score.output))
            yield {"name": "", "read": whole, "gold": self._known.gold(score.item), "reason": ""}

    def _input_names(self) -> list[str]:
        """The inputs, as the first row has them whose are known."""
        for start in (0, max(0, len(self._numbers) - 8)):
            scores = self._user.evaluations.scored(self._numbers[start : start + 8])
            for row in with_inputs(self._user, [{"run": score.run} for score in scores]):
                if row["inputs"]:
                    return list(row["inputs"])
        return []


def input_columns(names: Sequence[str]) -> Iterator[Column]:
    """A column for each input, or one for all where there are many."""
    if not 0 < len(names) <= _MOST_INPUTS:
        yield Column("inputs", "Inputs", "input")
        return
    yield from (Column(f"input {name}", name, "input") for name in names)


def input_cells(inputs: Json | None, names: Sequence[str], longest: int) -> list[Cell]:
    """What was asked, in the columns of `input_columns`."""
    if not 0 < len(names) <= _MOST_INPUTS:
        if inputs is None:
            return [None]
        return [cut("; ".join(f"{name}: {as_text(value)}" for name, value in inputs.items()), longest)]
    if inputs is None:
        return [None] * len(names)
    return [cut(as_text(inputs[name]), longest) if name in inputs else None for name in names]


def _natural(name: str) -> list[Any]:
    """What names are sorted by: numbers in them as numbers, so that q9 comes before q10."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"([0-9]{1,15})", name.casefold())]


def _answer_fields(record: EvaluationRecord) -> list[Any]:
    """The fields of the answers of a batch, without those of a workflow that this version of Merrow can't read."""
    try:
        return leaf_fields(restore(record.plan["snapshot"]))
    except RunFailure:
        return []


def _cut_all(texts: Json) -> Json:
    return {name: cut(text, _LONGEST) for name, text in texts.items()}
