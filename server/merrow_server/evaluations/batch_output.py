"""What a batch gave, as a file: a row for each of the data, with the fields of its answer, its status and its cost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from merrow_optimizer.evaluation.answer_fields import AnswerField, AnswerFields
from merrow_optimizer.evaluation.data import DataError
from merrow_optimizer.evaluation.data.data_set import DataSet
from merrow_optimizer.evaluation.data.formats import read_records
from merrow_optimizer.evaluation.data.problems import Collector
from merrow_optimizer.evaluation.endings import all_outputs
from merrow_optimizer.evaluation.scores import Status
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord, ScoreRecord, output_of
from merrow_runtime.values import as_text
from merrow_runtime.workflow import Workflow
from merrow_server.errors import InputError
from merrow_server.files import write_bytes
from merrow_server.rendering.csv_text import csv_lines

FORMS = (".csv", ".jsonl")
ANSWERED, NOT_ASKED = "answered", "not asked"
_OWN = ("status", "cost_usd", "reason")
_PAGE = 256


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of an answer, and what it is called beside those of the data."""

    name: str
    field: AnswerField


def check_output(file: str) -> None:
    """Raises `InputError` unless the answers of a new batch can be written into a file: nothing is written over."""
    path = Path(file)
    if path.suffix.lower() not in FORMS:
        raise InputError(f"{file} is neither CSV nor JSON Lines; call it NAME.csv or NAME.jsonl.")
    if path.exists():
        raise InputError(f"{file} is there already; name a new file, since nothing is written over.")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{file} can't be written: {path.parent} is not a folder.")


def write_batch(user: Store, record: EvaluationRecord, data: DataSet, workflow: Workflow) -> Path:
    """Write the file of a batch, as far as there are answers, in the order of the data. Raises `InputError`."""
    path = Path(record.plan["asked"]["batch"])
    names = _names(workflow, data)
    rows = _rows(user, record, data, names)
    lines = (
        _csv(rows, names) if path.suffix.lower() == ".csv" else (json.dumps(row, ensure_ascii=False) for row in rows)
    )
    try:
        write_bytes(path, (f"{line}\n".encode("utf-8", "backslashreplace") for line in lines))
    except DataError as problem:
        raise InputError(str(problem)) from None
    return path


@dataclass(frozen=True, slots=True)
class _Names:
    """What the columns of the file are called: those of the ``data`` as they are there, those of the ``answer``, and what ``own``
    ones (`_OWN`) are called beside them.
    """

    data: list[str]
    answer: list[_Column]
    own: dict[str, str]


def _names(workflow: Workflow, data: DataSet) -> _Names:
    of_data = list(dict.fromkeys(name for known in read_records(Collector(data.file)) for name in known.fields))
    taken = set(of_data)
    own = {name: _free(name, "batch", taken) for name in _OWN}
    taken.add("id")
    answer = [_Column(_free(field.name, "answer", taken), field) for field in leaf_fields(workflow)]
    return _Names(of_data, answer, own)


def _free(name: str, before: str, taken: set[str]) -> str:
    """A name that no other column has; ``before`` and a point are put before it where one has it."""
    while name in taken:
        name = f"{before}.{name}"
    taken.add(name)
    return name


def leaf_fields(workflow: Workflow) -> list[AnswerField]:
    """The fields of a workflow's answer, without records, which have their fields in their place."""
    fields = list(AnswerFields(workflow.graph))
    records = {field.name.rpartition(".")[0] for field in fields}
    return [field for field in fields if field.name not in records]


def _rows(user: Store, record: EvaluationRecord, data: DataSet, names: _Names) -> Iterator[dict[str, Any]]:
    """A row for each record of the data that belongs to an item, with its columns first."""
    by_line = {item.place.line: item.id for item in data.items if item.place is not None}
    waiting: list[tuple[str, Mapping[str, Any]]] = []

    def page() -> Iterator[dict[str, Any]]:
        scores = user.evaluations.some(record.id, [(item, 0) for item, _ in waiting])
        for (_, fields), score in zip(waiting, scores, strict=True):
            yield {**fields, **_answer(score, names)}
        waiting.clear()

    for known in read_records(Collector(data.file)):
        if known.line in by_line:
            waiting.append((by_line[known.line], known.fields))
        if len(waiting) == _PAGE:
            yield from page()
    yield from page()


def _answer(score: ScoreRecord | None, names: _Names) -> dict[str, Any]:
    values: dict[str, Any] = dict.fromkeys((column.name for column in names.answer), None)
    if score is None:
        return {**values, names.own["status"]: NOT_ASKED, names.own["cost_usd"]: None, names.own["reason"]: ""}
    is_answered = score.status == Status.RIGHT
    values |= {
        column.name: value
        for column, value in zip(names.answer, answered(score, [column.field for column in names.answer]), strict=True)
    }
    return {
        **values,
        names.own["status"]: ANSWERED if is_answered else score.status,
        names.own["cost_usd"]: score.usage.cost_usd,
        names.own["reason"]: "" if is_answered else score.reason,
    }


def answered(score: ScoreRecord, fields: Sequence[AnswerField]) -> list[Any]:
    """The value of each field in the answer to a row; None where there is none."""
    if score.status != Status.RIGHT or score.output is None:
        return [None] * len(fields)
    output = all_outputs(output_of(score.output), None if score.others is None else output_of(score.others))
    values: list[Any] = []
    for field in fields:
        try:
            values.append(field.of(output))
        except KeyError:
            values.append(None)
    return values


def _csv(rows: Iterator[dict[str, Any]], names: _Names) -> Iterator[str]:
    header = [*names.data, *(column.name for column in names.answer), *names.own.values()]
    first = next(rows, None)
    if first is None:
        return

    def cells() -> Iterator[list[Any]]:
        yield [_cell(first.get(name)) for name in header]
        for row in rows:
            yield [_cell(row.get(name)) for name in header]

    yield from csv_lines(header, cells())


def _cell(value: Any) -> Any:
    """A value as a cell: numbers as they are, everything else as text."""
    return (
        value if value is None or (isinstance(value, int | float) and not isinstance(value, bool)) else as_text(value)
    )
