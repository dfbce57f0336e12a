"""Data files for tests, and what is wrong with one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from merrow_optimizer.evaluation.data import DataError, read_items

Problem = tuple[int | None, str | None, str]


def lines_of(*records: object) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def written(folder: Path, text: str | bytes, name: str = "data.jsonl") -> Path:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def problems_in(file: Path, **options: Any) -> list[Problem]:
    """What reading raises: line, field and sentence of each problem."""
    with pytest.raises(DataError) as raised:
        read_items(file, **options)
    return [(problem.line, problem.field, problem.sentence) for problem in raised.value.problems]
