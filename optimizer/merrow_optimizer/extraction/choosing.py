"""Stage 4, second half: the fewest operators that cover enough cases. Exact for few candidates, else greedy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

EXACT = 18
"""Candidates up to which every set of them is looked at."""


@dataclass(frozen=True, slots=True)
class CoverCandidate:
    """A candidate as the choice sees it."""

    name: str
    support: int
    tokens: int


@dataclass(frozen=True, slots=True)
class SetCover:
    """The chosen candidates, by number, how many cases they cover, and whether that is enough."""

    chosen: tuple[int, ...]
    covered: int
    is_enough: bool
    is_exact: bool


def choose(offers: Sequence[CoverCandidate], cases: Sequence[Sequence[int]], coverage: float) -> SetCover:
    """The fewest candidates that cover at least this share of the cases; where none do, the fewest of those that cover the most.

    A case has a set of bits for each of its steps: bit k says that candidate k can do it; it is covered where each of its steps
    can be done. Ties: the greater support in all, then fewer tokens, then names.
    """
    needed = max(1, math.ceil(coverage * len(cases) - 1e-9))
    exact = len(offers) <= EXACT
    chosen = _exact(offers, cases, needed) if exact else _greedy(offers, cases, needed)
    covered = sum(_covers(chosen, case) for case in cases)
    return SetCover(tuple(sorted(chosen)), covered, covered >= needed, exact)


def _covers(chosen: Sequence[int], case: Sequence[int]) -> bool:
    bits = sum(1 << number for number in chosen)
    return all(bits & step for step in case)


def _rank(offers: Sequence[CoverCandidate], chosen: Sequence[int]) -> tuple[float, float, list[tuple[str, int]]]:
    """Smaller is better, among sets of one size."""
    some = [offers[number] for number in chosen]
    names = sorted((offers[number].name, number) for number in chosen)
    return -sum(offer.support for offer in some), sum(offer.tokens for offer in some), names


# Exact: a number has a bit for each set of candidates (the set whose bits are the bit's place), so that one operation on
# numbers is one on all sets.


def _exact(offers: Sequence[CoverCandidate], cases: Sequence[Sequence[int]], needed: int) -> list[int]:
    count = len(offers)
    everything = (1 << (1 << count)) - 1
    has = [_sets_with(number, count) for number in range(count)]
    by_step: dict[int, int] = {}

    def able(step: int) -> int:
        if step not in by_step:
            by_step[step] = 0
            for number in range(count):
                if step >> number & 1:
                    by_step[step] |= has[number]
        return by_step[step]

    covered = _Counts()
    for case in cases:
        sets = everything
        for step in case:
            sets &= able(step)
        covered.add(sets)
    left = covered.at_least(needed, everything) or covered.most(everything)
    sizes = _Counts()
    for combinations in has:
        sizes.add(combinations)
    left = sizes.fewest(left)
    return min(_sets(left, count), key=lambda chosen: _rank(offers, chosen))


def _sets_with(number: int, count: int) -> int:
    """The sets that have a candidate."""
    half = 1 << number
    block, width = ((1 << half) - 1) << half, 2 * half
    while width < 1 << count:
        block |= block << width
        width *= 2
    return block


def _sets(bits: int, count: int) -> list[list[int]]:
    listed = []
    for place, digit in enumerate(reversed(bin(bits)[2:])):
        if digit == "1":
            listed.append([number for number in range(count) if place >> number & 1])
    return listed


class _Counts:
    """A number for each set, in binary: the k-th of ``planes`` has the digit worth 2^k."""

    def __init__(self) -> None:
        self.planes: list[int] = []

    def add(self, sets: int) -> None:
        """One more for these sets."""
        for at, plane in enumerate(self.planes):
            self.planes[at], sets = plane ^ sets, plane & sets
            if not sets:
                return
        self.planes.append(sets)

    def at_least(self, number: int, among: int) -> int:
        """The sets with at least this number."""
        if number >> len(self.planes):
            return 0
        greater, equal = 0, among
        for at in reversed(range(len(self.planes))):
            if number >> at & 1:
                equal &= self.planes[at]
            else:
                greater |= equal & self.planes[at]
                equal &= ~self.planes[at]
        return greater | equal

    def most(self, among: int) -> int:
        """The sets with the greatest number."""
        for plane in reversed(self.planes):
            among = among & plane or among
        return among

    def fewest(self, among: int) -> int:
        """The sets with the smallest number."""
        for plane in reversed(self.planes):
            among = among & ~plane or among
        return among


# Greedy


def _greedy(offers: Sequence[CoverCandidate], cases: Sequence[Sequence[int]], needed: int) -> list[int]:
    """Candidate by candidate, the one that completes the most cases, or does the most steps; then without those that have become
    superfluous.
    """
    possible = [case for case in cases if all(case)]
    does = [0] * len(offers)
    wholes: list[int] = []
    place = 0
    for case in possible:
        for at, step in enumerate(case):
            for number in range(len(offers)):
                does[number] |= (step >> number & 1) << (place + at)
        wholes.append(((1 << len(case)) - 1) << place)
        place += len(case)
    chosen: list[int] = []
    done = 0
    wanted = min(needed, len(possible))
    while sum(done & whole == whole for whole in wholes) < wanted:
        open_ = [whole for whole in wholes if done & whole != whole]
        left = [candidate for candidate in range(len(offers)) if does[candidate] & ~done]
        best = min(left, key=lambda offer: (*_gain(done | does[offer], open_, done), *_rank(offers, [offer])))
        chosen.append(best)
        done |= does[best]
    for number in sorted(chosen, key=lambda offer: _rank(offers, [offer]), reverse=True):
        others = [other for other in chosen if other != number]
        if sum(_covers(others, case) for case in possible) >= wanted:
            chosen = others
    return chosen


def _gain(done: int, wholes: Sequence[int], before: int) -> tuple[int, int]:
    completed = sum(done & whole == whole for whole in wholes)
    return -completed, -(done & ~before).bit_count()
