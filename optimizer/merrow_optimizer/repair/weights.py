"""What the changes of a repair weigh. Of two repairs the lighter one is the smaller.

Labels and ports come before edges, and edges before nodes: a wrong word is the most common slip and says nothing about what its
author wanted to build, an edge changes what one node reads, and a node is work that somebody meant to be done. What goes weighs
more than what comes, for it is the author's; what comes is easily seen and taken back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from merrow_analysis.check import Analysis
from merrow_analysis.edits.change import GraphChange, label_of
from merrow_analysis.graph.flow import Flow
from merrow_analysis.text import TextEdit, split_lines

WORDS = 10
"""Words that change: a label, a port, a class, a parameter, a bracket, the front matter. The lightest step there is."""
RENAMED = 20
"""A node gets another id: all places that name it change, and the graph stays as it is."""
EDGE_MOVES = 35
"""An edge starts at another node, leads to another one, or is turned around."""
EDGE_COMES = 30
EDGE_GOES = 40
OPERATOR = 50
"""A node gets another operator and keeps its place."""
UNREAD = 60
"""A statement that can't be read becomes a comment. It may have been an edge or a node; nothing of it is lost."""
NODE_COMES = 80
"""A node or a subgraph comes; its edges count as well."""
NODE_GOES = 100
"""A node or a subgraph goes; edges that led to it or from it go with it and count as part of it."""
LONELY_GOES = 50
"""A node goes to which and from which no edge led: nothing ran differently for it. To connect it is a guess, and two edges."""
MOST_SIZE = 9
"""Of changes that are alike, the one that writes and removes fewer characters is lighter: 1 for each eight, so that this never
outweighs a difference in kind.
"""
_CHARACTERS = 8


def weight_of_change(change: GraphChange, flow: Flow) -> int:
    """What a change of the graph weighs, besides its size in the text."""
    weight = NODE_COMES * (len(change.added) + len(change.wrapped)) + _of_gone(change.removed, flow)
    weight += OPERATOR * len(change.substituted) + NODE_GOES * len(change.unwrapped) + WORDS * len(change.turns)
    for index, put in change.edges.items():
        edge = flow.edges[index]
        ends = edge.source.id, edge.target.id
        if not put:
            weight += 0 if change.removed.intersection(ends) else EDGE_GOES
            continue
        kept = next((link for link in put if link.kept), put[0])
        if (kept.source, kept.target) != ends:
            weight += EDGE_MOVES
        elif kept.label != label_of(edge):
            weight += WORDS
        weight += EDGE_COMES * (len(put) - 1)
    return weight


def weight_of_difference(before: Analysis, after: Analysis, edits: Iterable[TextEdit]) -> int:
    """What edits weigh whose outcome is known, besides their size: at least `WORDS`.

    Nodes and edges of a statement that could not be read before don't count: nobody knows what they were.
    """
    lines = {line for edit in edits for line in range(edit.range.start.line, edit.range.end.line + 1)}
    if any(found.range.start.line in lines or found.range.end.line in lines for found in before.refusals):
        return WORDS
    old, new = before.flow, after.flow
    gone = [name for name in old.chart.nodes if name not in new.chart.nodes]
    come = [name for name in new.chart.nodes if name not in old.chart.nodes]
    renamed = dict(zip(gone, come, strict=False))
    lost = set(gone[len(come) :])
    weight = RENAMED * len(renamed) + _of_gone(lost, old) + NODE_COMES * max(0, len(come) - len(gone))
    weight += NODE_COMES * max(0, len(new.subgraphs) - len(old.subgraphs))
    weight += NODE_GOES * max(0, len(old.subgraphs) - len(new.subgraphs))
    edges = Counter(
        (renamed.get(edge.source, edge.source), renamed.get(edge.target, edge.target))
        for edge in old.chart.edges
        if edge.source not in lost and edge.target not in lost
    )
    edges.subtract((edge.source, edge.target) for edge in new.chart.edges)
    less = sum(count for count in edges.values() if count > 0)
    more = -sum(count for count in edges.values() if count < 0)
    moved = min(less, more)
    weight += EDGE_MOVES * moved + EDGE_GOES * (less - moved) + EDGE_COMES * (more - moved)
    return weight or WORDS


def _of_gone(names: Collection[str], flow: Flow) -> int:
    """What nodes weigh that go."""
    chart = flow.chart
    lonely = [
        name for name in names if name in chart.nodes and not (chart.incoming.get(name) or chart.outgoing.get(name))
    ]
    return NODE_GOES * (len(names) - len(lonely)) + LONELY_GOES * len(lonely)


def size_of(text: str, edits: Iterable[TextEdit]) -> int:
    """What the characters weigh that edits of ``text`` write and remove."""
    lines: list[str] | None = None
    count = 0
    for edit in edits:
        (first, start), (last, end) = edit.range
        count += len(edit.new_text)
        if first == last:
            count += end - start
        else:
            lines = split_lines(text) if lines is None else lines
            count += len("".join(lines[first:last])) - start + end
    return min(MOST_SIZE, count // _CHARACTERS)
