"""A change of a workflow's graph before it is written: what goes, what comes, and the graph that follows.

Operators propose a `Change`; the preconditions look at the graph that would follow from it (`Change.after`), and
`merrow_optimizer.mutations.writing` writes it as edits of the text. Nothing here touches the text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar, overload

from merrow_analysis.definitions.operators import OperatorSpec
from merrow_analysis.graph.flow import FlowEdge
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.resolve import Resolution
from merrow_analysis.rules.registry import Flags
from merrow_analysis.text import Range
from merrow_optimizer.mutations.base import Delta, difference, terms_of_nodes
from merrow_optimizer.mutations.graph_change import graph_after
from merrow_optimizer.mutations.harm import brings_harm
from merrow_optimizer.mutations.subject import Subject, role_of, troubles

_Row = TypeVar("_Row")
_Column = TypeVar("_Column")


@dataclass(frozen=True, slots=True)
class NewNode:
    """A node to write. ``prompt`` is its text, ``role`` the name that its prompt goes by; ``parameters`` are further
    keys with their values. ``beside`` is the node that its lines are placed after.

    ``prompt_name``, set where the front matter keeps prompts, is the name under which the prompt is added there.
    """

    id: str
    spec: OperatorSpec
    beside: str
    role: str | None = None
    prompt: str | None = None
    parameters: tuple[tuple[str, object], ...] = ()
    prompt_name: str | None = None

    def values(self) -> dict[str, object]:
        """Its keys and values as metadata would say them, the operator first."""
        found: dict[str, object] = {"op": self.spec.name}
        if self.role is not None:
            key = self.spec.instruction_key or "role"
            found[key] = self.role
        if self.prompt is not None and self.prompt_name is None:
            found["prompt"] = self.prompt
        found.update(self.parameters)
        return found


class Link(NamedTuple):
    """An edge as a change wants it: ``label`` as the file writes it, None for none.

    ``kept`` says that it is the edge whose place it takes, with another end or label: its arrow stays.
    """

    source: str
    target: str
    label: str | None = None
    kept: bool = False


class Arrival(NamedTuple):
    """An edge as it will be: ``place`` orders it among the others, ``is_idle`` says that it carries nothing.

    ``edge`` is the edge of the flowchart that it is or takes the place of, None for another one.
    """

    place: tuple[int, int]
    source: str
    target: str
    label: str | None
    is_idle: bool
    edge: FlowEdge | None


def label_of(edge: FlowEdge) -> str | None:
    """What an edge says, as it is written."""
    return None if edge.arrow.label is None else edge.arrow.label.text


@dataclass(frozen=True, eq=False)
class Change:
    """A proposal. ``edges`` maps the index of an edge of the flowchart to what stands in its place, in order; an empty
    tuple drops it. Edges of removed nodes must be mapped, too. ``target`` is what of the text it is about.

    ``content`` tells changes apart that have the same graph terms (such as the prompt of a new node); it is part of
    the move's id. ``doubts`` are preconditions, by name, that the operator saw to fail while it made the change, each
    with a sentence: they spare the typing of a graph that is wrong at first sight. ``front_prompts`` are
    prompts that the front matter gains besides those of new nodes.
    """

    subject: Subject
    operator: str
    title: str
    target: Range
    added: tuple[NewNode, ...] = ()
    removed: frozenset[str] = frozenset()
    substituted: Mapping[str, NewNode] = field(default_factory=lambda: MappingProxyType({}))
    edges: Mapping[int, tuple[Link, ...]] = field(default_factory=lambda: MappingProxyType({}))
    content: tuple[object, ...] = ()
    doubts: tuple[tuple[str, str], ...] = ()
    front_prompts: tuple[tuple[str, str], ...] = ()

    @cached_property
    def gained_prompts(self) -> tuple[tuple[str, str], ...]:
        """The prompts that the front matter gains, each by its name."""
        new = (*self.added, *self.substituted.values())
        own = [(node.prompt_name, node.prompt or "") for node in new if node.prompt_name is not None]
        return (*own, *self.front_prompts)

    @cached_property
    def lost_prompts(self) -> tuple[str, ...]:
        """The prompts of the front matter that no node has the role of any more."""
        prompts = self.subject.analysis.settings.prompts
        if not prompts or not (self.removed or self.substituted):
            return ()
        by_id = self.subject.typed.by_id
        gone = Counter(role_of(by_id[name].resolution) for name in (*self.removed, *self.substituted))
        come = {role_of(resolution) for resolution in self.resolutions.values()}
        lost = {role for role, count in gone.items() if self.subject.roles[role or ""] == count and role not in come}
        return tuple(name for name in prompts if name.strip().casefold() in lost)

    @cached_property
    def new_links(self) -> list[Link]:
        """The links that are not edges of the workflow already."""
        return [link for put in self.edges.values() for link in put if not self._is_old(link)]

    def _is_old(self, link: Link) -> bool:
        return any(label_of(edge) == link.label for edge in self.subject.edges_between(link.source, link.target))

    @property
    def resolutions(self) -> dict[str, Resolution]:
        """What the new and the substituted nodes are."""
        names = (*(node.id for node in self.added), *self.substituted)
        return {name: self.after.by_id[name].resolution for name in names}

    @property
    def growth(self) -> int:
        """How many edges more there will be."""
        return sum(len(put) - 1 for put in self.edges.values())

    def arrivals(self, name: str) -> list[Arrival]:
        """The edges into a node as they will be, in order."""
        return self._at(name, into=True)

    def departures(self, name: str) -> list[Arrival]:
        """The edges out of a node as they will be, in order."""
        return self._at(name, into=False)

    def _at(self, name: str, *, into: bool) -> list[Arrival]:
        node = self.subject.flow.nodes.get(name)
        old = () if node is None else node.incoming if into else node.outgoing
        found = [
            Arrival((edge.index, 0), edge.source.id, edge.target.id, label_of(edge), edge.carries_nothing, edge)
            for edge in old
            if edge.index not in self.edges
        ]
        found += (new for new in self.new_edges if (new.target if into else new.source) == name)
        found.sort(key=_place)
        return found

    @cached_property
    def new_edges(self) -> list[Arrival]:
        """The edges that the change puts in the place of others."""
        edges = self.subject.flow.edges
        return [
            Arrival(
                (index, number),
                link.source,
                link.target,
                link.label,
                link.kept and edges[index].carries_nothing,
                edges[index] if link.kept else None,
            )
            for index, put in self.edges.items()
            for number, link in enumerate(put)
        ]

    @cached_property
    def after(self) -> TypedGraph:
        """The typed graph that follows."""
        return graph_after(self)

    @cached_property
    def does_harm(self) -> bool | None:
        """Whether something new is wrong, by a look at what differs; None where only the whole graph tells."""
        return brings_harm(self.subject.typed, self.after) if self.subject.is_sound else None

    @property
    def is_hopeless(self) -> bool:
        """Whether a precondition fails, as far as that shows without a look at the whole graph."""
        return bool(self.doubts) or self.does_harm is True

    def incoming(self, name: str) -> Sequence[TypedEdge]:
        """The typed edges into a node as they will be."""
        return self.after.by_id[name].incoming

    @property
    def read_anew(self) -> list[str]:
        """The nodes whose edges may bring something else than before, in a fixed order."""
        return sorted(node.id for node in self._differing(self.after))

    def _differing(self, graph: TypedGraph) -> list[TypedNode]:
        """The nodes of a graph, before or after, that differ between the two."""
        touched, core = self.after.core.touched, graph.core
        if touched is None:
            return graph.nodes
        return [graph.node(n) for n in touched if n < len(core.records) and core.records[n] is not None]

    @cached_property
    def new_troubles(self) -> Counter[tuple[str, str]]:
        """Errors and warnings that the graph has only after the change."""
        found = troubles(self.after, skipped=Flags.QUICK_LOOK if self.does_harm is False else Flags.NONE)
        return found - self.subject.troubles if found else found

    @cached_property
    def delta(self) -> Delta:
        """The difference that this change declares."""
        before = set(self.subject.analysis.settings.prompts)
        after = (before - set(self.lost_prompts)) | {name for name, _ in self.gained_prompts}
        old = terms_of_nodes(self._differing(self.subject.typed))
        return difference(old, terms_of_nodes(self._differing(self.after)), before, after)


def _place(arrival: Arrival) -> tuple[int, int]:
    return arrival.place


Proposal = Callable[[], Change]
"""A change that is worked out when it is wanted. Operators propose many more than are safe or ever looked at."""


class Grid(Sequence[Proposal], Generic[_Row, _Column]):
    """A proposal for each row and column, made when it is looked at: ``make(subject, row, column)``.

    ``own`` has for each row the number of a column that is left out, since it would change nothing.
    """

    def __init__(
        self,
        make: Callable[[Subject, _Row, _Column], Change],
        subject: Subject,
        rows: Sequence[_Row],
        columns: Sequence[_Column],
        own: Sequence[int] = (),
    ) -> None:
        self._own, self._width = own, len(columns) - bool(own)
        self._make, self._subject, self._rows, self._columns = make, subject, rows, columns

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
        return partial(self._make, self._subject, self._rows[row], self._columns[column])


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
