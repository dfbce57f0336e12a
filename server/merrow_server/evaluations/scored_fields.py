"""The fields of an answer that are scored: checked against what the workflow returns, each with its metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from merrow_analysis.suggest import closest
from merrow_optimizer.evaluation.answer_fields import AnswerFields
from merrow_optimizer.evaluation.data import DataError, DataSet
from merrow_optimizer.evaluation.data.names import data_file
from merrow_optimizer.evaluation.data.problems import listed
from merrow_optimizer.evaluation.data.settings import settings_beside
from merrow_optimizer.evaluation.metrics import check_options, described, metric, options_of
from merrow_optimizer.evaluation.metrics.base import BaseMetric, golds_of, shown
from merrow_optimizer.evaluation.metrics.fields import WHOLE, FieldMetric, Fields, metric_name
from merrow_runtime.values import as_text
from merrow_runtime.workflow import Workflow
from merrow_server.errors import InputError

if TYPE_CHECKING:
    from merrow_server.evaluations.evaluation_request import EvaluationRequest

JUDGE = "judge"
"""The metric that asks a model."""


def with_fields(workflow: Workflow, asked: EvaluationRequest) -> EvaluationRequest:
    """The same with the fields of the answer by the names that the workflow has for them, also those that the TOML file beside
    the data names. Raises `InputError`, `UsageFailure`, `DataError`.
    """
    golds, metrics, options = asked.golds, asked.metrics, asked.metric_options
    settings = settings_beside(data_file(asked.dataset))
    if golds is None and asked.gold is None and asked.reader is None and (settings.golds or settings.metrics):
        golds = settings.golds or {}
        metrics = {**settings.metrics, **metrics}
        options = {**settings.field_options, **options}
    if golds is None and not metrics:
        return asked
    if asked.gold is not None:
        field = next(iter(metrics or golds or ()))
        raise InputError(
            f"`{asked.gold}` is compared with the whole answer and `{field}` is a field of it; name the field of each:"
            f" --gold FIELD={asked.gold}."
        )
    known = AnswerFields(workflow.graph)
    return replace(
        asked,
        golds=_named(known, golds or {}, "--gold"),
        metrics=_named(known, metrics, "--metric"),
        metric_options={_option(known, name): value for name, value in options.items()},
        gates={known.named(name).name if name else "": least for name, least in asked.gates.items()},
    )


def fields_metric(workflow: Workflow, asked: EvaluationRequest, judging: Mapping[str, Any]) -> Fields:
    """The metric of the fields that are asked for; ``judging`` is what one that asks a model is given. Raises `DataError`."""
    known = AnswerFields(workflow.graph)
    fields = [known.named(name) for name in dict.fromkeys([*(asked.golds or {}), *asked.metrics])]
    names = {}
    for field in fields:
        usual = metric_name(field)
        named = asked.metric if usual == "exact" and field.shape.kind not in ("words", "bool") else None
        names[field.name] = asked.metrics.get(field.name) or named or usual
        if names[field.name] in WHOLE:
            raise DataError.of(
                f"The metric {names[field.name]} scores whole answers; choose another one for the field.",
                field=field.name,
            )
    options = dict(_options(names, asked.metric_options))
    made = []
    for field in fields:
        name, own = names[field.name], options.get(field.name, {})
        check_options(name, own)
        missing = next((each["name"] for each in described(name) if each["needed"] and each["name"] not in own), None)
        if missing is not None:
            option = f'--metric-option "{field.name}.{missing}=..."'
            raise DataError.of(f"The metric {name} needs the option `{missing}`: {option}.", field=field.name)
        made.append(FieldMetric(field, metric(name, **own, **(judging if name == JUDGE else {}))))
    return Fields(made, several=known.several)


def check_whole(workflow: Workflow, asked: EvaluationRequest, data: DataSet, scored_by: BaseMetric) -> None:
    """Make sure that what is compared with whole answers can be one, where these have fields. Raises `DataError`."""
    fields = AnswerFields(workflow.graph).of_record
    if scored_by.name != "exact" or not fields:
        return
    if all(item.gold is None for item in data.items):
        columns = [name for item in data.items[:1] for name in item.inputs if name in fields]
        options = " ".join(f"--gold {name}={name}" for name in columns) or f"--gold {fields[0]}=COLUMN"
        raise DataError.of(
            f"The answer has the fields {listed(fields)}; name the column with the right value of each that is scored:"
            f" {options}.",
            data.file,
        )
    for item in data.items:
        wrong = next((gold for gold in golds_of(item.gold) if not _may_be_record(gold)), None)
        if wrong is not None:
            column = asked.gold or "COLUMN"
            field = column if column in fields else "FIELD"
            raise DataError.of(
                f"The answer is a record with the fields {listed(fields)}, which {shown(as_text(wrong))} can't equal;"
                f" name the field that it is for: --gold {field}={column}.",
                data.file,
                item.place.line if item.place else None,
            )


def _may_be_record(gold: Any) -> bool:
    return gold is None or isinstance(gold, Mapping) or (isinstance(gold, str) and gold.lstrip().startswith("{"))


def asks_judge(asked: EvaluationRequest) -> bool:
    """Whether a metric may ask a model."""
    return JUDGE in (asked.metric, *asked.metrics.values())


def fields_shown(scored_by: object, asked: EvaluationRequest) -> dict[str, Any]:
    """What the journal keeps of the fields that are scored: their metrics, columns, and the values that are counted against each
    other; nothing where none are.
    """
    if not isinstance(scored_by, Fields):
        return {}
    return {
        "fields": {
            name: {
                "metric": each.metric.name,
                "gold": (asked.golds or {}).get(name),
                "labels": None if each.labels is None else list(each.labels),
            }
            for name, each in scored_by.fields.items()
        }
    }


def _named(known: AnswerFields, given: Mapping[str, str], option: str) -> dict[str, str]:
    named: dict[str, str] = {}
    for name, value in given.items():
        own = known.named(name).name
        if own in named:
            raise InputError(f"{option} names the field {own} twice.")
        named[own] = value
    return named


def _option(known: AnswerFields, name: str) -> str:
    """An option of the metric of a field, by the field's own name."""
    field, dot, option = name.rpartition(".")
    return f"{known.named(field).name}.{option}" if dot else name


def _options(names: Mapping[str, str], given: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The options of the metric of each field: those for it alone, and those that its metric has of those for all."""
    for name in given:
        field, dot, option = name.rpartition(".")
        if dot and field not in names:
            near = closest(field, names)
            hint = f"did you mean `{near}`?" if near else "name the field with --gold or --metric."
            raise DataError.of(f"The field is not scored; {hint}", field=name)
        if not dot and not any(option in options_of(each) for each in names.values()):
            raise DataError.of(
                f"No metric of a field has this option; they are {', '.join(names.values())}.", field=name
            )
    for field, scored_by in names.items():
        known = options_of(scored_by)
        own = {name: value for name, value in given.items() if "." not in name and name in known}
        yield (
            field,
            own | {name.rpartition(".")[2]: value for name, value in given.items() if name.rpartition(".")[0] == field},
        )
