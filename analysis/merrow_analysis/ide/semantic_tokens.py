"""What each word of a file is, for editors that colour by meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.definitions.labels.parameters import parse_label
from merrow_analysis.definitions.operators import BUILT_IN_TABLE
from merrow_analysis.ide.cursor.blocks import blocks_in
from merrow_analysis.places.box_places import title_parameters
from merrow_analysis.places.node_places import source_span
from merrow_analysis.places.occurrences import occurrences_in
from merrow_analysis.places.symbols import Kind, Occurrence
from merrow_analysis.syntax.lexer import first_word_span
from merrow_analysis.syntax.tree import (
    Arrow,
    Block,
    Broken,
    Chain,
    ClassDef,
    Click,
    Comment,
    Label,
    LinkStyle,
    Metadata,
    Statement,
    Style,
    SubgraphStart,
)
from merrow_analysis.text import Range, Span, line_content, split_lines

TokenKind = Literal[
    "arrow", "case", "class", "comment", "edge", "keyword", "node", "number", "operator", "parameter", "port", "prompt",
    "property", "string", "subgraph", "type",
]  # fmt: skip
Modifier = Literal["declaration", "definition", "built-in"]

_MORE_KEYWORDS = re.compile(r"\b(?:TB|TD|BT|LR|RL|default|interpolate|href|call|_self|_blank|_parent|_top)\b")
_STYLE_PROPERTY = re.compile(r"(?<![\w#-])([A-Za-z-]+)[ \t]*:")
_STRING = re.compile(r'"[^"]*"')
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)")
_TAIL = re.compile(r"\S[^\n\r]*")


class Token(NamedTuple):
    """A word on one line: ``column`` and ``length`` in code points."""

    line: int
    column: int
    length: int
    kind: TokenKind
    modifiers: tuple[Modifier, ...] = ()


class _Part(NamedTuple):
    """A stretch of a block, which parts inside it cover."""

    span: Span
    kind: TokenKind
    modifiers: tuple[Modifier, ...] = ()


def semantic_tokens(analysis: Analysis, place: Range | None = None) -> list[Token]:
    """The tokens of a file, or of the statements that a range touches: in order, none over another, each on one line."""
    diagram = analysis.diagram
    if not diagram.is_flowchart:
        return []
    blocks = diagram.blocks if place is None else blocks_in(diagram, place)
    return [token._replace(line=token.line + block.line) for block in blocks for token in _tokens(analysis, block)]


_MOST_EQUAL = 20_000


class TokenMemory:
    """Remembers the tokens of the blocks of one text, which live on across edits: only what an edit touched is read again."""

    def __init__(self) -> None:
        self._world: tuple[object, ...] = ()
        self._blocks: dict[int, _Known] = {}
        self._equal: dict[tuple[object, ...], tuple[Any, ...]] = {}
        """One of each block's tokens and meanings: since places count from a block's first line, most are the same."""

    def tokens(self, analysis: Analysis) -> Iterator[tuple[Block, tuple[Token, ...]]]:
        """Each block with its tokens, whose lines count from the block's first; equal to `semantic_tokens`.

        Equal blocks have the very same tuple of tokens, as long as they don't change.
        """
        if not analysis.diagram.is_flowchart:
            return
        world = _world(analysis)
        if world != self._world or len(self._equal) > _MOST_EQUAL:
            self._equal.clear()
        before = self._blocks if world == self._world else {}
        now: dict[int, _Known] = {}
        self._world, self._blocks = world, now
        for block in analysis.diagram.blocks:
            known = before.get(id(block))
            if known is None or known.needs != _meanings(analysis, known.nodes) or known.is_guess:
                known = self._read(analysis, block)
            now[id(block)] = known
            yield block, known.tokens

    def _read(self, analysis: Analysis, block: Block) -> _Known:
        nodes, tokens = _nodes(block), _tokens(analysis, block)
        needs = _meanings(analysis, nodes)
        is_guess = any(type(statement) is Broken for statement in block.statements)
        same = self._equal.setdefault
        return _Known(block, nodes, same(needs, needs), same(tokens, tokens), is_guess)


class _Known(NamedTuple):
    """The tokens of a block (kept alive, so that its id stays its own), and what they depend on.

    ``nodes`` are those whose meaning counts, ``needs`` these meanings; ``is_guess``: names were guessed by what else there is.
    """

    block: Block
    nodes: tuple[str, ...]
    needs: tuple[object, ...]
    tokens: tuple[Token, ...]
    is_guess: bool


def _world(analysis: Analysis) -> tuple[object, ...]:
    """What all blocks depend on: which ids are no nodes, and which operators and types there are."""
    flow, typed = analysis.flow, analysis.typed
    edges = [(name, name in flow.nodes) for name in flow.edge_ids]
    tables = (None, None) if typed is None else (typed.operators, typed.types)
    if typed is None or not typed.composites:
        return (list(flow.subgraphs), edges, *tables)
    words = [(edge.source, edge.target, worded) for edge, worded in typed.core.words.items()]
    return (list(flow.subgraphs), edges, *tables, typed.composites, words)


def _nodes(block: Block) -> tuple[str, ...]:
    """The nodes of a block whose operators say how to read their labels, metadata or edges."""
    names: list[str] = []
    for statement in block.statements:
        if isinstance(statement, Chain):
            for number, group in enumerate(statement.groups):
                labelled = number < len(statement.arrows) and statement.arrows[number].label is not None
                names += [
                    vertex.name.text
                    for vertex in group
                    if labelled or vertex.label is not None or vertex.metadata is not None
                ]
    return tuple(names)


def _meanings(analysis: Analysis, nodes: tuple[str, ...]) -> tuple[object, ...]:
    if analysis.typed is None or not nodes:
        return ()
    handles, resolutions = analysis.typed.core.handles, analysis.typed.resolutions
    placements = analysis.typed.placements
    meanings: list[object] = []
    for name in nodes:
        handle = handles.get(name)
        resolution = None if handle is None else resolutions[handle]
        if handle is None or resolution is None:
            meanings.append(None)
        elif placements[handle].decided_by == "kinds":
            meanings.append((resolution.kind, resolution.spec, placements[handle].when))
        else:
            meanings.append((resolution.kind, resolution.spec))
    return tuple(meanings)


def _tokens(analysis: Analysis, block: Block) -> tuple[Token, ...]:
    """The tokens of a block, their lines counted from its first."""
    parts = sorted(_parts(analysis, block), key=_order)
    return tuple(_lines(block, _flat(parts))) if parts else ()


def _order(part: _Part) -> tuple[int, int]:
    return part.span[0], -part.span[1]


def _flat(parts: list[_Part]) -> Iterator[_Part]:
    """The parts without what parts inside them cover. They come by their start, longer ones first."""
    if all(before.span[1] <= other.span[0] for before, other in pairwise(parts)):
        yield from parts  # so it is in most statements
        return
    waiting: list[_Part] = []
    at = 0
    for part in parts:
        start, end = part.span
        while waiting and waiting[-1].span[1] <= start:
            outer = waiting.pop()
            yield from _piece(outer, at, outer.span[1])
            at = max(at, outer.span[1])
        if waiting:
            yield from _piece(waiting[-1], at, start)
            end = min(end, waiting[-1].span[1])
        at = max(at, start)
        if end > start:
            waiting.append(_Part((start, end), part.kind, part.modifiers))
    while waiting:
        outer = waiting.pop()
        yield from _piece(outer, at, outer.span[1])
        at = max(at, outer.span[1])


def _piece(part: _Part, start: int, end: int) -> Iterator[_Part]:
    start = max(start, part.span[0])
    if end > start:
        yield _Part((start, end), part.kind, part.modifiers)


def _lines(block: Block, parts: Iterator[_Part]) -> Iterator[Token]:
    """Tokens of single lines, without the white space and line endings around them."""
    if block.line_count <= 1:
        text = block.text
        for part in parts:
            start, end = part.span
            while end > start and text[end - 1].isspace():
                end -= 1
            while start < end and text[start].isspace():
                start += 1
            if end > start:
                yield Token(0, start, end - start, part.kind, part.modifiers)
        return
    starts = [0]
    contents: list[int] = []
    for line in split_lines(block.text):
        contents.append(starts[-1] + len(line_content(line)))
        starts.append(starts[-1] + len(line))
    number = 0
    for part in parts:
        start, end = part.span
        while number + 1 < len(contents) and starts[number + 1] <= start:
            number += 1
        row = number
        while row < len(contents) and starts[row] < end:
            first, last = max(start, starts[row]), min(end, contents[row])
            while first < last and block.text[first] in " \t":
                first += 1
            if last > first:
                yield Token(row, first - starts[row], last - first, part.kind, part.modifiers)
            row += 1


def _parts(analysis: Analysis, block: Block) -> Iterator[_Part]:
    for statement in block.statements:
        yield from _statement(analysis, block, statement)
    for place in occurrences_in(analysis, block):
        if (kind := _NAMES.get(place.symbol.kind)) is not None:
            yield _name(place, kind)


_NAMES: dict[Kind, TokenKind] = {
    "node": "node",
    "edge": "edge",
    "subgraph": "subgraph",
    "class": "class",
    "prompt": "prompt",
    "agent": "prompt",
    "validator": "prompt",
    "operator": "operator",
    "type": "type",
    "tool": "prompt",
    "store": "prompt",
    "environment": "prompt",
}
"""Fields, called files and their ports are coloured as what is around them: what they are depends on other nodes and files."""


def _name(place: Occurrence, kind: TokenKind) -> _Part:
    modifiers: tuple[Modifier, ...] = () if place.role == "reference" else (place.role,)
    if kind == "operator" and place.suffix:
        return _Part(place.span, "class", modifiers)
    if kind == "operator" and BUILT_IN_TABLE.named(place.symbol.name) is not None:
        modifiers = (*modifiers, "built-in")
    return _Part(place.span, kind, modifiers)


def _statement(analysis: Analysis, block: Block, statement: Statement) -> Iterator[_Part]:
    text, (start, end) = block.text, statement.span
    if isinstance(statement, Comment):
        tail = _TAIL.search(text, start, end)
        if tail is not None:
            yield _Part((tail.start(), end), "comment")
        return
    if isinstance(statement, Chain):
        yield from _chain(analysis, block, statement)
        return
    keyword = first_word_span(text, start)
    if keyword is None or keyword[1] > end:
        return
    yield _Part(keyword, "keyword")
    behind = keyword[1]
    if isinstance(statement, SubgraphStart):
        if statement.title is not None and statement.title.span != (statement.id.span if statement.id else None):
            yield _Part(statement.title.span, "string")
            if analysis.typed is not None and analysis.typed.composites:
                yield from _title(block, statement.title)
    elif isinstance(statement, (ClassDef, Style, LinkStyle)):
        if isinstance(statement, LinkStyle):
            counted = statement.targets_span
            yield from _all(_NUMBER, text, *counted, "number")
            yield from _all(_MORE_KEYWORDS, text, counted[0], _style_start(text, counted[1], end), "keyword")
        yield from (_Part(match.span(1), "property") for match in _STYLE_PROPERTY.finditer(text, behind, end))
    elif isinstance(statement, Click):
        yield from _all(_STRING, text, behind, end, "string")
        names_end = statement.ids[-1].span[1] if statement.ids else behind
        yield from _all(_MORE_KEYWORDS, text, names_end, end, "keyword")
    elif not isinstance(statement, Broken):
        yield from _all(_MORE_KEYWORDS, text, behind, end, "keyword")


def _style_start(text: str, start: int, end: int) -> int:
    """Where the properties of a ``linkStyle`` begin."""
    match = _STYLE_PROPERTY.search(text, start, end)
    return end if match is None else match.start()


def _all(pattern: re.Pattern[str], text: str, start: int, end: int, kind: TokenKind) -> Iterator[_Part]:
    return (_Part(match.span(), kind) for match in pattern.finditer(text, start, end))


def _chain(analysis: Analysis, block: Block, chain: Chain) -> Iterator[_Part]:
    for group in chain.groups:
        for vertex in group:
            if vertex.label is not None:
                yield from _label(analysis, block, vertex.name.text, vertex.label)
            if vertex.metadata is not None:
                yield from _metadata(block, vertex.metadata)
    for group, arrow in zip(chain.groups, chain.arrows, strict=False):
        yield from _arrow(analysis, block, group[-1].name.text, arrow)


def _title(block: Block, title: Label) -> Iterator[_Part]:
    """The parameters in the title of a Loop or a Map."""
    for parameter, (start, end) in title_parameters(block, title):
        yield _Part((start, start + parameter.key_span[1] - parameter.key_span[0]), "parameter")
        if not parameter.quoted and _NUMBER.fullmatch(parameter.text):
            yield _Part((end - (parameter.value_span[1] - parameter.value_span[0]), end), "number")


def _word(analysis: Analysis, block: Block, source: str, arrow: Arrow) -> Iterator[_Part]:
    """The word of Loops and Maps on an arrow."""
    core = analysis.typed.core if analysis.typed is not None else None
    if core is None or not core.words or arrow.label is None:
        return
    for edge in core.chart.outgoing.get(source, ()):
        worded = core.words.get(edge)
        if edge.arrow is arrow and worded is not None:
            start, end = arrow.label.span
            match = re.compile(rf"(?<![\w]){worded.word}(?![\w])").search(block.text, start, end)
            if match is not None:
                yield _Part(match.span(), "keyword")
            return


def _arrow(analysis: Analysis, block: Block, source: str, arrow: Arrow) -> Iterator[_Part]:
    start, end = arrow.span
    if arrow.edge_id is not None:
        start = min(arrow.edge_id.span[1] + 1, end)
    yield _Part((start, end), "arrow")
    if arrow.label is not None and arrow.label.text:
        kind: TokenKind = "string"
        if analysis.typed is not None:
            node = analysis.typed.by_id.get(source)
            decides = node is not None and node.kind == "decision"
            kind = "case" if decides else "port"
        yield _Part(arrow.label.span, kind)
        yield from _word(analysis, block, source, arrow)


def _label(analysis: Analysis, block: Block, node: str, label: Label) -> Iterator[_Part]:
    start, end = label.span
    if end > start:
        yield _Part(label.span, "string")
    known = None if analysis.typed is None else analysis.typed.by_id.get(node)
    if known is None or "(" not in label.text:
        return
    if known.resolution.label_is_text:
        return
    at = block.text.find(label.text, start, end)
    if at == -1:
        return
    parts = parse_label(label.text)
    for parameter in (*parts.parameters.values(), *parts.repeated):
        yield _Part((at + parameter.key_span[0], at + parameter.key_span[1]), "parameter")
        if not parameter.quoted and _NUMBER.fullmatch(parameter.text):
            yield _Part((at + parameter.value_span[0], at + parameter.value_span[1]), "number")


def _metadata(block: Block, metadata: Metadata) -> Iterator[_Part]:
    document = parse_metadata(metadata.body)
    for key, value in document.values.items():
        name, place = document.places(key)
        yield _Part(source_span(metadata, block, name), "parameter")
        kind: TokenKind | None = "string" if isinstance(value, str) else None
        if isinstance(value, bool) or value is None:
            kind = "keyword"
        elif isinstance(value, (int, float)):
            kind = "number"
        if kind is not None:
            yield _Part(source_span(metadata, block, place), kind)
