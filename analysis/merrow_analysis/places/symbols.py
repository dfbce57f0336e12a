"""What a name stands for, and one place where it is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from merrow_analysis.syntax.tree import Block
from merrow_analysis.text import Range, Span

Kind = Literal[
    "node",
    "edge",
    "subgraph",
    "class",
    "prompt",
    "agent",
    "validator",
    "operator",
    "type",
    "field",
    "file",
    "port",
    "input",
    "tool",
    "store",
    "environment",
]
Role = Literal["declaration", "definition", "reference"]
"""A declaration says what a name is, a definition how it looks (``classDef``) or reads (a prompt); all else refers to it."""


class Symbol(NamedTuple):
    """A named thing. ``name`` is casefolded where case does not count: prompts, agents, validators and operators.

    A field is called by its record, ``Place.city``. A file is a called one, by its path from the caller's folder; a port is an
    input or output of it, ``sub/f.mmd:RETURN``. An input is a port of a declared operator, ``draft:letter``. A tool is called as
    nodes call it, ``web.search``, and a store or an environment as the front matter declares it.
    """

    kind: Kind
    name: str


@dataclass(slots=True, eq=False)
class Occurrence:
    """One place where a thing is named: ``span`` in its block; ``whole`` is the declaration that the name belongs to.

    ``suffix`` is what follows the name inside ``span``: the ``Op`` of a class that names an operator.
    """

    symbol: Symbol
    role: Role
    block: Block
    span: Span
    whole: Span
    suffix: str = ""

    @property
    def written(self) -> str:
        """The name as it is spelled here, without the suffix."""
        start, end = self.span
        return self.block.text[start : end - len(self.suffix)]

    @property
    def range(self) -> Range:
        return self.block.range(self.span)

    @property
    def whole_range(self) -> Range:
        return self.block.range(self.whole)


def symbol(kind: Kind, name: str) -> Symbol:
    """The thing of a kind that a name as written stands for."""
    return Symbol(kind, name.strip().casefold() if kind in ("prompt", "agent", "validator", "operator") else name)


def respelled(written: str, old: str, new: str) -> str:
    """The new name as this place spells names: ``SOLVER`` for ``solver`` where the old one stood in capitals.

    Only where case does not count can a place spell a name differently from ``old``.
    """
    if written == old:
        return new
    if written.isupper():
        return new.upper()
    return new.lower() if written.islower() else new
