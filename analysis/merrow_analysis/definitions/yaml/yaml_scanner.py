"""The lower half of the YAML reader: blanks and line breaks, the four kinds of scalars, tags and anchors.

The reading rules are js-yaml 4's, since that is what Mermaid accepts: `tests/analysis/test_yaml_text.py` compares them.
"""

from __future__ import annotations

import re
from typing import NoReturn

from merrow_analysis.definitions.yaml.yaml_scalars import (
    HEX_ESCAPES,
    SIMPLE_ESCAPES,
    escaped_character,
    join_surrogates,
)

_BLANK = re.compile(r"[ \t]*")
_SPACES = re.compile(r" *")
_TO_LINE_END = re.compile(r"[^\r\n\0]*")
_PLAIN_IN_BLOCK = re.compile(r"[^\r\n\0:#]*(?:(?::(?![ \t\r\n])|(?<![ \t\r\n])#)[^\r\n\0:#]*)*")
_PLAIN_IN_FLOW = re.compile(r"[^\r\n\0:#,\[\]{}]*(?:(?::(?![ \t\r\n,\[\]{}])|(?<![ \t\r\n])#)[^\r\n\0:#,\[\]{}]*)*")
_NO_PLAIN_START = frozenset(" \t\r\n,[]{}#&*!|>'\"%@`\0")
_ONE_LINE_SINGLE = re.compile(r"'([^'\r\n\0]*(?:''[^'\r\n\0]*+)*+)'")
_ONE_LINE_DOUBLE = re.compile(r'"([^"\\\r\n\0]*)"')
_SINGLE_PART = re.compile(r"[^'\r\n\0]*(?:''[^'\r\n\0]*+)*+")
_DOUBLE_PART = re.compile(r'[^"\\\r\n\0]*')
_BLOCK_HEADER = re.compile(r"[|>]([-+0-9]*)")
_NAME = re.compile(r"[^ \t\r\n,\[\]{}\0]*")
_TAG = re.compile(r"[^ \t\r\n\0]*")
TAG_HANDLE = re.compile(r"!|!!|![0-9A-Za-z-]+!")
_TAG_URI = re.compile(r"(?:!|[^,\[\]{}])(?:%[0-9a-f]{2}|[0-9a-z\-#;/?:@&=+$,_.!~*'()\[\]])*", re.IGNORECASE | re.ASCII)
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_NON_PRINTABLE = re.compile(
    r"[\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x84\x86-\x9F\uFFFE\uFFFF]"
    r"|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]"
)
_STANDARD = "tag:yaml.org,2002:"


