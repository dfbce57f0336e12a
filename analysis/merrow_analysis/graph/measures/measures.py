"""Figures of a task graph: parallelism, dependency complexity, depth, expected completion.

Definitions after Flow (ICLR 2025, arXiv 2501.07834): parallelism and dependency complexity are those by which the paper
ranks candidate workflows, the product formula is that of its Theorem 1. ``docs/metrics.md`` spells them out, with what
the paper's own example says about them. All functions are pure and take nodes and edges, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, prod, sqrt

from merrow_analysis.graph.bare.reach import components, shortest_cycle, topological_order
from merrow_analysis.graph.measures.antichain import largest_antichain

MOST_NODES = 10_000
"""Measures that need every node's ancestors take memory quadratic in the nodes, 12 MB for this many; None above."""

Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Measures:
    """The figures of one graph. Those that are None are undefined, and ``undefined`` says why in a sentence.

    ``depth`` and ``width`` count the levels and the nodes of the largest one, where a node's level is the length of the
    longest path to it; ``max_antichain`` is the largest set of nodes none of which waits for another. ``p_avg`` is
    nodes by levels, ``c_dependency`` the population standard deviation of the nodes' degrees. ``transitive_edges`` are
    those beyond the transitive reduction. ``expected_product`` and ``expected_exact`` are numbers of completed nodes
    when each one fails with ``failure_probability``.
    """

    nodes: int
    edges: int
    failure_probability: float
    depth: int | None = None
    width: int | None = None
    max_antichain: int | None = None
    p_avg: float | None = None
    c_dependency: float | None = None
    transitive_edges: tuple[Edge, ...] | None = None
    critical_path: tuple[str, ...] | None = None
    expected_product: float | None = None
    expected_exact: float | None = None
    undefined: str | None = None

    def as_json(self) -> dict[str, object]:
        """For ``--format json``; the names are those of ``docs/metrics.md``."""
        return {
            "nodes": self.nodes,
            "edges": self.edges,
            "depth": self.depth,
            "width": self.width,
            "max_antichain": self.max_antichain,
            "p_avg": self.p_avg,
            "c_dependency": self.c_dependency,
            "transitive_edges": None
            if self.transitive_edges is None
            else [list(edge) for edge in self.transitive_edges],
            "critical_path": None if self.critical_path is None else list(self.critical_path),
            "expected_completed": {
                "failure_probability": self.failure_probability,
                "product_formula": self.expected_product,
                "all_ancestors_succeed": self.expected_exact,
            },
            "undefined": self.undefined,
        }


def measure(
    nodes: Iterable[str],
    edges: Iterable[Edge],
    failure_probability: float = 0.1,
    failures: Mapping[str, float] | None = None,
) -> Measures:
    """Measure a graph. Several edges from one node to another count once.

    ``failure_probability`` is Flow's p_f, that of every node which is not in ``failures``. Raises
    ValueError where it is not a probability and where an edge names a node that is not in ``nodes``.
    """
    if not 0 <= failure_probability <= 1:
        raise ValueError(f"A probability lies between 0 and 1, and {failure_probability:g} doesn't.")
    ids = list(dict.fromkeys(nodes))
    number = {node: index for index, node in enumerate(ids)}
    pairs: list[tuple[int, int]] = []
    for source, target in dict.fromkeys(edges):
        if source not in number or target not in number:
            missing = source if source not in number else target
            raise ValueError(f"The edge from {source} to {target} names {missing}, which is not one of the nodes.")
        pairs.append((number[source], number[target]))
    return _Graph(ids, pairs).measures(failure_probability, failures or {})


