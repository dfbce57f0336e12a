"""Mermaid's flowchart lexer: a stack of modes, in each of which the first pattern that fits wins.

Facts of the token patterns are those of mermaid 12.3's flowchart parser. `tokens` yields lazily, so that a parser which stops at
an error reads no further than the error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from merrow_analysis.syntax.characters import NOT_LINE_END, SPACE, WHITE_CHARACTERS
from merrow_analysis.syntax.unicode_letters import LETTER
from merrow_analysis.text import Span


class Lexeme(NamedTuple):
    """A token of the reduced text: ``value`` is what the grammar sees, ``start`` to ``end`` where it stands."""

    type: str
    value: str
    start: int
    end: int


class LexicalError(Exception):
    """No pattern of the current mode fits at ``offset``."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


@dataclass(slots=True)
class Delimiter:
    """A bracket, bar or quote that opened a mode."""

    text: str
    start: int
    mode: str


class _Rule(NamedTuple):
    pattern: str
    kind: str | None = None
    push: str | None = None
    pop: bool = False


_S = SPACE


def _star(*own: tuple[int, _Rule]) -> list[_Rule]:
    """The rules of a mode: its own among those that hold in every mode, in the lexer's order (the numbers).

    That the brackets hold everywhere is why an opening bracket inside an unquoted label is an error.
    """
    common: list[tuple[int, _Rule]] = [
        (21, _Rule('"`', push="markdown")),
        (24, _Rule('"', push="string")),
        (79, _Rule(rf"{_S}*~~~+{_S}*", "LINK")),
        (82, _Rule(r"\(-", "ELLIPSE_START", push="ellipse")),
        (84, _Rule(r"\(\[", "STADIUM_START", push="text")),
        (86, _Rule(r"\[\[", "SUBROUTINE_START", push="text")),
        (90, _Rule(r"\[\(", "CYLINDER_START", push="text")),
        (92, _Rule(r"\(\(\(", "DOUBLECIRCLE_START", push="text")),
        (96, _Rule(r"\[/", "TRAP_START", push="trapezoid")),
        (97, _Rule(r"\[\\", "INVTRAP_START", push="trapezoid")),
        (110, _Rule(r"\|", "PIPE", push="text")),
        (112, _Rule(r"\(", "PS", push="text")),
        (114, _Rule(r"\[", "SQS", push="text")),
        (116, _Rule(r"\{", "DIAMOND_START", push="text")),
    ]
    numbered = sorted([*common, *own], key=lambda pair: pair[0])
    return [rule for _, rule in numbered]


_WORD_TOKENS: list[tuple[int, _Rule]] = [
    (25, _Rule(r"style\b", "STYLE")),
    (26, _Rule(r"default\b", "DEFAULT")),
    (27, _Rule(r"linkStyle\b", "LINKSTYLE")),
    (28, _Rule(r"interpolate\b", "INTERPOLATE")),
    (29, _Rule(r"classDef\b", "CLASSDEF")),
    (30, _Rule(r"class\b", "CLASS")),
    (31, _Rule(rf"href{_S}", "HREF")),
    (32, _Rule(rf"click{_S}+", push="click")),
    (35, _Rule(r"(?:flowchart-elk|swimlane-beta|graph|flowchart)\b", "GRAPH")),
    (39, _Rule(r"subgraph\b", "SUBGRAPH")),
    (40, _Rule(rf"end\b{_S}*", "END")),
    (41, _Rule(r"_(?:self|blank|parent|top)\b", "LINK_TARGET")),
]

_FIRST_WORD = re.compile(
    rf"{_S}*(?:(?P<DIRECTION>direction\b)|(?P<CLICK>click\b)|(?P<ACC_TITLE>accTitle\b)|(?P<ACC_DESCR>accDescr\b)|"
    + "|".join(
        f"(?P<{rule.kind}>{rule.pattern})"
        for _, rule in _WORD_TOKENS
        if rule.kind in ("STYLE", "LINKSTYLE", "CLASSDEF", "CLASS", "GRAPH", "SUBGRAPH", "END")
    )
    + ")",
    re.ASCII,
)


