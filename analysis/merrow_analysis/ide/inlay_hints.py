"""What Merrow works out and nobody wrote: the port and type of an edge, and the operator of a node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from merrow_analysis.check import Analysis
from merrow_analysis.edits.labels import takes_label, write_label
from merrow_analysis.graph.flow import Mention
from merrow_analysis.graph.measures.call_bounds import count_of
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.ide.names.definition import DefinitionTarget, targets_of
from merrow_analysis.ide.subgraphs import stretches
from merrow_analysis.ide.texts.box_text import change_of
from merrow_analysis.ide.texts.node_text import decided_by
from merrow_analysis.places.occurrences import occurrences_in
from merrow_analysis.places.symbols import Kind, Symbol, symbol
from merrow_analysis.rules.reporting import named
from merrow_analysis.text import Position, Range, TextEdit


@dataclass(frozen=True, slots=True)
class HintPart:
    """A piece of a hint, with the place that it leads to."""

    text: str
    target: DefinitionTarget | None = None


@dataclass(frozen=True, slots=True)
class Hint:
    """Words shown at a place where they don't stand. ``edits`` would write them."""

    position: Position
    parts: tuple[HintPart, ...]
    tooltip: str
    edits: tuple[TextEdit, ...] = ()

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


def inlay_hints(analysis: Analysis, place: Range, *, ports: bool = True, operators: bool = True) -> list[Hint]:
    """The hints in a range, in the order of the text; ``ports`` and ``operators`` switch the two kinds on."""
    typed = analysis.typed
    if typed is None:
        return []
    hints: list[Hint] = []
    targets = _Targets(analysis)
    if ports:
        hints += _ports(targets, typed, place)
    if operators:
        hints += _operators(targets, typed, place)
        hints += _boxes(analysis, typed, place)
    return sorted(hints, key=lambda hint: hint.position)


