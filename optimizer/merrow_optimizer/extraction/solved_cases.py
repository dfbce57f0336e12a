"""Stage 0: solved cases, and which of them are extracted from, which only probe."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from merrow_optimizer.evaluation.data.parts import in_order
from merrow_optimizer.evaluation.items import Item
from merrow_runtime.values import as_text

PROBE_SHARE = 0.3
"""The share of the cases that no operator is taken from."""
_DIGITS = 20


@dataclass(frozen=True, slots=True)
class SolvedCase:
    """A solved case: its item, and its solution as it is shown to the model that extracts."""

    item: Item
    solution: str

    @property
    def id(self) -> str:
        """That of its item."""
        return self.item.id

    @property
    def problem(self) -> str:
        """The problem as a text."""
        return problem_of(self.item)


def problem_of(item: Item) -> str:
    """The problem of an item as a text."""
    folded = {name.casefold(): value for name, value in item.inputs.items()}
    return as_text(folded.get("problem", ""))


def problem_digest(item: Item) -> str:
    """By what a problem is known again, whatever else is read of its record, and whatever its id is."""
    return hashlib.sha256(problem_of(item).strip().encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


@dataclass(frozen=True, slots=True)
class CaseSplit:
    """The cases that operators are extracted from, and those of the probe, each in the order of their ids."""

    extracted: Sequence[SolvedCase]
    probe: Sequence[SolvedCase]

    @property
    def all(self) -> list[SolvedCase]:
        """Both parts."""
        return [*self.extracted, *self.probe]


def split(items: Sequence[Item], solutions: Mapping[str, str], seed: int) -> CaseSplit:
    """70 % of the cases to extract from, 30 % for the probe: by their ids and the seed, whatever their order. A single case is
    extracted from.
    """
    ordered = in_order(items, seed)
    count = min(len(ordered) - 1, math.ceil(len(ordered) * PROBE_SHARE - 0.5)) if len(ordered) > 1 else 0
    cases = [SolvedCase(item, solutions[item.id]) for item in ordered]
    kept = len(cases) - count
    return CaseSplit(*(sorted(part, key=lambda case: case.id) for part in (cases[:kept], cases[kept:])))
