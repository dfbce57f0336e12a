"""Metrics: the score of an answer, what was read as the answer, and why."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from merrow_analysis.suggest import closest
from merrow_optimizer.evaluation.data.problems import DataError, DataProblem, listed

if TYPE_CHECKING:
    from merrow_optimizer.evaluation.data.data_set import DataSet
    from merrow_optimizer.evaluation.metrics.base import BaseMetric

_CLASSES: Mapping[str, tuple[str, str]] = {
    "gsm8k": ("figures", "Gsm8k"),
    "math": ("solutions", "Math"),
    "math-published": ("solutions", "MathPublished"),
    "f1": ("words", "F1"),
    "pass@1": ("programs", "PassAt1"),
    "exact": ("words", "Exact"),
    "contains": ("words", "Contains"),
    "numeric": ("figures", "Numeric"),
    "regex": ("forms", "Regex"),
    "json-schema": ("forms", "Schema"),
    "choice": ("choice", "Choice"),
    "python": ("programs", "PythonFile"),
    "judge": ("judge", "Judge"),
    "labels": ("verdicts", "Verdicts"),
    "product": ("products.metric", "Product"),
    "reward": ("reward", "Reward"),
}
"""The module and the class of each metric: a metric is imported only when it is used."""

METRICS: tuple[str, ...] = tuple(_CLASSES)

FILE_OPTIONS = ("file", "schema")
"""Options that name files, where they are texts."""
NUMBER_OPTIONS = ("tolerance", "letters", "threshold")
"""Options that are numbers."""
_TEXT_OPTIONS = ("separator", "pattern", "file", "rubric")
_INNER = frozenset({"ask", "model", "verdict_of", "edition", "sandbox"})
"""What Merrow itself gives to metrics."""


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Make sure that a person may give these options to the metric of a name. Raises `DataError`."""
    known, _ = _parameters(_class(name))
    for option, value in options.items():
        if option in _INNER or option not in known:
            raise _unknown_option(name, option, known)
        if option in _TEXT_OPTIONS and not isinstance(value, str):
            raise DataError.of("The option must be a text.", field=option)


def options_of(name: str) -> list[str]:
    """The options that a person may give to the metric of a name. Raises `DataError`."""
    return [option for option in _parameters(_class(name))[0] if option not in _INNER]


def described(name: str) -> list[dict[str, Any]]:
    """The options of the metric of a name for people who choose: whether each is needed, and names a file."""
    known, needed = _parameters(_class(name))
    return [
        {"name": option, "needed": option in needed, "file": option in FILE_OPTIONS}
        for option in known
        if option not in _INNER
    ]


def metric(name: str, **options: Any) -> BaseMetric:
    """The metric of a name.

    Args:
        name: one of `METRICS`.
        options: ``separator`` (f1), ``tolerance`` (numeric), ``pattern`` (regex), ``schema`` (json-schema: an object or a file),
            ``letters`` (choice), ``file`` (python, needed), ``rubric`` (judge, needed), ``threshold``, ``ask`` and ``model``
            (judge), ``sandbox`` (pass@1, python, product).

    Raises:
        DataError: the name isn't known, or an option is missing, unknown or wrong.
    """
    made = _class(name)
    known, needed = _parameters(made)
    for option in options:
        if option not in known:
            raise _unknown_option(name, option, known)
    missing = [option for option in needed if option not in options]
    if missing:
        raise DataError.of(f"The metric {name} needs the option `{missing[0]}`.", field=missing[0])
    return made(**options)


def _class(name: str) -> type[BaseMetric]:
    if name not in _CLASSES:
        near = closest(name, METRICS)
        hint = f"did you mean `{near}`?" if near else f"the metrics are {', '.join(METRICS)}."
        raise DataError.of(f"There is no metric `{name}`; {hint}", field="metric")
    module, class_name = _CLASSES[name]
    made: type[BaseMetric] = getattr(importlib.import_module(f"{__name__}.{module}"), class_name)
    return made


def _unknown_option(name: str, option: str, known: Sequence[str]) -> DataError:
    own = [each for each in known if each not in _INNER]
    near = closest(option, own)
    hint = f"did you mean `{near}`?" if near else f"its options are {listed(own)}." if own else "it has none."
    return DataError.of(f"The metric {name} has no option `{option}`; {hint}", field=option)


async def check_scoring(data: DataSet, scored_by: BaseMetric) -> None:
    """Make sure, before the first call, that the metric can score every item.

    Raises:
        DataError: with each item that it can't score, or with what the metric itself lacks.
    """
    problems: list[DataProblem] = []
    for item in data.items:
        why = "there is no gold answer" if scored_by.needs_gold and item.gold is None else scored_by.fault(item)
        if why:
            place = item.place
            # Where a field is named, its type says what it is compared as.
            by = "" if why.startswith("`") else f" (metric {scored_by.name})"
            sentence = f"{why[0].upper()}{why[1:]}{by}{'' if why.endswith('?') else '.'}"
            problems.append(DataProblem(sentence, place.file if place else data.file, place.line if place else None))
    if problems and len(problems) == len(data.items) and scored_by.needs_gold and data.items[0].gold is None:
        raise DataError.of(
            f"The metric {scored_by.name} compares with a gold answer; name its field: --gold FIELD.", data.file
        )
    if problems:
        raise DataError(sorted(problems, key=lambda problem: problem.line or 0))
    await scored_by.prepare()


def _parameters(made: type[BaseMetric]) -> tuple[list[str], list[str]]:
    """The options of a metric's class, and those that it needs."""
    import inspect

    parameters = [each for each in inspect.signature(made).parameters.values() if each.name != "options"]
    return [each.name for each in parameters], [each.name for each in parameters if each.default is each.empty]
