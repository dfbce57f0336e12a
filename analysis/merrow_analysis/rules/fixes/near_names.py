"""What a misspelled name probably means: the word of a Loop or Map on an edge, or the id of another node."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from merrow_analysis.graph.boxes.edge_words import possible_words
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.suggest import Guesses, closest

_NUMBERS = re.compile(r"\d+")


def near_word(edge: TypedEdge, written: str) -> str | None:
    """The word that an edge probably says where a part of its label is ``written``: one that has a meaning there."""
    # Where `first` is misspelled, the `again` edge may be, too.
    words = possible_words(edge.border, edge.composites, again_into=True)
    return closest(written, words) if words else None


def says_nearly(edge: TypedEdge, word: str) -> bool:
    """Whether the label of an edge begins with a word that is misspelled."""
    written = edge.flow.arrow.label
    first = "" if written is None else written.text.partition(":")[0].strip()
    names = (*edge.source.outputs, *(port.name for port in edge.target.input_ports))
    return first not in names and near_word(edge, first) == word


def labelled(graph: TypedGraph) -> Iterator[str]:
    """The ids of the nodes that have a label."""
    return (name for name, node in graph.flow.nodes.items() if node.label is not None)


def near_node(node: TypedNode, labelled: Iterable[str], guesses: Guesses) -> str | None:
    """The node that is probably meant by an id that only edges name; ids that differ in a number are different ones, and so are
    those of nodes that an edge joins, which would lead to itself.
    """
    others = {
        node.id,
        *(edge.source.id for edge in node.flow.incoming),
        *(edge.target.id for edge in node.flow.outgoing),
    }
    near = guesses.closest(node.id, (name for name in labelled if name not in others))
    if near is None or _NUMBERS.sub("", near) == _NUMBERS.sub("", node.id):
        return None
    return near
