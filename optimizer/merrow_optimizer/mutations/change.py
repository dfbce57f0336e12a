"""A mutation before it is written: a change of the graph, and the graph that follows.

Operators propose a `Mutation`; the preconditions look at the graph that would follow from it (`Mutation.after`), and
`merrow_analysis.edits.write` writes it as edits of the text. Nothing here touches the text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from typing import Generic, TypeVar, overload

from merrow_analysis.edits.change import GraphChange, WantedEdge, label_of
from merrow_analysis.edits.delta import graph_after
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.rules.drawn.syntax_rules import MOST_EDGES
from merrow_analysis.rules.registry import Flags
from merrow_analysis.text import Range
from merrow_optimizer.mutations.base import WorkflowDifference, difference, terms_of_nodes
from merrow_optimizer.mutations.harm import brings_harm
from merrow_optimizer.mutations.original import Original, troubles

_Row = TypeVar("_Row")
_Column = TypeVar("_Column")


@dataclass(frozen=True, eq=False)
class Mutation(GraphChange):
    """A change that an operator proposes. ``target`` is what of the text it is about.

    ``content`` tells mutations apart that have the same graph terms (such as the prompt of a new node); it is part of
    the move's id. ``doubts`` are preconditions, by name, that the operator saw to fail while it made the change, each
    with a sentence: they spare the typing of a graph that is wrong at first sight.
    """

    original: Original
    operator: str
    title: str
    target: Range
    content: tuple[object, ...] = ()
    doubts: tuple[tuple[str, str], ...] = ()

    @cached_property
    def new_links(self) -> list[WantedEdge]:
        """The links that are not edges of the workflow already."""
        return [link for put in self.edges.values() for link in put if not self._is_old(link)]

    def _is_old(self, link: WantedEdge) -> bool:
        return any(label_of(edge) == link.label for edge in self.original.edges_between(link.source, link.target))

    @property
    def growth(self) -> int:
        """How many edges more there will be."""
        return sum(len(put) - 1 for put in self.edges.values())

    @property
    def has_too_many_edges(self) -> bool:
        """Whether it adds edges to a flowchart that Mermaid would not draw with them."""
        return self.growth > 0 and len(self.original.flow.chart.edges) + self.growth > MOST_EDGES

    @cached_property
    def after(self) -> TypedGraph:
        """The typed graph that follows."""
        return graph_after(self, self.original.typed)

    @cached_property
    def does_harm(self) -> bool | None:
        """Whether something new is wrong, by a look at what differs; None where only the whole graph tells."""
        return brings_harm(self.original.typed, self.after) if self.original.is_sound else None

    @property
    def is_hopeless(self) -> bool:
        """Whether a precondition fails, as far as that shows without a look at the whole graph."""
        return bool(self.doubts) or self.has_too_many_edges or self.does_harm is True

    def incoming(self, name: str) -> Sequence[TypedEdge]:
        """The typed edges into a node as they will be."""
        return self.after.by_id[name].incoming

    @property
    def read_anew(self) -> list[str]:
        """The nodes whose edges may bring something else than before, in a fixed order."""
        return sorted(node.id for node in self._differing(self.after))

    @property
    def differing(self) -> list[TypedNode]:
        """The nodes as they will be that differ from what they were, or whose edges do."""
        return self._differing(self.after)

    def _differing(self, graph: TypedGraph) -> list[TypedNode]:
        """The nodes of a graph, before or after, that differ between the two."""
        touched, core = self.after.core.touched, graph.core
        if touched is None:
            return graph.nodes
        return [graph.node(n) for n in touched if n < len(core.records) and core.records[n] is not None]

    @cached_property
    def new_troubles(self) -> Counter[tuple[str, str]]:
        """Errors and warnings that the graph has only after the change."""
        all_troubles = troubles(self.after, skipped=Flags.QUICK_LOOK if self.does_harm is False else Flags.NONE)
        return all_troubles - self.original.troubles if all_troubles else all_troubles

    def found_sound(self) -> None:
        """Keep in mind that the text of the mutant was read and has no new error or warning."""
        self.__dict__["new_troubles"] = Counter()

    @cached_property
    def difference(self) -> WorkflowDifference:
        """The difference that this change declares."""
        before = set(self.original.analysis.settings.prompts)
        after = (before - set(self.original.workflow_text.lost_prompts(self))) | {
            name for name, _ in self.gained_prompts
        }
        old, new = self._differing(self.original.typed), self._differing(self.after)
        placed = {edge.record: edge.placed for node in old for edge in node.incoming}
        same = {edge.record for node in new for edge in node.incoming if placed.get(edge.record) == edge.placed}
        return difference(terms_of_nodes(old, same), terms_of_nodes(new, same), before, after)


Proposal = Callable[[], Mutation]
"""A change that is worked out when it is wanted. Operators propose many more than are safe or ever looked at."""


class Grid(Sequence[Proposal], Generic[_Row, _Column]):
    """A proposal for each row and column, made when it is looked at: ``make(original, row, column)``.

    ``own`` has for each row the number of a column that is left out, since it would change nothing.
    """

    def __init__(
        self,
        make: Callable[[Original, _Row, _Column], Mutation],
        original: Original,
        rows: Sequence[_Row],
        columns: Sequence[_Column],
        own: Sequence[int] = (),
    ) -> None:
        self._own, self._width = own, len(columns) - bool(own)
        self._make, self._original, self._rows, self._columns = make, original, rows, columns

    def __len__(self) -> int:
        return len(self._rows) * self._width

    @overload
    def __getitem__(self, index: int) -> Proposal: ...

    @overload
    def __getitem__(self, index: slice) -> list[Proposal]: ...

    def __getitem__(self, index: int | slice) -> Proposal | list[Proposal]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if index >= len(self):
            raise IndexError(index)
        row, column = divmod(index, self._width)
        column += bool(self._own) and column >= self._own[row]
        return partial(self._make, self._original, self._rows[row], self._columns[column])


class Joined(Sequence[Proposal]):
    """Several lists of proposals as one, none of them made before it is looked at."""

    def __init__(self, *parts: Sequence[Proposal]) -> None:
        self._parts = [part for part in parts if part]
        self._ends = list(accumulate(map(len, self._parts)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> Proposal: ...

    @overload
    def __getitem__(self, index: slice) -> list[Proposal]: ...

    def __getitem__(self, index: int | slice) -> Proposal | list[Proposal]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        part = bisect_right(self._ends, index)
        return self._parts[part][index - (self._ends[part - 1] if part else 0)]
