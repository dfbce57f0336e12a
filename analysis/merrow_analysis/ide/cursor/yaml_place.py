"""Where a cursor is in YAML that is being typed: the path of keys that leads there, whether or not it can be read.

It goes by indentation and brackets alone, so that half a line below a good one still has its place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENTRY = re.compile(r"([ \t]*)((?:-[ \t]+)*)(?:([\"']?)([\w?./-]*+(?: ++[\w?./-]++)*+)\3[ \t]*:(?=[ \t]|$)[ \t]*)?(.*)")
_PIECE = re.compile(r"\"(?:[^\"\\]|\\.)*\"?|'[^']*'?|[{}\[\],]|[^\"'{}\[\],]+")
_KEY = re.compile(r"\s*[\"']?([\w?./-]++(?: ++[\w?./-]++)*+)[\"']?[ \t]*:(?=\s|$)\s*")
_WORD_BEFORE_COLON = re.compile(r"([\w?.-]++)[\"']?[ \t]*:(?=\s|$)")
_TEXT_MARK = re.compile(r"[|>][0-9+-]*[ \t]*(?:#.*)?$")


@dataclass(frozen=True, slots=True)
class YamlPlace:
    """A place in YAML. ``path`` is that of the mapping, or of the value, that is being typed.

    ``is_key`` says that a key is expected, ``start`` is the offset at which the word at the cursor begins; ``indent`` is the
    column of that line's content; ``in_flow`` says that the place is inside brackets.
    """

    path: tuple[str, ...]
    is_key: bool
    start: int
    indent: int = 0
    in_flow: bool = False
    in_text: bool = False


def yaml_place(text: str, offset: int) -> YamlPlace:
    """Say where ``offset`` lies in ``text``. Never raises; takes linear time."""
    before = text[:offset]
    stack: list[tuple[int, str]] = []
    in_text: int | None = None
    flow: tuple[int, tuple[str, ...]] | None = None
    depth = 0
    at = 0
    lines = before.split("\n")
    for number, line in enumerate(lines):
        line = line.rstrip("\r")
        last = number == len(lines) - 1
        content = line.lstrip(" \t")
        indent = len(line) - len(content)
        if flow is not None:
            if last:
                return _in_flow(before, *flow)
            depth += _depth(line)
            flow = flow if depth > 0 else None
        elif in_text is not None and (indent > in_text or not content) and not (last and indent <= in_text and content):
            if last and indent > in_text:
                return YamlPlace(tuple(key for _, key in stack), False, at + indent, indent, in_text=True)
            if last:
                return _block(stack, line, at)
        elif last:
            return _block(stack, line, at)
        elif content and not content.startswith("#"):
            in_text = None
            flow = _take(stack, line, at)
            depth = 0 if flow is None else _depth(before[flow[0] : at + len(line)])
            if _TEXT_MARK.search(line):
                in_text = stack[-1][0] if stack else -1
        at += len(lines[number]) + 1
    return YamlPlace((), True, offset)


def _take(stack: list[tuple[int, str]], line: str, at: int) -> tuple[int, tuple[str, ...]] | None:
    """Put a line's key on the stack; where a bracket stays open on it, its offset and the path to it."""
    match = _ENTRY.match(line)
    assert match is not None  # noqa: S101  every part of the pattern may be empty
    indent = match.end(2)
    _leave(stack, indent if match[4] is not None else len(match[1]))
    if match[4] is not None:
        stack.append((indent, match[4]))
    value = match[5]
    if value.startswith(("{", "[")) and _depth(value) > 0:
        return at + match.start(5), tuple(key for _, key in stack)
    return None


def _leave(stack: list[tuple[int, str]], indent: int) -> None:
    while stack and stack[-1][0] >= indent:
        stack.pop()


def _block(stack: list[tuple[int, str]], line: str, at: int) -> YamlPlace:
    match = _ENTRY.match(line)
    assert match is not None  # noqa: S101
    indent = match.end(2)
    if match[4] is None:
        listed = bool(match[2])
        open_keys = [entry for entry in stack if entry[0] < indent or (listed and entry[0] <= len(match[1]))]
        path = tuple(key for _, key in open_keys)
        if match[5].startswith(("{", "[")):
            return _in_flow(line, match.start(5), path, at)
        return YamlPlace(path, not listed, at + match.start(5), indent)
    _leave(stack, indent)
    path = (*(key for _, key in stack), match[4])
    if match[5].startswith(("{", "[")):
        return _in_flow(line, match.start(5), path, at)
    return YamlPlace(path, False, at + match.start(5), indent)


def _in_flow(text: str, start: int, base: tuple[str, ...], at: int = 0) -> YamlPlace:
    """The place at the end of ``text``, whose brackets begin at ``start``; offsets are counted from ``at``."""
    path: list[str | None] = []
    brackets: list[str] = []
    key: str | None = None
    begin = start
    for piece in _PIECE.finditer(text, start):
        mark = piece[0]
        if mark in ("{", "["):
            brackets.append(mark)
            path.append(key)
            key, begin = None, piece.end()
        elif mark in ("}", "]"):
            if brackets:
                brackets.pop()
                path.pop()
            key, begin = None, piece.end()
        elif mark == ",":
            key, begin = None, piece.end()
        elif key is None and brackets and brackets[-1] == "{":
            match = _KEY.match(text, begin, piece.end())
            if match is not None:
                key, begin = match[1], match.end()
    keys = (*base, *(name for name in path if name is not None))
    word = begin + len(text[begin:]) - len(text[begin:].lstrip())
    if key is not None:
        return YamlPlace((*keys, key), False, at + word, in_flow=True)
    is_key = bool(brackets) and brackets[-1] == "{"
    return YamlPlace(keys, is_key, at + word, in_flow=True)


def _depth(text: str) -> int:
    depth = 0
    for piece in _PIECE.finditer(text):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(piece[0], 0)
    return depth


def entry_at(text: str, offset: int) -> tuple[tuple[str, ...], tuple[int, int]] | None:
    """The path to the key that stands at ``offset``, with the span of the key; None where no key stands there."""
    line_start = text.rfind("\n", 0, offset) + 1
    line_end = text.find("\n", offset)
    line_end = len(text) if line_end == -1 else line_end
    for match in _WORD_BEFORE_COLON.finditer(text, line_start, line_end):
        if match.start(1) <= offset <= match.end(1):
            place = yaml_place(text, match.start(1))
            if place.in_text or not place.is_key:
                return None
            return (*place.path, match[1]), match.span(1)
    return None
