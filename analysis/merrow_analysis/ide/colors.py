"""The colours in ``classDef``, ``style`` and ``linkStyle`` lines, and how one may be written there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from merrow_analysis.check import Analysis
from merrow_analysis.ide.css_colors import Color, color_name, hexadecimal, read_color
from merrow_analysis.syntax.lexer import first_word
from merrow_analysis.syntax.tree import Block, Broken, ClassDef, LinkStyle, Style
from merrow_analysis.text import Range

_STYLING = frozenset({"CLASSDEF", "STYLE", "LINKSTYLE"})
_PROPERTY = re.compile(r"([A-Za-z-]+)[ \t]*:[ \t]*((?:[A-Za-z]+\([^()\n]*\)|[^,;\n(:])*)")
_COLOR = re.compile(r"#[0-9A-Za-z]+|[A-Za-z]+\([^()]*\)|[A-Za-z]+")
_PAINTED = frozenset({"fill", "stroke", "background", "border", "outline"})


@dataclass(frozen=True, slots=True)
class ColorPlace:
    """A colour where it is written."""

    range: Range
    color: Color


def colors(analysis: Analysis) -> list[ColorPlace]:
    """The colours of a file in the order of the text, also in style lines that Mermaid refuses, such as ``fill:rgb(1,2,3)``."""
    return [place for block in analysis.diagram.blocks for place in _in_block(block)]


def presentations(color: Color) -> list[str]:
    """How a colour may be written in a style line: only as Mermaid reads it there, which takes no ``rgb()`` or ``hsl()``."""
    name = color_name(color)
    return [hexadecimal(color), *([name] if name is not None else [])]


def _in_block(block: Block) -> Iterator[ColorPlace]:
    for statement in block.statements:
        if isinstance(statement, (ClassDef, Style, LinkStyle)):
            start, end = statement.span
        elif isinstance(statement, Broken) and first_word(block.text, statement.span[0]) in _STYLING:
            start = statement.span[0]
            end = len(block.text) if statement is block.statements[-1] else statement.span[1]
        else:
            continue
        for match in _PROPERTY.finditer(block.text, start, end):
            name = match[1].lower()
            if name not in _PAINTED and not name.endswith("color"):
                continue
            for word in _COLOR.finditer(block.text, *match.span(2)):
                color = read_color(word[0])
                if color is not None:
                    yield ColorPlace(block.range(word.span()), color)
