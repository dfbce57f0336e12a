"""An item of a data set: what a workflow is given, and what its answer is compared with."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from merrow_runtime.values import canonical

_OF_FIELDS = re.compile("[0-9a-f]{12}", re.ASCII)


@dataclass(frozen=True, slots=True)
class RecordLocation:
    """Where a record stands: its file, and its first line, from 1."""

    file: Path
    line: int


@dataclass(frozen=True, slots=True)
class Item:
    """One record of a data set as an evaluation knows it.

    ``inputs`` has a value for each input that the record gives, by its name; ``gold`` is what a right answer is, in the form that
    the metric of the data set reads; ``extra`` is what else the metric needs (tests of a program, its entry point).
    """

    id: str
    inputs: Mapping[str, Any]
    gold: Any
    extra: Mapping[str, Any] = field(default_factory=dict)
    place: RecordLocation | None = None


def id_of_fields(fields: Mapping[str, Any]) -> str:
    """The id of a record that has none of its own: 12 hexadecimal digits, from all its fields."""
    return hashlib.sha256(canonical(fields).encode()).hexdigest()[:12]


def is_of_fields(identity: str) -> bool:
    """Whether an id looks like one that `id_of_fields` made, which says nothing to anybody."""
    return _OF_FIELDS.fullmatch(identity) is not None


def hash_of(item: Item) -> str:
    """What a score depends on beside the answer: SHA-256 of inputs, gold and extra, in hexadecimal; neither id nor place."""
    content = {"inputs": dict(item.inputs), "gold": item.gold, "extra": dict(item.extra)}
    return hashlib.sha256(canonical(content).encode()).hexdigest()
