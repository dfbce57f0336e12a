"""A change tried out on the typed graph: types inferred anew only at the nodes that it touches and at those downstream
whose types change with them, and what is live only where that may change.

The verdict is that of typing the whole graph anew. It is asked of workflows in which nothing is wrong but what single
nodes are fed; elsewhere, and where a change reaches further than its nodes, only the whole graph tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from merrow_analysis.graph.conditions import TooManyCombinationsError
from merrow_analysis.graph.decisions import read_cases
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.graph.notation import read_label
from merrow_analysis.graph.placement import UNKNOWN, Placement, Signature
from merrow_analysis.graph.ports import place
from merrow_analysis.graph.reach import topological_order
from merrow_analysis.graph.typed import ENTRY_POINT_ID, PROBLEM_ID, RETURN_ID, facts_of
from merrow_optimizer.mutations.base import Terms, terms_of_nodes
from merrow_optimizer.mutations.flow_after import new_edge
from merrow_optimizer.mutations.trial_liveness import does_harm

if TYPE_CHECKING:
    from merrow_optimizer.mutations.change import Arrival, Change
    from merrow_optimizer.mutations.subject import Subject

_BY_NAME = frozenset({PROBLEM_ID, ENTRY_POINT_ID, RETURN_ID})
_BETWEEN = 1e-6
"""How far a new node comes after what it reads, where old ones have whole numbers."""
_CASE_FINDINGS = frozenset({"unknown-name", "bad-expression"})


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """``nodes`` are those that differ from the workflow's own, by id, with edges of their own; ``is_harmful`` says that
    an error or a warning is new, and then not all of them need be there.
    """

    subject: Subject
    removed: frozenset[str]
    nodes: Mapping[str, TypedNode]
    is_harmful: bool = False

    def incoming(self, name: str) -> Sequence[TypedEdge]:
        """The typed edges into a node."""
        node = self.nodes.get(name)
        return self.subject.typed.by_id[name].incoming if node is None else node.incoming

    @property
    def terms(self) -> tuple[Terms, Terms]:
        """What differs, before and after, in the terms in which differences are told."""
        old = self.subject.typed.by_id
        gone = [old[name] for name in (*self.nodes, *self.removed) if name in old]
        return terms_of_nodes(gone), terms_of_nodes(self.nodes.values())


class _WholeGraphError(Exception):
    """Only the whole graph tells what a change does."""


class _HarmError(Exception):
    """An error or a warning is new."""


def try_out(change: Change) -> Trial | None:
    """Try a change; None where only typing the whole graph tells what follows."""
    if not change.subject.is_sound:
        return None
    work = _Work(change)
    try:
        work.check_ends()
        work.infer()
        nodes = work.nodes()
        work.check_cases(nodes)
        if does_harm(change.subject, nodes, work.placed_at):
            raise _HarmError
    except (_WholeGraphError, TooManyCombinationsError):
        return None
    except _HarmError:
        return Trial(change.subject, change.removed, {}, is_harmful=True)
    return Trial(change.subject, change.removed, nodes)


class _Work:
    """One change being tried."""

    def __init__(self, change: Change) -> None:
        self.change, self.subject = change, change.subject
        self.typed = change.subject.typed
        self.old = self.typed.by_id
        self.places = self.typed.shape.places
        ends = [change.subject.flow.edges[index] for index in change.edges]
        new = change.new_edges
        self.targets = {*(edge.target.id for edge in ends), *(edge.target for edge in new)} - change.removed
        self.starts = {*(edge.source.id for edge in ends), *(edge.source for edge in new)} - change.removed
        self.pairs = [(edge.source, edge.target) for edge in new]
        self.arrivals: dict[str, list[Arrival]] = {}
        self.departures: dict[str, list[Arrival]] = {}
        self.placements: dict[str, Placement] = {}
        self._new_places: dict[str, float] | None = None
        for name, resolution in change.resolutions.items():
            if resolution.kind != "operator" or resolution.problems:
                raise ValueError(f"{name} is no node with an operator")

    # Edges

    def into(self, name: str) -> list[Arrival]:
        """The edges into a node that carry something, where they may have changed."""
        found = self.arrivals.get(name)
        if found is None:
            found = self.arrivals[name] = [one for one in self.change.arrivals(name) if not one.is_idle]
        return found

    def out_of(self, name: str) -> list[Arrival]:
        """The edges out of a node that carry something."""
        found = self.departures.get(name)
        if found is None:
            found = self.departures[name] = [one for one in self.change.departures(name) if not one.is_idle]
        return found

    def check_ends(self) -> None:
        """Every node has something before it and after it, inputs and outputs on one side."""
        ins: dict[str, int] = {}
        outs: dict[str, int] = {}
        for index in self.change.edges:
            edge = self.subject.flow.edges[index]
            if not edge.carries_nothing:
                ins[edge.target.id] = ins.get(edge.target.id, 0) - 1
                outs[edge.source.id] = outs.get(edge.source.id, 0) - 1
        for new in self.change.new_edges:
            if not new.is_idle:
                ins[new.target] = ins.get(new.target, 0) + 1
                outs[new.source] = outs.get(new.source, 0) + 1
        for name in self.targets | self.starts | self.change.resolutions.keys():
            old = self.old.get(name)
            kind = "operator" if old is None else old.kind
            has_in = ins.get(name, 0) + (0 if old is None else len(old.incoming)) > 0
            has_out = outs.get(name, 0) + (0 if old is None else len(old.outgoing)) > 0
            if (has_in, has_out) == (kind != "input", kind != "output"):
                continue
            if kind in ("input", "output") and name not in _BY_NAME and name not in self.subject.special:
                raise _WholeGraphError  # its edges say what it is
            raise _HarmError

    # Order

    def placed_at(self, name: str) -> float:
        """A number that is smaller for whatever must come before."""
        if self._new_places is None:
            self._new_places = self._between()
        place = self._new_places.get(name)
        return self.places[self.old[name].index] if place is None else place

    def _between(self) -> dict[str, float]:
        """The places of new nodes among the old ones; of all nodes where a new edge goes against the order so far."""
        found: dict[str, float] = {}
        waiting = [node.id for node in self.change.added]
        while waiting:
            later = []
            for name in waiting:
                sources = [one.source for one in self.into(name)]
                if all(source in found or source in self.old for source in sources):
                    place = max(self._known(found, source) for source in sources)
                    found[name] = place + _BETWEEN
                else:
                    later.append(name)
            if len(later) == len(waiting):
                raise _HarmError  # a circle
            waiting = later
        if all(self._known(found, source) < self._known(found, target) for source, target in self.pairs):
            return found
        return self._sorted()

    def _known(self, found: Mapping[str, float], name: str) -> float:
        place = found.get(name)
        return self.places[self.old[name].index] if place is None else place

    def _sorted(self) -> dict[str, float]:
        names = [name for name in self.old if name not in self.change.removed]
        names += (node.id for node in self.change.added)
        number = {name: index for index, name in enumerate(names)}
        following = [
            [number[one.target] for one in self.out_of(name)]
            if name in self.starts or name not in self.old
            else [number[edge.target.id] for edge in self.old[name].outgoing]
            for name in names
        ]
        order = topological_order(following)
        if len(order) < len(names):
            raise _HarmError  # a circle
        return {names[index]: float(place) for place, index in enumerate(order)}

    # Types

    def infer(self) -> None:
        """Place the edges of what the change touches, and of what reads other types for it."""
        queue = [(self.placed_at(name), name) for name in self.targets | self.change.resolutions.keys()]
        queue.sort()
        queued = {name for _, name in queue}
        while queue:
            _, name = heappop(queue)
            queued.discard(name)
            before = self.old.get(name)
            made = self._place(name)
            self.placements[name] = made
            self._compare(made, None if before is None else before.placement)
            if before is not None and made.signature == before.placement.signature:
                continue
            for reader in self._readers(name):
                if reader not in queued:
                    queued.add(reader)
                    heappush(queue, (self.placed_at(reader), reader))

    def _readers(self, name: str) -> list[str]:
        if name in self.starts or name not in self.old:
            return [one.target for one in self.out_of(name)]
        return [edge.target.id for edge in self.old[name].outgoing]

    def _place(self, name: str) -> Placement:
        resolution = self.change.resolutions.get(name)
        if resolution is None:
            resolution = self.old[name].resolution
        if name in self.targets or name in self.change.resolutions:
            given = tuple((one.label, self._signature(one.source)) for one in self.into(name))
        else:
            given = tuple(
                (None if (label := edge.flow.arrow.label) is None else label.text, self._signature(edge.source.id))
                for edge in self.old[name].incoming
            )
        known = self.subject.placed.get((resolution, given))
        if known is None:
            known = self.subject.placed[resolution, given] = place(facts_of(resolution), given, self.typed.types)
        return known

    def _signature(self, name: str) -> Signature:
        placement = self.placements.get(name)
        if placement is not None:
            return placement.signature
        return self.old[name].placement.signature if name in self.old else UNKNOWN

    def _compare(self, made: Placement, before: Placement | None) -> None:
        """Nothing new may be wrong with what a node is fed."""
        if not made.findings:
            return
        found = Counter(finding.kind for finding in made.findings)
        if before is None or found - Counter(finding.kind for finding in before.findings):
            raise _HarmError

    # Nodes

    def nodes(self) -> dict[str, TypedNode]:
        """The nodes that differ, with their edges."""
        made: dict[str, TypedNode] = {}
        count = len(self.old)
        for number, new in enumerate(self.change.added):
            made[new.id] = self._node(new.id, count + number)
        deciders = {name for name in self.starts if name in self.old and self.old[name].kind == "decision"}
        for name in self.placements.keys() | deciders:
            if name not in made:
                made[name] = self._node(name, self.old[name].index)
        for name, node in made.items():
            node.incoming = self._edges(name, node, made)
        for name, node in made.items():
            if node.kind == "decision":
                self._read_cases(name, node, made)
        return made

    def _node(self, name: str, index: int) -> TypedNode:
        old = self.old.get(name)
        resolution = self.change.resolutions.get(name)
        if resolution is None and old is not None:
            placement = self.placements.get(name, old.placement)
            return TypedNode(old.flow, index, old.resolution, placement)
        assert resolution is not None  # noqa: S101 - for the type checker: it is new then
        return TypedNode(self.change.written_nodes[name], index, resolution, self.placements[name])

    def _edges(self, name: str, node: TypedNode, made: Mapping[str, TypedNode]) -> list[TypedEdge]:
        found: list[TypedEdge] = []
        if name in self.targets or name in self.change.resolutions:
            for number, (one, placed) in enumerate(zip(self.into(name), node.placement.edges, strict=True)):
                source = made.get(one.source) or self.old[one.source]
                written = new_edge(source.flow, node.flow, one.label, one.edge, -1 - number)
                found.append(TypedEdge(written, source, node, placed))
        else:
            for old, placed in zip(self.old[name].incoming, node.placement.edges, strict=True):
                source = made.get(old.source.id) or old.source
                found.append(TypedEdge(old.flow, source, node, placed))
        for edge, before in zip(found, self._cases_into(name, found), strict=True):
            edge.case = before
        return found

    def _cases_into(self, name: str, edges: Sequence[TypedEdge]) -> list[int | None]:
        """The cases of edges from Decisions that stay as they are; `_read_cases` has those of the others."""
        if not any(edge.source.kind == "decision" for edge in edges):
            return [None] * len(edges)
        old = {edge.flow.index: edge.case for edge in (self.old[name].incoming if name in self.old else ())}
        return [old.get(edge.flow.index) for edge in edges]

    def _read_cases(self, name: str, node: TypedNode, made: Mapping[str, TypedNode]) -> None:
        """The cases of a Decision, whose edges or value differ."""
        placement, types = node.placement, self.typed.types
        words = types.words_of(placement.when) if placement.decided_by == "words" and placement.when else None
        labels = [read_label(one.label, from_decision=True).case for one in self.out_of(name)]
        node.cases = read_cases(tuple(labels), placement.decided_by, words or ())
        before = self.old[name].cases
        if before is None or node.cases.keys != before.keys:
            raise _WholeGraphError  # its cases have other numbers
        taken: dict[str, int] = Counter()
        for one, case in zip(self.out_of(name), node.cases.of_edge, strict=True):
            target = made.get(one.target)
            if target is not None:
                own = [edge for edge in target.incoming if edge.source is node]
                own[taken[one.target]].case = case
            taken[one.target] += 1

    def check_cases(self, nodes: Mapping[str, TypedNode]) -> None:
        """Decisions choose among what they can be, and no edge says what another does."""
        for node in nodes.values():
            if node.cases is not None and node.cases.problems:
                raise _HarmError
            if node.kind == "decision" and any(found.kind in _CASE_FINDINGS for found in node.placement.findings):
                raise _HarmError
            if _repeats(node):
                raise _HarmError


def _repeats(node: TypedNode) -> bool:
    """Whether two edges bring the same to the same port for several values, or give the same order."""
    if len({edge.source.id for edge in node.incoming}) == len(node.incoming):
        return False
    ports = {port.name: port for port in node.input_ports}
    seen: set[object] = set()
    for edge in node.incoming:
        if not edge.feeds and not edge.order_only:
            continue
        key = (edge.source.id, edge.case, edge.feeds)
        if key in seen and not any(feed.port in ports and not ports[feed.port].many for feed in edge.feeds):
            return True
        seen.add(key)
    return False
