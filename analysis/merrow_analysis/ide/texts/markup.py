"""Texts shown to a reader, as Markdown or plain, whatever the editor draws.

Pieces of source are in them as `CodeSpan`, so that nothing a workflow says is read as formatting.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

_TICKS = re.compile(r"`+")
_LONGEST_CODE = 120


class CodeSpan(str):
    """A piece of source inside a sentence."""

    __slots__ = ()


Inline = tuple[str, ...]
"""A sentence: prose, with `CodeSpan` between."""


class _Paragraph(NamedTuple):
    line: Inline


class _Items(NamedTuple):
    lines: tuple[Inline, ...]


class _Block(NamedTuple):
    text: str
    language: str


@dataclass(slots=True)
class Markup:
    """Paragraphs, lists and blocks of source, one after the other."""

    _parts: list[_Paragraph | _Items | _Block] = field(default_factory=list)

    def say(self, *line: str) -> Markup:
        """Add a paragraph of prose and `CodeSpan`."""
        self._parts.append(_Paragraph(line))
        return self

    def items(self, lines: list[Inline]) -> Markup:
        """Add a list; nothing where it is empty."""
        if lines:
            self._parts.append(_Items(tuple(lines)))
        return self

    def block(self, text: str, language: str = "text") -> Markup:
        """Add lines of source as they are."""
        self._parts.append(_Block(text, language))
        return self

    def join(self, other: Markup) -> Markup:
        """Add all of another text."""
        self._parts += other._parts
        return self

    def __bool__(self) -> bool:
        return bool(self._parts)

    def markdown(self) -> str:
        """The text for editors that draw Markdown."""
        return "\n\n".join(_markdown(part) for part in self._parts)

    def plain(self) -> str:
        """The text for editors that show it as it is."""
        return "\n\n".join(_plain(part) for part in self._parts)


def shortened(text: str, lines: int = 12, width: int = 160) -> str:
    """At most so many lines and characters a line of a text; an ellipsis says that more follows."""
    kept = text.strip("\n").split("\n")
    shown = [line if len(line) <= width else f"{line[: width - 1]}…" for line in kept[:lines]]
    return "\n".join(shown) + ("\n…" if len(kept) > lines else "")


def _markdown(part: _Paragraph | _Items | _Block) -> str:
    if isinstance(part, _Paragraph):
        return _markdown_line(part.line)
    if isinstance(part, _Items):
        return "\n".join(f"- {_markdown_line(line)}" for line in part.lines)
    fence = "`" * max(3, _longest_run(part.text) + 1)
    return f"{fence}{part.language}\n{part.text}\n{fence}"


def _plain(part: _Paragraph | _Items | _Block) -> str:
    if isinstance(part, _Paragraph):
        return "".join(map(_one_line, part.line))
    if isinstance(part, _Items):
        return "\n".join("- " + "".join(map(_one_line, line)) for line in part.lines)
    return "\n".join(f"    {line}" for line in part.text.split("\n"))


def _markdown_line(line: Inline) -> str:
    return "".join(_marked(piece) if isinstance(piece, CodeSpan) else piece for piece in line)


def _marked(code: CodeSpan) -> str:
    text = _one_line(code)
    ticks = "`" * (_longest_run(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _one_line(piece: str) -> str:
    if not isinstance(piece, CodeSpan):
        return piece
    text = " ".join(piece.split())
    return text if len(text) <= _LONGEST_CODE else f"{text[: _LONGEST_CODE - 1]}…"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