class _Graph:
    def __init__(self, ids: list[str], pairs: list[tuple[int, int]]) -> None:
        self.ids = ids
        self.pairs = pairs
        self.successors: list[list[int]] = [[] for _ in ids]
        self.predecessors: list[list[int]] = [[] for _ in ids]
        for source, target in pairs:
            self.successors[source].append(target)
            self.predecessors[target].append(source)

    def measures(self, failure_probability: float, failures: Mapping[str, float]) -> Measures:
        count = len(self.ids)
        if not count:
            return Measures(0, 0, failure_probability, undefined="There are no nodes to measure.")
        complexity = self._degree_deviation()
        order = topological_order(self.successors)
        if len(order) < count:
            return Measures(
                count,
                len(self.pairs),
                failure_probability,
                c_dependency=complexity,
                undefined=self._cycle_sentence(order),
            )
        levels = self._levels(order)
        depth = max(levels)
        width = max(_sizes(levels, depth))
        ancestors = _ancestors(order, self.predecessors) if count <= MOST_NODES else None
        successes = [1 - failures.get(name, failure_probability) for name in self.ids]
        return Measures(
            nodes=count,
            edges=len(self.pairs),
            failure_probability=failure_probability,
            depth=depth,
            width=width,
            max_antichain=None if ancestors is None else largest_antichain(ancestors),
            p_avg=count / depth,
            c_dependency=complexity,
            transitive_edges=None if ancestors is None else self._transitive_edges(ancestors),
            critical_path=self._critical_path(levels),
            expected_product=self._product_formula(order, successes),
            expected_exact=None if ancestors is None else _exactly(ancestors, successes, alike=not failures),
            undefined=None if ancestors is not None else f"Some figures are left out above {MOST_NODES:,} nodes.",
        )

    def _cycle_sentence(self, order: list[int]) -> str:
        """Name one cycle; ``order`` has the nodes that are neither on one nor behind one."""
        left = set(range(len(self.ids))).difference(order)
        for component in components(self.successors, left):
            if len(component) > 1 or component[0] in self.successors[component[0]]:
                cycle = shortest_cycle(self.successors, component)
                path = " -> ".join(self.ids[node] for node in [*cycle, cycle[0]])
                return f"The graph has a cycle, {path}, so levels, paths and expected completion are not defined."
        raise AssertionError("a graph without a topological order has a cycle")

    def _degree_deviation(self) -> float:
        degrees = [len(into) + len(out) for into, out in zip(self.predecessors, self.successors, strict=True)]
        count = len(degrees)
        # In integers up to the root, so that equal degrees give exactly 0.
        return sqrt(count * sum(degree * degree for degree in degrees) - sum(degrees) ** 2) / count

    def _levels(self, order: list[int]) -> list[int]:
        levels = [1] * len(order)
        for node in order:
            for target in self.successors[node]:
                levels[target] = max(levels[target], levels[node] + 1)
        return levels

    def _critical_path(self, levels: list[int]) -> tuple[str, ...]:
        """A longest path; of several the one whose nodes, from the last back to the first, were declared first."""
        node = levels.index(max(levels))
        path = [node]
        while levels[node] > 1:
            node = min(before for before in self.predecessors[node] if levels[before] == levels[node] - 1)
            path.append(node)
        return tuple(self.ids[node] for node in reversed(path))

    def _transitive_edges(self, ancestors: Sequence[int]) -> tuple[Edge, ...]:
        """The edges from a node that is also an ancestor of another source of the same target."""
        implied = [0] * len(ancestors)
        for node, sources in enumerate(self.predecessors):
            for source in sources:
                implied[node] |= ancestors[source]
        return tuple((self.ids[s], self.ids[t]) for s, t in self.pairs if implied[t] >> s & 1)

    def _product_formula(self, order: list[int], successes: list[float]) -> float:
        completed = list(successes)
        for node in order:
            for source in self.predecessors[node]:
                completed[node] *= completed[source]
        return fsum(completed)


def _exactly(ancestors: Sequence[int], successes: Sequence[float], *, alike: bool) -> float:
    """How many nodes complete, where each needs all its ancestors; ``alike`` says that all are as likely to succeed."""
    if alike:
        return fsum(success ** (1 + above.bit_count()) for success, above in zip(successes, ancestors, strict=True))
    return fsum(
        success * prod(successes[bit] for bit in range(above.bit_length()) if above >> bit & 1)
        for success, above in zip(successes, ancestors, strict=True)
    )


def _sizes(levels: list[int], depth: int) -> list[int]:
    sizes = [0] * depth
    for level in levels:
        sizes[level - 1] += 1
    return sizes


def _ancestors(order: list[int], predecessors: list[list[int]]) -> list[int]:
    """For each node its ancestors, as the bits of an integer."""
    ancestors = [0] * len(order)
    for node in order:
        mask = 0
        for source in predecessors[node]:
            mask |= ancestors[source] | 1 << source
        ancestors[node] = mask
    return ancestors
