"""The text of a child: the host's lines up to its cut, the donor's lines from its cut on, each as it was written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.operators import INTERFACE_CLASS
from merrow_analysis.graph.drawings.drawing import ENTRY_POINT_ID, PROBLEM_ID
from merrow_analysis.graph.flow import FlowEdge
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.places.symbols import Symbol, symbol
from merrow_optimizer.crossover.cuts import Cut
from merrow_optimizer.joining.front_matter import merged_front_matter
from merrow_optimizer.joining.layout import laid_out
from merrow_optimizer.joining.merged_names import NamesError, Share, merge
from merrow_optimizer.joining.text import End, KeptPart, members
from merrow_optimizer.joining.types import same_type


class Joint(NamedTuple):
    """Which parts are put together: the host keeps what lies before ``host_from`` and behind ``host_to``; between comes
    what the donor has between its cuts. Without second cuts the donor goes on to the outputs.
    """

    host_from: Cut
    donor_from: Cut
    host_to: Cut | None = None
    donor_to: Cut | None = None

    @property
    def removed(self) -> frozenset[str]:
        """The host's nodes that go."""
        to = self.host_to
        return self.host_from.downstream if to is None else self.host_from.downstream & to.upstream

    @property
    def taken(self) -> frozenset[str]:
        """The donor's nodes that come."""
        to = self.donor_to
        return self.donor_from.downstream if to is None else self.donor_from.downstream & to.upstream


def join(host: Analysis, donor: Analysis, joint: Joint) -> str:
    """The child's text. Raises `NamesError` or `FrontMatterError` where the two can't be put together."""
    return _Join(host, donor, joint).text()


