"""Arrows of a drawing in a file that names its operators: those to boxes lead to steps, and what else must be said of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from merrow_analysis.definitions.operators import OUTPUT_PORT
from merrow_analysis.edits.lines import indentation
from merrow_analysis.graph.bare.conditions import NEVER, TooManyCombinationsError
from merrow_analysis.graph.drawings.reading import Drawing, read_arrows
from merrow_analysis.graph.liveness.waiting import is_gate, order_of, starting
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.graph.together import fed_at_once
from merrow_analysis.syntax.tree import Block, Chain, Vertex
from merrow_analysis.text import Range, TextEdit

_Ends = Mapping[str, tuple[list[str], list[str]]]


def reads_otherwise(graph: TypedGraph) -> bool:
    """Whether arrows mean something in a drawing that they don't mean in a file with operators: nodes without arrows, lines that
    say nothing, ends of which one is enough, what starts a step, and what a question passes on.
    """
    core = graph.core
    if any(note.kind in ("unconnected", "own box", "closes a cycle", "drawn twice") for note in core.notes):
        return True
    if any(map(partial(_arrive_at_once, graph), graph.outputs)):
        return True
    gathering = [graph.by_id[name] for name, kind in core.kinds.items() if kind == "gathers"]
    if any(edge.source.kind == "decision" for node in gathering for edge in node.incoming):
        return True
    if graph.composites:
        return False  # Where arrows back say `again` the same holds of all arrows.
    if len(graph.outputs) > len(core.results) and len(graph.outputs) > 1 and graph.decisions:
        return True
    if any(node.asks and [edge.case_label for edge in node.ways].count(None) > 1 for node in graph.decisions):
        return True
    if any(node.asks and len([feed for edge in node.incoming for feed in edge.feeds]) > 1 for node in graph.decisions):
        return True
    return any(_starts_otherwise(graph, node) for node in graph.nodes)


def _arrive_at_once(graph: TypedGraph, node: TypedNode) -> bool:
    """Whether several values may reach an output at once, of which the first counts: from questions that all lead back."""
    try:
        return node.kind == "output" and fed_at_once(node, OUTPUT_PORT.name, graph.combinations) is not None
    except TooManyCombinationsError:
        return True


def _starts_otherwise(graph: TypedGraph, node: TypedNode) -> bool:
    """Whether another edge starts a node than only one that never comes together with an answer's."""
    gates = [edge for edge in node.incoming if is_gate(edge)]
    plain = [edge for edge in node.incoming if not is_gate(edge)]
    live, starts = graph.combinations.live, graph.starts
    if not gates or not plain or live is None or starts is None:
        return bool(gates and plain)
    begin = {edge.record for edge in starting(node.incoming, starts)}
    try:
        taken = live.any_taken([order_of(edge) for edge in gates])
        for edge in plain:
            apart = live.algebra.both(live.alive(order_of(edge)), taken) == NEVER
            if apart != (edge.record in begin):
                return True
    except TooManyCombinationsError:
        return True
    return False


def named_steps(graph: TypedGraph) -> list[TextEdit] | None:
    """Edits by which arrows to and from boxes name the steps that they lead to and from; None where a line can't say so."""
    if not graph.flow.scenery.subgraphs:
        return []
    drawing = read_arrows(graph.flow.chart, graph.flow.subgraphs)
    edits: list[TextEdit] = []
    for block, chain in _chains(graph, drawing):
        made = _rewritten(block, chain, drawing.box_ends)
        if made is None:
            return None
        edits += made
    for name in drawing.nodes:
        if name in graph.flow.subgraphs:
            made = _as_node(graph, name)
            if made is None:
                return None
            edits += made
    return edits


def _chains(graph: TypedGraph, drawing: Drawing) -> Iterator[tuple[Block, Chain]]:
    """The statements with arrows to or from boxes, with their blocks."""
    arrows = {id(edge.arrow) for edge in drawing.boxed}
    for block in dict.fromkeys(edge.block for edge in drawing.boxed):
        for statement in block.statements:
            if isinstance(statement, Chain) and any(id(arrow) in arrows for arrow in statement.arrows):
                yield graph.flow.here(block), statement


def _rewritten(block: Block, chain: Chain, ends: _Ends) -> list[TextEdit] | None:
    edits: list[TextEdit] = []
    last = len(chain.groups) - 1
    for place, group in enumerate(chain.groups):
        if not any(vertex.name.text in ends for vertex in group):
            continue
        if any(vertex.metadata is not None for vertex in group):
            return None
        into, out = (" & ".join(_named(vertex, ends, side) for vertex in group) for side in (0, 1))
        written = block.text[group[0].span[0] : group[-1].span[1]]
        first = " & ".join(
            _named(vertex, ends, 0 if place else 1)
            if vertex.name.text in ends
            else block.text[vertex.span[0] : vertex.span[1]]
            for vertex in group
        )
        text = first
        if 0 < place < last and into != out:
            text = f"{first}\n{indentation(block)}{out}"
        if "\n" in written:
            return None
        edits.append(TextEdit(block.range((group[0].span[0], group[-1].span[1])), text))
    return edits


def _named(vertex: Vertex, ends: _Ends, side: int) -> str:
    name = vertex.name.text
    return " & ".join(ends[name][side]) if name in ends else name


def _as_node(graph: TypedGraph, name: str) -> list[TextEdit] | None:
    """An empty box as the node that it is read as."""
    group = graph.flow.subgraphs[name]
    if group.end is None or group.metadata or group.repeated or group.classes:
        return None
    begin, end = group.block, group.end
    if begin.line_count != 1 or end.line_count != 1 or end.line - begin.line != 1:
        return None
    title = group.title.replace('"', "#quot;")
    label = f'["{title}"]' if title else ""
    start = begin.range((len(indentation(begin)), len(begin.text.rstrip()))).start
    stop = end.range((0, len(end.text.rstrip()))).end
    return [TextEdit(Range(start, stop), f"{name}{label}")]
