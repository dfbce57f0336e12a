"""Renaming a thing at all its places in a text, or a sentence why that can't be done.

Whether the new name does is tried out: the renamed text is read, and must say the same up to the name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.definitions.types import Type, innermost
from merrow_analysis.ide.cursor.blocks import source_of
from merrow_analysis.ide.cursor.lookup import occurrence_at
from merrow_analysis.ide.names.rename_rules import RenameRefusedError, refuse_fixed, refuse_name
from merrow_analysis.places.edge_names import field_symbol, input_symbol, port_symbol
from merrow_analysis.places.occurrences import occurrences_in, occurrences_of
from merrow_analysis.places.symbols import Symbol, respelled
from merrow_analysis.places.symbols import symbol as symbol_of
from merrow_analysis.text import Position, Range, TextEdit, apply_edits

__all__ = [
    "RenameRefusedError",
    "Renamed",
    "Renaming",
    "edits_of",
    "prepare_rename",
    "refuse_misread",
    "rename",
    "rename_node",
]


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


def rename(analysis: Analysis, position: Position, new_name: str, read: Callable[[str], Analysis] = analyse) -> Renamed:
    """The edits that give what is named at this position a new name everywhere in the text. Raises `RenameRefusedError`.

    ``read`` analyses a text among the files that this one has around it.
    """
    here = occurrence_at(analysis, position)
    if here is None:
        raise RenameRefusedError("Nothing here has a name that can be changed.")
    refuse_fixed(analysis, here)
    new = new_name.strip()
    if here.suffix and new.casefold().endswith(here.suffix.casefold()) and len(new) > len(here.suffix):
        new = new[: -len(here.suffix)]
    return _renamed(analysis, here.symbol, here.written, new, read)


def rename_node(analysis: Analysis, name: str, new_name: str, read: Callable[[str], Analysis] = analyse) -> Renamed:
    """As `rename`, for a node that may be renamed."""
    return _renamed(analysis, Symbol("node", name), name, new_name.strip(), read)


def _renamed(analysis: Analysis, symbol: Symbol, old: str, new: str, read: Callable[[str], Analysis]) -> Renamed:
    prompt = analysis.prompts.prompts.get(symbol.name) if symbol.kind == "prompt" else None
    file = None if prompt is None else prompt.file
    if new == old:
        return Renamed(symbol, old, new, (), file)
    refuse_name(analysis, symbol, new, file)
    edits = edits_of(analysis, symbol, old, new)
    text = source_of(analysis.diagram)
    # A file of prompts is renamed in as well; as long as it isn't, it would not have the new name.
    read = read if file is None else analyse
    refuse_misread(read(text), read(apply_edits(text, edits)), (symbol,), new)
    return Renamed(symbol, old, new, edits, file)


def edits_of(analysis: Analysis, symbol: Symbol, old: str, new: str) -> tuple[TextEdit, ...]:
    """The edits that rename a thing in one text, without looking whether they may be made; for further texts."""
    edits = []
    for place in occurrences_of(analysis, symbol):
        start, end = place.span
        span = (start, end - len(place.suffix))
        edits.append(TextEdit(place.block.range(span), respelled(place.written, old, new)))
    return tuple(edits)


def refuse_misread(before: Analysis, after: Analysis, symbols: Collection[Symbol], new: str) -> None:
    """Raise `RenameRefusedError` unless a renamed text names the same things at the same places, up to the name of these, its
    edges bring the same, and it is as good as before.
    """
    more = _said(after) - _said(before)
    renamed = {symbol: _called(symbol, new) for symbol in symbols}
    if more or _names(before, renamed) != _names(after, {}):
        if any(symbol.kind in ("node", "subgraph") for symbol in symbols) and new[0] in "xo":
            raise RenameRefusedError(
                f"Mermaid would read the `{new[0]}` of `{new}` as the head of an arrow; put a space before the name."
            )
        told = (diagnostic.message for diagnostic in after.diagnostics if diagnostic.code in more)
        reason = next(told, "Mermaid would read the text otherwise.")
        raise RenameRefusedError(f"`{new}` won't do as a name here: {reason}")
    if _brought(before, renamed) != _brought(after, {}):
        raise RenameRefusedError(
            "Files that call each other know the same type by its name and fields; change it by hand in all of them."
        )


def _called(symbol: Symbol, new: str) -> Symbol:
    """What a thing is with another name."""
    if symbol.kind == "field":
        return field_symbol(symbol.name.rpartition(".")[0], new)
    if symbol.kind == "port":
        return port_symbol(symbol.name.rpartition(":")[0], new)
    if symbol.kind == "input":
        return input_symbol(symbol.name.partition(":")[0], new)
    return symbol_of(symbol.kind, new)


def _names(analysis: Analysis, renamed: Mapping[Symbol, Symbol]) -> list[tuple[Symbol, str, int]]:
    """Everything named in a text, in order, with the number of its block."""
    types = {old.name: new.name for old, new in renamed.items() if old.kind == "type"}
    operators = {old.name: new.name for old, new in renamed.items() if old.kind == "operator"}

    def name(symbol: Symbol) -> Symbol:
        if symbol.kind == "input" and operators:
            operator, _, port = symbol.name.partition(":")
            return input_symbol(operators.get(operator, operator), port)
        if symbol.kind == "field" and types:
            record, _, field = symbol.name.rpartition(".")
            return field_symbol(types.get(record, record), field)
        return renamed.get(symbol, symbol)

    return [
        (name(place.symbol), place.role, number)
        for number, block in enumerate(analysis.diagram.blocks)
        for place in occurrences_in(analysis, block)
    ]


def _brought(analysis: Analysis, renamed: Mapping[Symbol, Symbol]) -> list[list[str | None]]:
    """The types that each edge brings, by their names after the renaming."""
    types = {old.name: new.name for old, new in renamed.items() if old.kind == "type"}

    def name(type_: Type | None) -> str | None:
        if type_ is None or innermost(type_) not in types:
            return type_
        lists = type_.count("[")
        return "list[" * lists + types[innermost(type_)] + "]" * lists

    edges = () if analysis.typed is None else analysis.typed.edges
    return [[name(feed.type) for feed in edge.feeds] for edge in edges]


def _said(analysis: Analysis) -> Counter[str]:
    return Counter(diagnostic.code for diagnostic in analysis.diagnostics)
