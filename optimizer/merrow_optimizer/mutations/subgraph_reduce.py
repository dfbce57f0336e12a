"""A pattern in a workflow, recognised by its operators and edges, taken back to its core."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from merrow_analysis.edits.change import WantedEdge
from merrow_analysis.graph.nodes import TypedNode
from merrow_optimizer.mutations.change import Mutation
from merrow_optimizer.mutations.operator_names import SUBGRAPH
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.patterns import Pattern, PatternEdge
from merrow_optimizer.mutations.subgraph_boundary import has_odd_readers, listed, read_on

_Fed = tuple[int, str | None, str | None]
"""An edge into a node by what it brings: the source's number, its output, and the port."""


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A pattern found in a workflow: the ``core`` that stays, the node whose readers read it then, and what goes."""

    core: TypedNode
    last: TypedNode
    removed: tuple[TypedNode, ...]


def instances(
    original: Original, patterns: Iterable[Pattern], touching: Iterable[TypedNode] | None = None
) -> Iterator[Instance]:
    """Where patterns with a core are in a workflow, or only there where they touch certain nodes; one place that looks like
    several patterns counts once.
    """
    seen: set[tuple[str, frozenset[str]]] = set()
    meant = None if touching is None else list(touching)
    for pattern in patterns:
        if pattern.core is None:
            continue
        for last in original.typed.nodes if meant is None else _behind(meant, pattern):
            instance = _PatternSearch(original, pattern).ending_in(last) if last.kind == "operator" else None
            if instance is None or (meant is not None and not _touches(instance, meant)):
                continue
            key = instance.core.id, frozenset(node.id for node in instance.removed)
            if key not in seen:
                seen.add(key)
                yield instance


def _behind(nodes: list[TypedNode], pattern: Pattern) -> list[TypedNode]:
    """The nodes in which an instance of a pattern may end that holds one of these, in the order of the graph."""
    by_index = {node.index: node for node in nodes}
    last = list(nodes)
    for _ in range(len(pattern.nodes) + len(pattern.copies)):
        following = {edge.target.index: edge.target for node in last for edge in node.outgoing}
        last = [node for index, node in following.items() if index not in by_index]
        by_index.update((node.index, node) for node in last)
    return [by_index[index] for index in sorted(by_index)]


def _touches(instance: Instance, nodes: list[TypedNode]) -> bool:
    return any(node is instance.core or node in instance.removed for node in nodes)


@dataclass(slots=True)
class _PatternSearch:
    """One try to lay a pattern over a workflow, from its last node back; ``bound`` maps its names to nodes."""

    original: Original
    pattern: Pattern
    bound: dict[str, TypedNode] = field(default_factory=dict)

    def ending_in(self, last: TypedNode) -> Instance | None:
        pattern = self.pattern
        if not self._bind(pattern.exit, last):
            return None
        core = self.bound.get(pattern.core or "")
        if core is None or core.kind != "operator" or core.spec is None:
            return None
        names = [node.id for node in (*pattern.copies, *pattern.nodes)]
        if any(name not in self.bound for name in names):
            return None
        removed = [self.bound[name] for name in names]
        inside = {node.index for node in (*removed, core)}
        if len(inside) != len(removed) + 1 or any(node.id in self.original.closed for node in removed):
            return None
        if last is not core and any(edge.target.index in inside for edge in last.outgoing):
            return None  # a cycle
        for node in removed:
            if node is not last and any(edge.target.index not in inside for edge in node.outgoing):
                return None
            if node.resolution.declared is not None:
                return None
        if last is not core and (has_odd_readers(last) or not self._only_exit_read(last)):
            return None
        if not all(self._samples(copy.id, core) for copy in pattern.copies):
            return None
        return Instance(core, last, tuple(sorted(removed, key=lambda node: node.index)))

    def _only_exit_read(self, last: TypedNode) -> bool:
        wanted = self.pattern.exit_output or next(iter(last.outputs), None)
        return bool(last.outgoing) and all(edge.output == wanted for edge in last.outgoing)

    def _samples(self, name: str, core: TypedNode) -> bool:
        """Whether what stands for a copy has the core's operator and is fed as the core is."""
        copy = self.bound[name]
        return copy.spec is core.spec and sorted(_fed(copy)) == sorted(_fed(core))

    def _bind(self, name: str, node: TypedNode) -> bool:
        """Let a node stand for a name of the pattern, and so back along the edges; a pattern is small."""
        known = self.bound.get(name)
        if known is not None:
            return known is node
        pattern = self.pattern
        if name in pattern.sides:
            return node.kind == "input" and next(iter(node.outputs.values()), None) == pattern.sides[name]
        self.bound[name] = node
        if name == pattern.core:
            return node.kind == "operator" and self._advisers(node)
        if any(copy.id == name for copy in pattern.copies):
            return node.kind == "operator"
        spec = next(own.spec for own in pattern.nodes if own.id == name)
        if node.spec is None or node.spec.name != spec.name or any(len(edge.feeds) != 1 for edge in node.incoming):
            return False
        return self._sources(list(pattern.into(name)), node, exactly=True)

    def _advisers(self, core: TypedNode) -> bool:
        """Bind what leads into the core; the core may read more than that."""
        edges = list(self.pattern.into(self.pattern.core or ""))
        if edges and core.spec is not None and (core.spec.is_ensemble or not self._reads_task(core)):
            return False
        return self._sources(edges, core, exactly=False)

    def _reads_task(self, core: TypedNode) -> bool:
        """Whether the core reads, by itself too, what the pattern's core reads of the task."""
        given = {
            next(iter(edge.source.outputs.values()), None) for edge in core.incoming if edge.source.kind == "input"
        }
        return all(self.pattern.sides[hole] in given for hole in self.pattern.core_reads)

    def _sources(self, edges: list[PatternEdge], node: TypedNode, *, exactly: bool) -> bool:
        """Bind the sources of a node port by port, in prompt order; the last ones where the node reads more."""
        spec = node.spec
        if spec is None:
            return False
        by_port: dict[str, list[PatternEdge]] = {}
        for edge in edges:
            port = edge.port
            if port not in spec.ports and port == self.pattern.core_through and spec.through is not None:
                port = spec.through.name
            by_port.setdefault(port, []).append(edge)
        if exactly and {feed.port for edge in node.incoming for feed in edge.feeds} != by_port.keys():
            return False
        for port, wanted in by_port.items():
            given = node.sources(port)
            if len(given) < len(wanted) or (exactly and len(given) != len(wanted)):
                return False
            for incoming, own in zip(given[len(given) - len(wanted) :], wanted, strict=True):
                default = next(iter(incoming.source.outputs), None)
                if incoming.source.kind == "decision" or (own.output or default) != incoming.output:
                    return False
                if not self._bind(own.source, incoming.source):
                    return False
        return True


def _fed(node: TypedNode) -> list[_Fed]:
    return [(edge.source.index, edge.output or "", edge.port or "") for edge in node.incoming]


def reduce_to_core(original: Original, instance: Instance) -> Mutation:
    """Take an instance of a pattern back to its core."""
    core, last = instance.core, instance.last
    removed = frozenset(node.id for node in instance.removed)
    edges: dict[int, tuple[WantedEdge, ...]] = {
        edge.index: () for node in instance.removed for edge in (*node.flow.incoming, *node.flow.outgoing)
    }
    if last is not core:
        for edge in last.outgoing:
            edges[edge.flow.index] = (read_on(original, edge, core.id, None),)
    names = [node.id for node in instance.removed]
    return Mutation(
        original,
        SUBGRAPH,
        f"Keep {core.id} alone, without {listed(names)}",
        core.flow.range,
        removed=removed,
        edges=edges,
        content=("reduce", core.id, *names),
    )