class _Targets:
    """Where names lead, each looked up once for all hints."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._known: dict[Symbol, DefinitionTarget | None] = {}

    def of(self, kind: Kind, name: str) -> DefinitionTarget | None:
        wanted = symbol(kind, name)
        if kind == "type":
            return self._types.get(wanted)
        if wanted not in self._known:
            self._known[wanted] = next(iter(targets_of(self._analysis, wanted)), None)
        return self._known[wanted]

    @cached_property
    def _types(self) -> dict[Symbol, DefinitionTarget]:
        """Where the types of the front matter are declared, all read at once: there may be a hint for each of them."""
        front = self._analysis.diagram.front_matter
        places = [] if front is None else occurrences_in(self._analysis, front[1])
        return {
            place.symbol: DefinitionTarget(place.range, place.whole_range)
            for place in reversed(places)  # The first one counts.
            if place.symbol.kind == "type" and place.role == "declaration"
        }


def _touches(line: int, count: int, place: Range) -> bool:
    return line <= place.end.line and place.start.line < line + max(count, 1)


def _ports(targets: _Targets, typed: TypedGraph, place: Range) -> Iterator[Hint]:
    arrows: dict[tuple[int, int], list[TypedEdge]] = {}
    for edge in (*typed.edges, *typed.again):
        if edge.implied:
            continue
        block = edge.flow.block
        if _touches(block.line, block.line_count, place) and _is_inferred(edge):
            arrows.setdefault((id(block), edge.flow.arrow.span[0]), []).append(edge)
    for edges in arrows.values():
        position = edges[0].flow.range.end
        if place.start <= position <= place.end:
            yield _port_hint(targets, position, edges)


def _is_inferred(edge: TypedEdge) -> bool:
    """Whether the edge finds a port that its label does not say."""
    if edge.target.resolution.plain is not None and (edge.target.kind == "operator" or edge.target.asks):
        return False  # There is one port only, which readers of a drawing need not know of.
    return bool(edge.feeds) and edge.placed.label.port is None


def _port_hint(targets: _Targets, position: Position, edges: list[TypedEdge]) -> Hint:
    """One hint for all edges of an arrow, which says each port and type once."""
    parts: list[HintPart] = []
    lines: list[str] = []
    seen: set[tuple[str, str]] = set()
    for edge in edges:
        for feed in edge.feeds:
            lines.append(f"{_output(edge, feed.output)} feeds `{feed.port}` of {named(edge.target)}.")
            words = (feed.port, feed.type or "")
            if words in seen:
                continue
            seen.add(words)
            parts.append(HintPart(f"{', ' if parts else ''}{feed.port}"))
            if feed.type:
                name = feed.type.removeprefix("list[").removesuffix("]")
                shown = change_of(edge) if len(edge.feeds) == 1 else None
                parts += [HintPart(": "), HintPart(shown or feed.type, targets.of("type", name))]
    return Hint(position, tuple(parts), "\n\n".join(dict.fromkeys(lines)), _label_edit(edges))


def _output(edge: TypedEdge, output: str | None) -> str:
    whole = output is None or edge.source.kind == "input"
    return edge.source.id if whole else f"`{output}` of {edge.source.id}"


def _label_edit(edges: list[TypedEdge]) -> tuple[TextEdit, ...]:
    """The label that says the port, where one label says it for all edges of the arrow."""
    ports = {feed.port for edge in edges for feed in edge.feeds}
    unlabelled = all(edge.flow.arrow.label is None and len(edge.feeds) == 1 for edge in edges)
    decides = any(edge.source.kind == "decision" for edge in edges)
    if len(ports) != 1 or not unlabelled or decides or edges[0].target.kind == "output":
        return ()
    port = ports.pop()
    return (write_label(edges[0], port),) if takes_label(edges[0], port) else ()


def _operators(targets: _Targets, typed: TypedGraph, place: Range) -> Iterator[Hint]:
    for node in typed.nodes:
        if node.implied:
            continue
        mention = _declaration(node.flow.mentions)
        block = mention.block
        if not _touches(block.line, block.line_count, place):
            continue
        resolution = node.resolution
        spec = resolution.spec
        if resolution.plain is not None or node.kind == "decision":
            yield from _plain(node, mention, place)
        if spec is None or any(claim.place == "label" for claim in resolution.claims):
            continue
        claims = [claim for claim in resolution.claims if claim.spec is spec]
        vertex = mention.vertex
        if not claims or any(_says(claim.word, mention) for claim in claims):
            continue
        position = block.position(vertex.metadata.span[1] if vertex.metadata is not None else vertex.span[1])
        if place.start <= position <= place.end:
            where = "its `op`" if claims[0].place == "op" else f"class {claims[0].word}"
            tooltip = f"{node.id} is a {spec.name} by {where}. {spec.note}".strip()
            yield Hint(position, (HintPart(": "), HintPart(spec.name, targets.of("operator", spec.name))), tooltip)


def _boxes(analysis: Analysis, typed: TypedGraph, place: Range) -> Iterator[Hint]:
    """What a subgraph is whose title does not say so, and the bound that nobody wrote."""
    for stretch in stretches(analysis.diagram) if typed.composites else ():
        box = typed.composites.boxes.get(stretch.id)
        position = stretch.block.position(stretch.head.span[1])
        if box is None or not place.start <= position <= place.end:
            continue
        parts: list[str] = []
        if not stretch.title.startswith(box.operator):
            parts.append(box.operator)
        most, what = count_of(box, "max"), "turns" if box.kind == "loop" else "items"
        if "max" not in box.parameters:
            parts.append(f"up to {most} {what}")
        if parts:
            tooltip = f"{box.id} is a {box.operator}. It has up to {most} {what}; `max:` says otherwise."
            yield Hint(position, (HintPart(f" {', '.join(parts)}"),), tooltip)


def _plain(node: TypedNode, mention: Mention, place: Range) -> Iterator[Hint]:
    """What a plain step does, and what decides at a Decision."""
    position = mention.block.position(mention.vertex.span[1])
    if not place.start <= position <= place.end:
        return
    if node.kind == "operator":
        tooltip = f"{node.id} names no operator, so a model is asked the text of this box, with what its arrows bring."
        yield Hint(position, (HintPart(" a model is asked this"),), tooltip)
    elif node.asks:
        tooltip = f"{node.id} asks a model which way to take; what arrives continues that way."
        yield Hint(position, (HintPart(" a model is asked which way"),), tooltip)
    elif (what := decided_by(node)) is not None:
        yield Hint(position, (HintPart(f" decided by {what}"),), f"{node.id} asks no model: {what} decides.")


def _says(word: str, mention: Mention) -> bool:
    """Whether the operator is named right at the declaration, so that a hint would repeat it."""
    vertex = mention.vertex
    if any(name.text == word for name in vertex.classes):
        return True
    return vertex.metadata is not None and word in vertex.metadata.body


def _declaration(mentions: list[Mention]) -> Mention:
    return next((mention for mention in mentions if mention.declares), mentions[0])
