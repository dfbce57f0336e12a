"""Findings about single nodes, kept from one version of a graph to the next: most edits leave nearly all nodes as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from merrow_analysis.diagnostics import Diagnostic, without_fixes
from merrow_analysis.graph.model import Graph

_NONE: dict[object, list[Diagnostic]] = {}


class AtNodes:
    """Findings by a node's handle and the question to which they are the answer, without their fixes."""

    def __init__(self) -> None:
        self._found: dict[int, dict[object, list[Diagnostic]]] = {}

    def copy(self) -> AtNodes:
        """The same findings, to be kept by themselves."""
        other = AtNodes()
        other._found = self._found.copy()
        return other

    def found(self, node: int, question: object, find: Callable[[], Iterable[Diagnostic]]) -> list[Diagnostic]:
        """The answer to a question about a node; `find` is asked where none is kept."""
        answers = self._found.get(node, _NONE)
        known = answers.get(question)
        if known is None:
            known = without_fixes(find())
            # Answers are never changed: copies share them.
            self._found[node] = {**answers, question: known}
        return known

    def forget(self, graph: Graph | None = None) -> None:
        """Forget what is said of nodes at which ``graph`` differs from its predecessor, and of those that they lead to. All of it
        where that may be any node, or no graph is given.
        """
        touched = None if graph is None else graph.touched
        if touched is None or graph is None:
            self._found = {}
            return
        if not self._found:
            return
        following = graph.shape.following
        for node in touched:
            self._found.pop(node, None)
            for target in following[node]:
                self._found.pop(target, None)