class YamlError(Exception):
    """The text is not valid YAML. ``message`` is a sentence for the user, ``offset`` the place it speaks of."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class YamlScanner:
    """A place in a YAML text and the scalars to be read there.

    ``text`` ends with a line break and a NUL that stands for the end. Reading a scalar leaves it in ``result`` with its
    end in ``end``; ``tag``, ``anchor`` and ``kind`` belong to the node that is being composed.
    """

    def __init__(self, text: str) -> None:
        self.text = text + "\0"
        self.pos = 0
        self.line_start = 0
        self.line_indent = 0
        self.first_tab = -1
        self.tag: str | None = None
        self.anchor: str | None = None
        self.kind: str | None = None
        self.result: object = None
        self.end = 0
        self.tag_prefixes: dict[str, str] = {}
        self._printable = _NON_PRINTABLE.search(text) is None

    def fail(self, message: str, offset: int | None = None) -> NoReturn:
        raise YamlError(message, self.pos if offset is None else offset)

    def skip(self, *, comments: bool) -> int:
        """Go on to what is no blank, over line breaks and, where asked, comments; returns the number of line breaks."""
        text = self.text
        pos = self.pos
        breaks = 0
        while True:
            char = text[pos]
            if char in " \t":
                end = _BLANK.match(text, pos).end()  # type: ignore[union-attr]
                if self.first_tab == -1:
                    self.first_tab = text.find("\t", pos, end)
                pos = end
                char = text[pos]
            if char == "#" and comments:
                pos = _TO_LINE_END.match(text, pos).end()  # type: ignore[union-attr]
                char = text[pos]
            if char not in "\r\n":
                break
            pos += 2 if char == "\r" and text[pos + 1] == "\n" else 1
            breaks += 1
            self.line_start = pos
            self.first_tab = -1
            pos = _SPACES.match(text, pos).end()  # type: ignore[union-attr]
            self.line_indent = pos - self.line_start
        self.pos = pos
        return breaks

    def line_break(self) -> None:
        """Go over one line break."""
        char = self.text[self.pos]
        if char not in "\r\n":
            self.fail("A line break is wanted here.")
        self.pos += 2 if char == "\r" and self.text[self.pos + 1] == "\n" else 1
        self.line_start = self.pos
        self.first_tab = -1

    def at_document_mark(self) -> bool:
        """Whether ``---`` or ``...`` stands here as a word of its own."""
        text, pos = self.text, self.pos
        return text.startswith(("---", "..."), pos) and text[pos + 3] in " \t\r\n\0"

    def _check_printable(self, value: str, start: int) -> None:
        if not self._printable:
            match = _NON_PRINTABLE.search(value)
            if match is not None:
                self.fail(f"The character U+{ord(match[0]):04X} is not allowed here.", start)

    def plain(self, indent: int, *, in_flow: bool) -> bool:
        """An unquoted scalar. False, with nothing read, where none begins here."""
        text = self.text
        start = pos = self.pos
        char = text[pos]
        if char in _NO_PLAIN_START:
            return False
        following = text[pos + 1]
        if char in "?-" and (following in " \t\r\n" or (in_flow and following in ",[]{}")):
            return False
        pattern = _PLAIN_IN_FLOW if in_flow else _PLAIN_IN_BLOCK
        pieces: list[str] = []
        end = pos
        breaks = 0
        while True:
            if pos == self.line_start and self.at_document_mark():
                break
            stop = pattern.match(text, pos).end()  # type: ignore[union-attr]
            if stop > pos:
                piece = text[pos:stop].rstrip(" \t")
                if pieces:
                    pieces.append(" " if breaks == 1 else "\n" * (breaks - 1))
                pieces.append(piece)
                end = pos + len(piece)
                self.pos = stop
            if text[stop] not in "\r\n":
                break
            before = self.line_start, self.line_indent
            breaks = self.skip(comments=False)
            if self.line_indent < indent:
                self.pos = end
                self.line_start, self.line_indent = before
                break
            pos = self.pos
            if text[pos] == "\0":
                break
        if not pieces:
            return False
        value = "".join(pieces)
        self._check_printable(value, start)
        self.kind = "scalar"
        self.result = value
        self.end = end
        return True

    def single_quoted(self) -> bool:
        text, start = self.text, self.pos
        if text[start] != "'":
            return False
        match = _ONE_LINE_SINGLE.match(text, start)
        if match is not None:
            value = match[1].replace("''", "'")
            self.pos = match.end()
        else:
            pieces: list[str] = []
            self.pos = start + 1
            while True:
                stop = _SINGLE_PART.match(text, self.pos).end()  # type: ignore[union-attr]
                part = text[self.pos : stop]
                self.pos = stop
                char = text[stop]
                if char == "'":
                    pieces.append(part.replace("''", "'"))
                    self.pos += 1
                    break
                pieces.append(part.rstrip(" \t").replace("''", "'"))
                self._folded_break(pieces, "'", start)
            value = "".join(pieces)
        return self._quoted(value, start)

    def double_quoted(self) -> bool:
        text, start = self.text, self.pos
        if text[start] != '"':
            return False
        match = _ONE_LINE_DOUBLE.match(text, start)
        if match is not None:
            value = match[1]
            self.pos = match.end()
        else:
            pieces: list[str] = []
            surrogates = False
            self.pos = start + 1
            while True:
                stop = _DOUBLE_PART.match(text, self.pos).end()  # type: ignore[union-attr]
                part = text[self.pos : stop]
                self.pos = stop
                char = text[stop]
                if char == '"':
                    pieces.append(part)
                    self.pos += 1
                    break
                if char == "\\":
                    character = self._escape(start)
                    surrogates = surrogates or "\ud800" <= character[:1] <= "\udfff"
                    pieces += (part, character)
                else:
                    pieces.append(part.rstrip(" \t"))
                    self._folded_break(pieces, '"', start)
            value = "".join(pieces)
            if surrogates:
                value = join_surrogates(value)
        return self._quoted(value, start)

    def _quoted(self, value: str, start: int) -> bool:
        if not self._printable:
            bad = _CONTROL.search(self.text, start, self.pos)
            if bad is not None:
                self.fail(f"The character U+{ord(bad[0]):04X} is not allowed here.", bad.start())
        self.kind = "scalar"
        self.result = value
        self.end = self.pos
        return True

    def _folded_break(self, pieces: list[str], quote: str, start: int) -> None:
        """Go on with a quoted scalar on the next line; a single break is a blank, further ones stay."""
        if self.text[self.pos] == "\0":
            self.fail(f"The quote {quote} that begins here is never closed.", start)
        breaks = self.skip(comments=False)
        pieces.append(" " if breaks == 1 else "\n" * (breaks - 1))
        self._refuse_document_mark(quote, start)

    def _refuse_document_mark(self, quote: str, start: int) -> None:
        if self.pos == self.line_start and self.at_document_mark():
            mark = self.text[self.pos : self.pos + 3]
            self.fail(f"The quote {quote} that begins here is not closed before {mark}.", start)

    def _escape(self, opening: int) -> str:
        """What a backslash and the characters behind it stand for, in the string whose quote stands at ``opening``."""
        text, start = self.text, self.pos
        char = text[start + 1]
        if char in "\r\n":
            self.pos += 1
            self.skip(comments=False)
            self._refuse_document_mark('"', opening)
            return ""
        simple = SIMPLE_ESCAPES.get(char)
        if simple is not None:
            self.pos += 2
            return simple
        digits = HEX_ESCAPES.get(char, 0)
        code = text[start + 2 : start + 2 + digits]
        if not digits:
            self.fail(f"\\{char} means nothing in double quotes; write \\\\ for a backslash.", start)
        if len(code) < digits or any(c not in "0123456789abcdefABCDEF" for c in code):
            self.fail(f"\\{char} wants {digits} hexadecimal digits.", start)
        self.pos += 2 + digits
        return escaped_character(int(code, 16))

    def block_scalar(self, parent_indent: int) -> bool:
        """A literal ``|`` or folded ``>`` scalar whose text is indented more than ``parent_indent - 1`` columns."""
        text, start = self.text, self.pos
        header = _BLOCK_HEADER.match(text, start)
        if header is None:
            return False
        chomping, indent = self._block_header(header[1], parent_indent, start)
        self.pos = header.end()
        folding = text[start] == ">"
        text_indent = parent_indent if indent is None else indent
        detected = indent is not None
        if text[self.pos] in " \t":
            self.pos = _BLANK.match(text, self.pos).end()  # type: ignore[union-attr]
            if text[self.pos] == "#":
                self.pos = _TO_LINE_END.match(text, self.pos).end()  # type: ignore[union-attr]
        pieces: list[str] = []
        content = more_indented = False
        empty = 0
        end = self.pos
        while text[self.pos] != "\0":
            self.line_break()
            pos = _SPACES.match(text, self.pos).end()  # type: ignore[union-attr]
            if detected:
                pos = min(pos, self.pos + text_indent)
            self.line_indent = pos - self.line_start
            self.pos = pos
            if not detected and self.line_indent > text_indent:
                text_indent = self.line_indent
            char = text[pos]
            if char in "\r\n":
                empty += 1
                continue
            if not detected and text_indent == 0:
                self.fail("The text of a | or > block must be indented.")
            if self.line_indent < text_indent:
                if chomping == "+":
                    pieces.append("\n" * (empty + content))
                elif chomping == "" and content:
                    pieces.append("\n")
                break
            breaks = empty + content
            if folding:
                if char in " \t":
                    more_indented = True
                elif more_indented:
                    more_indented = False
                    breaks = empty + 1
                else:
                    breaks = empty
                    if content and not empty:
                        pieces.append(" ")
            pieces.append("\n" * breaks)
            content = detected = True
            empty = 0
            end = _TO_LINE_END.match(text, pos).end()  # type: ignore[union-attr]
            line = text[pos:end]
            self._check_printable(line, pos)
            pieces.append(line)
            self.pos = end
        self.kind = "scalar"
        self.result = "".join(pieces)
        self.end = end
        return True

    def _block_header(self, marks: str, parent_indent: int, start: int) -> tuple[str, int | None]:
        chomping = ""
        indent: int | None = None
        for mark in marks:
            if mark in "+-":
                if chomping:
                    self.fail("Only one of + and - may follow | or >.", start)
                chomping = mark
            elif mark == "0" or indent is not None:
                self.fail("Only one digit from 1 to 9 may follow | or >.", start)
            else:
                indent = parent_indent + int(mark) - 1
        return chomping, indent

    def read_tag(self) -> bool:
        text, start = self.text, self.pos
        if text[start] != "!":
            return False
        if self.tag is not None:
            self.fail("A value can have one tag only.")
        if text.startswith("!<", start):
            close = text.find(">", start)
            if close == -1:
                self.fail("The tag that begins with !< is never closed.")
            self.tag = self.decoded_tag(text[start + 2 : close])
            self.pos = close + 1
            return True
        match = _TAG.match(text, start)
        self.pos = match.end()  # type: ignore[union-attr]
        whole = match[0]  # type: ignore[index]
        named = whole.rfind("!") + 1
        handle, name = whole[:named], whole[named:]
        if TAG_HANDLE.fullmatch(handle) is None or any(c in ",[]{}" for c in name):
            self.fail(f"{whole} is not a tag.", start)
        name = self.decoded_tag(name)
        prefix = self.tag_prefixes.get(handle, {"!": "!", "!!": _STANDARD}.get(handle))
        if prefix is None:
            self.fail(f"The tag {whole} is not known.", start)
        self.tag = prefix + name
        return True

    def decoded_tag(self, name: str) -> str:
        if name and _TAG_URI.fullmatch(name) is None:
            self.fail(f"{name} is not a name of a tag.")
        try:
            return _PERCENT.sub(lambda m: bytes.fromhex(m[0].replace("%", "")).decode(), name)
        except UnicodeDecodeError:
            self.fail(f"{name} is not a name of a tag.")

    def read_anchor(self) -> bool:
        if self.text[self.pos] != "&":
            return False
        if self.anchor is not None:
            self.fail("A value can have one anchor only.")
        self.anchor = self.name("&")
        return True

    def name(self, mark: str) -> str:
        """The name behind ``&`` or ``*``."""
        start = self.pos + 1
        self.pos = _NAME.match(self.text, start).end()  # type: ignore[union-attr]
        if self.pos == start:
            self.fail(f"{mark} begins a reference in YAML and wants a name; put the value in quotes.", start - 1)
        return self.text[start : self.pos]
