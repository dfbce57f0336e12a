"""All places of what is named at a position: in the text, and in the prompt file where a prompt is defined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.provider import Provider
from merrow_analysis.ide.cursor.lookup import occurrence_at
from merrow_analysis.ide.names.definition import targets_of, unquoted
from merrow_analysis.places.edge_names import port_symbol
from merrow_analysis.places.occurrences import declarations_of, occurrences_of
from merrow_analysis.places.symbols import Occurrence, Symbol
from merrow_analysis.text import Position, Range


@dataclass(frozen=True, slots=True)
class Reference:
    """A place that names a thing; ``file`` is None for the text itself."""

    range: Range
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Highlight:
    """A place in the text: written where it declares or defines the thing, else read."""

    range: Range
    kind: Literal["read", "write"]


def references(analysis: Analysis, position: Position, *, declarations: bool = True) -> list[Reference]:
    """The places of what is named at a position, with or without those that declare or define it."""
    here = occurrence_at(analysis, position)
    return [] if here is None else references_of(analysis, here.symbol, declarations=declarations)


def symbol_at(analysis: Analysis, position: Position) -> Symbol | None:
    """What is named at a position."""
    here = occurrence_at(analysis, position)
    return None if here is None else here.symbol


def node_symbol(name: str) -> Symbol:
    """The node with this id."""
    return Symbol("node", name)


def called_symbol(path: str, name: str | None) -> Symbol:
    """A called file by its path, or its input or output of this name."""
    return Symbol("file", path) if name is None else port_symbol(path, name)


def references_of(
    analysis: Analysis, symbol: Symbol, *, declarations: bool = True, provider: Provider | None = None
) -> list[Reference]:
    """The places of one thing; for a prompt of a file also its place there.

    With ``provider``, which opens libraries, also where one of them declares an operator or a type.
    """
    places = occurrences_of(analysis, symbol)
    if not declarations:
        declaring = {place.range for place in declarations_of(analysis, symbol)}
        places = [place for place in places if place.range not in declaring]
    uses = [Reference(place.range) for place in places]
    if declarations and symbol.kind in ("operator", "type", "field"):
        targets = targets_of(analysis, symbol, provider)
        uses += [Reference(target.name, target.file) for target in targets if target.file is not None]
    prompt = analysis.prompts.prompts.get(symbol.name) if symbol.kind == "prompt" else None
    if declarations and prompt is not None and prompt.file is not None and prompt.range is not None:
        uses.append(Reference(unquoted(prompt.range, prompt.name), prompt.file))
    return uses


def highlights(analysis: Analysis, position: Position) -> list[Highlight]:
    """The places in the text of what is named at a position."""
    here = occurrence_at(analysis, position)
    if here is None:
        return []
    declaring = {place.range for place in declarations_of(analysis, here.symbol)}
    return [_highlight(place, declaring) for place in occurrences_of(analysis, here.symbol)]


def _highlight(place: Occurrence, declaring: set[Range]) -> Highlight:
    return Highlight(place.range, "write" if place.range in declaring else "read")
