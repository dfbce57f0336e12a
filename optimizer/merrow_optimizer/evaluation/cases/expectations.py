"""Expectations of cases as metrics: made, checked before the first call, and judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from merrow_analysis.cases.cases_reader import Case, Expectation
from merrow_analysis.cases.schema import CASE_METRICS
from merrow_optimizer.evaluation.data.problems import DataError
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics import metric
from merrow_optimizer.evaluation.metrics.base import BaseMetric, golds_of, text_of
from merrow_optimizer.evaluation.metrics.judge import Ask
from merrow_optimizer.evaluation.scores import Score
from merrow_runtime.values import as_text


@dataclass(frozen=True, slots=True)
class ExpectationVerdict:
    """What an expectation says of an output: whether it holds; what was expected and read, as texts; and why."""

    holds: bool
    expected: str
    read: str
    reason: str


def metric_of(one: Expectation, folder: Path, ask: Ask | None = None, model: str = "") -> BaseMetric:
    """The metric of an expectation; files are named from ``folder``. Raises `DataError`."""
    option = CASE_METRICS[one.metric].option
    options: dict[str, Any] = {key: value for key, value in one.options.items() if key != "gold"}
    if option is not None:
        options[option] = folder / one.value if option == "file" else one.value
    elif one.metric == "json-schema" and isinstance(one.value, str):
        options["schema"] = folder / one.value
    if one.metric == "judge":
        options |= {"ask": ask, "model": model}
    return metric(one.metric, **options)


def item_of(case: Case, one: Expectation, inputs: Mapping[str, Any]) -> Item:
    """What the metric compares an output with."""
    gold = one.options.get("gold") if CASE_METRICS[one.metric].option is not None else one.value
    return Item(case.id, dict(inputs), gold)


def refusal(case: Case, one: Expectation, folder: Path) -> str | None:
    """Why a metric can't judge by an expectation, in a sentence; None where it can."""
    try:
        made = metric_of(one, folder)
    except DataError as problem:
        return " ".join(each.sentence for each in problem.problems)
    except (OSError, ValueError, TypeError) as problem:
        return f"The metric {one.metric} can't be used so: {problem}."
    why = made.fault(item_of(case, one, {}))
    return None if why is None else f"The metric {one.metric} can't judge by this: {why}."


async def judged(one: Expectation, scored_by: BaseMetric, item: Item, output: Any) -> ExpectationVerdict:
    """The verdict on an output. Raises `InvalidItemError` where the metric failed."""
    score = await scored_by.score(item, output)
    good = score.value >= one.at_least
    return ExpectationVerdict(good is not one.negated, expected_text(one), text_of(output), _reason(one, score))


def expected_text(one: Expectation) -> str:
    """What an expectation asks for, as a text to compare with an output."""
    if one.metric == "exact" and not one.negated:
        return as_text(one.value)
    words = " or ".join(as_text(value) for value in golds_of(one.value)) if isinstance(one.value, list) else None
    least = f", at least {one.at_least:g}" if one.metric in ("f1", "judge", "python") else ""
    return f"{one.name}: {as_text(one.value) if words is None else words}{least}"


def _reason(one: Expectation, score: Score) -> str:
    if one.metric in ("f1", "judge", "python") and one.at_least < 1:
        return f"{score.reason}; {'below' if one.negated else 'at least'} {one.at_least:g} is wanted"
    return score.reason
