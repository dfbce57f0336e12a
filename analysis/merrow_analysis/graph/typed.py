"""Making a typed graph out of a flowchart.

What a node is and how its edges are placed are pure functions of what is written there, remembered by value in a
`TypedCache`; so after an edit only the nodes that changed, and those that consume their types, are looked at again.
The objects for nodes and edges are made when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import compress, count
from operator import ne
from typing import Any

from merrow_analysis.definitions.declared_operators import declare_operators
from merrow_analysis.definitions.metadata import parse_metadata
from merrow_analysis.definitions.operators import BUILT_IN_TABLE, OperatorTable
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
from merrow_analysis.graph.flow import Flow, FlowNode, Mention
from merrow_analysis.graph.nodes import Settings, TypedGraph
from merrow_analysis.graph.placement import UNKNOWN, Facts, Placement, Signature
from merrow_analysis.graph.ports import place
from merrow_analysis.graph.resolve import Choice, NodeText, Resolution, Role, Words, resolve
from merrow_analysis.graph.shape import Shape

PROBLEM_ID = "PROBLEM"
ENTRY_POINT_ID = "ENTRY_POINT"
RETURN_ID = "RETURN"

_INPUT_TYPES = {PROBLEM_ID: PROBLEM, ENTRY_POINT_ID: ENTRY_POINT}
_INTERFACE = frozenset({"Interface", "interface", "INTERFACE"})
_DIAMONDS = frozenset({"diamond", "diam", "decision", "question"})
_REMEMBERED = 20_000
"""Answers kept for nodes; beyond that all are forgotten, which costs one cold pass."""

_WrittenKey = tuple[Role | None, str | None, bool, tuple[str, ...], tuple[str, ...]]


@dataclass(slots=True)
class _Pass:
    """One pass over a flowchart, for the next one to go on from."""

    shape: Shape
    labels: list[list[str | None]]
    facts: list[int]
    placements: list[Placement]
    signatures: list[int]


@dataclass(slots=True)
class TypedCache:
    """What `build` remembers between calls: answers for nodes by what is written there, and the last pass.

    One cache may serve many files, one after the other; for each open file one of its own is best.
    """

    types: TypeTable = BUILT_IN_TYPES
    operators: OperatorTable = BUILT_IN_TABLE
    problems: tuple[DefinitionProblem, ...] = ()
    _declared: tuple[dict[str, Any], dict[str, Any]] | None = None
    _resolutions: dict[_WrittenKey, tuple[Resolution, int]] = field(default_factory=dict)
    _choices: dict[Words, Choice] = field(default_factory=dict)
    _facts: dict[Facts, int] = field(default_factory=dict)
    _facts_list: list[Facts] = field(default_factory=list)
    _signatures: dict[Signature, int] = field(default_factory=dict)
    _placements: dict[tuple[object, ...], tuple[Placement, int]] = field(default_factory=dict)
    _last: _Pass | None = None

    def prepare(self, settings: Settings) -> None:
        """Read the types and operators of ``settings``, and forget what was said under other ones."""
        declared = (settings.types, settings.operators)
        if declared != self._declared:
            self.types, type_problems = declare_types(settings.types)
            self.operators, operator_problems = declare_operators(settings.operators, self.types)
            self.problems = (*type_problems, *operator_problems)
            self._declared = declared
        elif len(self._placements) < _REMEMBERED and len(self._resolutions) < _REMEMBERED:
            return
        self._last = None
        for memory in (self._resolutions, self._choices, self._facts, self._signatures, self._placements):
            memory.clear()
        self._facts_list.clear()

    def fact(self, facts: Facts) -> int:
        """A number that stands for these facts."""
        number = self._facts.get(facts)
        if number is None:
            number = self._facts[facts] = len(self._facts_list)
            self._facts_list.append(facts)
        return number

    def signature(self, signature: Signature) -> int:
        """A number that stands for this signature."""
        return self._signatures.setdefault(signature, len(self._signatures))

    def resolution(self, key: _WrittenKey) -> tuple[Resolution, int]:
        """What a node is by what is written at it, and the number of its facts."""
        known = self._resolutions.get(key)
        if known is None:
            resolution = resolve(NodeText(*key), self.operators, self.types, self._choices)
            known = self._resolutions[key] = (resolution, self.fact(facts_of(resolution)))
        return known

    def place(self, shape: Shape, labels: list[list[str | None]], facts: list[int]) -> list[Placement]:
        """Place the edges of all nodes in topological order, looking again only at nodes that something changed for.

        ``labels`` are those on the edges into each node, in the order of ``shape.before``.
        """
        last = self._last
        # Which sources are known when their target is placed depends on the order.
        if last is None or last.shape.order is not shape.order:
            placements, signatures = [_NOT_PLACED] * shape.count, [-1] * shape.count
            self._last = last = _Pass(shape, labels, facts, placements, signatures)
            self._place(last, range(shape.count))
            return placements
        stale = set(_differing(facts, last.facts))
        stale.update(_differing(labels, last.labels), _differing(shape.before, last.shape.before))
        return self.place_again(shape, labels, facts, stale)[0]

    def place_again(
        self, shape: Shape, labels: list[list[str | None]], facts: list[int], stale: Collection[int]
    ) -> tuple[list[Placement], set[int]]:
        """As `place`, where ``stale`` are the nodes for which something changed since the last pass, and the order is that
        of the last pass, or neither is of a graph with cycles. Also the numbers of the nodes that were placed otherwise.
        """
        last = self._last
        assert last is not None  # noqa: S101 - the caller has asked for the last pass
        again = set(stale)
        if shape.order is not last.shape.order:
            # Edges that don't count for the order may now lead from a source that is known, or no more from one.
            again.update(shape.targets[edge] for edge in shape.wrong)
        self._last = _Pass(shape, labels, facts, last.placements.copy(), last.signatures.copy())
        return self._last.placements, self._place(self._last, again)

    def _place(self, now: _Pass, stale: Collection[int]) -> set[int]:
        """Place the edges of ``stale`` nodes, and of those behind them as far as something changes; which did."""
        shape, labels, facts, placements, signatures = now.shape, now.labels, now.facts, now.placements, now.signatures
        order, places, known = shape.order, shape.places, self._placements
        unknown = self.signature(UNKNOWN)
        changed: set[int] = set()
        waiting = sorted(places[index] for index in stale)  # a sorted list is a heap
        last_place = -1
        while waiting:
            own_place = heappop(waiting)
            if own_place == last_place:
                continue
            last_place, index = own_place, order[own_place]
            sources, texts = shape.before[index], labels[index]
            key: list[object] = [facts[index]]
            # A source that comes later in the order is on a cycle with its target, or leads where it may not: unknown.
            for source, label in zip(sources, texts, strict=True):
                key += (label, signatures[source] if places[source] < own_place else unknown)
            wanted = tuple(key)
            answer = known.get(wanted)
            if answer is None:
                given = tuple(
                    (label, placements[source].signature if places[source] < own_place else UNKNOWN)
                    for source, label in zip(sources, texts, strict=True)
                )
                made = place(self._facts_list[facts[index]], given, self.types)
                answer = known[wanted] = (made, self.signature(made.signature))
            if placements[index] is not answer[0]:
                placements[index] = answer[0]
                changed.add(index)
            if answer[1] != signatures[index]:
                signatures[index] = answer[1]
                for target in shape.following[index]:
                    if places[target] > own_place:
                        heappush(waiting, places[target])
        return changed

    def last_pass(self, graph: TypedGraph) -> _Pass | None:
        """The last pass, where it was that over ``graph`` and is still remembered."""
        last = self._last
        return last if last is not None and last.placements is graph.placements else None

    def shape(self, count: int, sources: list[int], targets: list[int], inputs: list[int], outputs: list[int]) -> Shape:
        """The shape that these numbers have; the last one where no edge has changed."""
        if self._last is not None and self._last.shape.is_of(count, sources, targets, inputs, outputs):
            return self._last.shape
        return Shape(count, sources, targets, inputs, outputs)


def _differing(new: Sequence[object], old: Sequence[object]) -> Iterator[int]:
    """The numbers at which two lists of the same length differ."""
    return compress(count(), map(ne, new, old))


_NOT_PLACED = Placement((), UNKNOWN, ())
_SUSPENDED = Resolution("unknown")
"""What a node is while its declarations contradict each other."""


def is_workflow(flow: Flow, settings: Settings) -> bool:
    """Whether a flowchart is a workflow, as the language defines it; any other one gets syntax diagnostics only."""
    if settings.declared or settings.opted_out:
        return not settings.opted_out
    nodes = flow.nodes
    problem, result = nodes.get(PROBLEM_ID), nodes.get(RETURN_ID)
    if problem is not None and result is not None:
        return True
    if any(node is not None and _is_interface(node) for node in (problem, result)):
        return True
    return any(_names_operator(node, BUILT_IN_TABLE) for node in nodes.values())


def _names_operator(node: FlowNode, table: OperatorTable) -> bool:
    if any(table.by_class(use.name.text) is not None for use in node.classes):
        return True
    return any("op" in parse_metadata(metadata.body).values for metadata, _ in node.metadata)


def _is_interface(node: FlowNode) -> bool:
    """Whether a class or the metadata of a node says Interface."""
    if any(use.name.text in _INTERFACE for use in node.classes):
        return True
    for metadata, _ in node.metadata:
        op = parse_metadata(metadata.body).values.get("op")
        if isinstance(op, str) and op.strip() in _INTERFACE:
            return True
    return False


def build(flow: Flow, settings: Settings, *, cache: TypedCache | None = None) -> TypedGraph:
    """Type a flowchart. Never raises; what is wrong stays in the nodes' resolutions and placements for the rules to
    tell.

    Takes time linear in the flowchart. With the ``cache`` of the last call it is several times faster after a small
    edit.
    """
    cache = TypedCache() if cache is None else cache
    cache.prepare(settings)
    flow_nodes = list(flow.nodes.values())
    edges = [edge for edge in flow.edges if edge.arrow.stroke != "invisible"]
    resolutions: list[Resolution] = []
    facts: list[int] = []
    inputs: list[int] = []
    outputs: list[int] = []
    conflicts: dict[int, tuple[Mention, ...]] = {}
    special = special_nodes(settings)
    for index, node in enumerate(flow_nodes):
        role, resolution, fact, conflicting = read_node(node, flow, settings, special, cache)
        if conflicting:
            conflicts[index] = conflicting
        if role == "input":
            inputs.append(index)
        elif role == "output":
            outputs.append(index)
        resolutions.append(resolution)
        facts.append(fact)
    sources = [edge.source.index for edge in edges]
    targets = [edge.target.index for edge in edges]
    labels: list[list[str | None]] = [[] for _ in flow_nodes]
    for edge, target in zip(edges, targets, strict=True):
        label = edge.arrow.label
        labels[target].append(None if label is None else label.text)
    shape = cache.shape(len(flow_nodes), sources, targets, inputs, outputs)
    placements = cache.place(shape, labels, facts)
    return TypedGraph(
        flow,
        settings,
        cache.types,
        cache.operators,
        cache.problems,
        shape,
        flow_nodes,
        edges,
        resolutions,
        placements,
        conflicts,
        has_hidden_edges=len(edges) != len(flow.edges),
    )


def read_node(
    node: FlowNode, flow: Flow, settings: Settings, special: dict[str, Role], cache: TypedCache
) -> tuple[Role | None, Resolution, int, tuple[Mention, ...]]:
    """A node's part at the rim, what it is, the number of its facts, and declarations that contradict each other.

    ``special`` are the `special_nodes` of the settings.
    """
    role, key = written(node, special)
    resolution, fact = cache.resolution(key)
    conflicting: tuple[Mention, ...] = ()
    declared = 0
    for mention in node.mentions:
        if mention.vertex.shape is not None:
            declared += 1
    if declared > 1 and (conflicting := _conflicting(node)) and role is None:
        resolution, fact = _SUSPENDED, cache.fact(Facts("unknown"))
    if role == "input":
        fact = cache.fact(facts_of(resolution, _default_type(node.id, flow, settings)))
    return role, resolution, fact, conflicting


def written(node: FlowNode, special: dict[str, Role]) -> tuple[Role | None, _WrittenKey]:
    """The part a node plays at the rim of the workflow, and all that is written at it."""
    classes = tuple([use.name.text for use in node.classes])
    role = special.get(node.id)
    if role is None and (node.metadata or not _INTERFACE.isdisjoint(classes)) and _is_interface(node):
        role = _role(node)
    label = node.label
    return role, (
        role,
        None if label is None else label.text,
        node.shape in _DIAMONDS,
        classes,
        tuple([metadata.body for metadata, _ in node.metadata]) if node.metadata else (),
    )


def special_nodes(settings: Settings) -> dict[str, Role]:
    """Nodes that are inputs or outputs by their name."""
    special: dict[str, Role] = {PROBLEM_ID: "input", ENTRY_POINT_ID: "input", RETURN_ID: "output"}
    special.update(dict.fromkeys(settings.outputs or (), "output"))
    special.update(dict.fromkeys(settings.inputs or (), "input"))
    return special


def _role(node: FlowNode) -> Role:
    """What a node with class Interface is, by the edges it has."""
    has_incoming = any(not edge.carries_nothing for edge in node.incoming)
    if has_incoming and any(not edge.carries_nothing for edge in node.outgoing):
        return "through"
    return "output" if has_incoming else "input"


def _default_type(node_id: str, flow: Flow, settings: Settings) -> Type | None:
    """The type an input node gives when it says none: unknown where it may stand in for a missing PROBLEM."""
    if node_id in _INPUT_TYPES:
        return _INPUT_TYPES[node_id]
    stands_in = PROBLEM_ID not in flow.nodes and settings.inputs is None
    return None if stands_in else TEXT


def facts_of(resolution: Resolution, default_type: Type | None = None) -> Facts:
    """What placing its edges needs to know of a node; ``default_type`` is what an input gives that says none."""
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