def first_word(text: str, at: int = 0) -> str | None:
    """The kind of the word that begins a statement behind white space from ``at`` on, such as ``CLASSDEF``; None where it begins
    with none. For statements that can't be read, or are not written to their end.
    """
    match = _FIRST_WORD.match(text, at)
    return None if match is None else match.lastgroup


def first_word_span(text: str, at: int = 0) -> Span | None:
    """Where that word is."""
    match = _FIRST_WORD.match(text, at)
    if match is None or match.lastgroup is None:
        return None
    start = match.start(match.lastgroup)
    return start, start + len(match[match.lastgroup].rstrip())


_DIRECTIONS: list[tuple[int, _Rule]] = [
    (56 + i, _Rule(rf"{NOT_LINE_END}*direction{_S}+{value}[^\n]*", f"DIRECTION_{value}"))
    for i, value in enumerate(("TB", "BT", "RL", "LR", "TD"))
]
_LINK_ID: list[tuple[int, _Rule]] = [(61, _Rule(rf'(?:(?!{_S})[^"\[\](){{}}|])+@(?=[^{{"])', "LINK_ID"))]

_INITIAL: list[tuple[int, _Rule]] = [
    (0, _Rule(rf"accTitle{_S}*:{_S}*", "ACC_TITLE", push="acc_title")),
    (2, _Rule(rf"accDescr{_S}*:{_S}*", "ACC_DESCR", push="acc_descr")),
    (4, _Rule(rf"accDescr{_S}*\{{{_S}*", push="acc_descr_block")),
    (7, _Rule(r"@\{", "SHAPE_DATA", push="shape_data")),
    (13, _Rule(rf"call{_S}+", push="callback_name")),
    *_WORD_TOKENS,
    (62, _Rule(r"[0-9]+", "NUM")),
    (63, _Rule(r"#", "BRKT")),
    (64, _Rule(r":::", "STYLE_SEPARATOR")),
    (65, _Rule(r":", "COLON")),
    (66, _Rule(r"&", "AMP")),
    (67, _Rule(r";", "SEMI")),
    (68, _Rule(r",", "COMMA")),
    (69, _Rule(r"\*", "MULT")),
    (70, _Rule(rf"{_S}*[xo<]?--+[-xo>]{_S}*", "LINK")),
    (71, _Rule(rf"{_S}*[xo<]?--{_S}*", "START_LINK", push="edge_text")),
    (73, _Rule(rf"{_S}*[xo<]?==+[=xo>]{_S}*", "LINK")),
    (74, _Rule(rf"{_S}*[xo<]?=={_S}*", "START_LINK", push="thick_edge_text")),
    (76, _Rule(rf"{_S}*[xo<]?-?\.+-[xo>]?{_S}*", "LINK")),
    (77, _Rule(rf"{_S}*[xo<]?-\.{_S}*", "START_LINK", push="dotted_edge_text")),
    (87, _Rule(r"\[\|", "VERTEX_WITH_PROPS_START")),
    (88, _Rule(r">", "TAGEND", push="text")),
    (98, _Rule(r"<", "TAGSTART")),
    (100, _Rule(r"\^", "UP")),
    (101, _Rule(r"\\\|", "SEP")),
    (102, _Rule(r"v\b", "DOWN")),
    (106, _Rule(r"(?:[A-Za-z0-9!\"#$%&'*+.`?\\_/]|-(?=[^>\-.]))+", "NODE_STRING")),
    (107, _Rule(r"-", "MINUS")),
    (108, _Rule(LETTER, "UNICODE_TEXT")),
    (118, _Rule(r'"', "QUOTE")),
    (119, _Rule(r"(?:\r?\n)+", "NEWLINE")),
    (120, _Rule(rf"(?:(?![\n\r]){_S})+", "SPACE")),
]


def _of_kind(kind: str) -> re.Pattern[str]:
    return re.compile("|".join(rule.pattern for rule in _star(*_INITIAL) if rule.kind == kind), re.ASCII)


LINK = _of_kind("LINK")
"""A whole arrow without a text in it, with the white space around it."""
LINK_START = _of_kind("START_LINK")
"""The first part of an arrow with a text in it."""

