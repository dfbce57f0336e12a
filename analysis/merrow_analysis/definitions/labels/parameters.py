"""The label of a node as MermaidFlow writes it: an operator's name, and below it parameters in parentheses.

``Custom<br/>(role: some_role)`` and ``Programmer<br/>(analysis: 'Calculate, then check', temperature: 0)``. A
parameter is a name, a colon and a value; a comma followed by another name and colon begins the next one. Quotes
around a value keep commas and parentheses in it. Line breaks are ``<br>``, ``<br/>``, ``<br />`` or real ones;
entities (``#quot;``, ``&amp;``) stand for their characters. Any text can be read: what is not a parameter is told in
``problems`` or is free text.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from functools import lru_cache

from merrow_analysis.definitions.yaml.yaml_scalars import plain_value
from merrow_analysis.text import Span

_CACHED_LENGTH = 1 << 14
_BREAK = r"<br[ \t]*/?[ \t]*>|\r\n|\n|\r"
_FIRST_LINE = re.compile(rf"(?:(?!{_BREAK})[^(])*", re.IGNORECASE)
_BLANK = re.compile(rf"(?:[ \t]|{_BREAK})*", re.IGNORECASE)
_LINE_REST = re.compile(rf"(?:(?!{_BREAK}).)*", re.IGNORECASE | re.DOTALL)
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)[ \t]*:(?!//)")
_QUOTE = re.compile(r"'|\"|#quot;|#34;|#39;|#apos;|&quot;|&#39;|&apos;", re.IGNORECASE)
_STOP = re.compile(r"[(),]")
_ENTITY = re.compile(r"[#&]#?(\w{1,32});", re.ASCII)
_BREAK_IN_VALUE = re.compile(_BREAK, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LabelParameter:
    """One ``key: value``; spans are offsets into the label's text, the value's with its quotes.

    ``text`` is the value without its quotes, entities read and breaks as line feeds; ``quoted`` says that quotes
    stood there.
    """

    key: str
    text: str
    quoted: bool
    key_span: Span
    value_span: Span

    @property
    def value(self) -> object:
        """The value as YAML would read it: a number, true or false where the unquoted text is one, else the text."""
        return self.text if self.quoted or not self.text else plain_value(self.text)


@dataclass(frozen=True, slots=True)
class LabelProblem:
    """What in a label looks like parameters but can't be read."""

    message: str
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class LabelParts:
    """What a label says. Shared between equal labels: don't change it.

    ``operator_word`` is the first line without parameters, trimmed; ``parameters`` has the last value of each key,
    ``repeated`` the later ones of keys that are written more than once, and ``overridden`` those that come before them.
    ``says_more``: behind the first line there is text that is not in the parentheses of parameters.
    """

    operator_word: str
    operator_span: Span
    parameters: dict[str, LabelParameter] = field(default_factory=dict)
    repeated: tuple[LabelParameter, ...] = ()
    problems: tuple[LabelProblem, ...] = ()
    overridden: tuple[LabelParameter, ...] = ()
    says_more: bool = False

    @property
    def lone_word(self) -> str:
        """The operator's word where the label is written as the published ones are: alone in its line, with nothing or
        parameters after it. ``Test<br/>phase`` has none.
        """
        return "" if self.says_more and not self.parameters else self.operator_word

    @property
    def written(self) -> tuple[LabelParameter, ...]:
        """All parameters, each once, also those that a later one overrules."""
        return (*self.parameters.values(), *self.overridden)


def parse_label(text: str) -> LabelParts:
    """Read a node's label. Never raises; takes linear time; equal labels share one answer."""
    return _parse(text) if len(text) > _CACHED_LENGTH else _cached(text)


def _parse(text: str) -> LabelParts:
    return _LabelReader(text).read()


_cached = lru_cache(maxsize=8192)(_parse)


