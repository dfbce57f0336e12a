"""Arrows back in a drawing: people draw a loop as an arrow to an earlier step, without a box around it.

Nodes that lead to each other are read as a Loop of at most three turns, where it is entered at one node. The arrows to that node
say ``again``. Where a diamond in it also leads out, its other case leads there, too, once the turns have run out (``over``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from merrow_analysis.definitions.operators import OperatorTable
from merrow_analysis.graph.bare.reach import components
from merrow_analysis.graph.boxes.composites import Composite, Composites
from merrow_analysis.graph.boxes.edge_words import AGAIN, OVER, WordedLabel
from merrow_analysis.graph.decisions import ELSE
from merrow_analysis.graph.drawings.drawing import END_IDS, has_operator, is_diamond
from merrow_analysis.graph.records import Chart, EdgeRecord, Rows, WrittenNode

_DEEPEST = 20
"""Loops in each other that arrows back may make."""
IMPLIED_LOOP = "LOOP"
"""The id of a Loop that nothing is written of; further ones are numbered."""


class ArrowsBack(NamedTuple):
    """The Loops that arrows back make, the edges that have a word by that, and the edges that are implied."""

    composites: Composites
    words: Mapping[EdgeRecord, WordedLabel]
    implied: tuple[EdgeRecord, ...]


def arrows_back(chart: Chart, table: OperatorTable, names: bool, taken: Sequence[str] = ()) -> ArrowsBack | None:
    """What the arrows back of a drawing without Loops and Maps mean; None where there are none that mean a Loop.

    ``taken`` are the ids of its subgraphs. Cycles that are no such Loop stay what they are. Linear.
    """
    edges: list[EdgeRecord] = []
    own_loops: dict[str, list[EdgeRecord]] = {}
    for edge in chart.edges:
        if edge.source != edge.target:
            edges += () if edge.carries_nothing else (edge,)
        elif not edge.carries_nothing and _repeats_itself(chart.nodes[edge.source], table, names):
            own_loops.setdefault(edge.source, []).append(edge)
    out: Rows = {name: [] for name in chart.nodes}
    for edge in edges:
        out[edge.source].append(edge)
    boxes: dict[str, Composite] = {}
    inside: dict[str, str] = {}
    words: dict[EdgeRecord, WordedLabel] = {}
    implied: list[EdgeRecord] = []
    free = _free_ids({*chart.nodes, *taken})
    # Of a Loop the arrows back are taken away, and what still leads back inside is a Loop in it.
    pending: list[tuple[list[str], Sequence[EdgeRecord], str | None, int]] = [(list(chart.nodes), edges, None, 0)]
    while pending:
        nodes, own, parent, depth = pending.pop()
        knots = _knots(nodes, own)
        arriving, leaving = _edges_of(knots, own)
        for number, knot in enumerate(knots):
            members = set(knot)
            if any(name in END_IDS or has_operator(chart.nodes[name], table, names) for name in knot):
                continue
            back = _back(members, arriving[number], knot[0])
            if back is None:
                continue
            own_id = next(free)
            boxes[own_id] = Composite(own_id, "loop", parent, tuple(knot), {}, implied=True)
            inside |= dict.fromkeys(knot, own_id)
            words |= {edge: WordedLabel(AGAIN, edge.label_text) for edge in back}
            for edge in _over(chart, knot, out, back, words):
                implied.append(edge)
                words[edge] = WordedLabel(OVER, ELSE if edge.label_text is None else edge.label_text)
            ends = set(back)
            if depth < _DEEPEST:
                inner = [edge for edge in leaving[number] if edge not in ends]
                pending.append((knot, inner, own_id, depth + 1))
    for name, loops in own_loops.items():
        # A step that leads to itself runs in turns of its own, in whatever Loop it lies.
        own_id = next(free)
        boxes[own_id] = Composite(own_id, "loop", inside.get(name), (name,), {}, implied=True)
        inside[name] = own_id
        words |= {edge: WordedLabel(AGAIN, edge.label_text) for edge in loops}
    if not boxes:
        return None
    for name, box in boxes.items():
        boxes[name] = replace(box, nodes=tuple([node for node in box.nodes if inside[node] == name]))
    return ArrowsBack(Composites(boxes, inside), words, tuple(implied))


def _repeats_itself(record: WrittenNode, table: OperatorTable, names: bool) -> bool:
    """Whether an arrow from a node to itself means that it runs again: a diamond has nothing new to decide on."""
    return record.id not in END_IDS and not is_diamond(record) and not has_operator(record, table, names)


def _knots(nodes: Sequence[str], edges: Sequence[EdgeRecord]) -> list[list[str]]:
    """The groups of several nodes that lead to each other, in the order of the nodes."""
    numbers = {name: number for number, name in enumerate(nodes)}
    following: list[list[int]] = [[] for _ in nodes]
    for edge in edges:
        if edge.source in numbers and edge.target in numbers:
            following[numbers[edge.source]].append(numbers[edge.target])
    knots = sorted(sorted(knot) for knot in components(following, range(len(nodes))) if len(knot) > 1)
    return [[nodes[number] for number in knot] for knot in knots]


def _edges_of(
    knots: Sequence[Sequence[str]], edges: Sequence[EdgeRecord]
) -> tuple[list[list[EdgeRecord]], list[list[EdgeRecord]]]:
    """The edges into the nodes of each group, and those out of them."""
    number_of = {name: number for number, knot in enumerate(knots) for name in knot}
    arriving: list[list[EdgeRecord]] = [[] for _ in knots]
    leaving: list[list[EdgeRecord]] = [[] for _ in knots]
    for edge in edges:
        if (number := number_of.get(edge.target)) is not None:
            arriving[number].append(edge)
        if (number := number_of.get(edge.source)) is not None:
            leaving[number].append(edge)
    return arriving, leaving


def _back(members: set[str], arriving: Sequence[EdgeRecord], first: str) -> list[EdgeRecord] | None:
    """The arrows back to the node where a cycle is entered, its ``first`` one where nothing leads into it; None where it is
    entered at several nodes. ``arriving`` are all edges into its members.
    """
    entries = {edge.target for edge in arriving if edge.source not in members} or {first}
    if len(entries) > 1:
        return None
    return [edge for edge in arriving if edge.source in members and edge.target in entries]


def _over(
    chart: Chart, knot: Sequence[str], out: Rows, back: Sequence[EdgeRecord], words: Collection[EdgeRecord]
) -> list[EdgeRecord]:
    """For each case that leads back from a diamond which also leads out of a Loop, an edge to where the first of its other cases
    leads that is not itself an arrow back, of a Loop around this one: those have ``words`` by now.
    """
    members, ends = set(knot), set(back)
    leading = {
        name: ways for name in knot if is_diamond(chart.nodes[name]) and (ways := _ways_out(out[name], members, words))
    }
    # A case that leads out as well ends the turns, so that they never run out by it, or says already what comes then.
    ending = {name: {_case(edge) for edge in out[name] if edge.target not in members} for name in leading}
    return [
        EdgeRecord(name, ways[0].target, replace(edge.arrow), edge.block, edge.source_vertex, ways[0].target_vertex)
        for name, ways in leading.items()
        for edge in out[name]
        if edge.target in members and _case(edge) not in ending[name] and _leads_back(edge, out, ends, leading, members)
    ]


def _ways_out(ways: Sequence[EdgeRecord], members: Collection[str], words: Collection[EdgeRecord]) -> list[EdgeRecord]:
    """The ways of a diamond that lead out of a Loop, without those for when the turns have run out."""
    return [edge for edge in ways if edge.target not in members and edge not in words and not _says_over(edge)]


def _case(edge: EdgeRecord) -> str:
    label = edge.label_text
    if label is None:
        return ELSE
    return (label.partition(":")[0] if _says_over(edge) else label).strip().casefold()


def _says_over(edge: EdgeRecord) -> bool:
    """Whether an edge leads out when the turns have run out already."""
    return (edge.label_text or "").partition(":")[2].partition(":")[0].strip() == OVER


def _leads_back(
    edge: EdgeRecord, out: Rows, ends: Collection[EdgeRecord], choosing: Collection[str], members: Collection[str]
) -> bool:
    """Whether an edge is an arrow back, or leads to one with no other diamond between that leads out."""
    seen: set[str] = set()
    pending = [edge]
    while pending:
        one = pending.pop()
        if one in ends:
            return True
        if one.target not in seen and one.target not in choosing and one.target in members:
            seen.add(one.target)
            pending += out[one.target]
    return False


def _free_ids(taken: set[str]) -> Iterator[str]:
    """Ids for Loops, each of them once."""
    names = (f"{IMPLIED_LOOP}{number if number > 1 else ''}" for number in count(1))
    return (name for name in names if name not in taken)