class _Join:
    def __init__(self, host: Analysis, donor: Analysis, joint: Joint) -> None:
        self.host, self.donor, self.joint = host, donor, joint
        self.mine: TypedGraph = joint.host_from.graph
        self.theirs: TypedGraph = joint.donor_from.graph
        self.taken, self.removed = joint.taken, joint.removed
        self.is_tail = joint.host_to is None
        self.donor_edges = self._donor_edges()
        self.inputs, self.added = self._inputs()

    def text(self) -> str:
        outputs = {node.id: node.id for node in self.theirs.outputs}
        mine = self._host_nodes()
        merged = merge(
            Share(self.host, self.mine, mine),
            Share(self.donor, self.theirs, frozenset(self.taken | self.added)),
            {**self.inputs, **outputs},
        )
        self.names = {node: merged.names.get(symbol("node", node), node) for node in self.taken}
        host_edges, host_led = self._host_edges(mine)
        donor_led = self._donor_led()
        used = self._classes(self.mine, mine)
        taken_classes = self._classes(self.theirs, self.taken | self.added)
        renamed = {name for name in taken_classes if self._is_renamed(name, merged.names)}
        everywhere = self._classes(self.mine, None)
        hosts = KeptPart(
            self.host,
            mine,
            frozenset(host_edges),
            host_led,
            {},
            frozenset(
                name
                for name in self.host.flow.class_defs
                if name in used or name in taken_classes or name not in everywhere
            ),
            is_host=True,
        )
        donors = KeptPart(
            self.donor,
            frozenset(self.taken | self.added),
            frozenset(edge.index for edge in self.donor_edges),
            donor_led,
            merged.names,
            frozenset(name for name in taken_classes if name in renamed or name not in self.host.flow.class_defs),
            is_host=False,
        )
        front = merged_front_matter(
            self.host, merged.prompts, merged.unused, merged.types, merged.operators, merged.agents, merged.validators
        )
        return laid_out(hosts, donors, front)

    def _is_renamed(self, name: str, names: Mapping[Symbol, str]) -> bool:
        """Whether a class of the donor's has another name in the child, its own or that of its operator."""
        definition = self.theirs.operators.by_class(name)
        operator = symbol("operator", definition.spec.name) if definition is not None else None
        return symbol("class", name) in names or operator in names

    # What comes from the donor

    def _donor_edges(self) -> list[FlowEdge]:
        outputs = {node.id for node in self.theirs.outputs}
        inputs = {node.id for node in self.theirs.inputs}
        value = self.joint.donor_from.value
        sources = set(self.taken) | inputs | ({value.id} if value is not None else set())
        targets = set(self.taken) | (outputs if self.is_tail else set())
        edges: list[FlowEdge] = []
        for edge in self.donor.flow.edges:
            source, target = edge.source.id, edge.target.id
            if source not in sources or target not in targets:
                continue
            if edge.carries_nothing and (source not in self.taken or target not in self.taken):
                continue
            edges.append(edge)
        return edges

    def _inputs(self) -> tuple[dict[str, str], frozenset[str]]:
        """The host's names of the donor's inputs that its part reads, and those that the host has none for."""
        needed = {edge.source.id for edge in self.donor_edges}
        names: dict[str, str] = {}
        added: set[str] = set()
        for node in self.theirs.inputs:
            if node.id not in needed:
                continue
            other = self.mine.by_id.get(node.id)
            if other is not None:
                if other.kind != "input" or not self._gives_the_same(other, node):
                    raise NamesError(f"{node.id} is not the same in both workflows.")
                names[node.id] = node.id
                continue
            like = next((own for own in self.mine.inputs if self._gives_the_same(own, node)), None)
            if like is not None:
                names[node.id] = like.id
            elif node.id in (PROBLEM_ID, ENTRY_POINT_ID) or any(
                use.name.text == INTERFACE_CLASS for use in node.flow.classes
            ):
                added.add(node.id)
            else:
                raise NamesError(f"The first workflow has no input like {node.id}.")
        return names, frozenset(added)

    def _gives_the_same(self, mine: TypedNode, theirs: TypedNode) -> bool:
        given, wanted = next(iter(mine.outputs.values()), None), next(iter(theirs.outputs.values()), None)
        if given is None or wanted is None:
            return False
        return same_type(given, self.mine.types, wanted, self.theirs.types)

    def _donor_led(self) -> dict[int, End]:
        """The donor's edges from its cut: they start at the host's value now."""
        cut, own = self.joint.donor_from, self.joint.host_from
        if cut.value is None or own.value is None:
            return {}
        crossing = {edge.flow.index: edge for edge in cut.crossing}
        led: dict[int, End] = {}
        for edge in self.donor_edges:
            if edge.index in crossing:
                target = self.names.get(edge.target.id, edge.target.id)
                led[edge.index] = End(own.value.id, target, _label(crossing[edge.index], own.output))
        return led

    # What the host keeps

    def _host_nodes(self) -> frozenset[str]:
        """The host's nodes without those that go, and without inputs that nothing would read any more."""
        kept = {node.id for node in self.mine.nodes} - self.removed
        outputs = {node.id for node in self.mine.outputs}
        named = set(self.host.settings.inputs or ())
        for node in self.mine.inputs:
            read = any(
                edge.target.id in kept and not (self.is_tail and edge.target.id in outputs) for edge in node.outgoing
            )
            read = read or node.id in self.inputs.values()
            if not read and node.outgoing:
                if node.id == PROBLEM_ID or node.id in named:
                    raise NamesError(f"Nothing would read {node.id}.")
                kept.discard(node.id)
        return frozenset(kept)

    def _host_edges(self, kept: frozenset[str]) -> tuple[set[int], dict[int, End]]:
        joint = self.joint
        outputs = {node.id for node in self.mine.outputs}
        gate, other = joint.host_from.gate, joint.donor_from.gate
        crossing = {edge.flow.index: edge for edge in joint.host_from.crossing}
        leaving = {edge.flow.index: edge for edge in joint.host_to.crossing} if joint.host_to is not None else {}
        edges: set[int] = set()
        led: dict[int, End] = {}
        for edge in self.host.flow.edges:
            source, target = edge.source.id, edge.target.id
            if edge.index in leaving:
                edges.add(edge.index)
                end = self._from_donor(leaving[edge.index])
                if end is not None:
                    led[edge.index] = end
            elif gate is not None and other is not None and edge.index in crossing:
                edges.add(edge.index)
                led[edge.index] = End(source, self.names[other.id])
            elif source in kept and target in kept and not (self.is_tail and target in outputs):
                edges.add(edge.index)
        return edges, led

    def _from_donor(self, edge: TypedEdge) -> End | None:
        """Where an edge behind the exchanged part starts now; None where it starts where it did."""
        joint = self.joint
        last, own = joint.donor_to, joint.host_from
        if last is not None and last.value is not None and last.value.id in self.taken:
            return End(self.names[last.value.id], edge.target.id, _label(edge, last.output))
        if own.value is not None and own.value is not edge.source:
            return End(own.value.id, edge.target.id, _label(edge, own.output))
        return None

    @staticmethod
    def _classes(graph: TypedGraph, nodes: frozenset[str] | None) -> set[str]:
        """The classes of some nodes, of all for None, and those of subgraphs that hold any of them."""
        names = {
            use.name.text for node in graph.nodes if nodes is None or node.id in nodes for use in node.flow.classes
        }
        for name, group in graph.flow.subgraphs.items():
            if nodes is None or any(member in nodes for member in members(graph.flow, name)):
                names.update(use.name.text for use in group.classes)
        return names


def _label(edge: TypedEdge, output: str | None) -> str | None:
    """The label that an edge needs to bring another node's output to the same port; None for the one it has."""
    label = edge.placed.label
    written = label.port
    if edge.target.kind == "decision":
        written = edge.port
    if output is not None:
        return f"{output}:{written or ''}"
    if label.output is not None or written != label.port:
        return written or edge.port
    return None
