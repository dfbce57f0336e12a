"""Readers: what a record is as an item. Six know a published data set; `own_data` goes by the names that the user gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from merrow_optimizer.evaluation.data.code_tasks import humaneval_item, mbpp_item
from merrow_optimizer.evaluation.data.drafts import FieldFault, ItemDraft
from merrow_optimizer.evaluation.data.formats import DataRecord, kind_of
from merrow_optimizer.evaluation.data.problems import Collector

TEXT, NUMBER, LIST = (str,), (int,), (list,)


@dataclass(frozen=True, slots=True)
class RecordReader:
    """How records become items.

    ``fields`` are those that each record must have, with the types of their values; ``make`` gives the draft of an item and
    raises `FieldFault` for a value that can't be used; ``metric`` scores what this data asks for.
    """

    name: str
    metric: str
    fields: Mapping[str, tuple[type, ...]]
    make: Callable[[dict[str, Any]], ItemDraft]
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    public_tests: str | None = None
    """The field of a file of visible tests by which they belong to a record."""
    solution: tuple[str, ...] = ()
    """The fields that may have a record's worked solution, the best first."""

    def draft(self, record: DataRecord, problems: Collector) -> ItemDraft | None:
        """The item of a record, None where something is wrong with it."""
        before = len(problems.found)
        for name, types in self.fields.items():
            value = record.fields.get(name)
            if name not in record.fields:
                problems.add(f"The record has no field `{name}`, which the reader {self.name} needs.", record.line)
            elif value is None:
                problems.add("The value is null; give one, or remove the record.", record.line, name)
            elif record.is_csv and not value:
                problems.add("The cell is empty; give a value, or remove the row.", record.line, name)
            elif type(value) not in types and not record.is_csv:
                wanted = " or ".join(kind_of(each()) for each in types)
                problems.add(f"The value must be {wanted}, not {kind_of(value)}.", record.line, name)
        if len(problems.found) > before:
            return None
        try:
            return self.make(record.fields)
        except FieldFault as fault:
            problems.add(str(fault), record.line, fault.field)
            return None


def _gsm8k(fields: dict[str, Any]) -> ItemDraft:
    inputs = {"problem": fields["question"], "question": fields["question"]}
    return ItemDraft(fields.get("id"), inputs, fields["answer"])


def _math(fields: dict[str, Any]) -> ItemDraft:
    inputs = {"problem": fields["problem"]} | {
        name: fields[name] for name in ("level", "type") if isinstance(fields.get(name), str)
    }
    return ItemDraft(fields.get("id"), inputs, fields["solution"])


def _drop(fields: dict[str, Any]) -> ItemDraft:
    inputs = {"problem": fields["context"], "context": fields["context"]}
    return ItemDraft(fields.get("id"), inputs, fields["ref_text"])


def _hotpotqa(fields: dict[str, Any]) -> ItemDraft:
    paragraphs: list[str] = []
    for paragraph in fields["context"]:
        sentences = paragraph[1] if isinstance(paragraph, list) and len(paragraph) == 2 else None
        if not isinstance(sentences, list) or not all(isinstance(sentence, str) for sentence in sentences):
            raise FieldFault(
                "Each paragraph must be a title and a list of sentences: `[title, [sentence, ...]]`.", "context"
            )
        paragraphs.append(" ".join(sentence.strip() for sentence in sentences))
    context = "\n".join(paragraphs)
    question = fields["question"]
    problem = f"Context: {context}\n\nQuestion: {question}\n\nAnswer:"
    return ItemDraft(
        fields.get("_id"), {"problem": problem, "question": question, "context": context}, fields["answer"]
    )


READERS: Mapping[str, RecordReader] = {
    reader.name: reader
    for reader in (
        RecordReader("gsm8k", "gsm8k", {"question": TEXT, "answer": TEXT}, _gsm8k, solution=("cot", "answer")),
        RecordReader("math", "math", {"problem": TEXT, "solution": TEXT}, _math, solution=("solution",)),
        RecordReader(
            "humaneval",
            "pass@1",
            dict.fromkeys(("task_id", "prompt", "entry_point", "canonical_solution", "test"), TEXT),
            humaneval_item,
            public_tests="problem_id",
            solution=("canonical_solution",),
        ),
        RecordReader(
            "mbpp",
            "pass@1",
            {"task_id": (int, str), "prompt": TEXT, "code": TEXT, "test_list": LIST, "entry_point": TEXT},
            mbpp_item,
            public_tests="task_id",
            solution=("code",),
        ),
        RecordReader(
            "drop", "f1", {"context": TEXT, "ref_text": TEXT}, _drop, {"separator": "|"}, solution=("ref_text",)
        ),
        RecordReader(
            "hotpotqa", "f1", {"question": TEXT, "context": LIST, "answer": TEXT}, _hotpotqa, solution=("answer",)
        ),
    )
}

OWN = "own"


def own_data(
    gold: str | None, id_field: str | None, metric: str, golds: Mapping[str, str] | None = None
) -> RecordReader:
    """The reader of data of the user's own. ``gold`` and ``id_field`` name fields; all other fields are inputs. With ``golds``,
    which name fields of the data by the fields of an answer, the gold of an item is the right value of each.
    """
    own_id = id_field or "id"
    right = [*golds.values()] if golds is not None else [gold] if gold is not None else []

    def make(fields: dict[str, Any]) -> ItemDraft:
        inputs = {name: value for name, value in fields.items() if name not in right and name != own_id}
        if golds is not None:
            return ItemDraft(fields.get(own_id), inputs, {name: fields[column] for name, column in golds.items()})
        return ItemDraft(fields.get(own_id), inputs, None if gold is None else fields[gold])

    anything = (str, bool, int, float, list, dict)
    fields = {name: anything for name in (*right, id_field) if name is not None}
    return RecordReader(OWN, metric, fields, make, solution=() if gold is None else (gold,))


def reader_in_name(file: Path) -> str | None:
    """The reader whose name a file's name begins with, as in ``gsm8k_test.jsonl``."""
    stem = file.stem.lower()
    for name in READERS:
        rest = stem.removeprefix(name)
        if rest != stem and not rest[:1].isalnum():
            return name
    return None
