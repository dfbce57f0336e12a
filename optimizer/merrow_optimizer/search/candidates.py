"""What a search chooses among: workflows as texts, with what a strategy knows of each before it is scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from merrow_optimizer.search.features import PromptUse

START = 0
"""The number of the workflow that a search begins with."""
CERTAIN = 60
"""Answers that are enough for a candidate of `guided` to be the best, where half of the items are more."""


@dataclass(frozen=True, slots=True, eq=False)
class CandidateDraft:
    """A valid workflow that may become a candidate.

    ``parents`` are the numbers of the candidates that it was made of, ``operator`` names the mutation that made it and ``title``
    describes the change; all are empty for the workflow that a search begins with. ``key`` is equal for workflows that do the
    same, up to the names of their nodes. ``features`` are those of `features.features_of`, ``prompts`` those of
    `features.prompts_of`; ``calls`` is how many model calls or programs its nodes have for one item, without the turns of Loops.
    ``judged`` is the mean of what a judge gave it, from 1 to 10; None where none did. ``kind`` is which of the six operators
    describes what a model changed, by name; empty for other candidates.
    """

    text: str
    parents: tuple[int, ...]
    operator: str
    title: str
    key: str
    features: tuple[float, ...]
    calls: int
    nodes: int
    judged: float | None = None
    prompts: Mapping[PromptUse, float] = field(default_factory=dict)
    kind: str = ""


class ItemRepeat(NamedTuple):
    """One answer to score: the item by its number, and which repeat of it, both from 0."""

    item: int
    repeat: int


@dataclass(frozen=True, slots=True)
class Draw:
    """What is scored next: ``number`` counts from 1, ``candidate`` is the number of one, ``places`` are its answers to score."""

    number: int
    candidate: int
    places: tuple[ItemRepeat, ...]
