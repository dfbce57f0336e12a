"""Semantic tokens: of a whole file, of a range, and what changed since the last answer."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Iterable
from itertools import count
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from lsprotocol import types

from merrow_analysis.ide import semantic_tokens as ide_semantic_tokens
from merrow_analysis.text import Position, Range
from merrow_server.lsp.documents import OpenDiagram, OpenDocument
from merrow_server.lsp.server import MerrowServer

if TYPE_CHECKING:
    from merrow_analysis.ide.semantic_tokens import Token

_TYPES = {
    "arrow": "operator",
    "case": "enumMember",
    "class": "class",
    "comment": "comment",
    "edge": "event",
    "keyword": "keyword",
    "node": "variable",
    "number": "number",
    "operator": "function",
    "parameter": "parameter",
    "port": "property",
    "prompt": "macro",
    "property": "property",
    "string": "string",
    "subgraph": "namespace",
    "type": "type",
}
"""Merrow's kinds of words as types that themes know."""

LEGEND = types.SemanticTokensLegend(
    token_types=sorted(set(_TYPES.values())), token_modifiers=["declaration", "definition", "defaultLibrary"]
)
_NUMBERS = {kind: LEGEND.token_types.index(name) for kind, name in _TYPES.items()}
_BITS = {"declaration": 1, "definition": 2, "built-in": 4}
_REMEMBERED = 32
"""Documents whose last answer is kept; for others all tokens are sent again."""


def register(server: MerrowServer) -> None:
    tokens = _Tokens()
    server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, LEGEND)(tokens.full)
    server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA, LEGEND)(tokens.delta)
    server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, LEGEND)(in_range)


class _Tokens:
    """Remembers the last answer for each document, with its id."""

    def __init__(self) -> None:
        self._last: OrderedDict[str, tuple[str, array[int]]] = OrderedDict()
        self._memories: WeakKeyDictionary[OpenDiagram, _Memory] = WeakKeyDictionary()
        self._ids = count(1)

    def full(self, server: MerrowServer, params: types.SemanticTokensParams) -> types.SemanticTokens:
        uri = params.text_document.uri
        data = self._whole(server, uri)
        return types.SemanticTokens(data, self._remember(uri, data))

    def delta(
        self, server: MerrowServer, params: types.SemanticTokensDeltaParams
    ) -> types.SemanticTokens | types.SemanticTokensDelta:
        """The numbers that changed since the answer that the client has; all of them where that is not known any more."""
        uri = params.text_document.uri
        known = self._last.get(uri)
        data = self._whole(server, uri)
        identifier = self._remember(uri, data)
        if known is None or known[0] != params.previous_result_id:
            return types.SemanticTokens(data, identifier)
        return types.SemanticTokensDelta(_difference(known[1], self._last[uri][1]), identifier)

    def _whole(self, server: MerrowServer, uri: str) -> list[int]:
        data = _TokenEncoder()
        for diagram in server.diagrams(uri):
            memory = self._memories.get(diagram)
            if memory is None:
                memory = self._memories[diagram] = _Memory()
            memory.encode(diagram, data)
        return data.numbers

    def _remember(self, uri: str, data: list[int]) -> str:
        identifier = str(next(self._ids))
        self._last[uri] = identifier, array("i", data)
        self._last.move_to_end(uri)
        if len(self._last) > _REMEMBERED:
            self._last.popitem(last=False)
        return identifier


def in_range(server: MerrowServer, params: types.SemanticTokensRangeParams) -> types.SemanticTokens:
    data = _TokenEncoder()
    for diagram in server.diagrams(params.text_document.uri):
        place = diagram.range_from_lsp(params.range)
        if place is not None:
            data.add(diagram, ide_semantic_tokens.semantic_tokens(diagram.analysis, place))
    return types.SemanticTokens(data.numbers)


