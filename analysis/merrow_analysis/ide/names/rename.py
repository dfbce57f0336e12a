"""Renaming a thing at all its places in a text, or a sentence why that can't be done.

Whether the new name does is tried out: the renamed text is read, and must say the same up to the name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.ide.cursor.blocks import source_of
from merrow_analysis.ide.cursor.lookup import occurrence_at
from merrow_analysis.ide.names.rename_rules import RenameRefusedError, refuse_fixed, refuse_name
from merrow_analysis.places.names import Symbol, respelled
from merrow_analysis.places.names import symbol as symbol_of
from merrow_analysis.places.occurrences import occurrences_in, occurrences_of
from merrow_analysis.text import Position, Range, TextEdit, apply_edits

__all__ = ["RenameRefusedError", "Renamed", "Renaming", "edits_of", "prepare_rename", "rename"]


@dataclass(frozen=True, slots=True)
class Renaming:
    """What would be renamed: where it stands, and its name to begin with."""

    symbol: Symbol
    range: Range
    name: str


@dataclass(frozen=True, slots=True)
class Renamed:
    """The edits of the text; ``file`` is the prompt file that defines the prompt for other workflows too, else None."""

    symbol: Symbol
    old: str
    new: str
    edits: tuple[TextEdit, ...]
    file: str | None = None


def prepare_rename(analysis: Analysis, position: Position) -> Renaming | None:
    """What a rename at this position would rename, None for nothing. Raises `RenameRefusedError` for a fixed name."""
    here = occurrence_at(analysis, position)
    if here is None:
        return None
    refuse_fixed(analysis, here)
    return Renaming(here.symbol, here.range, here.written)


def rename(analysis: Analysis, position: Position, new_name: str) -> Renamed:
    """The edits that give what is named at this position a new name everywhere. Raises `RenameRefusedError`."""
    here = occurrence_at(analysis, position)
    if here is None:
        raise RenameRefusedError("Nothing here has a name that can be changed.")
    refuse_fixed(analysis, here)
    new = new_name.strip()
    if here.suffix and new.casefold().endswith(here.suffix.casefold()) and len(new) > len(here.suffix):
        new = new[: -len(here.suffix)]
    prompt = analysis.prompts.prompts.get(here.symbol.name) if here.symbol.kind == "prompt" else None
    file = None if prompt is None else prompt.file
    if new == here.written:
        return Renamed(here.symbol, here.written, new, (), file)
    refuse_name(analysis, here.symbol, new, file)
    edits = edits_of(analysis, here.symbol, here.written, new)
    _refuse_misread(analysis, here.symbol, new, edits)
    return Renamed(here.symbol, here.written, new, edits, file)


def edits_of(analysis: Analysis, symbol: Symbol, old: str, new: str) -> tuple[TextEdit, ...]:
    """The edits that rename a thing in one text, without looking whether they may be made; for further texts."""
    edits = []
    for place in occurrences_of(analysis, symbol):
        start, end = place.span
        span = (start, end - len(place.suffix))
        edits.append(TextEdit(place.block.range(span), respelled(place.written, old, new)))
    return tuple(edits)


def _refuse_misread(analysis: Analysis, symbol: Symbol, new: str, edits: Iterable[TextEdit]) -> None:
    """Read the renamed text: it must name the same things at the same places, up to the name, and be as good as before."""
    text = source_of(analysis.diagram)
    before, after = analyse(text), analyse(apply_edits(text, edits))
    renamed = symbol_of(symbol.kind, new)
    more = _said(after) - _said(before)
    misread = _names(before, symbol, renamed) != _names(after, symbol, renamed)
    if misread or more:
        if symbol.kind in ("node", "subgraph") and new[0] in "xo":
            raise RenameRefusedError(
                f"Mermaid would read the `{new[0]}` of `{new}` as the head of an arrow; put a space before the name."
            )
        told = (diagnostic.message for diagnostic in after.diagnostics if diagnostic.code in more)
        said = next(told, "Mermaid would read the text otherwise.")
        raise RenameRefusedError(f"`{new}` won't do as a name here: {said}")


def _names(analysis: Analysis, symbol: Symbol, renamed: Symbol) -> list[tuple[Symbol, str, int]]:
    """Everything named in a text, in order, with the number of its block."""
    return [
        (renamed if place.symbol == symbol else place.symbol, place.role, number)
        for number, block in enumerate(analysis.diagram.blocks)
        for place in occurrences_in(analysis, block)
    ]


def _said(analysis: Analysis) -> Counter[str]:
    return Counter(diagnostic.code for diagnostic in analysis.diagnostics)
