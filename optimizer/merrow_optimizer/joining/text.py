"""The statements that a child of two workflows takes over from one parent, as pieces of that parent's text.

A statement that is kept whole stays as it is written, up to names that had to change; of one that is kept in part, the
nodes and edges that are kept come out on lines of their own, with their own arrows and labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from merrow_analysis.check import Analysis
from merrow_analysis.graph.flow import Flowchart, FlowEdge
from merrow_analysis.places.occurrences import occurrences_in
from merrow_analysis.places.symbols import Symbol, respelled
from merrow_analysis.syntax.tree import (
    Block,
    Chain,
    ClassAssign,
    ClassDef,
    Click,
    Comment,
    Direction,
    FrontMatter,
    LinkStyle,
    Statement,
    Style,
    SubgraphEnd,
    SubgraphStart,
    Vertex,
)
from merrow_analysis.text import line_content, split_lines

PieceKind = Literal["front", "top", "node", "classdef", "class", "edge", "look", "links", "comment", "blank", "group"]


class End(NamedTuple):
    """Other ends and another label for an edge; ``label`` None leaves its label as it is."""

    source: str
    target: str
    label: str | None = None


class Counted(NamedTuple):
    """The edges that a ``linkStyle`` counts, by the parent's numbers, and how they are ``written``, behind what."""

    edges: tuple[int, ...]
    before: str
    written: str


@dataclass(slots=True)
class TextPiece:
    """Some whole lines. ``edges`` are the numbers of the parent's edges that they draw, in order.

    ``gone`` marks where something of the parent is left out or led elsewhere; such a piece may be empty.
    """

    kind: PieceKind
    text: str
    edges: tuple[int, ...] = ()
    gone: bool = False
    counted: Counted | None = None


