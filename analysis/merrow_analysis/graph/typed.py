"""The typed graph: every node's operator with its ports, every edge's ports and type, and the order they run in.

`build` makes it anew from a `Flow` in time linear in it. What a node is and how its edges are placed are pure
functions of what is written there, remembered by value in a `TypedCache`; so after an edit only the nodes that
changed, and those that consume their types, are looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from merrow_analysis.definitions.metadata import parse_metadata
from merrow_analysis.definitions.operators import (
    BUILT_IN_TABLE,
    INTERFACE_CLASS,
    OperatorTable,
    declare_operators,
)
from merrow_analysis.definitions.types import (
    BUILT_IN_TYPES,
    ENTRY_POINT,
    PROBLEM,
    TEXT,
    DefinitionProblem,
    Type,
    TypeTable,
    declare_types,
)
from merrow_analysis.graph.decisions import read_cases
from merrow_analysis.graph.flow import Flow, FlowEdge, FlowNode, Mention
from merrow_analysis.graph.nodes import Settings, TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.ports import UNKNOWN, Facts, Placement, Signature, place
from merrow_analysis.graph.reach import components, topological_order
from merrow_analysis.graph.resolve import NodeKind, NodeText, Resolution, Role, resolve

PROBLEM_ID = "PROBLEM"
ENTRY_POINT_ID = "ENTRY_POINT"
RETURN_ID = "RETURN"

_INPUT_TYPES = {PROBLEM_ID: PROBLEM, ENTRY_POINT_ID: ENTRY_POINT}
_INTERFACE = INTERFACE_CLASS.casefold()
_DIAMONDS = frozenset({"diamond", "diam", "decision", "question"})
_REMEMBERED = 20_000
"""Answers kept for nodes; beyond that all are forgotten, which costs one cold pass."""


@dataclass(slots=True)
class TypedCache:
    """What `build` remembers between calls: the answers for nodes by what is written there. One cache serves many
    files.
    """

    declared: tuple[dict[str, Any], dict[str, Any]] | None = None
    types: TypeTable = BUILT_IN_TYPES
    operators: OperatorTable = BUILT_IN_TABLE
    problems: tuple[DefinitionProblem, ...] = ()
    resolutions: dict[NodeText, tuple[Resolution, int]] = field(default_factory=dict)
    facts: dict[Facts, int] = field(default_factory=dict)
    facts_list: list[Facts] = field(default_factory=list)
    signatures: dict[Signature, int] = field(default_factory=dict)
    placements: dict[tuple[object, ...], tuple[Placement, int]] = field(default_factory=dict)

    def prepare(self, settings: Settings) -> None:
        """Read the types and operators of ``settings``, and forget what was said under other ones."""
        declared = (settings.types, settings.operators)
        if declared != self.declared:
            self.types, type_problems = declare_types(settings.types)
            self.operators, operator_problems = declare_operators(settings.operators, self.types)
            self.problems = (*type_problems, *operator_problems)
            self.declared = declared
            self._forget()
        elif len(self.placements) > _REMEMBERED or len(self.resolutions) > _REMEMBERED:
            self._forget()

    def _forget(self) -> None:
        self.resolutions.clear()
        self.facts.clear()
        self.facts_list.clear()
        self.signatures.clear()
        self.placements.clear()


def is_workflow(flow: Flow, settings: Settings) -> bool:
    """Whether a flowchart is a workflow, as the language defines it; any other one gets syntax diagnostics only."""
    if settings.declared or settings.opted_out:
        return not settings.opted_out
    nodes = flow.nodes
    problem, result = nodes.get(PROBLEM_ID), nodes.get(RETURN_ID)
    if problem is not None and result is not None:
        return True
    if any(node is not None and _has_interface_class(node) for node in (problem, result)):
        return True
    table = declare_operators(settings.operators, declare_types(settings.types)[0])[0]
    return any(_names_operator(node, table) for node in nodes.values())


def _names_operator(node: FlowNode, table: OperatorTable) -> bool:
    if any(table.by_class(use.name.text) is not None for use in node.classes):
        return True
    return any("op" in parse_metadata(metadata.body).values for metadata, _ in node.metadata)


def _has_interface_class(node: FlowNode) -> bool:
    return any(use.name.text.casefold() == _INTERFACE for use in node.classes)


def build(flow: Flow, settings: Settings, *, cache: TypedCache | None = None) -> TypedGraph:
    """Type a flowchart. Never raises; what is wrong stays in the nodes' resolutions and placements for the rules to
    tell.
    """
    return _Builder(flow, settings, TypedCache() if cache is None else cache).build()


class _Builder:
    """The work of `build`, step by step."""

    def __init__(self, flow: Flow, settings: Settings, cache: TypedCache) -> None:
        self.flow = flow
        self.settings = settings
        self.cache = cache
        cache.prepare(settings)
        self.edges = [edge for edge in flow.edges if edge.arrow.stroke != "invisible"]
        self.input_ids = {PROBLEM_ID, ENTRY_POINT_ID, *(settings.inputs or ())}
        self.output_ids = {RETURN_ID, *(settings.outputs or ())} - set(settings.inputs or ())

    def build(self) -> TypedGraph:
        flow_nodes = list(self.flow.nodes.values())
        count = len(flow_nodes)
        number = {node.id: index for index, node in enumerate(flow_nodes)}
        incoming: list[list[tuple[int, FlowEdge]]] = [[] for _ in range(count)]
        outgoing: list[list[FlowEdge]] = [[] for _ in range(count)]
        for edge in self.edges:
            source, target = number[edge.source.id], number[edge.target.id]
            incoming[target].append((source, edge))
            outgoing[source].append(edge)
        resolved: list[Resolution] = []
        facts: list[int] = []
        conflicts: dict[int, tuple[Mention, ...]] = {}
        for index, node in enumerate(flow_nodes):
            role = self._role(node, bool(incoming[index]), bool(outgoing[index]))
            resolution, fact = self._resolve(node, role)
            conflicting = _conflicting(node) if len(node.mentions) > 1 else ()
            if conflicting and role is None:
                resolution, fact = _SUSPENDED, self._fact(Facts("unknown"))
                conflicts[index] = conflicting
            elif conflicting:
                conflicts[index] = conflicting
            resolved.append(resolution)
            facts.append(fact)
        kinds = [resolution.kind for resolution in resolved]
        order, cycles = self._order(incoming, kinds)
        placements = self._place(order, incoming, facts)
        nodes = [
            TypedNode(node, index, resolution, placement, conflicts.get(index, ()))
            for index, (node, resolution, placement) in enumerate(zip(flow_nodes, resolved, placements, strict=True))
        ]
        edges = _connect(self.edges, nodes, number)
        for typed in nodes:
            if typed.resolution.kind == "decision":
                self._cases(typed)
        return TypedGraph(
            self.flow,
            self.settings,
            self.cache.types,
            self.cache.operators,
            self.cache.problems,
            nodes,
            edges,
            order,
            cycles,
            [node for node in nodes if node.resolution.kind == "input"],
            [node for node in nodes if node.resolution.kind == "output"],
        )

    def _role(self, node: FlowNode, has_incoming: bool, has_outgoing: bool) -> Role | None:
        if node.id in self.input_ids:
            return "input"
        if node.id in self.output_ids:
            return "output"
        if not node.classes and not node.metadata:
            return None
        if not _has_interface_class(node) and not _op_says_interface(node):
            return None
        if has_incoming and has_outgoing:
            return "through"
        return "output" if has_incoming else "input"

    def _resolve(self, node: FlowNode, role: Role | None) -> tuple[Resolution, int]:
        label = node.label.text if node.label is not None else None
        bodies = tuple([metadata.body for metadata, _ in node.metadata]) if node.metadata else ()
        classes = tuple([use.name.text for use in node.classes])
        text = NodeText(role, label, node.shape in _DIAMONDS, classes, bodies)
        known = self.cache.resolutions.get(text)
        if known is None:
            resolution = resolve(text, self.cache.operators, self.cache.types)
            known = (resolution, self._fact(_facts(resolution, None)))
            self.cache.resolutions[text] = known
        if role != "input":
            return known
        return known[0], self._fact(_facts(known[0], self._default_type(node.id)))

    def _default_type(self, node_id: str) -> Type | None:
        """The type an input node gives when it says none: unknown where it may stand in for a missing PROBLEM."""
        if node_id in _INPUT_TYPES:
            return _INPUT_TYPES[node_id]
        stands_in = PROBLEM_ID not in self.flow.nodes and self.settings.inputs is None
        return None if stands_in else TEXT

    def _fact(self, facts: Facts) -> int:
        numbers = self.cache.facts
        if facts not in numbers:
            numbers[facts] = len(numbers)
            self.cache.facts_list.append(facts)
        return numbers[facts]

    def _order(
        self, incoming: list[list[tuple[int, FlowEdge]]], kinds: list[NodeKind]
    ) -> tuple[list[int], list[list[int]]]:
        """A topological order of all nodes, and the cycles. Remembered, for most edits don't touch the edges."""
        successors: list[list[int]] = [[] for _ in kinds]
        for target, sources in enumerate(incoming):
            if kinds[target] == "input":
                continue
            for source, _ in sources:
                if source != target and kinds[source] != "output":
                    successors[source].append(target)
        order = topological_order(successors)
        if len(order) == len(kinds):
            return order, []
        ordered = bytearray(len(kinds))
        for index in order:
            ordered[index] = 1
        rest = components(successors, [index for index in range(len(kinds)) if not ordered[index]])
        cycles = [component for component in rest if len(component) > 1]
        for component in reversed(rest):
            order += component
        return order, cycles

    def _place(
        self,
        order: list[int],
        incoming: list[list[tuple[int, FlowEdge]]],
        facts: list[int],
    ) -> list[Placement]:
        cache = self.cache
        known = cache.placements
        unknown = self._signature(UNKNOWN)
        signatures = [unknown] * len(facts)
        placements: list[Placement | None] = [None] * len(facts)
        for index in order:
            key: list[object] = [facts[index]]
            for source, edge in incoming[index]:
                label = edge.arrow.label
                key.append(None if label is None else label.text)
                # A node that is not placed yet is on a cycle with this one: nothing is known of it.
                key.append(signatures[source])
            answer = known.get(tuple(key))
            if answer is None:
                labels = [None if edge.arrow.label is None else edge.arrow.label.text for _, edge in incoming[index]]
                gives = [
                    (placement.signature if (placement := placements[source]) is not None else UNKNOWN)
                    for source, _ in incoming[index]
                ]
                made = place(cache.facts_list[facts[index]], tuple(zip(labels, gives, strict=True)), cache.types)
                answer = known[tuple(key)] = (made, self._signature(made.signature))
            placements[index], signatures[index] = answer
        return [placement for placement in placements if placement is not None]

    def _signature(self, signature: Signature) -> int:
        return self.cache.signatures.setdefault(signature, len(self.cache.signatures))

    def _cases(self, node: TypedNode) -> None:
        placement = node.placement
        words = (
            self.cache.types.words_of(placement.when) if placement.decided_by == "words" and placement.when else None
        )
        labels = tuple(edge.placed.label.case for edge in node.outgoing)
        node.cases = cases = read_cases(labels, placement.decided_by, words or ())
        for edge, case in zip(node.outgoing, cases.of_edge, strict=True):
            edge.case = case


