"""An edge that may be drawn: from an output of a node to a port, in the place of another edge or beside those that there are."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice
from typing import NamedTuple

from merrow_analysis.definitions.operators import InputPort
from merrow_analysis.definitions.types import ENTRY_POINT, PROBLEM, Type, is_variable, item_of
from merrow_analysis.edits.change import WantedEdge
from merrow_analysis.graph.boxes.edge_words import EACH, entered_map
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode

OWN_KIND = {"problem": PROBLEM, "entry_point": ENTRY_POINT}
"""Ports that take one kind of input alone."""
MOST_LOOKED_AT = 300
"""Nodes among which the likeliest ends of an edge are found."""
_SMALL = 150
"""Nodes of a graph up to which the messages of a few findings look at all of them: in some milliseconds."""


class NodeOutput(NamedTuple):
    """An output of a node: ``output`` is None for the default one, which no edge needs to name, or a Decision's value; ``type``
    is None where it isn't known.
    """

    node: TypedNode
    output: str | None = None
    type: Type | None = None

    @property
    def said(self) -> str:
        return self.node.id if self.output is None else f"{self.output} of {self.node.id}"

    def label(self, port: str | None) -> str | None:
        """What an edge from it says that leads to a port; None for ``port`` where that need not be said."""
        return joined(self.output, port)


def joined(output: str | None, port: str | None) -> str | None:
    """A label of an output and a port, each where it has to be said."""
    return port if output is None else f"{output}:{port or ''}"


class Wire(NamedTuple):
    """An edge from ``source`` to ``target`` that says ``label``; it takes the place of ``instead``, if that is given."""

    source: TypedNode
    target: TypedNode
    label: str | None
    instead: TypedEdge | None = None

    @property
    def link(self) -> WantedEdge:
        return WantedEdge(self.source.id, self.target.id, self.label, kept=self.instead is not None)

    @property
    def case(self) -> str:
        """The case that it begins with, out of a Decision."""
        return (self.label or "").partition(":")[0]

    @property
    def arrow(self) -> str:
        """How it is written."""
        return f"{self.source.id} -->{'' if self.label is None else f'|{self.label}|'} {self.target.id}"

    @property
    def title(self) -> str:
        """What drawing it is called."""
        if self.instead is None:
            return f"Draw {self.arrow}"
        return f"Let {self.target.id} read {self.source.id} instead of {self.instead.source.id}"


def said_port(node: TypedNode, port: str, given: Type | None = None) -> str | None:
    """The name of a port as an edge must say it that brings a value of a type; None where an edge without a label goes there."""
    spec = node.spec
    if spec is None or spec.bulk != port:
        return port
    is_aside = spec.is_ensemble and (given is None or node.types.fits(given, PROBLEM)) and "problem" in spec.ports
    return port if is_aside else None


def wire_to(graph: TypedGraph, source: NodeOutput, target: TypedNode, port: InputPort) -> Wire:
    """The edge from an output to a port: into a Map that takes no list apart yet, a list is taken apart."""
    label = source.label(said_port(target, port.name, source.type))
    if _is_taken_apart(graph, source, target, port):
        label = EACH if label is None else f"{EACH}:{label}"
    return Wire(source.node, target, label)


def _is_taken_apart(graph: TypedGraph, source: NodeOutput, target: TypedNode, port: InputPort) -> bool:
    composites = graph.composites
    if not composites or source.type is None or item_of(source.type) is None:
        return False
    entered = entered_map(composites.border(source.node.id, target.id), composites)
    if entered is None or item_of(port.item if port.many else port.type) is not None:
        return False
    members = (graph.by_id[name] for name in islice(composites.members(entered), MOST_LOOKED_AT))
    return not any(edge.word == EACH for node in members for edge in islice(node.incoming, MOST_LOOKED_AT))


def fits(node: TypedNode, given: Type | None, port: InputPort) -> bool:
    """Whether a value of a type may flow into a port of a node."""
    wanted = port.item if port.many else port.type
    return given is None or has_variable(wanted) or node.types.fits(given, wanted)


def has_variable(type_: Type) -> bool:
    """Whether a type is, or is a list of, a type variable, so that it depends on the node."""
    while (item := item_of(type_)) is not None:
        type_ = item
    return is_variable(type_)


def lacks(node: TypedNode) -> list[str]:
    """The ports of a node that must be fed and are not, or in later turns alone."""
    missing = [finding.port or "" for finding in node.placement.findings if finding.kind == "missing-input"]
    later = (feed.port for edge in node.again_in for feed in edge.feeds)
    return [*missing, *(port for port in later if port in node.placement.required and not node.sources(port))]


def is_loose(node: TypedNode) -> bool:
    """Whether a step gives what nothing reads."""
    return node.kind == "operator" and not node.outgoing and not node.again_out


def are_together(graph: TypedGraph, node: TypedNode, other: TypedNode) -> bool:
    """Whether two nodes lie in the same Loop or Map, if any is there."""
    inside = graph.composites.inside
    return bool(inside) and inside.get(node.id) == inside.get(other.id)


def is_small(graph: TypedGraph) -> bool:
    """Whether all of a graph may be looked at while somebody types, for what a message proposes."""
    return len(graph.core.records) <= _SMALL


def near(graph: TypedGraph, node: TypedNode, usual: Collection[TypedNode]) -> Iterable[TypedNode]:
    """The nodes that are looked at as sources: all, or in a large workflow the usual ones, some inputs, and the nearest ones
    before the node, since a file may ask for the fixes of all of its findings.
    """
    if len(graph.nodes) <= MOST_LOOKED_AT:
        return graph.nodes
    shape = graph.shape
    here = shape.places[node.index]
    before = shape.order[max(0, here - MOST_LOOKED_AT) : here]
    inputs = islice(graph.inputs, MOST_LOOKED_AT)
    return dict.fromkeys((*usual, *inputs, *(graph.node(index) for index in before)))
