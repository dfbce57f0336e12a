"""Parts of a data set, and the order of its items: functions of their ids alone, never of their order in the file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable
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


def in_order(items: Iterable[Item], seed: int) -> list[Item]:
    """The items in the seed's order, in which a limit keeps the first ones."""
    return sorted(items, key=lambda item: _place(item.id, seed))


def ids_in_order(ids: Iterable[str], seed: int) -> list[str]:
    """The same of ids alone."""
    return sorted(ids, key=lambda own: _place(own, seed))


def split(ids: Collection[str]) -> dict[str, list[str]]:
    """The ids of a fifth of the items to validate with, at least one of two, and of the rest to test with. Always by `SEED`."""
    ordered = ids_in_order(ids, SEED)
    count = max(1, round(len(ids) * _VALIDATE_SHARE)) if len(ids) > 1 else len(ids)
    return {"validate": ordered[:count], "test": ordered[count:]}


def _place(own: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}:{own}".encode()).digest()
