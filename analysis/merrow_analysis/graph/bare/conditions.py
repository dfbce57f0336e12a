"""Conditions over the cases that Decisions choose, as shared decision diagrams.

A condition says for which choices something holds. It is the number of a node of an ordered multi-valued decision
diagram (Bryant 1986, with one branch a case): a node asks one Decision and has a branch for each of its cases. Equal
conditions have equal numbers, so "always", "never" and "never together" are comparisons. Decisions that come later in
the workflow are asked first: a later Decision's condition then extends the earlier one's by a single node, and rows of
Decisions cost what they are long.
"""

from __future__ import annotations

from collections.abc import Sequence

Condition = int

NEVER: Condition = 0
ALWAYS: Condition = 1

LARGEST = 100_000
"""How many branches all diagrams of one workflow may have; usual workflows need a few for each case."""


class TooManyCombinationsError(Exception):
    """The Decisions combine in too many ways to be looked at exactly."""


class Conditions:
    """A store of conditions over Decisions numbered from 0 in topological order, the n-th having ``sizes[n]`` cases."""

    def __init__(self, sizes: Sequence[int], largest: int = LARGEST) -> None:
        self._sizes = sizes
        self._left = largest
        # A node's level is the Decision it asks; the two constants lie below every Decision.
        self._levels: list[int] = [-1, -1]
        self._branches: list[tuple[Condition, ...]] = [(), ()]
        self._known: dict[tuple[int, tuple[Condition, ...]], Condition] = {}
        self._results: dict[tuple[bool, Condition, Condition], Condition] = {}

    @property
    def left(self) -> int:
        """How many branches and answers there may still be; below 0 it was tried to make more."""
        return self._left

    @property
    def sizes(self) -> Sequence[int]:
        """How many cases each Decision has."""
        return self._sizes

    def chosen(self, decision: int, case: int) -> Condition:
        """That this Decision chooses this case; whether it runs at all is another condition."""
        size = self._sizes[decision]
        return self._node(decision, (NEVER,) * case + (ALWAYS,) + (NEVER,) * (size - case - 1))

    def both(self, first: Condition, second: Condition) -> Condition:
        """``first`` and ``second`` hold. Raises `TooManyCombinationsError`."""
        return self._combine(True, first, second)

    def either(self, first: Condition, second: Condition) -> Condition:
        """``first`` or ``second`` holds, or both do. Raises `TooManyCombinationsError`."""
        return self._combine(False, first, second)

    def negated(self, condition: Condition) -> Condition:
        """``condition`` does not hold. Raises `TooManyCombinationsError`."""
        return self._rebuilt(condition, {NEVER: ALWAYS, ALWAYS: NEVER}, frozenset())

    def some(self, condition: Condition, decisions: frozenset[int]) -> Condition:
        """That these Decisions can choose so that ``condition`` holds. Raises `TooManyCombinationsError`."""
        return self._rebuilt(condition, {NEVER: NEVER, ALWAYS: ALWAYS}, decisions)

    def _rebuilt(self, condition: Condition, known: dict[Condition, Condition], dropped: frozenset[int]) -> Condition:
        """A diagram with other ends, in which nodes of the ``dropped`` Decisions give way to either of their branches."""
        stack = [condition]
        while stack:
            node = stack[-1]
            if node in known:
                stack.pop()
                continue
            branches = self._branches[node]
            waiting = [branch for branch in branches if branch not in known]
            if waiting:
                stack += waiting
                continue
            parts = tuple([known[branch] for branch in branches])
            if self._levels[node] not in dropped:
                known[node] = self._node(self._levels[node], parts)
            else:
                either = NEVER
                for part in parts:
                    either = self._combine(False, either, part)
                known[node] = either
            self._left -= 1
            stack.pop()
        return known[condition]

    def counterexample(self, condition: Condition) -> dict[int, int] | None:
        """Choices (Decision to case) under which ``condition`` fails whatever the others choose; None if it always
        holds.
        """
        return self._path(condition, NEVER)

    def example(self, condition: Condition) -> dict[int, int] | None:
        """Choices under which ``condition`` holds, whatever the others choose; None if it never does."""
        return self._path(condition, ALWAYS)

    def _path(self, condition: Condition, wanted: Condition) -> dict[int, int] | None:
        # In a reduced diagram every node but the constants leads to both of them.
        if condition in (NEVER, ALWAYS):
            return {} if condition == wanted else None
        choices: dict[int, int] = {}
        while condition > ALWAYS:
            branches = self._branches[condition]
            case = next(
                (index for index, branch in enumerate(branches) if branch == wanted),
                next((index for index, branch in enumerate(branches) if branch > ALWAYS), 0),
            )
            choices[self._levels[condition]] = case
            condition = branches[case]
        return choices

    def _node(self, level: int, branches: tuple[Condition, ...]) -> Condition:
        first = branches[0]
        if branches.count(first) == len(branches):
            return first
        key = (level, branches)
        node = self._known.get(key)
        if node is None:
            self._left -= len(branches)
            if self._left < 0:
                raise TooManyCombinationsError
            node = len(self._levels)
            self._levels.append(level)
            self._branches.append(branches)
            self._known[key] = node
        return node

    def _simple(self, conjunction: bool, first: Condition, second: Condition) -> Condition | None:
        """The answer where it needs no look into the diagrams."""
        if first == second:
            return first
        if first <= ALWAYS or second <= ALWAYS:
            low, high = (first, second) if first < second else (second, first)
            if conjunction:
                return NEVER if low == NEVER else high if low == ALWAYS else None
            return high if low == NEVER else ALWAYS
        key = (conjunction, first, second) if first < second else (conjunction, second, first)
        return self._results.get(key)

    def _combine(self, conjunction: bool, first: Condition, second: Condition) -> Condition:
        """And / or of two diagrams, with a stack of its own: a diagram may be as deep as there are Decisions."""
        answer = self._simple(conjunction, first, second)
        if answer is not None:
            return answer
        stack = [(first, second)]
        levels, branches, results = self._levels, self._branches, self._results
        neutral, absorbing = (ALWAYS, NEVER) if conjunction else (NEVER, ALWAYS)
        while stack:
            a, b = stack[-1]
            if a > b:
                a, b = b, a
            if (conjunction, a, b) in results:
                stack.pop()
                continue
            level = max(levels[a], levels[b])
            width = range(self._sizes[level])
            left = branches[a] if levels[a] == level else (a,) * len(width)
            right = branches[b] if levels[b] == level else (b,) * len(width)
            parts: list[Condition] = []
            waiting = len(stack)
            for x, y in zip(left, right, strict=True):
                # `_simple`, written out: a Decision may have very many cases.
                part: Condition | None
                if x == y or y == neutral:
                    part = x
                elif x == neutral:
                    part = y
                elif absorbing in (x, y):
                    part = absorbing
                else:
                    part = results.get((conjunction, x, y) if x < y else (conjunction, y, x))
                if part is None:
                    stack.append((x, y))
                else:
                    parts.append(part)
            if len(stack) == waiting:
                self._left -= 1
                results[(conjunction, a, b)] = self._node(level, tuple(parts))
                stack.pop()
        key = (conjunction, first, second) if first < second else (conjunction, second, first)
        return results[key]
