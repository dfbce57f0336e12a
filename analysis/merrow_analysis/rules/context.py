"""What the checks of rules are given: one value for all rules about a text, one for all about a workflow's graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from merrow_analysis import faults
from merrow_analysis.definitions.front_matter import EMPTY, FrontMatterDoc
from merrow_analysis.definitions.prompts import PromptBook, ResourceProblem
from merrow_analysis.definitions.settings import NO_SETTINGS, WorkflowSettings
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.graph.flow import Flowchart
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.rules.at_nodes import AtNodes
from merrow_analysis.rules.boundary import Boundary, find_boundary
from merrow_analysis.rules.misplaced import Misplaced, find_misplaced
from merrow_analysis.rules.registry import Flags, Scope, checks_of, rules_of
from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.tree import Block, FrontMatter, Header
from merrow_analysis.text import Position, Range, Span
from merrow_analysis.tools.permissions import NO_PERMISSIONS, Permissions

GRAPH_SCOPES = (Scope.NODE, Scope.GRAPH, Scope.EDGE, Scope.PARAMETER)
"""The scopes of rules about a workflow's graph, in the order in which they are checked."""
_MOST_NAMED = 4
"""Rules that a message about a fault names."""
_TOP = Range(Position(0, 0), Position(0, 0))


def _top(header: tuple[Header, Block] | None) -> Range:
    return _TOP if header is None else header[1].range(header[0].span)


@dataclass(slots=True, eq=False)
class TextContext:
    """A text as it was read, for rules of the scope ``TEXT``.

    ``notable`` are the blocks that the rules about syntax look at (`syntax_rules.is_notable`), in order. ``settings`` are what
    the front matter itself says, ``problems`` what is wrong with the files that it names. ``graph`` is None for a text that
    is not a workflow, and ``workflow`` what the rules about its graph are given.
    """

    diagram: Diagram
    flow: Flowchart
    notable: Sequence[Block]
    settings: WorkflowSettings = NO_SETTINGS
    graph: TypedGraph | None = None
    problems: Sequence[ResourceProblem] = ()
    workflow: GraphContext | None = None

    @property
    def front(self) -> tuple[FrontMatter, Block] | None:
        """The front matter with its block."""
        return self.diagram.front_matter

    @property
    def top(self) -> Range:
        """Where the diagram begins."""
        return _top(self.diagram.header)


