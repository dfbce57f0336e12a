"""Stage 4, first half: the operators of all paths put together, with how many paths have each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from merrow_optimizer.extraction.kinds import OperatorSignature, merged

ALIKE = 0.5
"""The share of common sources from which two operators of one signature are the same."""


@dataclass(frozen=True, slots=True)
class Deepened:
    """An operator of a path: ``sources`` are the numbers of the groups that it stands for."""

    name: str
    prompt: str
    signature: OperatorSignature
    sources: frozenset[int]


@dataclass(frozen=True, slots=True)
class PooledOperator:
    """An operator of the pool. ``support`` is how many paths have one that it was put together from."""

    name: str
    prompt: str
    signature: OperatorSignature
    sources: frozenset[int]
    support: int


def pooled(paths: Sequence[Sequence[Deepened]], signatures: Mapping[int, OperatorSignature]) -> list[PooledOperator]:
    """The candidates, by signature and sources. ``signatures`` are those of the groups by their numbers."""
    listed = [(number, operator) for number, path in enumerate(paths) for operator in path]
    parts: list[list[tuple[int, Deepened]]] = []
    for entry in listed:
        near = [part for part in parts if any(_are_alike(entry[1], other) for _, other in part)]
        parts = [part for part in parts if all(part is not other for other in near)]
        parts.append([entry, *(member for part in near for member in part)])
    candidates = [candidate for part in parts if (candidate := _candidate(part, signatures)) is not None]
    return sorted(candidates, key=lambda operator: (operator.signature, sorted(operator.sources), operator.name))


def _are_alike(operator: Deepened, other: Deepened) -> bool:
    return operator.signature == other.signature and len(operator.sources & other.sources) >= ALIKE * len(
        operator.sources | other.sources
    )


def _candidate(
    part: Iterable[tuple[int, Deepened]], signatures: Mapping[int, OperatorSignature]
) -> PooledOperator | None:
    """One operator of those that are alike: named as most are, worded as in the first path that names it so."""
    members = sorted(part, key=lambda entry: (entry[0], entry[1].name))
    names = [member.name for _, member in members]
    name = min(names, key=lambda text: (-names.count(text), len(text), text))
    sources = frozenset(source for _, member in members for source in member.sources)
    own = merged(signatures[source] for source in sorted(sources))
    if own is None:
        return None
    prompt = next(member.prompt for _, member in members if member.name == name)
    return PooledOperator(name, prompt, own, sources, len({number for number, _ in members}))
