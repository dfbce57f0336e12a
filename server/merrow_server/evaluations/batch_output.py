"""What a batch gave, as a file: a row for each of the data, with the fields of its answer, its status and its cost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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
    columns = list(_columns(workflow, data))
    rows = _rows(user, record, data, columns)
    lines = _csv(rows) if path.suffix.lower() == ".csv" else (json.dumps(row, ensure_ascii=False) for row in rows)
    try:
        write_bytes(path, (f"{line}\n".encode("utf-8", "backslashreplace") for line in lines))
    except DataError as problem:
        raise InputError(str(problem)) from None
    return path


def _columns(workflow: Workflow, data: DataSet) -> Iterator[_Column]:
    taken = set(data.items[0].inputs) | {"id", "status", "cost_usd", "reason"}
    fields = list(AnswerFields(workflow.graph))
    records = {field.name.rpartition(".")[0] for field in fields}
    for field in fields:
        if field.name not in records:  # those have their fields in its place
            yield _Column(f"answer.{field.name}" if field.name in taken else field.name, field)


def _rows(user: Store, record: EvaluationRecord, data: DataSet, columns: list[_Column]) -> Iterator[dict[str, Any]]:
    """A row for each record of the data that belongs to an item, with its columns first."""
    by_line = {item.place.line: item.id for item in data.items if item.place is not None}
    waiting: list[tuple[str, Mapping[str, Any]]] = []

    def page() -> Iterator[dict[str, Any]]:
        scores = user.evaluations.some(record.id, [(item, 0) for item, _ in waiting])
        for (_, fields), score in zip(waiting, scores, strict=True):
            yield {**fields, **_answer(score, columns)}
        waiting.clear()

    for known in read_records(Collector(data.file)):
        if known.line in by_line:
            waiting.append((by_line[known.line], known.fields))
        if len(waiting) == _PAGE:
            yield from page()
    yield from page()


def _answer(score: ScoreRecord | None, columns: list[_Column]) -> dict[str, Any]:
    values: dict[str, Any] = dict.fromkeys((column.name for column in columns), None)
    if score is None:
        return {**values, "status": NOT_ASKED, "cost_usd": None, "reason": ""}
    is_answered = score.status == Status.RIGHT
    if is_answered and score.output is not None:
        others = None if score.others is None else output_of(score.others)
        output = all_outputs(output_of(score.output), others)
        for column in columns:
            try:
                values[column.name] = column.field.of(output)
            except KeyError:
                continue
    status = ANSWERED if is_answered else score.status
    return {
        **values,
        "status": status,
        "cost_usd": score.usage.cost_usd,
        "reason": "" if is_answered else score.reason,
    }


def _csv(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    first = next(rows, None)
    if first is None:
        return
    names = list(first)

    def cells() -> Iterator[list[Any]]:
        yield [_cell(first.get(name)) for name in names]
        for row in rows:
            yield [_cell(row.get(name)) for name in names]

    yield from csv_lines(names, cells())


def _cell(value: Any) -> Any:
    """A value as a cell: numbers as they are, everything else as text."""
    return (
        value if value is None or (isinstance(value, int | float) and not isinstance(value, bool)) else as_text(value)
    )
