"""How a flowchart as people draw it is read: what each node is, what each arrow means, where it begins and ends, and its loops.

Loops come from arrows, not from boxes; boxes only group. Pure: from the records of a chart to what they mean.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from merrow_analysis.definitions.labels.step_text import step_text
from merrow_analysis.definitions.operators import OperatorTable
from merrow_analysis.graph.arrows.loops import ArrowLoop, Arrows, loops_of
from merrow_analysis.graph.arrows.starting import Starting
from merrow_analysis.graph.bare.reach import components
from merrow_analysis.graph.decisions import ELSE
from merrow_analysis.graph.drawings.box_arrows import Boxes, Drawn, between_steps
from merrow_analysis.graph.drawings.drawing import END_IDS, RETURN_ID, has_operator, is_decision, is_diamond, shape_of
from merrow_analysis.graph.drawings.notes import ReadingNote
from merrow_analysis.graph.drawings.together import Together, at_once
from merrow_analysis.graph.drawings.words import (
    BEGINNINGS,
    ENDS,
    OUTCOMES,
    has_words,
    is_called,
    is_question,
    yes_or_no,
)
from merrow_analysis.graph.flow import Subgraph
from merrow_analysis.graph.records import Chart, EdgeRecord, MentionRecord, WrittenNode
from merrow_analysis.graph.resolve import PlainKind, Role
from merrow_analysis.syntax.tree import Name, Vertex

_ROUND = frozenset(
    {
        *("stadium", "terminal", "pill", "ellipse", "start", "stop"),
        *("circle", "circ", "sm-circ", "small-circle", "fr-circ", "framed-circle"),
        *("doublecircle", "dbl-circ", "double-circle"),
    }
)
_STORES = frozenset(
    {
        *("cylinder", "cyl", "db", "database", "das", "h-cyl", "horizontal-cylinder"),
        *("lin-cyl", "disk", "lined-cylinder"),
    }
)
_JUNCTIONS = frozenset(
    {"f-circ", "filled-circle", "junction", "fork", "join", "sm-circ", "cross-circ", "summary", "crossed-circle"}
)
_WORD_OF_ID = re.compile(r"[^\W\d_]{3,}|[^\x00-\x7f]{2,}")


@dataclass(slots=True, eq=False)
class Drawing:
    """What a chart means as a drawing.

    ``nodes`` are those that take part, in the order of the text, and ``edges`` the arrows between them. ``kinds`` say what the
    plain ones are, ``roles`` which are inputs and outputs, ``loops`` what runs in turns, outer ones first. ``first`` get an
    implied PROBLEM, ``last`` lead to an implied RETURN, out of a question with the answer of an arrow; ``results`` are steps that
    are outputs.

    ``boxed`` are the arrows as written that lead to or from a box, and ``box_ends`` where these are entered and left.
    """

    nodes: dict[str, WrittenNode]
    edges: list[EdgeRecord]
    kinds: dict[str, PlainKind] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)
    loops: list[ArrowLoop] = field(default_factory=list)
    first: list[str] = field(default_factory=list)
    last: list[tuple[str, EdgeRecord | None]] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    notes: list[ReadingNote] = field(default_factory=list)
    boxed: list[EdgeRecord] = field(default_factory=list)
    box_ends: Mapping[str, tuple[list[str], list[str]]] = field(default_factory=dict)


def read_drawing(
    chart: Chart,
    groups: Mapping[str, Subgraph],
    table: OperatorTable,
    names: bool,
    again: Collection[EdgeRecord] | None = None,
) -> Drawing:
    """What the nodes, arrows and boxes of a drawing mean; ``names`` as in `Reading`. Linear but for cycles in each other.

    ``again`` are the arrows that say so in a drawing with Loops and Maps, whose boxes and cycles are what is written there.
    """
    return _DrawingReader(chart, groups if again is None else {}, table, names, again).drawing


def read_arrows(chart: Chart, groups: Mapping[str, Subgraph]) -> Drawing:
    """The nodes that take part and the arrows between them: boxes stand for the steps in them, lines close no cycle, and what no
    arrow leads to or from is a note, where others have some.
    """
    nodes = {name: record for name, record in chart.nodes.items() if name not in groups}
    filled = Boxes(groups, nodes)
    empty = [
        name
        for name, group in groups.items()
        if not filled.is_box(name) and not any(node in groups for node in group.nodes)
    ]
    boxes = Boxes(groups, [*nodes, *empty])
    for name in empty:
        nodes[name] = _box_as_step(groups[name], chart.nodes.get(name))
    drawn = between_steps([edge for edge in chart.edges if not edge.carries_nothing], boxes)
    notes = [ReadingNote("own box", (edge.source, edge.target), edge) for edge in drawn.own]
    edges = _ordered(drawn, nodes, notes)
    touched = {name for edge in edges for name in (edge.source, edge.target)}
    alone = [name for name in nodes if name not in touched and name not in END_IDS] if touched else []
    if alone:
        notes.append(ReadingNote("unconnected", tuple(alone)))
        for name in alone:
            del nodes[name]
    return Drawing(nodes, edges, notes=notes, boxed=drawn.boxed, box_ends=drawn.ends)


def drawn_once(drawing: Drawing, asks: Collection[str]) -> None:
    """Of several arrows from one step to another only the first is left: they bring the same. Those out of a node that ``asks``
    are answers, unless they say the same.
    """
    known: set[tuple[str, str, str | None]] = set()
    left: list[EdgeRecord] = []
    for edge in drawing.edges:
        key = edge.source, edge.target, _said_answer(edge) if edge.source in asks else None
        if key not in known:
            known.add(key)
            left.append(edge)
        else:
            drawing.notes.append(ReadingNote("drawn twice", (edge.source, edge.target), edge))
    drawing.edges = left


class _DrawingReader:
    def __init__(
        self,
        chart: Chart,
        groups: Mapping[str, Subgraph],
        table: OperatorTable,
        names: bool,
        again: Collection[EdgeRecord] | None,
    ) -> None:
        self.drawing = read_arrows(chart, groups)
        self.deciding = {name for name, record in self.drawing.nodes.items() if is_decision(record, table)}
        self.given = {name for name, record in self.drawing.nodes.items() if has_operator(record, table, names)}
        self._arrange(again)
        self.texts = {name: _text(record) for name, record in self.drawing.nodes.items()}
        self.shapes = {name: shape_of(record) for name, record in self.drawing.nodes.items()}
        for name in self.drawing.nodes:
            self._kind(name)
        if again is None:
            drawn_once(self.drawing, self._asking() | self.given)
            self._arrange(None)
        self._loops(turns=again is None)
        self._ends()

    def _arrange(self, again: Collection[EdgeRecord] | None) -> None:
        """Sort the arrows by their ends; those that say ``again`` lead into nothing."""
        self.out: dict[str, list[EdgeRecord]] = defaultdict(list)
        self.into: dict[str, list[EdgeRecord]] = defaultdict(list)
        for edge in self.drawing.edges:
            self.out[edge.source].append(edge)
            if again is None or edge not in again:
                self.into[edge.target].append(edge)

    def _asking(self) -> set[str]:
        return {name for name, kind in self.drawing.kinds.items() if kind == "asks"} | self.deciding

    # Nodes

    def _kind(self, name: str) -> None:
        drawing = self.drawing
        if name in END_IDS:
            drawing.roles[name] = "output" if name == RETURN_ID else "input"
            return
        if name in self.given:
            return
        if self._asks(name):
            drawing.kinds[name] = "asks"
            return
        around = [edge for edge in self.out[name] if edge.target == name]
        begins, ends = not self.into[name], not self.out[name]
        text, shape = self.texts[name], self.shapes[name]
        is_end = shape in _ROUND or shape in _STORES
        if begins != ends and not around:
            if begins and (is_end or is_called(text, name, BEGINNINGS)):
                drawing.roles[name] = "input"
                return
            if ends and (is_end or is_called(text, name, ENDS) or is_called(text, "", OUTCOMES)):
                drawing.roles[name] = "output"
                return
        speaks = has_words(text) and not (drawing.nodes[name].label is None and _WORD_OF_ID.search(name) is None)
        if not speaks and not is_end and shape not in _JUNCTIONS:
            drawing.notes.append(ReadingNote("no words", (name,)))
        elif is_diamond(drawing.nodes[name]) and len({edge.target for edge in self.out[name]}) > 1:
            drawing.notes.append(ReadingNote("all ways", (name,), ways=len(self.out[name])))
        passes = not speaks or shape in _JUNCTIONS or shape in _STORES
        passes = passes or (is_diamond(drawing.nodes[name]) and bool(self.out[name]))
        drawing.kinds[name] = "passes" if passes else "step"

    def _asks(self, name: str) -> bool:
        """Whether one of the ways out of a node is taken: by a diamond's labels, or by a question's in another shape."""
        ways = self.out[name]
        labels = [_answer(edge) for edge in ways]
        if len(ways) < 2 or len(set(labels)) < 2:
            return False
        if is_diamond(self.drawing.nodes[name]):
            return True
        if None in labels:
            return False
        answers = {yes_or_no(label) for label in labels if label is not None}
        return answers >= {True, False} or is_question(self.texts[name])

    # Cycles

    def _loops(self, *, turns: bool) -> None:
        drawing = self.drawing
        asks = self._asking()
        marked = [edge for edge in drawing.edges if _says_again(edge, edge.source in asks)]
        barred = {*self.given, *END_IDS}
        arrows = Arrows(list(drawing.nodes), drawing.edges, asks, marked, barred=barred)
        drawing.loops = loops_of(arrows) if turns else []
        self.asks, self.back = asks, {edge for loop in drawing.loops for edge in loop.back}

    # Ends

    def _ends(self) -> None:
        drawing = self.drawing
        drawing.first = [
            name
            for name in drawing.nodes
            if drawing.roles.get(name) is None and all(edge.source == name for edge in self.into[name])
        ]
        for loop in drawing.loops:
            inside = set(loop.members)
            if loop.around is None and all(edge.source in inside for name in loop.members for edge in self.into[name]):
                drawing.first += [] if loop.head in drawing.first else [loop.head]
        leading = [name for name in drawing.nodes if not self.out[name] and name not in END_IDS]
        back = {edge.source: None for loop in self._endless() for edge in loop.back}
        ends = [*leading, *(name for name in drawing.nodes if name in back)]
        if not drawing.first and not leading and not back:
            return
        together = self._together()
        self._gather(together)
        steps = [name for name in ends if drawing.roles.get(name) is None and name not in drawing.results]
        apart = RETURN_ID in drawing.nodes or not at_once(together, [together.runs(name) for name in ends])
        for name in steps:
            if name in self.asks:
                answers = {_answer(edge): edge for loop in self._endless() for edge in loop.back if edge.source == name}
                drawing.last += [(name, edge) for edge in answers.values()]
            elif apart:
                drawing.last.append((name, None))
            else:
                drawing.results.append(name)

    def _endless(self) -> list[ArrowLoop]:
        """The Loops that nothing leads out of: their last turn ends where another turn would begin."""
        return [
            loop
            for loop in self.drawing.loops
            if all(
                edge.target in inside
                for inside in [set(loop.members)]
                for name in loop.members
                for edge in self.out[name]
            )
        ]

    def _together(self) -> Together:
        """When each node runs in a turn, and what arrows bring."""
        drawing = self.drawing
        flat = [edge for edge in drawing.edges if edge not in self.back]
        places = {name: place for place, name in enumerate(_order(drawing.nodes, flat))}
        starting = Starting(self.out, self.asks, self.back, places)
        return Together(drawing.nodes, flat, self.asks, starting, places, drawing.loops)

    def _gather(self, together: Together) -> None:
        """What several values may reach at once, and would hand on one, joins them."""
        drawing = self.drawing
        for name in drawing.nodes:
            kind, role = drawing.kinds.get(name), drawing.roles.get(name)
            if (kind == "passes" or role == "output") and name not in END_IDS:
                arriving = [edge for edge in self.into[name] if edge not in self.back]
                if len(arriving) > 1 and at_once(together, [together.taken(edge) for edge in arriving]):
                    drawing.kinds[name] = "gathers"
                    if role == "output":
                        del drawing.roles[name]
                        drawing.results.append(name)


def _box_as_step(group: Subgraph, written: WrittenNode | None) -> WrittenNode:
    """The node that an empty box is: its title is what it says."""
    span = group.name.span if group.name is not None else group.label.span if group.label is not None else (0, 0)
    vertex = Vertex(Name(group.id, span), shape="square", label=group.label)
    mentions = (MentionRecord(vertex, group.block), *(written.mentions if written is not None else ()))
    return WrittenNode(group.id, mentions, label=group.label, label_block=group.block, shape="square")


def _ordered(drawn: Drawn, nodes: Collection[str], notes: list[ReadingNote]) -> list[EdgeRecord]:
    """The arrows without lines (``---``, ``<-->``) that would close a cycle: these only say that two belong together."""
    lines = [edge for edge in drawn.arrows if _is_line(edge)]
    if not lines:
        return drawn.arrows
    tied = _tied(drawn.arrows, list(nodes))
    out: dict[str, list[str]] = defaultdict(list)
    for edge in drawn.arrows:
        if not _is_line(edge):
            out[edge.source].append(edge.target)
    dropped: set[EdgeRecord] = set()
    for edge in lines:
        if tied.get(edge.source, -1) == tied.get(edge.target, -2) and _leads(out, edge.target, edge.source, tied):
            dropped.add(edge)
            notes.append(ReadingNote("closes a cycle", (edge.source, edge.target), edge))
        else:
            out[edge.source].append(edge.target)
    return [edge for edge in drawn.arrows if edge not in dropped]


def _is_line(edge: EdgeRecord) -> bool:
    return edge.arrow.type == "arrow_open" or edge.arrow.type.startswith("double")


def _tied(edges: Iterable[EdgeRecord], names: Sequence[str]) -> dict[str, int]:
    """For each node that lies on a cycle of all arrows the number of its group."""
    numbers = {name: number for number, name in enumerate(names)}
    following: list[list[int]] = [[] for _ in names]
    for edge in edges:
        following[numbers[edge.source]].append(numbers[edge.target])
    return {
        names[name]: place
        for place, group in enumerate(components(following, range(len(names))))
        if len(group) > 1 or group[0] in following[group[0]]
        for name in group
    }


_MOST_LINES = 2_000
"""Nodes that are looked at for a line in a cycle; in a larger knot it closes one."""


def _leads(out: Mapping[str, Sequence[str]], begin: str, end: str, tied: Mapping[str, int]) -> bool:
    """Whether a way leads from one node to another one of its group."""
    seen, pending = {begin}, [begin]
    while pending:
        name = pending.pop()
        if name == end or len(seen) > _MOST_LINES:
            return True
        for target in out.get(name, ()):
            if target not in seen and tied.get(target) == tied.get(begin):
                seen.add(target)
                pending.append(target)
    return False


def _text(record: WrittenNode) -> str:
    return record.id if record.label is None else step_text(record.label.text)


def _answer(edge: EdgeRecord) -> str | None:
    label = edge.label_text
    return None if label is None else label.casefold()


def _said_answer(edge: EdgeRecord) -> str:
    """The answer that an arrow out of a question is for, whether or not it says ``again``."""
    answer = _answer(edge)
    if answer is None:
        return ELSE
    return answer.split(":")[0].strip() if _says_again(edge, from_question=True) else answer


def _says_again(edge: EdgeRecord, from_question: bool) -> bool:
    """Whether the label of an arrow has the word ``again``: first, out of a question second."""
    parts = (edge.label_text or "").split(":")
    return any(part.strip() == "again" for part in (parts[1:2] if from_question else parts[:1]))


def _order(names: Iterable[str], edges: Iterable[EdgeRecord]) -> list[str]:
    """The nodes so that arrows lead on, ties as they come; nodes of a cycle at the end."""
    waiting = dict.fromkeys(names, 0)
    following: dict[str, list[str]] = defaultdict(list)
    for edge in edges:
        waiting[edge.target] += 1
        following[edge.source].append(edge.target)
    order = [name for name, count in waiting.items() if not count]
    for name in order:
        for target in following[name]:
            waiting[target] -= 1
            if not waiting[target]:
                order.append(target)
    return [*order, *(name for name, count in waiting.items() if count > 0)]