def _connect(flow_edges: Sequence[FlowEdge], nodes: list[TypedNode], number: dict[str, int]) -> list[TypedEdge]:
    edges: list[TypedEdge] = []
    for flow_edge in flow_edges:
        source, target = nodes[number[flow_edge.source.id]], nodes[number[flow_edge.target.id]]
        edge = TypedEdge(flow_edge, source, target, target.placement.edges[len(target.incoming)])
        source.outgoing.append(edge)
        target.incoming.append(edge)
        edges.append(edge)
    return edges


def _facts(resolution: Resolution, default_type: Type | None) -> Facts:
    badly = any(problem.kind == "bad-type" for problem in resolution.problems)
    return Facts(
        resolution.kind,
        resolution.spec,
        resolution.declared,
        badly or (resolution.kind == "input" and default_type is None and resolution.declared is None),
        resolution.samples,
        resolution.literals,
        resolution.expression,
        default_type or TEXT,
    )


def _conflicting(node: FlowNode) -> tuple[Mention, ...]:
    """The declarations of a node, where their labels differ; Mermaid silently takes the last one."""
    first: Mention | None = None
    differing = False
    declaring: list[Mention] = []
    for mention in node.mentions:
        vertex = mention.vertex
        if vertex.shape is None:
            continue
        declaring.append(mention)
        if first is None:
            first = mention
        elif _label(first) != _label(mention):
            differing = True
    return tuple(declaring) if differing else ()


def _label(mention: Mention) -> str | None:
    label = mention.vertex.label
    return label.text if label is not None else None


def _op_says_interface(node: FlowNode) -> bool:
    for metadata, _ in node.metadata:
        op = parse_metadata(metadata.body).values.get("op")
        if isinstance(op, str) and op.strip().casefold() == _INTERFACE:
            return True
    return False


_SUSPENDED = Resolution("unknown")
"""What a node is while its declarations contradict each other."""
