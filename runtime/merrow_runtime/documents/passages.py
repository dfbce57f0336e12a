"""Takes texts apart into passages: pieces of a size that is found and shown, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

LONGEST = 1_500
"""Characters of a passage, as far as lines allow it."""
_LONGEST_HEADING = 120
_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")


class Passage(NamedTuple):
    """A piece of a text, and where it is there."""

    text: str
    place: str


def passages(text: str, *, markdown: bool) -> Iterator[Passage]:
    """The passages of a text, in their order: paragraphs that follow each other, together as long as there is room. One of
    Markdown ends where a heading begins, and its place names the headings that it is under.
    """
    headings: list[tuple[int, str]] = []
    lines: list[tuple[int, str]] = []
    length = 0
    fence = ""
    for number, line in _lines(text):
        mark = _FENCE.match(line) if markdown else None
        heading = None if not markdown or fence or mark is not None else _HEADING.fullmatch(line)
        if mark is not None:
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        is_blank = not line.strip()
        if lines and (heading is not None or length >= LONGEST or (is_blank and length >= LONGEST // 2)):
            yield _passage(lines, headings)
            lines, length = [], 0
        if heading is not None:
            level = len(heading[1])
            headings = [*(known for known in headings if known[0] < level), (level, heading[2][:_LONGEST_HEADING])]
        if lines or not is_blank:
            lines.append((number, line))
            length += len(line) + 1
    if lines:
        yield _passage(lines, headings)


def _passage(lines: list[tuple[int, str]], headings: list[tuple[int, str]]) -> Passage:
    while not lines[-1][1].strip():
        lines.pop()
    first, last = lines[0][0], lines[-1][0]
    where = f"line {first}" if first == last else f"lines {first}-{last}"
    path = " > ".join(heading for _, heading in headings)
    return Passage("\n".join(line for _, line in lines), f"{path} ({where})" if path else where)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a text with their numbers. One that is longer than a passage comes in pieces."""
    for number, line in enumerate(text.split("\n"), 1):
        rest = line.removesuffix("\r")
        while len(rest) > LONGEST:
            end = rest.rfind(" ", LONGEST // 2, LONGEST) + 1 or LONGEST
            yield number, rest[:end]
            rest = rest[end:]
        yield number, rest
