"""Parts of a data set, and the order of its items: functions of their ids alone, never of their order in the file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from merrow_optimizer.evaluation.items import Item

SEED = 42
PARTS = ("validate", "test", "all")
_VALIDATE_SHARE = 0.2
_NAMED = re.compile(r"(?<![a-z])(?:(validat(?:e|ion))|(test))(?![a-z])")


def part_in_name(file: Path) -> str | None:
    """The part that a file is by its name: ``validate`` or ``test`` as a word of it."""
    named = _NAMED.findall(file.stem.lower())
    if not named:
        return None
    return "validate" if named[-1][0] else "test"


def in_order(items: Sequence[Item], seed: int) -> list[Item]:
    """The items in the seed's order, in which a limit keeps the first ones."""
    return sorted(items, key=lambda item: hashlib.sha256(f"{seed}:{item.id}".encode()).digest())


def split(items: Sequence[Item]) -> dict[str, list[Item]]:
    """A fifth of the items to validate with, at least one of two, and the rest to test with. Always by `SEED`."""
    ordered = in_order(items, SEED)
    count = max(1, round(len(items) * _VALIDATE_SHARE)) if len(items) > 1 else len(items)
    return {"validate": ordered[:count], "test": ordered[count:]}