class _Memory:
    """The numbers of a diagram's blocks, kept for as long as their tokens are."""

    def __init__(self) -> None:
        self._tokens = ide_semantic_tokens.TokenMemory()
        self._numbers: dict[tuple[int, tuple[int, ...]], _KeptTokens] = {}

    def encode(self, diagram: OpenDiagram, data: _TokenEncoder) -> None:
        """Add the tokens of ``diagram`` to ``data``."""
        fence, lines = diagram.fence, diagram.document.lines
        first_line = 0 if fence is None else fence.line
        before: dict[tuple[int, tuple[int, ...]], _KeptTokens] = self._numbers
        now: dict[tuple[int, tuple[int, ...]], _KeptTokens] = {}
        for block, tokens in self._tokens.tokens(diagram.analysis):
            if not tokens:
                continue
            first = first_line + block.line
            shifts: tuple[int, ...] = (
                () if fence is None else tuple(map(fence.shift, range(block.line, block.line + block.line_count)))
            )
            if not all(map(str.isascii, lines[first : first + block.line_count])):
                data.add_block(first, _block_numbers(tokens, shifts, first, diagram.document))
                continue
            key = id(tokens), shifts
            known = now.get(key) or before.get(key)
            if known is None:
                known = _KeptTokens(tokens, _block_numbers(tokens, shifts, first, diagram.document))
            now[key] = known
            data.add_block(first, known.numbers)
        self._numbers = now


class _KeptTokens(NamedTuple):
    """Tokens of blocks of ASCII characters, which live on with it, and their numbers."""

    tokens: tuple[Token, ...]
    numbers: list[int]


def _block_numbers(tokens: tuple[Token, ...], shifts: tuple[int, ...], first: int, document: OpenDocument) -> list[int]:
    """The numbers of a block's tokens, the first one's line counted from the block's first (which is the document's line
    ``first``) and its column from 0.
    """
    lines = document.lines
    numbers: list[int] = []
    last_line = last_character = 0
    for line, column, length, kind, modifiers in tokens:
        character = column + shifts[line] if shifts else column
        if not lines[first + line].isascii():
            span = Range(Position(first + line, character), Position(first + line, character + length))
            place = document.to_lsp(span)
            character, length = place.start.character, place.end.character - place.start.character
        before = last_character if line == last_line else 0
        bits = sum(_BITS[modifier] for modifier in modifiers)
        numbers += (line - last_line, character - before, length, _NUMBERS[kind], bits)
        last_line, last_character = line, character
    return numbers


def _difference(old: array[int], new: array[int]) -> list[types.SemanticTokensEdit]:
    """The one stretch of numbers that differs."""
    front = _shared(old, new)
    back = _shared(old[front:][::-1], new[front:][::-1])
    if front == len(old) == len(new):
        return []
    return [types.SemanticTokensEdit(front, len(old) - front - back, new[front : len(new) - back].tolist())]


def _shared(old: array[int], new: array[int]) -> int:
    """How many numbers at the beginning are equal, found by comparing halves, which takes no step for each number."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class _TokenEncoder:
    """Tokens as the numbers of the protocol: five for each, places counted from the token before."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._line = self._character = 0

    def add_block(self, line: int, numbers: list[int]) -> None:
        """Add the tokens of a block that begins at ``line``; nothing else may be on its lines before it."""
        start = len(self.numbers)
        self.numbers += numbers
        self.numbers[start] += line - self._line
        self._line = line + sum(numbers[::5])
        self._character = 0

    def add(self, diagram: OpenDiagram, tokens: Iterable[Token]) -> None:
        lines = diagram.lines
        for token in tokens:
            line, column, length = token.line, token.column, token.length
            if diagram.fence is not None or not lines[line].isascii():
                place = diagram.to_lsp(Range(Position(line, column), Position(line, column + length)))
                line, column = place.start.line, place.start.character
                length = place.end.character - column
            before = self._character if line == self._line else 0
            bits = sum(_BITS[modifier] for modifier in token.modifiers)
            self.numbers += (line - self._line, column - before, length, _NUMBERS[token.kind], bits)
            self._line, self._character = line, column