_MODES: dict[str, list[_Rule]] = {
    "direction": _star(
        (45, _Rule(rf"(?:\r?\n)*{_S}*\n", "NODIR", pop=True)),
        (46, _Rule(rf"{_S}*(?:LR|RL|TB|BT|TD|BR)\b", "DIR", pop=True)),
        (52, _Rule(rf"{_S}*[<>^]", "DIR", pop=True)),
        (55, _Rule(rf"{_S}*v\b", "DIR", pop=True)),
    ),
    "acc_title": _star((1, _Rule(r"[^\n]*", "ACC_TITLE_VALUE", pop=True))),
    "acc_descr": _star((3, _Rule(r"[^\n]*", "ACC_DESCR_VALUE", pop=True))),
    "acc_descr_block": _star((5, _Rule(r"\}", pop=True)), (6, _Rule(r"[^}]*", "ACC_DESCR_BLOCK"))),
    "shape_data": _star(
        (8, _Rule(r'"', "SHAPE_DATA", push="shape_data_string")),
        (11, _Rule(r'[^}^"]+', "SHAPE_DATA")),
        (12, _Rule(r"\}", pop=True)),
    ),
    "shape_data_string": _star((9, _Rule('"', "SHAPE_DATA", pop=True)), (10, _Rule(r'[^"]+', "SHAPE_DATA"))),
    "callback_name": _star(
        (14, _Rule(rf"\({_S}*\)", pop=True)),
        (15, _Rule(r"\(", push="callback_args", pop=True)),
        (16, _Rule(r"[^(]*", "CALLBACKNAME")),
    ),
    "callback_args": _star((17, _Rule(r"\)", pop=True)), (18, _Rule(r"[^)]*", "CALLBACKARGS"))),
    "markdown": _star((19, _Rule(r'[^`"]+', "MD_STR")), (20, _Rule(r'`"', pop=True))),
    "string": _star((22, _Rule(r'[^"]+', "STR")), (23, _Rule('"', pop=True))),
    "click": _star((33, _Rule(_S, pop=True)), (34, _Rule(rf"(?:(?!{_S})[\s\S])*", "CLICK"))),
    "edge_text": _star(),
    "thick_edge_text": _star(),
    "dotted_edge_text": _star(),
    # One token for a run of characters that Mermaid reads one by one.
    "ellipse": _star(
        (80, _Rule(r"[-/)]\)", "ELLIPSE_END", pop=True)),
        (81, _Rule(r'(?:(?!"|~~~|[-/]\))[^()\[\]{}])+|!\)+', "TEXT")),
    ),
    "trapezoid": _star(
        (93, _Rule(r"[\\(?=\])][\]]", "TRAP_END", pop=True)),
        (94, _Rule(r"/(?=\])\]", "INVTRAP_END", pop=True)),
        (95, _Rule(r"/(?!\])|\\(?!\])|[^\\\[\](){}/]+", "TEXT")),
    ),
    "text": _star(
        (83, _Rule(r"\]\)", "STADIUM_END", pop=True)),
        (85, _Rule(r"\]\]", "SUBROUTINE_END", pop=True)),
        (89, _Rule(r"\)\]", "CYLINDER_END", pop=True)),
        (91, _Rule(r"\)\)\)", "DOUBLECIRCLE_END", pop=True)),
        (109, _Rule(r"\|", "PIPE", pop=True)),
        (111, _Rule(r"\)", "PE", pop=True)),
        (113, _Rule(r"\]", "SQE", pop=True)),
        (115, _Rule(r"\}", "DIAMOND_STOP", pop=True)),
        (117, _Rule(r'[^\[\](){}|"]+', "TEXT")),
    ),
}


class _Mode(NamedTuple):
    match: re.Pattern[str]
    rules: tuple[_Rule, ...]


def _compile(rules: list[_Rule]) -> _Mode:
    return _Mode(re.compile("|".join(f"({rule.pattern})" for rule in rules), re.ASCII), tuple(rules))


@cache
def _mode(name: str) -> _Mode:
    return _compile(_MODES[name])


@cache
def _initial_mode(direction: bool, link_id: bool) -> _Mode:
    """The default mode. The two patterns that look far ahead are tried only where what they look for stands ahead: else a long
    line would be read again for each of its tokens.
    """
    return _compile(_star(*_INITIAL, *(_DIRECTIONS if direction else ()), *(_LINK_ID if link_id else ())))


