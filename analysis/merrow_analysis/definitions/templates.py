"""Prompts with variables: ``{port}`` stands for what an input port of the node is given, ``{{`` and ``}}`` for braces.

Only a prompt whose author says ``template: true`` is read so.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from merrow_analysis.text import Span

_PIECE = re.compile(r"\{\{|\}\}|\{[ \t]*([A-Za-z_][A-Za-z0-9_-]*)[ \t]*\}|\{[^{}\n]*\}|[{}]")


class PromptTemplate(str):
    """The text of a prompt with variables. It is not equal to a plain text of the same letters."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PromptTemplate) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other


class TemplatePiece(NamedTuple):
    """A part of a template: ``text`` as it is sent, a variable whose name is ``text``, or a ``stray`` brace that is neither a
    variable nor doubled (``text`` as written). ``span`` is its place in the template.
    """

    kind: Literal["text", "variable", "stray"]
    text: str
    span: Span


@lru_cache(maxsize=256)
def pieces(template: str) -> tuple[TemplatePiece, ...]:
    """The parts of a template, in order."""
    parts: list[TemplatePiece] = []
    at = 0
    for match in _PIECE.finditer(template):
        if match.start() > at:
            parts.append(TemplatePiece("text", template[at : match.start()], (at, match.start())))
        at = match.end()
        if match[0] in ("{{", "}}"):
            parts.append(TemplatePiece("text", match[0][0], match.span()))
        elif match[1] is not None:
            parts.append(TemplatePiece("variable", match[1], match.span()))
        else:
            parts.append(TemplatePiece("stray", match[0], match.span()))
    if at < len(template):
        parts.append(TemplatePiece("text", template[at:], (at, len(template))))
    return tuple(parts)


def variables(template: str) -> frozenset[str]:
    """The names of the variables in a template."""
    return frozenset(piece.text for piece in pieces(template) if piece.kind == "variable")
