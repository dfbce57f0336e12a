"""Several metrics at once: one for each field of an answer, which is right when all of its fields are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from merrow_analysis.suggest import closest
from merrow_optimizer.evaluation.answer_fields import AnswerField
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics.base import BaseMetric, golds_of, shown, text_of
from merrow_optimizer.evaluation.scores import FieldScore, InvalidItemError, PartlyScoredError, Score
from merrow_runtime.errors import AnswerFailure, BudgetFailure, EndpointFailure, UsageFailure
from merrow_runtime.operators.formats.shapes import coerce, is_of
from merrow_runtime.values import as_text

WHOLE = ("labels", "pass@1", "product", "reward")
"""Metrics of whole answers, which no field can have."""
_OF_KIND = {"number": "numeric"}
"""The metric of a field by the kind of its values; ``exact`` for all others."""
_STRUCTURED = ("list", "record", "union", "json", "any")


@dataclass(frozen=True, slots=True)
class FieldMetric:
    """A field, and what scores it."""

    field: AnswerField
    metric: BaseMetric

    @property
    def labels(self) -> tuple[str, ...] | None:
        """The values that there can be, where the answers and the right ones are counted against each other."""
        if self.metric.name != "exact":
            return None
        return {"words": self.field.shape.words, "bool": ("true", "false")}.get(self.field.shape.kind)

    def item(self, item: Item) -> Item:
        """The item as the metric sees it: its gold is that of the field, as a value of its type. Raises `UsageFailure`."""
        gold = item.gold.get(self.field.name) if isinstance(item.gold, Mapping) else None
        return replace(item, gold=self._typed(gold))

    def _typed(self, gold: Any) -> Any:
        kind = self.field.shape.kind
        if gold is None or self.metric.name != "exact" or kind in ("text", "code", "workflow"):
            return gold
        if kind in _STRUCTURED:
            return [self._one(gold)]  # not a list of golds, any of which is right
        several = [self._one(each) for each in golds_of(gold)]
        return several if isinstance(gold, list) else several[0]

    def _one(self, gold: Any) -> Any:
        shape = self.field.shape
        if is_of(gold, shape):
            return gold
        try:
            return coerce(gold, shape)
        except AnswerFailure as problem:
            near = closest(gold, shape.words) if isinstance(gold, str) and shape.words else None
            hint = f" Did you mean `{near}`?" if near else ""
            raise UsageFailure(f"the right answer is not of type {self.field.type}: {problem}{hint}") from None


def metric_name(field: AnswerField) -> str:
    """The metric of a field that a person named none for."""
    return _OF_KIND.get(field.shape.kind, "exact")


class Fields(BaseMetric):
    """The lowest of the scores of the fields, each by its own metric; the gold of an item has the right values by field."""

    version = 1

    def __init__(self, fields: Iterable[FieldMetric], *, several: bool) -> None:
        """``several`` says that the workflow has several outputs."""
        self.fields = {each.field.name: each for each in fields}
        super().__init__({name: each.metric.identity for name, each in self.fields.items()})
        self.name = ", ".join(f"{name}={each.metric.name}" for name, each in self.fields.items())
        self.needs_gold = any(each.metric.needs_gold for each in self.fields.values())
        self.reads_all = several
        self.judges = sum(each.metric.judges for each in self.fields.values())

    @property
    def identity(self) -> str:
        own = BaseMetric({"fields": self.options})
        own.name = "fields"
        return own.identity

    def fault(self, item: Item) -> str | None:
        for name, each in self.fields.items():
            try:
                own = each.item(item)
            except UsageFailure as problem:
                return f"`{name}`: {problem}".rstrip(".")
            why = "there is no gold answer" if each.metric.needs_gold and own.gold is None else each.metric.fault(own)
            if why:
                return f"`{name}`: {why}"
        return None

    async def prepare(self) -> None:
        for each in self.fields.values():
            await each.metric.prepare()

    def remarks(self, items: Sequence[Item]) -> list[str]:
        return [
            f"{name}: {remark}"
            for name, each in self.fields.items()
            for remark in each.metric.remarks([each.item(item) for item in items])
        ]

    async def score(self, item: Item, output: Any) -> Score:
        scores: dict[str, FieldScore] = {}
        cause: Exception | None = None
        for name, each in self.fields.items():
            if each.metric.judges and isinstance(cause, EndpointFailure | BudgetFailure):
                continue  # it gives no answer now
            try:
                scores[name] = await self._one(each, item, output)
            except (InvalidItemError, EndpointFailure, BudgetFailure) as problem:
                # One that a resume may mend is the one to tell.
                cause = problem if cause is None or isinstance(cause, InvalidItemError) else cause
        if cause is not None:
            raise PartlyScoredError(scores, cause)
        reasons = [f"{name}: {score.reason}" for name, score in scores.items() if score.value < 1]
        read = ", ".join(f"{name}: {score.read}" for name, score in scores.items())
        lowest = min(score.value for score in scores.values())
        return Score(lowest, shown(read), shown("; ".join(reasons) or "all fields are right"), scores)

    def failed(self, item: Item, reason: str) -> Mapping[str, FieldScore]:
        return {name: FieldScore(0.0, "", _gold_text(each.item(item)), reason) for name, each in self.fields.items()}

    async def close(self) -> None:
        for each in self.fields.values():
            await each.metric.close()

    async def _one(self, each: FieldMetric, item: Item, output: Any) -> FieldScore:
        own = each.item(item)
        try:
            value = each.field.of(output)
        except KeyError:
            return FieldScore(0.0, "", _gold_text(own), "the answer has no such field")
        try:
            score = await each.metric.score(own, value)
        except InvalidItemError as problem:
            raise InvalidItemError(f"{each.field.name}: {problem}") from None
        if not 0 <= score.value <= 1:
            raise InvalidItemError(f"{each.field.name}: the metric {each.metric.name} gave {score.value}, not 0 to 1")
        read = shown(text_of(value)) if each.labels is not None else score.read
        return FieldScore(float(score.value), read, _gold_text(own), score.reason)


def _gold_text(item: Item) -> str:
    if item.gold is None:
        return ""
    return shown(" or ".join(as_text(gold) for gold in golds_of(item.gold)))
