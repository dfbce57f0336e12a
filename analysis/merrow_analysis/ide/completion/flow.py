"""Completion in statements: nodes where they fit by type, ports, classes, arrows, operators."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nsmallest

from merrow_analysis.definitions.operators import INTERFACE_CLASS
from merrow_analysis.graph.boxes.edge_words import AGAIN, worded
from merrow_analysis.graph.flow import FlowNode
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.placing.notation import read_label
from merrow_analysis.ide.completion.boxes import crossing, title_items
from merrow_analysis.ide.completion.fitting import CYCLE, NO_FIT, WELCOME, Fit, Value, fit, steps, upstream, values_of
from merrow_analysis.ide.completion.items import CompletionItems
from merrow_analysis.ide.completion.keys import label_items, metadata_items
from merrow_analysis.ide.completion.operator_snippets import operator_items
from merrow_analysis.ide.completion.ports import edge_label_items
from merrow_analysis.ide.cursor.place import InStatement
from merrow_analysis.ide.cursor.statement import CursorExpectation

_MOST_NODES = 300
"""In larger workflows not all nodes are offered at once: the list would take longer to send than to read."""
_ARROWS = (
    ("-->", "an edge"),
    ("-->|port|", "an edge to a named port"),
    ("==>", "an edge, thick"),
    ("-.->", "an edge, dotted"),
    ("---", "an edge without a head"),
    ("~~~", "no edge: lays out only"),
)
_DIRECTIONS = (
    ("TD", "top down"),
    ("LR", "left to right"),
    ("TB", "top to bottom"),
    ("BT", "bottom to top"),
    ("RL", "right to left"),
)
_KEYWORDS = (
    ("class", "class ", "Gives nodes a class"),
    ("classDef", "classDef ", "Says how a class is drawn"),
    ("subgraph", "subgraph ", "Groups nodes up to `end`"),
    ("direction", "direction ", "The direction of a subgraph"),
    ("style", "style ", "Draws one node in a style of its own"),
    ("linkStyle", "linkStyle ", "Draws edges by number in a style of their own"),
    ("click", "click ", "A link on a node"),
    ("end", "end", "Ends a subgraph"),
)


def statement_items(items: CompletionItems, place: InStatement) -> None:
    """Items for a place in a statement."""
    typed = place.typed
    length = len(place.before) - typed.start
    if typed.expecting == "statement":
        _statement(items, typed, length)
    elif typed.expecting == "node":
        _nodes(items, typed, length, place.before)
    elif typed.expecting == "after-node":
        _after_node(items, length, place.before)
    elif typed.expecting == "edge-label":
        edge_label_items(items, place)
    elif typed.expecting == "ids":
        _ids(items, typed, length)
    elif typed.expecting == "class":
        _classes(items, typed, length)
    elif typed.expecting == "direction":
        for rank, (name, meaning) in enumerate(_DIRECTIONS):
            items.add(name, "keyword", items.range(length), rank=rank, detail=meaning)
    elif typed.expecting == "label":
        label_items(items, place)
    elif typed.expecting == "metadata":
        metadata_items(items, place)
    elif typed.expecting == "title":
        title_items(items, place)


def _is_being_typed(items: CompletionItems, node: FlowNode) -> bool:
    """Whether a node is only there because its name is being typed at the cursor."""
    if len(node.mentions) != 1 or node.mentions[0].declares:
        return False
    start, end = node.mentions[0].range
    return start.line == items.position.line and start.column <= items.position.column <= end.column


def _known_nodes(items: CompletionItems, length: int) -> list[FlowNode]:
    """The nodes to offer; of very many those that have the letters typed so far, the nearest ones."""
    nodes = [node for node in items.analysis.flow.nodes.values() if not _is_being_typed(items, node)]
    if len(nodes) <= _MOST_NODES:
        return nodes
    items.is_whole = False
    word = items.line[items.position.column - length : items.position.column].casefold()
    named = [node for node in nodes if word in node.id.casefold()]
    line = items.position.line
    return nsmallest(_MOST_NODES, named, key=lambda node: abs(node.mentions[0].block.line - line))


def _what(items: CompletionItems, node: FlowNode) -> str:
    typed = items.analysis.typed
    typed_node = typed.by_id.get(node.id) if typed is not None else None
    return "" if typed_node is None else typed_node.operator or "unknown operator"


def _statement(items: CompletionItems, typed: CursorExpectation, length: int) -> None:
    place = items.range(length)
    if items.analysis.diagram.header is None:
        for rank, keyword in enumerate(("flowchart TD", "flowchart LR")):
            items.add(keyword, "keyword", place, rank=rank, text=f"{keyword}\n")
        return
    for node in _known_nodes(items, length):
        open_end = not node.outgoing
        items.add(
            node.id, "node", place, rank=0 if open_end else 1, detail=_what(items, node), subject=("node", node.id)
        )
    if not typed.sources and not typed.ids:
        operator_items(items, length, rank=2)
        for name, text, help_text in _KEYWORDS:
            items.add(name, "keyword", place, rank=3, text=text, detail=help_text)


def _nodes(items: CompletionItems, typed: CursorExpectation, length: int, before: str) -> None:
    """The nodes that an edge may lead to: those first whose ports take what arrives, those last that close a cycle."""
    graph = items.analysis.typed
    gap = " " if length == 0 and before[-1:] not in ("", " ", "\t", "|", "\n", "&") else ""
    if before.endswith(("|", "&")):
        gap = " "
    place = items.range(length)
    sources = [] if graph is None else [graph.by_id[name] for name in typed.sources if name in graph.by_id]
    looping = upstream(graph, sources) if graph is not None and sources else b""
    beside = set(typed.ids)
    for node in _known_nodes(items, length):
        if node.id in beside:
            continue
        target = None if graph is None else graph.by_id.get(node.id)
        best = Fit(NO_FIT, 0, None)
        if target is not None and sources:
            best = _fit_all(items, sources, target, typed.label)
            comes_again = typed.label is not None and AGAIN in [part.strip() for part in typed.label.split(":")[:2]]
            closes = not comes_again and target.index < len(looping) and bool(looping[target.index])
            if best.rank <= NO_FIT and closes:
                best = Fit(CYCLE, 0, None)
        note = {CYCLE: "closes a cycle"}.get(best.rank, f"into {best.port}" if best.port else "")
        items.add(
            node.id,
            "node",
            place,
            rank=best.rank,
            steps=best.steps,
            text=gap + node.id,
            detail=_what(items, node),
            description=note,
            subject=("node", node.id),
        )


def _fit_all(items: CompletionItems, sources: list[TypedNode], target: TypedNode, label: str | None) -> Fit:
    """How well the values of all sources go into a target; a label on the arrow says which output and port are meant."""
    graph = items.analysis.typed
    assert graph is not None  # noqa: S101  there are sources of it
    worst = Fit(-1, -1, None)
    for source in sources:
        border = graph.composites.border(source.id, target.id)
        decides = source.kind == "decision"
        word = worded(label, border, graph.composites, from_decision=decides, again_into=bool(target.again_in))
        read = read_label(label if word is None else word.text, from_decision=decides)
        values: list[Value] = crossing(values_of(source), border, graph.composites, None if word is None else word.word)
        if read.output is not None:
            values = [value for value in values if value.output == read.output]
        elif read.port is not None:
            values = values[:1]
        if read.port is None:
            fitting = fit(values, target, graph.types)
        else:
            port = next((port for port in target.input_ports if port.name == read.port), None)
            far = [steps(value.type, port, graph.types) for value in values] if port is not None else []
            good = [number for number in far if number is not None]
            fed = port is not None and bool(target.sources(port.name)) and not port.many
            needed = port is not None and port.required and not target.sources(port.name)
            rank = NO_FIT if not good or fed else 0 if needed else WELCOME
            fitting = Fit(rank, -1 if fed else min(good, default=0), read.port if good else None)
        worst = max(worst, fitting, key=lambda candidate: (candidate.rank, candidate.steps))
    return worst


def _after_node(items: CompletionItems, length: int, before: str) -> None:
    begun = before[len(before) - length :] if length else ""
    gap = " " if not begun and before[-1:] not in (" ", "\t", "\n") else ""
    place = items.range(length) if not length else items.range(length)._replace(end=items.position)
    for rank, (arrow, meaning) in enumerate(_ARROWS):
        labelled = arrow.endswith("|")
        items.add(
            arrow,
            "arrow",
            place,
            rank=rank,
            text=f"{gap}{arrow.removesuffix('|port|')} ",
            snippet=f"{gap}{arrow.removesuffix('port|')}${{1:port}}| $0" if labelled else None,
            detail=meaning,
        )
    if not begun and not gap:
        return
    if not begun:
        items.add(":::", "arrow", place, rank=8, detail="a class")
        items.add("@{ }", "arrow", place, rank=9, text="@{ ", snippet="@{ $1 \\}", detail="metadata")


def _ids(items: CompletionItems, typed: CursorExpectation, length: int) -> None:
    beside = set(typed.ids)
    graph = items.analysis.typed
    for node in _known_nodes(items, length):
        if node.id in beside:
            continue
        rank = 0 if typed.keyword == "class" and not node.classes else 1
        items.add(node.id, "node", items.range(length), rank=rank, detail=_what(items, node), subject=("node", node.id))
    if graph is None or typed.keyword != "click":
        for name in items.analysis.flow.subgraphs:
            items.add(name, "node", items.range(length), rank=2, detail="subgraph")


def _classes(items: CompletionItems, typed: CursorExpectation, length: int) -> None:
    """Classes of operators and of the author; first what the nodes' labels, metadata or names ask for."""
    graph = items.analysis.typed
    meant: set[str] = set()
    for name in typed.ids:
        node = graph.by_id.get(name) if graph is not None else None
        if node is None:
            continue
        if node.kind in ("input", "output"):
            meant.add(INTERFACE_CLASS)
        meant.update(_meant_by(node))
    place = items.range(length)

    def add(names: Iterable[tuple[str, str]], rank: int) -> None:
        for name, detail in names:
            first = -1 if name in meant else rank
            items.add(name, "class", place, rank=first, detail=detail, subject=("class", name))

    defined = [(name, "style") for name in items.analysis.flow.class_defs]
    operators: list[tuple[str, str]] = []
    if graph is not None:
        operators = [(spec.class_name, f"operator {spec.name}") for spec in graph.operators.specs.values()]
    known = {name for name, _ in operators}
    add([entry for entry in operators if entry[0] in dict(defined)], 0)
    add([entry for entry in defined if entry[0] not in known and entry[0] != INTERFACE_CLASS], 1)
    if graph is not None:
        add([(INTERFACE_CLASS, "inputs and outputs")], 1)
    add(operators, 2)


def _meant_by(node: TypedNode) -> list[str]:
    """The classes of the operators that a node is or could be."""
    specs = [node.spec, *(claim.spec for claim in node.resolution.claims)]
    specs += [problem.near for problem in node.resolution.problems]
    return [spec.class_name for spec in specs if spec is not None]