_DIRECTION_AHEAD = re.compile(rf"direction{_S}+(?:TB|BT|RL|LR|TD)", re.ASCII)
_LINE_END = re.compile(r"[\n\r\u2028\u2029]")
_AT_AHEAD = re.compile(r'@(?=[^{"])')
_ID_END = re.compile(rf'{_S}|["\[\](){{}}|]')

_AT_END = {
    "acc_title": "ACC_TITLE_VALUE",
    "acc_descr": "ACC_DESCR_VALUE",
    "acc_descr_block": "ACC_DESCR_BLOCK",
    "callback_name": "CALLBACKNAME",
    "callback_args": "CALLBACKARGS",
    "click": "CLICK",
    "initial": "EOF",
}
"""Modes in which a pattern fits the empty end of the text, so that a token comes there."""


_CLOSERS = {
    "([": "])",
    "[[": "]]",
    "[(": ")]",
    "(((": ")))",
    "|": "|",
    "(": ")",
    "[": "]",
    "[|": "]",
    "{": "}",
    ">": "]",
}
"""How a label ends that opened the mode of texts. Mermaid's lexer lets any of these marks end any label; its grammar does not."""


_LINK = re.compile(r"--+>|==+>|\.-+>")
_LINK_BEFORE = re.compile(r"(?:--+>|==+>|\.-+>)[ \t]*$")
_NEAR = 200
"""Characters before the end of a text in which an arrow is looked for."""


def _runs_on(text: str, opened: Delimiter, start: int, end: int) -> bool:
    """Whether a text that the mark from ``start`` to ``end`` closes goes on beyond what it was to be: another bracket closes it
    on a later line, or it takes in an arrow.
    """
    is_wrong = text[start:end] != _CLOSERS.get(opened.text)
    if "\n" in text[opened.start : start]:
        return is_wrong or (opened.text == "|" and _LINK.search(text, opened.start + 1, start) is not None)
    near = max(opened.start + 1, start - _NEAR)
    return is_wrong and text[start:end] == "|" and _LINK_BEFORE.search(text, near, start) is not None


class _EdgeText(NamedTuple):
    """How the text on an arrow ends: at the first quote, or at the first ``core``, which must then start a link."""

    stop: re.Pattern[str]
    link: re.Pattern[str]


_EDGE_TEXTS = {
    "edge_text": _EdgeText(re.compile('"|--'), re.compile(rf"--+[-xo>]{_S}*")),
    "thick_edge_text": _EdgeText(re.compile('"|='), re.compile(rf"==+[=xo>]{_S}*")),
    "dotted_edge_text": _EdgeText(re.compile(r'"|\.'), re.compile(rf"\.+-[xo>]?{_S}*")),
}