class _LabelReader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[LabelParameter] = []
        self._problems: list[LabelProblem] = []
        self._no_quote_after = len(text)

    def read(self) -> LabelParts:
        text = self._text
        first = _BLANK.match(text).end()  # type: ignore[union-attr]
        position = _FIRST_LINE.match(text, first).end()  # type: ignore[union-attr]
        line = text[first:position]
        word = line.strip()
        first += len(line) - len(line.lstrip())
        if text.find("(", position) == -1:
            more = _BLANK.match(text, position).end() < len(text)  # type: ignore[union-attr]
            return LabelParts(word, (first, first + len(word)), says_more=more)
        more = False
        while position < len(text):
            position = _BLANK.match(text, position).end()  # type: ignore[union-attr]
            if text.startswith("(", position):
                position = self._group(position)
            else:
                end = _LINE_REST.match(text, position).end()  # type: ignore[union-attr]
                position, more = end, more or end > position
        parameters: dict[str, LabelParameter] = {}
        repeated: list[LabelParameter] = []
        overridden: list[LabelParameter] = []
        for parameter in self._found:
            if parameter.key in parameters:
                repeated.append(parameter)
                overridden.append(parameters[parameter.key])
            parameters[parameter.key] = parameter
        problems = tuple(self._problems)
        return LabelParts(
            word, (first, first + len(word)), parameters, tuple(repeated), problems, tuple(overridden), more
        )

    def _group(self, opening: int) -> int:
        """Read the parameters from one parenthesis to the one that closes it; where reading goes on."""
        text = self._text
        position = opening + 1
        while True:
            position = _BLANK.match(text, position).end()  # type: ignore[union-attr]
            if position >= len(text):
                self._problems.append(
                    LabelProblem("The parenthesis that begins the parameters is never closed.", (opening, len(text)))
                )
                return position
            if text[position] == ")":
                return position + 1
            if text[position] == ",":
                position += 1
                continue
            key = _KEY.match(text, position)
            if key is None:
                end = self._value_end(position)
                piece = text[position:end].strip()
                message = f"`{_shortened(piece)}` is not a parameter; write `key: value`, and quotes around a value with commas."
                self._problems.append(LabelProblem(message, (position, position + len(piece))))
                position = max(end, position + 1)
            else:
                position = self._parameter(key)

    def _parameter(self, key: re.Match[str]) -> int:
        text = self._text
        start = _BLANK.match(text, key.end()).end()  # type: ignore[union-attr]
        quoted = self._quoted(start)
        if quoted is None:
            end = self._value_end(start)
            raw = text[start:end].rstrip()
            stop = start + len(raw)
        else:
            raw, stop = quoted
            end = stop
        value = LabelParameter(key[1], _decoded(raw), quoted is not None, key.span(1), (start, stop))
        self._found.append(value)
        return end

    def _quoted(self, start: int) -> tuple[str, int] | None:
        """The inside of a quoted value and its end: the next such quote before a comma, a parenthesis or the end."""
        text = self._text
        opening = _QUOTE.match(text, start)
        if opening is None or start >= self._no_quote_after:
            return None
        mark = opening[0]
        position = opening.end()
        while (closing := text.find(mark, position)) != -1:
            after = closing + len(mark)
            follows = _BLANK.match(text, after).end()  # type: ignore[union-attr]
            if follows >= len(text) or text[follows] in ",)":
                inside = text[opening.end() : closing]
                return (inside.replace("''", "'") if mark == "'" else inside), after
            position = max(after, follows)
        self._no_quote_after = start
        return None

    def _value_end(self, start: int) -> int:
        """Where an unquoted value ends: at a comma before another parameter, or at the group's parenthesis."""
        text = self._text
        depth = 0
        for stop in _STOP.finditer(text, start):
            char = stop[0]
            if char == "(":
                depth += 1
            elif char == ")":
                if depth == 0:
                    return stop.start()
                depth -= 1
            elif depth == 0 and _KEY.match(text, _BLANK.match(text, stop.end()).end()):  # type: ignore[union-attr]
                return stop.start()
        return len(text)


def _decoded(raw: str) -> str:
    if "<" in raw or "\r" in raw:
        raw = _BREAK_IN_VALUE.sub("\n", raw)
    return decoded_entities(raw)


def decoded_entities(text: str) -> str:
    """A label's text with the characters that its entities (``#quot;``, ``&amp;``) stand for."""
    return _ENTITY.sub(_entity, text) if "#" in text or "&" in text else text


def _entity(match: re.Match[str]) -> str:
    name = match[1]
    written = f"&#{name};" if name.isdigit() else f"&{name};"
    character = html.unescape(written)
    return match[0] if character == written else character


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