@dataclass(slots=True, eq=False)
class GraphContext:
    """A workflow, for rules of the scopes ``NODE``, ``GRAPH``, ``EDGE`` and ``PARAMETER``.

    ``header`` and ``front`` are those of the diagram, ``settings`` what its front matter itself says, and ``book`` the prompts
    that it has or names; ``permissions`` are the user's. All of them may be left out: they say where findings about the whole
    file are shown, and what single nodes may name. ``diagram`` is what was read, of which fixes are made; `fixing` keeps what
    several of them need. ``at_nodes`` are findings about single nodes that earlier versions had, None where there are none. With
    ``titles``, only what fixes are called is asked for: nothing is written or proved for that.
    """

    graph: TypedGraph
    header: tuple[Header, Block] | None = None
    front: tuple[FrontMatter, Block] | None = None
    settings: WorkflowSettings = NO_SETTINGS
    book: PromptBook = field(default_factory=PromptBook)
    diagram: Diagram | None = None
    permissions: Permissions = NO_PERMISSIONS
    fixing: Any = None
    at_nodes: AtNodes | None = None
    titles: bool = False
    _rims: Boundary | None = None
    _misplaced: list[Misplaced] | None = None

    @property
    def top(self) -> Range:
        """Where the diagram begins."""
        return _top(self.header)

    @property
    def boundary(self) -> Boundary:
        """The inputs and outputs."""
        if self._rims is None:
            self._rims = find_boundary(self.graph)
        return self._rims

    @property
    def misplaced(self) -> list[Misplaced]:
        """The words of composites that are out of place."""
        if self._misplaced is None:
            self._misplaced = find_misplaced(self.graph)
        return self._misplaced

    def at_node(
        self, node: int, question: object, find: Callable[[TypedNode], Iterable[Diagnostic]]
    ) -> Iterable[Diagnostic]:
        """What `find` says of the node with this handle, asked again only where the node or one that leads to it has changed.

        ``question`` tells apart what is asked of one node, and has all that the answer hangs on besides: the ids and ports of
        other nodes, for example. Findings that were kept have no fixes (`merrow_analysis.diagnostics.LATER`).
        """
        if self.at_nodes is None:
            return find(self.graph.node(node))
        return self.at_nodes.found(node, question, lambda: find(self.graph.node(node)))

    def boundary_places(self) -> dict[str, Range]:
        """Where the front matter names inputs and outputs, by their ids."""
        places: dict[str, Range] = {}
        settings = self.graph.settings
        for side, names in (("inputs", settings.inputs), ("outputs", settings.outputs)):
            for number, name in enumerate(names or ()):
                place = self.place_of((side, number)) or self.place_of((side,))
                if place is not None:
                    places.setdefault(name, place)
        return places

    def place_of(self, path: tuple[str | int, ...]) -> Range | None:
        """Where the front matter has what is at ``path`` below ``workflow``; None where it hasn't."""
        places = self._document.places("workflow", *path)
        if self.front is None or places is None:
            return None
        statement, block = self.front
        shift = statement.body_span[0]
        (start, end), value = places
        if isinstance(path[-1], int):
            start, end = value
        return block.range((start + shift, end + shift))

    def value_of(self, path: tuple[str | int, ...]) -> tuple[Block, Span] | None:
        """The block of the front matter, and where in it the value at ``path`` below ``workflow`` stands."""
        places = self._document.places("workflow", *path)
        if self.front is None or places is None:
            return None
        statement, block = self.front
        shift = statement.body_span[0]
        _, (start, end) = places
        return block, (start + shift, end + shift)

    @property
    def _document(self) -> FrontMatterDoc:
        return EMPTY if self.front is None else self.settings.document


def check_text(context: TextContext, *, reading: bool, guarded: bool = False) -> list[Diagnostic]:
    """What the rules about the text find: with ``reading`` those about how Mermaid reads it, else all others. ``guarded`` as in
    `check_graph`.
    """
    checks = (
        checks_of(Scope.TEXT, with_flags=Flags.READING) if reading else checks_of(Scope.TEXT, without=Flags.READING)
    )
    return found_by(checks, context, guarded=guarded)


def check_graph(
    context: GraphContext, scope: Scope, *, without: Flags = Flags.NONE, hints: bool = True, guarded: bool = False
) -> list[Diagnostic]:
    """What the rules of a scope find in a workflow, but for rules with one of the flags ``without``.

    Checks that give nothing but hints are only asked with ``hints``. With ``guarded`` a fault in a check is a finding
    (`merrow_analysis.faults`), and the others go on; without, as where a change is tried out, it is raised.
    """
    return found_by(checks_of(scope, Flags.NONE, without, hints=hints), context, guarded=guarded)


def found_by(
    checks: Iterable[Callable[[Any], Iterable[Diagnostic]]], context: Any, *, guarded: bool
) -> list[Diagnostic]:
    """What some checks find, given what those of their scope are given; ``guarded`` as in `check_graph`."""
    if not guarded:
        return [finding for check in checks for finding in check(context)]
    findings: list[Diagnostic] = []
    for check in checks:
        try:
            findings.extend(finding for finding in check(context))
        except Exception as problem:
            if faults.are_raised():
                raise
            rules = rules_of(check)
            hides = any(rule.severity is Severity.ERROR for rule in rules)
            names = ", ".join(rule.code for rule in rules[:_MOST_NAMED]) + (", ..." if len(rules) > _MOST_NAMED else "")
            what = f"{names} could not be checked to the end, all other rules were"
            findings.append(faults.finding(what, problem, context.top, Severity.ERROR if hides else Severity.WARNING))
    return findings
