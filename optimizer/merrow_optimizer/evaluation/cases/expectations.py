"""Expectations of cases as metrics: made, checked before the first call, and judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from merrow_analysis.cases.cases_reader import Case, Expectation
from merrow_analysis.cases.checking import UnknownField
from merrow_analysis.cases.schema import CASE_METRICS
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.suggest import closest
from merrow_optimizer.evaluation.answer_fields import AnswerField, AnswerFields
from merrow_optimizer.evaluation.data.problems import DataError
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics import metric
from merrow_optimizer.evaluation.metrics.base import BaseMetric, golds_of, text_of
from merrow_optimizer.evaluation.metrics.fields import FieldMetric, metric_name
from merrow_optimizer.evaluation.metrics.judge import Ask
from merrow_optimizer.evaluation.scores import Score
from merrow_runtime.errors import UsageFailure
from merrow_runtime.values import as_text


@dataclass(frozen=True, slots=True)
class ExpectationVerdict:
    """What an expectation says of an output: whether it holds; what was expected and read, as texts; and why."""

    holds: bool
    expected: str
    read: str
    reason: str


def field_of(graph: TypedGraph, expectation: Expectation) -> AnswerField | None:
    """The field that an expectation is about; None where it is about a whole output. Raises `UsageFailure`."""
    if expectation.field is None:
        return None
    above = "" if expectation.output is None else f"{expectation.output}."
    return AnswerFields(graph).named(f"{above}{expectation.field}")


def field_fault(graph: TypedGraph, expectation: Expectation) -> UnknownField | None:
    """What is wrong with the field of an expectation; None where the workflow returns it."""
    try:
        field_of(graph, expectation)
    except UsageFailure as problem:
        return UnknownField(str(problem), closest(expectation.field or "", [each.name for each in AnswerFields(graph)]))
    return None


def typed(expectation: Expectation, field: AnswerField | None) -> Expectation:
    """The same with the metric that the type of its field asks for, and its value as one of that type. Raises `UsageFailure`."""
    if field is None:
        return expectation
    named = metric_name(field) if expectation.by_type else expectation.metric
    if CASE_METRICS[named].option is not None:
        return expectation
    of_field = FieldMetric(field, metric(named))
    value = of_field.item(Item("", {}, {field.name: expectation.value})).gold
    return replace(expectation, metric=named, value=value)


def metric_of(expectation: Expectation, folder: Path, ask: Ask | None = None, model: str = "") -> BaseMetric:
    """The metric of an expectation; files are named from ``folder``. Raises `DataError`."""
    option = CASE_METRICS[expectation.metric].option
    options: dict[str, Any] = {key: value for key, value in expectation.options.items() if key != "gold"}
    if option is not None:
        options[option] = folder / expectation.value if option == "file" else expectation.value
    elif expectation.metric == "json-schema" and isinstance(expectation.value, str):
        options["schema"] = folder / expectation.value
    if expectation.metric == "judge":
        options |= {"ask": ask, "model": model}
    return metric(expectation.metric, **options)


def item_of(case: Case, expectation: Expectation, inputs: Mapping[str, Any]) -> Item:
    """What the metric compares an output with."""
    gold = expectation.options.get("gold") if CASE_METRICS[expectation.metric].option is not None else expectation.value
    return Item(case.id, dict(inputs), gold)


def refusal(case: Case, expectation: Expectation, folder: Path, graph: TypedGraph | None = None) -> str | None:
    """Why a metric can't judge by an expectation, in a sentence; None where it can. ``graph`` is that of the workflow, where it
    can be read.
    """
    try:
        if graph is not None:
            expectation = typed(expectation, field_of(graph, expectation))
        made = metric_of(expectation, folder)
    except UsageFailure as problem:
        return f"`{expectation.field}`: {problem}"
    except DataError as problem:
        return " ".join(each.sentence for each in problem.problems)
    except (OSError, ValueError, TypeError) as problem:
        return f"The metric {expectation.metric} can't be used so: {problem}."
    why = made.fault(item_of(case, expectation, {}))
    return None if why is None else f"The metric {expectation.metric} can't judge by this: {why}."


async def judged(expectation: Expectation, scored_by: BaseMetric, item: Item, output: Any) -> ExpectationVerdict:
    """The verdict on an output. Raises `InvalidItemError` where the metric failed."""
    score = await scored_by.score(item, output)
    good = score.value >= expectation.at_least
    return ExpectationVerdict(
        good is not expectation.negated, expected_text(expectation), text_of(output), _reason(expectation, score)
    )


def expected_text(expectation: Expectation) -> str:
    """What an expectation asks for, as a text to compare with an output."""
    if expectation.metric == "exact" and not expectation.negated:
        return as_text(expectation.value)
    words = (
        " or ".join(as_text(value) for value in golds_of(expectation.value))
        if isinstance(expectation.value, list)
        else None
    )
    least = f", at least {expectation.at_least:g}" if expectation.metric in ("f1", "judge", "python") else ""
    return f"{expectation.name}: {as_text(expectation.value) if words is None else words}{least}"


def _reason(expectation: Expectation, score: Score) -> str:
    if expectation.metric in ("f1", "judge", "python") and expectation.at_least < 1:
        return f"{score.reason}; {'below' if expectation.negated else 'at least'} {expectation.at_least:g} is wanted"
    return score.reason