@dataclass(slots=True)
class KeptPart:
    """What of a parent is kept: nodes by id, edges by number, those led elsewhere with their new ends.

    ``names`` has the new names of what is called otherwise in the child; ``classes`` are the classes whose definitions
    are kept; ``is_host`` says that what belongs to no node (header, headings, accessibility) is kept too.
    """

    analysis: Analysis
    nodes: frozenset[str]
    edges: frozenset[int]
    led: Mapping[int, End]
    names: Mapping[Symbol, str]
    classes: frozenset[str]
    is_host: bool
    _edges_of: dict[tuple[int, int], list[FlowEdge]] = field(init=False)
    _edge_ids: frozenset[str] = field(init=False)
    _groups: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self._edges_of = {}
        flow = self.analysis.flow
        for edge in flow.edges:
            self._edges_of.setdefault((id(edge.block), id(edge.arrow)), []).append(edge)
        self._edge_ids = frozenset(name for name, edge in flow.edge_ids.items() if edge.index in self.edges)
        self._groups = frozenset(
            name for name, group in flow.subgraphs.items() if any(node in self.nodes for node in members(flow, name))
        )

    def pieces(self) -> list[TextPiece]:
        """What is kept, in the order of the parent's text."""
        text_pieces: list[TextPiece] = []
        open_groups: list[bool] = []
        for block in self.analysis.diagram.blocks:
            text_pieces += self._block(block, open_groups)
        return _without_idle_comments(text_pieces)

    # Statements

    def _block(self, block: Block, open_groups: list[bool]) -> Iterator[TextPiece]:
        statements = list(block.statements)
        if not statements:
            if all(open_groups):
                yield TextPiece("blank", block.text)
            return
        verdicts = [self._verdict(statement, block, open_groups) for statement in statements]
        # A `linkStyle` is counted again, or dropped, by itself.
        mixed = len(statements) > 1 and any(isinstance(statement, LinkStyle) for statement in statements)
        whole = not mixed and all(verdict is True for verdict in verdicts)
        renamed = _Renamed(block, self._splices(block))
        if whole:
            edges = tuple(edge.index for statement in statements for edge in self._drawn(statement, block))
            splices = [splice for edge in edges if edge in self.led for splice in self._led_in_place(edge, renamed)]
            gone = any(edge in self.led for edge in edges)
            text = renamed.text(0, len(block.text), splices)
            yield TextPiece(_kind(statements), text, edges, gone=gone, counted=_counted(statements[0], block))
            return
        indent = block.text[: len(block.text) - len(block.text.lstrip())].rpartition("\n")[2]
        last_line = split_lines(block.text)[-1]
        # None at the end of a text without one: the layout puts the text's own there.
        ending = last_line[len(line_content(last_line)) :]
        for statement, verdict in zip(statements, verdicts, strict=True):
            lines = list(self._part(statement, block, renamed, verdict))
            if not lines:
                yield TextPiece(_kind([statement]), "", gone=True)
            for number, (text, edges) in enumerate(lines):
                kind: PieceKind = "edge" if edges else _kind([statement], alone=True)
                counted = _counted(statement, block)
                yield TextPiece(kind, f"{indent}{text}{ending}", edges, gone=number == 0, counted=counted)

    def _verdict(self, statement: Statement, block: Block, open_groups: list[bool]) -> bool | None:
        """True: kept whole; False: left out; None: kept in part."""
        if isinstance(statement, SubgraphStart):
            name = statement.id.text if statement.id is not None else ""
            open_groups.append(name in self._groups if name else self.is_host)
            return open_groups[-1]
        if isinstance(statement, SubgraphEnd):
            return open_groups.pop() if open_groups else self.is_host
        if isinstance(statement, Chain):
            return self._chain_verdict(statement, block)
        if isinstance(statement, ClassAssign):
            return _all_or_some(self._is_known(name.text) for name in statement.ids)
        if isinstance(statement, ClassDef):
            return any(name.text in self.classes for name in statement.names)
        if isinstance(statement, Style):
            return self._is_known(statement.id.text)
        if isinstance(statement, Click):
            return _all_or_some(self._is_known(name.text) for name in statement.ids)
        if isinstance(statement, LinkStyle):
            return self.is_host or statement.targets is not None
        if isinstance(statement, Direction):
            return open_groups[-1] if open_groups else self.is_host
        if isinstance(statement, Comment):
            return self.is_host or not statement.directive
        return self.is_host

    def _is_known(self, name: str) -> bool:
        flow = self.analysis.flow
        if name in flow.nodes:
            return name in self.nodes
        return name in self._edge_ids or name in self._groups

    def _drawn(self, statement: Statement, block: Block) -> list[FlowEdge]:
        if not isinstance(statement, Chain):
            return []
        return [edge for arrow in statement.arrows for edge in self._edges_of.get((id(block), id(arrow)), ())]

    def _chain_verdict(self, chain: Chain, block: Block) -> bool | None:
        drawn = self._drawn(chain, block)
        vertices = [vertex for group in chain.groups for vertex in group]
        if not drawn:
            return _all_or_some(self._is_known(vertex.name.text) for vertex in vertices)
        if all(edge.index in self.edges and edge.index not in self.led for edge in drawn):
            return True
        simple = len(drawn) == 1 and all(_is_bare(vertex) for vertex in vertices)
        if simple and drawn[0].index in self.led:
            return True
        kept = any(edge.index in self.edges for edge in drawn)
        told = any(not _is_bare(vertex) and self._is_known(vertex.name.text) for vertex in vertices)
        return None if kept or told else False

    # Parts of statements

    def _part(
        self, statement: Statement, block: Block, renamed: _Renamed, verdict: bool | None
    ) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The lines, without indentation, that say what is kept of a statement, each with the edges it draws."""
        if verdict is False:
            return
        if isinstance(statement, Chain) and verdict is None:
            yield from self._chain_part(statement, block, renamed)
        elif isinstance(statement, (ClassAssign, Click)) and verdict is None:
            kept = ",".join(renamed.text(*name.span) for name in statement.ids if self._is_known(name.text))
            first, last = statement.ids[0].span[0], statement.ids[-1].span[1]
            before = renamed.text(statement.span[0], first)
            yield before + kept + renamed.text(last, statement.span[1]).rstrip(), ()
        elif isinstance(statement, Chain):
            edges = self._drawn(statement, block)
            splices = [
                splice for edge in edges if edge.index in self.led for splice in self._led_in_place(edge.index, renamed)
            ]
            end = max([statement.span[1], *(_end(vertex) for group in statement.groups for vertex in group)])
            yield renamed.text(statement.span[0], end, splices).strip(), tuple(edge.index for edge in edges)
        else:
            yield renamed.text(*statement.span).strip(), ()

    def _chain_part(self, chain: Chain, block: Block, renamed: _Renamed) -> Iterator[tuple[str, tuple[int, ...]]]:
        for group in chain.groups:
            for vertex in group:
                if not _is_bare(vertex) and self._is_known(vertex.name.text):
                    yield renamed.text(vertex.span[0], _end(vertex)), ()
                elif not chain.arrows and self._is_known(vertex.name.text):
                    yield renamed.text(*vertex.name.span), ()
        flow = self.analysis.flow
        for arrow in chain.arrows:
            for edge in self._edges_of.get((id(block), id(arrow)), ()):
                if edge.index not in self.edges:
                    continue
                start = arrow.span[0]
                named = arrow.edge_id
                if named is not None and flow.edge_ids.get(named.text) is not edge:
                    start = named.span[1] + 1
                end = self.led.get(edge.index)
                text = renamed.text(start, arrow.span[1], [] if end is None else _relabelled(edge, end)).strip()
                if end is None:
                    source = renamed.text(*edge.source_vertex.name.span)
                    target = renamed.text(*edge.target_vertex.name.span)
                else:
                    source, target = end.source, end.target
                yield f"{source} {text} {target}", (edge.index,)

    def _led_in_place(self, number: int, renamed: _Renamed) -> Iterator[tuple[int, int, str]]:
        """Splices that lead a simple edge elsewhere where it stands."""
        edge, end = self.analysis.flow.edges[number], self.led[number]
        for vertex, name in ((edge.source_vertex, end.source), (edge.target_vertex, end.target)):
            renamed.forget(vertex.name.span)
            yield (*vertex.name.span, name)
        yield from _relabelled(edge, end)

    def _splices(self, block: Block) -> list[tuple[int, int, str]]:
        """The names in a block that change."""
        if not self.names or any(isinstance(statement, FrontMatter) for statement in block.statements):
            return []
        splices = []
        for place in occurrences_in(self.analysis, block):
            new = self.names.get(place.symbol)
            if new is not None:
                start, end = place.span
                end -= len(place.suffix)
                old = place.written if place.symbol.kind not in ("prompt", "operator") else place.symbol.name
                splices.append((start, end, respelled(place.written, old, new)))
        return splices


def members(flow: Flowchart, name: str) -> Iterator[str]:
    """The nodes and subgraphs in a subgraph, however deep."""
    waiting = [name]
    seen = {name}
    while waiting:
        for member in flow.subgraphs[waiting.pop()].nodes:
            yield member
            if member in flow.subgraphs and member not in seen:
                seen.add(member)
                waiting.append(member)


class _Renamed:
    """The text of a block with the names that change put in."""

    def __init__(self, block: Block, splices: list[tuple[int, int, str]]) -> None:
        self._source = block.text
        self._splices = splices

    def forget(self, span: tuple[int, int]) -> None:
        """Leave a name as it is: something else takes its place."""
        self._splices = [splice for splice in self._splices if splice[:2] != span]

    def text(self, start: int, end: int, more: Iterable[tuple[int, int, str]] = ()) -> str:
        pieces: list[str] = []
        done = start
        for first, last, new in sorted((*self._splices, *more)):
            if done <= first and last <= end:
                pieces += (self._source[done:first], new)
                done = last
        pieces.append(self._source[done:end])
        return "".join(pieces)


def _relabelled(edge: FlowEdge, end: End) -> list[tuple[int, int, str]]:
    if end.label is None:
        return []
    label, arrow = edge.arrow.label, edge.arrow
    if label is not None:
        return [(*label.span, end.label)]
    return [(arrow.span[1], arrow.span[1], f"|{end.label}|")]


def _is_bare(vertex: Vertex) -> bool:
    return vertex.shape is None and vertex.metadata is None and not vertex.classes


def _end(vertex: Vertex) -> int:
    return vertex.metadata.span[1] if vertex.metadata is not None else vertex.span[1]


def _all_or_some(kept: Iterable[bool]) -> bool | None:
    answers = list(kept)
    return True if all(answers) else None if any(answers) else False


def _counted(statement: Statement, block: Block) -> Counted | None:
    if not isinstance(statement, LinkStyle) or statement.targets is None:
        return None
    start, end = statement.targets_span
    return Counted(statement.targets, block.text[statement.span[0] : start], block.text[start:end])


def _kind(statements: list[Statement], *, alone: bool = False) -> PieceKind:
    first = next((statement for statement in statements if not isinstance(statement, Comment)), statements[0])
    if isinstance(first, Chain):
        drawing = any(isinstance(statement, Chain) and statement.arrows for statement in statements)
        return "edge" if drawing and not alone else "node"
    if isinstance(first, ClassAssign):
        return "class"
    if isinstance(first, ClassDef):
        return "classdef"
    if isinstance(first, LinkStyle):
        return "links"
    if isinstance(first, (Style, Click)):
        return "look"
    if isinstance(first, (SubgraphStart, SubgraphEnd, Direction)):
        return "group"
    if isinstance(first, FrontMatter):
        return "front"
    return "comment" if isinstance(first, Comment) else "top"


def _without_idle_comments(pieces: list[TextPiece]) -> list[TextPiece]:
    """Without comments above a paragraph of which nothing is kept; one that silences a rule belongs to one statement."""
    kept: list[TextPiece] = []
    for number, piece in enumerate(pieces):
        if piece.kind == "comment":
            following = pieces[number + 1 :]
            rest = list(_paragraph(following))
            silences = "merrow" in piece.text.casefold()
            about = rest[:1] if silences else rest
            if about and all(not other.text for other in about):
                continue
        kept.append(piece)
    return kept


def _paragraph(pieces: list[TextPiece]) -> Iterator[TextPiece]:
    """What follows up to a blank line, or to a comment after something else."""
    seen = False
    for piece in pieces:
        if piece.kind == "blank" or (piece.kind == "comment" and seen):
            return
        if piece.kind != "comment":
            seen = True
            yield piece
