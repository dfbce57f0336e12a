"""What a move is: edits of a text with a title, a declared effect on the graph, and the way back."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.settings import read_memory
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.graph.records import EdgeRecord
from merrow_analysis.text import Range, TextEdit, apply_edits


class GraphNode(NamedTuple):
    """A node in graph terms; ``operator`` is ``Interface`` for inputs and outputs, empty where it is not known."""

    id: str
    operator: str


class GraphEdge(NamedTuple):
    """One value on an edge: from an output (out of a Decision: from a case) into a port; empty names for neither."""

    source: str
    output: str
    target: str
    port: str


@dataclass(frozen=True, slots=True)
class WorkflowDifference:
    """How one workflow differs from another. Every tuple is sorted; one that stands twice differs twice.

    ``changed_nodes`` are nodes that keep their id under another operator, as (before, after). Prompts are names of the
    front matter's prompts, and ``NODE.prompt`` for a node's own. ``changed_memories`` are of nodes that stay, as (id, before,
    after), empty where the node sets none.
    """

    added_nodes: tuple[GraphNode, ...] = ()
    removed_nodes: tuple[GraphNode, ...] = ()
    added_edges: tuple[GraphEdge, ...] = ()
    removed_edges: tuple[GraphEdge, ...] = ()
    changed_nodes: tuple[tuple[GraphNode, GraphNode], ...] = ()
    added_prompts: tuple[str, ...] = ()
    removed_prompts: tuple[str, ...] = ()
    changed_memories: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Terms:
    """A graph, or some of its nodes with the edges into them, as differences are told: nodes by id, the values on edges,
    ``NODE.prompt`` for each node that has a prompt of its own, and the memory of each node that sets one.
    """

    nodes: dict[str, GraphNode]
    edges: Counter[GraphEdge]
    prompts: set[str]
    memories: dict[str, str] = field(default_factory=dict)


def terms_of(graph: TypedGraph) -> Terms:
    """A graph in those terms."""
    return terms_of_nodes(graph.nodes)


def terms_of_nodes(nodes: Iterable[TypedNode], but: Container[EdgeRecord] = ()) -> Terms:
    """Some nodes and the edges into them in those terms; an edge of order alone counts with an empty port.

    ``but`` are edges that are left out.
    """
    terms = Terms({}, Counter(), set())
    for node in nodes:
        terms.nodes[node.id] = GraphNode(node.id, node.operator or "")
        if "prompt" in node.resolution.parameters:
            terms.prompts.add(f"{node.id}.prompt")
        memory = node.resolution.parameters.get("memory")
        if memory is not None and memory.value is not None:
            terms.memories[node.id] = read_memory(memory.value).text
        for edge in node.incoming:
            if edge.record in but:
                continue
            start = edge.case_label or ""
            if not edge.feeds:
                terms.edges[GraphEdge(edge.record.source, start, node.id, "")] += 1
            for feed in edge.feeds:
                terms.edges[GraphEdge(edge.record.source, feed.output or start, node.id, feed.port)] += 1
    return terms


def difference(
    before: Terms, after: Terms, prompts_before: Iterable[str] = (), prompts_after: Iterable[str] = ()
) -> WorkflowDifference:
    """How ``after`` differs from ``before``; the prompts are those of the two front matters."""
    old, new = before.nodes, after.nodes
    old_prompts = before.prompts | set(prompts_before)
    new_prompts = after.prompts | set(prompts_after)
    return WorkflowDifference(
        tuple(sorted(new[name] for name in new.keys() - old.keys())),
        tuple(sorted(old[name] for name in old.keys() - new.keys())),
        tuple(sorted((after.edges - before.edges).elements())),
        tuple(sorted((before.edges - after.edges).elements())),
        tuple(sorted((old[name], new[name]) for name in old.keys() & new.keys() if old[name] != new[name])),
        tuple(sorted(new_prompts - old_prompts)),
        tuple(sorted(old_prompts - new_prompts)),
        tuple(sorted(_memories(before, after))),
    )


def _memories(before: Terms, after: Terms) -> Iterator[tuple[str, str, str]]:
    for name in before.nodes.keys() & after.nodes.keys():
        old, new = before.memories.get(name, ""), after.memories.get(name, "")
        if old != new:
            yield name, old, new


def workflow_difference(before: Analysis, after: Analysis) -> WorkflowDifference:
    """How one analysed workflow differs from another. Raises `ValueError` where either is not a workflow."""
    if before.typed is None or after.typed is None:
        raise ValueError("only workflows can be compared")
    return difference(terms_of(before.typed), terms_of(after.typed), before.settings.prompts, after.settings.prompts)


class NewFile(NamedTuple):
    """A workflow file to write. ``path`` leads to it from the folder of the workflow that is changed."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Move:
    """One safe change of one text.

    ``operator`` is one of the six, ``title`` says it in the imperative, ``target`` is what of the text it is about,
    ``edits`` are minimal and all speak of the text as it is, ``difference`` is the declared one of the graphs, and
    ``reverse`` turns the mutated text back, byte for byte. ``id`` depends on the operator, the nodes and edges
    concerned and the new content, not on places. ``created`` are files that must be written with the edits.
    """

    id: str
    operator: str
    title: str
    target: Range
    edits: tuple[TextEdit, ...]
    difference: WorkflowDifference
    reverse: tuple[TextEdit, ...] = field(repr=False, default=())
    created: tuple[NewFile, ...] = ()

    def apply(self, text: str) -> str:
        """The mutant. ``text`` is the text that the move was enumerated on."""
        return apply_edits(text, self.edits)


@dataclass(frozen=True, slots=True)
class MoveRefusal:
    """Why a move is not safe: the ``precondition`` that failed (its name) and a sentence about this move."""

    precondition: str
    reason: str
    title: str = ""


def move_id(operator: str, *content: object) -> str:
    """A move's id: a hash of its operator and what it does, in terms whose ``repr`` is the same everywhere."""
    text = "\n".join([operator, *map(repr, content)])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
