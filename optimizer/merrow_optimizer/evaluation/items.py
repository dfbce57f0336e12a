"""An item of a data set: what a workflow is given, and what its answer is compared with."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from merrow_runtime.values import canonical


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
    An ``id`` that is not the record's own is a hash, which says nothing to anybody.
    """

    id: str
    inputs: Mapping[str, Any]
    gold: Any
    extra: Mapping[str, Any] = field(default_factory=dict)
    place: RecordLocation | None = None
    has_own_id: bool = True


def hash_of(item: Item) -> str:
    """What a score depends on beside the answer: SHA-256 of inputs, gold and extra, in hexadecimal; neither id nor place."""
    content = {"inputs": dict(item.inputs), "gold": item.gold, "extra": dict(item.extra)}
    return hashlib.sha256(canonical(content).encode()).hexdigest()