class Lexer:
    """Reads one reduced text; `tokens` may be asked again from any place that is in the default mode.

    Where more follows in the file, ``limit`` is where the last line begins, and ``ran_out`` says that a token may go on
    beyond it.
    """

    def __init__(self, text: str, limit: int) -> None:
        self.text = text
        self.limit = limit
        self.ran_out = False
        self.modes: list[str] = []
        self.open: list[Delimiter] = []
        self.long_strings: list[Delimiter] = []
        self.long_texts: list[Delimiter] = []
        """Brackets and bars whose text goes on beyond what it was to be, which no statement allows."""
        self.long_arrows: list[tuple[Delimiter, int]] = []
        """Arrows whose text goes on over a line break, with where it ends."""
        self._direction = _Ahead(_DIRECTION_AHEAD, _LINE_END)
        self._link_id = _Ahead(_AT_AHEAD, _ID_END)

    def tokens(self, position: int, *, header: bool = False) -> Iterator[Lexeme]:
        """The tokens from ``position`` on, which must be in the default mode; raises `LexicalError`.

        ``header``: the first graph keyword opens the mode of the diagram's direction. After EOF comes OVER forever.
        """
        text = self.text
        length = len(text)
        modes = self.modes = ["initial"]
        opened = self.open = []
        self.long_strings = []
        self.long_texts = []
        self.long_arrows = []
        done = False
        while True:
            mode = modes[-1]
            if position >= self.limit:
                self.ran_out = True
            if position >= length:
                if done or mode not in _AT_END:
                    yield Lexeme("OVER", "", length, length)
                    continue
                done = True
                yield Lexeme(_AT_END[mode], "", length, length)
                continue
            if mode in _EDGE_TEXTS:
                for lexeme in self._edge_text(mode, position):
                    position = lexeme.end
                    if lexeme.type == "LINK":
                        modes.pop()
                        begun = opened.pop()
                        if "\n" in text[begun.start : lexeme.start]:
                            self.long_arrows.append((begun, lexeme.start))
                    yield lexeme
                if text[position : position + 1] != '"' or mode != modes[-1]:
                    continue
            compiled = _mode(mode) if mode != "initial" else self._initial(position)
            match = compiled.match.match(text, position)
            if match is None:
                raise LexicalError(position)
            rule = compiled.rules[match.lastindex - 1] if match.lastindex else None
            end = match.end()
            if end > self.limit:
                self.ran_out = True
            if rule is None or end == position:
                raise LexicalError(position)
            if rule.pop and len(modes) > 1:
                closed, closed_mode = opened.pop(), modes.pop()
                if closed_mode in ("string", "markdown") and "\n" in text[closed.start : position]:
                    self.long_strings.append(closed)
                elif closed_mode == "text" and _runs_on(text, closed, position, end):
                    self.long_texts.append(closed)
            if rule.push:
                modes.append(rule.push)
                opened.append(Delimiter(text[position:end], position, rule.push))
            start, position = position, end
            if rule.kind is None:
                continue
            if rule.kind == "GRAPH" and header:
                header = False
                modes.append("direction")
                opened.append(Delimiter(text[start:end], start, "direction"))
            yield Lexeme(rule.kind, self._value(rule, mode, start, end), start, end)

    def _value(self, rule: _Rule, mode: str, start: int, end: int) -> str:
        if rule.kind == "SHAPE_DATA":
            if rule.push == "shape_data":
                return ""
            if mode == "shape_data_string" and not rule.pop:
                return _STRING_BREAK.sub("<br/>", self.text[start:end])
        return self.text[start:end]

    def _initial(self, position: int) -> _Mode:
        direction = self._direction.before_stop(self.text, position)
        link_id = self._link_id.before_stop(self.text, position)
        return _initial_mode(direction, link_id)

    def _edge_text(self, mode: str, position: int) -> Iterator[Lexeme]:
        """The text up to the quote, link or error that ends it, as one token, and the link."""
        text = self.text
        stop, link = _EDGE_TEXTS[mode]
        stop_match = stop.search(text, position)
        end = stop_match.start() if stop_match else len(text)
        if end >= self.limit:
            self.ran_out = True
        if stop_match is None or stop_match[0] == '"':
            if end > position:
                yield Lexeme("EDGE_TEXT", text[position:end], position, end)
            return
        match = link.match(text, end)
        if match is not None:
            start = end
            if mode == "dotted_edge_text" and start > position and text[start - 1] == "-":
                start -= 1
            if start > position and text[start - 1] in "xo<":
                start -= 1
            while start > position and text[start - 1] in WHITE_CHARACTERS:
                start -= 1
            end = start
        if end > position:
            yield Lexeme("EDGE_TEXT", text[position:end], position, end)
        if match is None:
            raise LexicalError(end)
        yield Lexeme("LINK", text[end : match.end()], end, match.end())


class _Ahead:
    """Whether something stands ahead before something else does; both searches only ever move forward."""

    def __init__(self, wanted: re.Pattern[str], stop: re.Pattern[str]) -> None:
        self._wanted, self._stop = wanted, stop
        self._wanted_at = self._stop_at = self._from = -1

    def before_stop(self, text: str, position: int) -> bool:
        if position < self._from:
            self._wanted_at = self._stop_at = -1
        self._from = position
        if self._wanted_at < position:
            match = self._wanted.search(text, position)
            self._wanted_at = match.start() if match else len(text) + 1
        if self._wanted_at > len(text):
            return False
        if self._stop_at < position:
            match = self._stop.search(text, position)
            self._stop_at = match.start() if match else len(text) + 1
        return self._wanted_at < self._stop_at


_STRING_BREAK = re.compile(rf"\n{_S}*")
