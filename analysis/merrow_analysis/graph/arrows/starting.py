"""Which of the arrows to a step start it: one that was taken runs a step, but beside an answer's arrow some only supply."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from merrow_analysis.graph.records import EdgeRecord

_MOST_STEPS = 2_000_000
"""Steps of walks from sources to questions; beyond these an arrow counts as starting what it leads to."""


class Starting:
    """Answers for a graph in which ``out`` has all arrows out of each node and ``back`` are the arrows back of its Loops.

    ``asks`` are the nodes that choose, and ``places`` puts all in an order in which all other arrows lead on.
    """

    def __init__(
        self,
        out: Mapping[str, Sequence[EdgeRecord]],
        asks: Collection[str],
        back: Collection[EdgeRecord],
        places: Mapping[str, int],
    ) -> None:
        self._out, self._asks, self._back, self._places = out, asks, back, places
        self._left = _MOST_STEPS

    def ways(self, name: str) -> Sequence[EdgeRecord]:
        """All arrows out of a node."""
        return self._out.get(name, ())

    def starters(self, target: str, arriving: Sequence[EdgeRecord]) -> list[EdgeRecord]:
        """Those of the arrows to a node that start it.

        Beside an answer's arrow two kinds only supply: from a step before that question, and from a step that lies behind no
        question and leads nowhere else, or only to answers of one question that is always asked.
        """
        questions = {edge.source for edge in arriving if edge.source in self._asks}
        if not questions:
            return list(arriving)
        return [
            edge
            for edge in arriving
            if edge.source in questions
            or not (self._leads_to(edge.source, questions) or self._is_aside(edge.source, target))
        ]

    def _leads_to(self, name: str, questions: Collection[str]) -> bool:
        """Whether a node comes before one of these questions."""
        places, last = self._places, max(self._places.get(question, 0) for question in questions)
        seen, pending = {name}, [name]
        while pending and self._left > 0:
            for edge in self._out.get(pending.pop(), ()):
                self._left -= 1
                if edge in self._back or edge.carries_nothing or edge.target in seen:
                    continue
                if edge.target in questions:
                    return True
                if places.get(edge.target, 0) < last:
                    seen.add(edge.target)
                    pending.append(edge.target)
        return False

    def _is_aside(self, name: str, target: str) -> bool:
        """Whether a step leads to one node only, or to answers of one question that is always asked, and no other question lies
        before it.
        """
        others = {edge.target for edge in self._out.get(name, ()) if edge.target != target and not edge.carries_nothing}
        if others:
            common = frozenset.intersection(*(self._answering.get(name, frozenset()) for name in (target, *others)))
            if not any(self._behind.get(question, frozenset()) <= {question} for question in common):
                return False
        return not self._behind.get(name, frozenset()) - {target}

    @cached_property
    def _answering(self) -> dict[str, frozenset[str]]:
        """By node the questions of which an answer leads to it."""
        by_target: dict[str, set[str]] = {}
        for name in self._asks:
            for edge in self._out.get(name, ()):
                if edge not in self._back:
                    by_target.setdefault(edge.target, set()).add(name)
        return {name: frozenset(questions) for name, questions in by_target.items()}

    @cached_property
    def _behind(self) -> dict[str, frozenset[str]]:
        """For each node up to two of the questions that lie before it, arrows back included."""
        behind: dict[str, frozenset[str]] = {}
        pending = [(name, frozenset({name})) for name in self._asks]
        while pending:
            name, questions = pending.pop()
            for edge in self._out.get(name, ()):
                before = behind.get(edge.target, frozenset())
                if edge.carries_nothing or len(before) >= 2 or questions <= before:
                    continue
                behind[edge.target] = both = frozenset(sorted(before | questions)[:2])
                pending.append((edge.target, both))
        return behind
