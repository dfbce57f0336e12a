"""The only way from one graph to another: infers again what a delta changes, and nothing else.

FlowchartReading from scratch is a delta on the empty graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from heapq import heappop, heappush

from merrow_analysis.definitions.types import ENTRY_POINT, PROBLEM, TEXT, Type
from merrow_analysis.graph.bare.ranks import rank
from merrow_analysis.graph.bare.shape import EMPTY_SHAPE, NO_RANK, GraphShape
from merrow_analysis.graph.boxes.composites import NO_COMPOSITES, Composites
from merrow_analysis.graph.boxes.edge_words import AGAIN
from merrow_analysis.graph.boxes.worded_edges import words_of
from merrow_analysis.graph.drawings.drawing import ENTRY_POINT_ID, PROBLEM_ID, is_diamond, reading_of
from merrow_analysis.graph.drawings.meaning import (
    ChartMeaning,
    loops_written,
    may_say_again,
    meaning_of,
    written_meaning,
)
from merrow_analysis.graph.flow import Subgraph
from merrow_analysis.graph.language import Given, GraphSettings, Language, NumberedFacts, facts_of
from merrow_analysis.graph.levels import carried, levels
from merrow_analysis.graph.marks import marked
from merrow_analysis.graph.model import Graph, NodeMarks, conflicting
from merrow_analysis.graph.node_texts import special_nodes, written
from merrow_analysis.graph.outside import Outside
from merrow_analysis.graph.placing.placement import NOT_PLACED, UNKNOWN, Facts
from merrow_analysis.graph.records import Chart, Delta, EdgeRecord, WrittenNode
from merrow_analysis.graph.resolve import FlowchartReading, Resolution, Role

_INPUT_TYPES = {PROBLEM_ID: PROBLEM, ENTRY_POINT_ID: ENTRY_POINT}
_SUSPENDED = Resolution("unknown")
"""What a node is while its declarations contradict each other."""
_MOST_HOLES = 64
"""How many more handles of removed nodes than nodes a graph may have."""


def infer(
    graph: Graph,
    delta: Delta,
    chart: Chart | None = None,
    composites: Composites | None = None,
    groups: Mapping[str, Subgraph] | None = None,
) -> Graph:
    """The graph after a delta, inferred again only where the delta has an effect.

    ``chart`` is the one that the delta leads to, where the caller has it already; ``composites`` are its Loops and Maps, None
    where they are what they were, but for nodes that are gone; ``groups`` its boxes, None where they are what they were.
    """
    chart = graph.drawn.apply(delta) if chart is None else chart
    groups = graph.groups if groups is None else groups
    holes = len(graph.records) - len(graph.chart.nodes)
    reading = _reading(chart, graph.settings, graph.language)
    implied = any(box.implied for box in graph.composites)
    if composites is None:
        composites = NO_COMPOSITES if implied else _kept(graph.composites, chart)
    # Which nodes are the ends of a drawing, and what its arrows back mean, depends on all of it.
    whole = reading != graph.reading or reading.drawn or implied or graph.results or graph.settings.drawn
    whole = whole or _turns(delta)
    cold = whole or _differ(graph.composites, composites, graph.chart, chart)
    if cold or holes > len(chart.nodes) + _MOST_HOLES:
        return read_graph(chart, graph.settings, graph.language, composites, graph.language.outside, groups)
    after = _Inference(graph, delta, chart, ChartMeaning(chart, reading, composites, loose=graph.loose)).graph()
    after.groups = groups
    return after


def _turns(delta: Delta) -> bool:
    """Whether an edge that came may begin another turn."""
    return any(may_say_again(edge) for splice in delta.edges for edge in splice.added)


def _kept(composites: Composites, chart: Chart) -> Composites:
    """Composites without the nodes that a chart has no more."""
    return composites.changed([node for node in composites.inside if node not in chart.nodes], {})


def _differ(before: Composites, now: Composites, old: Chart, chart: Chart) -> bool:
    """Whether anything is said otherwise of the nodes that both charts have: what crosses a border depends on both its ends."""
    if before is now:
        return False
    if before.boxes.keys() != now.boxes.keys():
        return True
    if any((box.kind, box.parent) != (now.boxes[box.id].kind, now.boxes[box.id].parent) for box in before):
        return True
    return any(before.inside.get(node) != now.inside.get(node) for node in old.nodes if node in chart.nodes)


def read_graph(
    chart: Chart,
    settings: GraphSettings,
    language: Language | None = None,
    composites: Composites = NO_COMPOSITES,
    outside: Outside | None = None,
    groups: Mapping[str, Subgraph] | None = None,
) -> Graph:
    """The graph of a chart, read from scratch. Never raises; problems stay in resolutions and placements, for rules to report.

    Takes time linear in the chart. ``language`` is used where it is that of the settings and of ``outside``, which finds the
    files that nodes call. ``groups`` are the boxes of a drawing.
    """
    if language is None or not language.serves(settings, outside):
        language = Language(settings, outside)
    empty = Graph(Chart(), settings, language, {}, [], [], [], [], EMPTY_SHAPE, NodeMarks())
    reading, groups = _reading(chart, settings, language), groups or {}
    if reading.drawn:
        read = meaning_of(chart, groups, language.operators, reading, composites)
        graph = _Inference(empty, Delta(read.chart.nodes), read.chart, read).graph()
    else:
        drawn = settings.drawn
        read = written_meaning(chart, groups, language.operators, reading, composites, settings.outputs, settings.drawn)
        graph = _Inference(empty, Delta(read.chart.nodes), read.chart, read).graph()
        if not composites and (drawn or any(map(may_say_again, chart.edges))):
            asks, barred = _ids(graph, graph.marks.decisions), _ids(graph, graph.shape.boundary)
            if not drawn:
                barred |= _ids(
                    graph,
                    [node for node, resolution in enumerate(graph.resolutions) if not _is_of_a_drawing(resolution)],
                )
                barred |= _in_unfinished_boxes(groups)
            turning = loops_written(read, asks, barred, drawn)
            if turning is not None:
                graph = _Inference(empty, Delta(read.chart.nodes), read.chart, turning).graph()
    graph.touched, graph.drawn, graph.groups = None, chart, groups
    return graph


_OF_DRAWINGS = frozenset({"Custom", "Pass", "Assemble"})


def _is_of_a_drawing(resolution: Resolution) -> bool:
    """Whether a node is what a box or a diamond of a drawing may be: of these alone arrows make Loops without a box."""
    if resolution.kind == "decision":
        return resolution.ask is not None and resolution.expression is None
    return resolution.kind == "operator" and resolution.spec is not None and resolution.spec.name in _OF_DRAWINGS


def _in_unfinished_boxes(groups: Mapping[str, Subgraph]) -> set[str]:
    """The nodes of boxes that are titled Loop or Map, and are none without parentheses."""
    return {name for group in groups.values() if group.title.strip() in ("Loop", "Map") for name in group.nodes}


def _ids(graph: Graph, nodes: Iterable[int]) -> set[str]:
    return {record.id for node in nodes if (record := graph.records[node]) is not None}


def _reading(chart: Chart, settings: GraphSettings, language: Language) -> FlowchartReading:
    return reading_of(chart, settings.inputs is not None or settings.outputs is not None, language.operators)


class _Inference:
    """Applies one delta to a graph."""

    def __init__(self, old: Graph, delta: Delta, chart: Chart, read: ChartMeaning) -> None:
        # What arrows back say without a word, or without a box around them.
        self.implied, self.read = read.words, read
        self.old, self.delta, self.chart, self.composites = old, delta, chart, read.composites
        self.reading, self.ends = read.reading, read.roles
        self.settings, self.language = old.settings, old.language
        self.cold = not old.chart.nodes
        self.special = {**special_nodes(old.settings), **self.ends}
        self.handles = old.handles
        self.records = old.records.copy()
        self.resolutions = old.resolutions.copy()
        self.facts = old.facts.copy()
        self.placements = old.placements.copy()
        self.ranks = old.shape.ranks
        self.born: list[int] = []
        self.gone: list[int] = []
        self.reordered = False

    def graph(self) -> Graph:
        self._take_nodes()
        old, chart = self.old, self.chart
        if self.cold:
            hides = any(edge.carries_nothing for edge in chart.edges)
        else:
            hides = old.hides or any(edge.carries_nothing for splice in self.delta.edges for edge in splice.added)
        after = Graph(
            chart,
            old.settings,
            old.language,
            self.handles,
            self.records,
            self.resolutions,
            self.facts,
            self.placements,
            old.shape,
            old.marks,
            hides,
            reading=self.reading,
            drawn=chart,
            ends=self.ends,
            composites=self.composites,
            kinds=self.read.kinds,
            results=self.read.results,
            loose=self.read.loose,
            notes=self.read.notes,
        )
        ends = self._ends()
        read = self._read_nodes(after, ends)
        if self.composites or self.old.words:
            self._read_words(after, ends, read)
        after.shape = self._shape(after, ends)
        changed = self._place(after, read, ends)
        after.marks = marked(old.marks, after, {*read, *changed, *self.gone})
        after.touched = frozenset((*read, *changed, *self.gone, *ends[0], *ends[1]))
        return after

    # Added and removed nodes

    def _take_nodes(self) -> None:
        """Take the delta's nodes over: records, handles, ranks."""
        delta, known = self.delta, self.handles
        if self.cold:
            self.handles = dict(zip(delta.nodes, range(len(delta.nodes)), strict=True))
            self.records = list(delta.nodes.values())
            count = len(self.records)
            self.born = list(range(count))
            self.ranks = list(map(float, range(count)))
            self._grow(count)
            return
        came = [name for name, record in delta.nodes.items() if record is not None and name not in known]
        went = [name for name, record in delta.nodes.items() if record is None]
        moved = [name for name in delta.before if name in known and delta.nodes.get(name) is not None]
        for name, record in delta.nodes.items():
            if record is not None and name in known:
                self.records[known[name]] = record
        if not (came or went or moved):
            return
        self.handles = handles = known.copy()
        self.ranks = self.ranks.copy()
        for name in went:
            handle = handles.pop(name)
            self.gone.append(handle)
            self.records[handle], self.ranks[handle] = None, NO_RANK
            self.resolutions[handle], self.placements[handle] = _SUSPENDED, NOT_PLACED
        for name in came:
            handles[name] = handle = len(self.records)
            self.records.append(delta.nodes[name])
            self.born.append(handle)
        self._grow(len(came))
        self.ranks.extend([NO_RANK] * len(came))
        rank(self.ranks, handles, list(self.chart.nodes), [*came, *moved])
        self.reordered = bool(moved)

    def _grow(self, count: int) -> None:
        self.resolutions.extend([_SUSPENDED] * count)
        self.facts.extend([self.language.facts(Facts("unknown"))] * count)
        self.placements.extend([NOT_PLACED] * count)

    # Edges

    def _ends(self) -> tuple[set[int], set[int]]:
        """The nodes whose incoming edges differ, and those whose outgoing ones do."""
        handles = self.handles
        if self.cold:
            return set(self.born), set(self.born)
        targets: set[str] = set()
        sources: set[str] = set()
        edges = self.old.chart.edges
        for start, removed, added in self.delta.edges:
            for edge in (*edges[start : start + removed], *added):
                targets.add(edge.target)
                sources.add(edge.source)
        into = {handles[name] for name in targets if name in handles}
        out = {handles[name] for name in sources if name in handles}
        return into | set(self.born), out | set(self.born)

    def _read_nodes(self, after: Graph, ends: tuple[set[int], set[int]]) -> set[int]:
        """Resolve the nodes whose text or defining edges differ; returns those whose resolution changed."""
        old_handles, delta = self.old.handles, self.delta
        handles = self.handles
        look = {handles[name] for name, record in delta.nodes.items() if record is not None}
        if not self.cold:
            resolutions = self.old.resolutions
            for handle in ends[0] | ends[1]:
                if handle >= len(resolutions) or resolutions[handle].kind in ("input", "output", "unknown"):
                    look.add(handle)
            for handle in ends[1]:
                record = self.records[handle]
                if record is not None and is_diamond(record):
                    look.add(handle)
            if (PROBLEM_ID in handles) != (PROBLEM_ID in old_handles):
                # Other inputs may replace it.
                look.update(self.old.shape.inputs)
                look.difference_update(self.gone)
        changed: set[int] = set()
        inputs = set(self.old.shape.inputs)
        outputs = set(self.old.shape.outputs)
        self.roles: dict[int, Role | None] = {}
        for handle in look:
            record = self.records[handle]
            if record is None:
                continue
            role, resolution, facts = self._read(record, after)
            if (role == "input") != (handle in inputs) or (role == "output") != (handle in outputs):
                self.roles[handle] = role
            if resolution is not self.resolutions[handle] or facts is not self.facts[handle]:
                self.resolutions[handle], self.facts[handle] = resolution, facts
                changed.add(handle)
        # A label may have moved without changing its meaning.
        changed.update(handles[name] for name, record in delta.nodes.items() if record is not None)
        return changed

    def _read(self, record: WrittenNode, after: Graph) -> tuple[Role | None, Resolution, NumberedFacts]:
        language = self.language
        role, text = written(record, self.special, after)
        resolution, facts = language.resolution(text)
        if role is None and len(record.mentions) > 1 and conflicting(record):
            resolution, facts = _SUSPENDED, language.facts(Facts("unknown"))
        if role == "input":
            facts = language.facts(facts_of(resolution, self._default_type(record.id)))
        if after.loose and resolution.kind == "decision":
            facts = language.facts(facts.facts._replace(newest=True))
        if self.settings.drawn or record.id in after.kinds or record.id in self.ends:
            facts = language.facts(facts.facts._replace(words=True))
        return role, resolution, facts

    def _default_type(self, name: str) -> Type | None:
        """The type of an input node that states none: unknown if it may replace a missing PROBLEM."""
        if name in _INPUT_TYPES:
            return _INPUT_TYPES[name]
        if name in self.ends:
            return PROBLEM
        stands_in = PROBLEM_ID not in self.handles and self.settings.inputs is None
        return None if stands_in else TEXT

    # Words of composites

    def _read_words(self, after: Graph, ends: tuple[set[int], set[int]], read: set[int]) -> None:
        """Say which edges have a word, of those that differ and those whose source, or what leads to their target, does.

        Adds the ends of edges that have another word than before to ``ends``.
        """
        chart, handles = self.chart, self.handles
        words = {} if self.cold else {edge: worded for edge, worded in self.old.words.items() if edge in chart.numbers}
        if self.cold:
            looked: Iterable[EdgeRecord] = chart.edges
        else:
            nodes = {
                record.id for handle in (*read, *ends[0], *ends[1]) if (record := self.records[handle]) is not None
            }
            looked = dict.fromkeys(
                edge for name in nodes for rows in (chart.incoming, chart.outgoing) for edge in rows.get(name, ())
            )
        labels = words_of(looked, words, chart, self.composites, self._decides)
        for edge, worded in {**labels, **self.implied}.items():
            if worded is not None:
                words[edge] = worded
            else:
                words.pop(edge, None)
            if worded != self.old.words.get(edge):
                ends[0].add(handles[edge.target])
                ends[1].add(handles[edge.source])
        after.words = words
        after.hides = after.hides or any(worded.word == AGAIN for worded in words.values())

    def _decides(self, name: str) -> bool:
        return self.resolutions[self.handles[name]].kind == "decision"

    # Order

    def _shape(self, after: Graph, ends: tuple[set[int], set[int]]) -> GraphShape:
        old, handles, records = self.old.shape, self.handles, self.records
        into, out = ends
        before: dict[int, list[int]] = {}
        following: dict[int, list[int]] = {}
        for handle in into:
            record = records[handle]
            if record is not None:
                before[handle] = [handles[edge.source] for edge in after.into(record.id)]
        for handle in out:
            record = records[handle]
            if record is not None:
                following[handle] = [handles[edge.target] for edge in after.out_of(record.id)]
        for handle in self.gone:
            before[handle] = following[handle] = []
        inputs, outputs = old.inputs, old.outputs
        gone = set(self.gone)
        if self.roles or not gone.isdisjoint(inputs):
            inputs = self._of_role("input", [node for node in inputs if node not in gone])
        if self.roles or not gone.isdisjoint(outputs):
            outputs = self._of_role("output", [node for node in outputs if node not in gone])
        if self.reordered:
            inputs, outputs = self._by_rank(inputs), self._by_rank(outputs)
        same_rims = inputs == old.inputs and outputs == old.outputs
        if same_rims and not (before or following or self.born or self.gone or self.reordered):
            return old
        return old.changed(self.ranks, inputs, outputs, following, before, self.born, gone, self.reordered)

    def _of_role(self, role: Role, before: list[int]) -> list[int]:
        kept = [node for node in before if self.roles.get(node, role) == role]
        of_role = self._by_rank({*kept, *(node for node, now in self.roles.items() if now == role)})
        return before if of_role == before else of_role

    def _by_rank(self, nodes: Iterable[int]) -> list[int]:
        return sorted(nodes, key=self.ranks.__getitem__)

    # Types

    def _place(self, after: Graph, read: set[int], ends: tuple[set[int], set[int]]) -> set[int]:
        """Place the edges of nodes that differ, and of nodes downstream as far as they change; returns the changed ones."""
        shape, old = after.shape, self.old.shape
        stale = read | ends[0]
        if not self.cold and shape.order is not old.order:
            # Only here may a source that was known when its target was placed not be so now, or the other way round.
            now, then = shape.places, old.places
            turned = shape.wrong.union(old.wrong, *shape.cycles, *old.cycles).difference(stale)
            stale.update(
                node
                for node in turned
                for earlier in shape.before[node]
                if (now[earlier] < now[node]) != (then[earlier] < then[node])
            )
        stale.difference_update(self.gone)
        order, places = shape.order, shape.places
        records, facts, placements, language = self.records, self.facts, self.placements, self.language
        handles, unknown = self.handles, self.language.unknown
        changed: set[int] = set()
        # In a heap, which a sorted list is.
        waiting = sorted([places[node] for node in stale])
        last_place = -1
        while waiting:
            own_place = heappop(waiting)
            if own_place == last_place:
                continue
            last_place, node = own_place, order[own_place]
            record = records[node]
            if record is None:
                continue
            own_facts = facts[node]
            key: list[object] = [own_facts.number]
            edges = after.into(record.id)
            bordered = bool(self.composites)
            for edge in edges:
                label = edge.arrow.label
                source = handles[edge.source]
                # A source that comes later is on a cycle with its target, or leads where it is not allowed: unknown.
                number = placements[source].number if places[source] < own_place else unknown
                if bordered:
                    key += after.text_of(edge), number, levels(after, edge)
                else:
                    key += None if label is None else label.text, number

            asked = tuple(key)
            answer = language.placed(asked) or language.place(
                own_facts, asked, partial(self._given, after, edges, own_place)
            )
            before = placements[node]
            if answer is before:
                continue
            placements[node] = answer
            changed.add(node)
            if answer.number != before.number and not self.cold:
                for target in shape.following[node]:
                    if places[target] > own_place:
                        heappush(waiting, places[target])
        return changed

    def _given(self, after: Graph, edges: Sequence[EdgeRecord], own_place: int) -> Given:
        """The labels on edges into the node at a place, and what their sources give."""
        places, placements, handles, types = after.shape.places, self.placements, self.handles, self.language.types
        return tuple(
            (
                after.text_of(edge),
                carried(placements[handles[edge.source]].signature, levels(after, edge), types)
                if places[handles[edge.source]] < own_place
                else UNKNOWN,
            )
            for edge in edges
        )
