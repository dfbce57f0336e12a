"""Renaming a thing at all its places, or a sentence why that can't be done.

Whether the new name does is tried out: the renamed text is read, and must say the same up to the name. Beyond the text, a
prompt's name may stand in a prompt file, which `module_edits` and `yaml_edits` rename.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.definitions.operators import BUILT_IN_TABLE, INTERFACE_CLASS
from merrow_analysis.definitions.prompts import read_prompt_yaml
from merrow_analysis.definitions.settings import read_settings
from merrow_analysis.definitions.types import is_variable
from merrow_analysis.graph.typed import ENTRY_POINT_ID, PROBLEM_ID, RETURN_ID
from merrow_analysis.ide.blocks import source_of
from merrow_analysis.ide.definition import unquoted
from merrow_analysis.ide.names import Occurrence, Symbol
from merrow_analysis.ide.names import symbol as symbol_of
from merrow_analysis.ide.occurrences import occurrence_at, occurrences_in, occurrences_of
from merrow_analysis.text import Position, Range, TextEdit, apply_edits, split_lines

_WORDS_OF_MERMAID = frozenset(
    {
        *("end", "graph", "flowchart", "subgraph", "class", "classdef", "style", "linkstyle", "click", "default"),
        *("interpolate", "href", "call", "direction", "_self", "_blank", "_parent", "_top", "v"),
    }
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TYPE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PROMPT = re.compile(r"[^\W\d][\w .-]*[\w]|[^\W\d]")
_NEVER_IN_IDS = re.compile(r"[\s\"'`()\[\]{}<>|;,:&@#%\\/]")
_BY_NAME = {PROBLEM_ID: "input", ENTRY_POINT_ID: "input", RETURN_ID: "output"}


class RenameRefusedError(Exception):
    """What is named can't be renamed, or not to this name; ``str()`` is one sentence for the user."""


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
    _refuse_fixed(analysis, here)
    return Renaming(here.symbol, here.range, here.written)


def rename(analysis: Analysis, position: Position, new_name: str) -> Renamed:
    """The edits that give what is named at this position a new name everywhere. Raises `RenameRefusedError`."""
    here = occurrence_at(analysis, position)
    if here is None:
        raise RenameRefusedError("Nothing here has a name that can be changed.")
    _refuse_fixed(analysis, here)
    new = new_name.strip()
    if here.suffix and new.casefold().endswith(here.suffix.casefold()) and len(new) > len(here.suffix):
        new = new[: -len(here.suffix)]
    prompt = analysis.prompts.prompts.get(here.symbol.name) if here.symbol.kind == "prompt" else None
    file = None if prompt is None else prompt.file
    if new == here.written:
        return Renamed(here.symbol, here.written, new, (), file)
    _refuse_name(analysis, here.symbol, new, file)
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


def respelled(written: str, old: str, new: str) -> str:
    """The new name as this place spells names: ``SOLVER`` for ``solver`` where the old one stood in capitals.

    Only where case does not count can a place spell a name otherwise than ``old``.
    """
    if written == old:
        return new
    if written.isupper():
        return new.upper()
    return new.lower() if written.islower() else new


# What can't be renamed


def _refuse_fixed(analysis: Analysis, here: Occurrence) -> None:
    kind, name = here.symbol
    written = here.written
    if kind == "operator":
        _refuse_operator(analysis, name, written)
    elif kind == "class":
        _refuse_class(analysis, written)
    elif kind == "type":
        own = _own(analysis).types
        if name not in own:
            where = "from a library" if name in analysis.settings.types else "built in"
            raise RenameRefusedError(f"Type {written} is {where}, so it can't be renamed here.")
    elif kind == "node" and analysis.is_workflow and name in _BY_NAME:
        _refuse_special(analysis, name)


def _own(analysis: Analysis) -> _Own:
    front = analysis.diagram.front_matter
    if front is None:
        return _Own({}, {})
    settings = read_settings(front[0].body, front[0].indent)
    return _Own(settings.types, settings.operators)


@dataclass(frozen=True, slots=True)
class _Own:
    """What the front matter declares itself, without its libraries."""

    types: dict[str, object]
    operators: dict[str, object]


def _refuse_operator(analysis: Analysis, name: str, written: str) -> None:
    if BUILT_IN_TABLE.by_op(name) is not None:
        raise RenameRefusedError(f"Operator {written} is built in, so it can't be renamed.")
    if name not in {str(own).casefold() for own in _own(analysis).operators}:
        raise RenameRefusedError(f"Operator {written} is declared in a library, so it can't be renamed here.")


def _refuse_class(analysis: Analysis, written: str) -> None:
    if not analysis.is_workflow:
        return
    if written.casefold() == INTERFACE_CLASS.casefold():
        raise RenameRefusedError(f"Class {written} marks inputs and outputs, so it can't be renamed.")
    if BUILT_IN_TABLE.by_class(written) is not None:
        raise RenameRefusedError(f"Class {written} says which operator its nodes have, so it can't be renamed.")


def _refuse_special(analysis: Analysis, name: str) -> None:
    role = _BY_NAME[name]
    settings = analysis.settings
    listed = settings.inputs if role == "input" else settings.outputs
    if listed is None or name not in listed:
        raise RenameRefusedError(
            f"{name} is the workflow's {role} by its name; list it under `{role}s:` in the front matter to rename it."
        )
    typed = analysis.typed
    node = None if typed is None else typed.by_id.get(name)
    if role == "input" and node is not None and node.resolution.declared is None:
        given = "Problem" if name == PROBLEM_ID else "EntryPoint"
        raise RenameRefusedError(
            f"{name} gives {given} by its name; write `type: {given}` in its metadata to rename it."
        )


# What it can't be called


def _refuse_name(analysis: Analysis, symbol: Symbol, new: str, file: str | None) -> None:
    if not new:
        raise RenameRefusedError("A name needs at least one character.")
    kind = symbol.kind
    if kind in ("node", "subgraph", "edge"):
        _refuse_id(analysis, new)
    elif kind == "class":
        _refuse_class_name(analysis, new)
    elif kind == "operator":
        _refuse_operator_name(analysis, symbol, new)
    elif kind == "type":
        _refuse_type_name(analysis, new)
    else:
        _refuse_prompt_name(analysis, symbol, new, file)


def _refuse_spelling(kind: str, new: str) -> None:
    if new.casefold() in _WORDS_OF_MERMAID:
        raise RenameRefusedError(f"`{new}` is a word of Mermaid's own; choose another name.")
    if _NEVER_IN_IDS.search(new):
        raise RenameRefusedError(f"`{new}` can't name a {kind}: use letters, digits and `_`.")


def _refuse_id(analysis: Analysis, new: str) -> None:
    _refuse_spelling("node", new)
    flow = analysis.flow
    for what, known in (("a subgraph", flow.subgraphs), ("a node", flow.nodes), ("an edge", flow.edge_ids)):
        if new in known:
            raise RenameRefusedError(f"There is already {what} {new}; choose another name.")
    if new in _BY_NAME and not analysis.settings.opted_out:
        raise RenameRefusedError(f"{new} is the name of a workflow's {_BY_NAME[new]}; choose another name.")


def _refuse_class_name(analysis: Analysis, new: str) -> None:
    _refuse_spelling("class", new)
    known = {*analysis.flow.class_defs, *(use.class_name.text for use, _ in analysis.flow.class_assigns)}
    known.update(use.name.text for node in analysis.flow.nodes.values() for use in node.classes)
    if new in known:
        raise RenameRefusedError(f"There is already a class {new}; choose another name.")
    typed = analysis.typed
    if typed is not None and (
        new.casefold() == INTERFACE_CLASS.casefold() or new.endswith("Op") or typed.operators.by_class(new) is not None
    ):
        raise RenameRefusedError(f"Class {new} would say which operator its nodes have; choose another name.")


def _refuse_operator_name(analysis: Analysis, symbol: Symbol, new: str) -> None:
    if not _IDENTIFIER.fullmatch(new):
        raise RenameRefusedError(
            f"`{new}` can't name an operator: use letters, digits and `_`, starting with a letter."
        )
    typed = analysis.typed
    known = None if typed is None else typed.operators.by_op(new)
    if new.casefold() == INTERFACE_CLASS.casefold() or (known and known.spec.name.casefold() != symbol.name):
        raise RenameRefusedError(f"There is already an operator {new}; choose another name.")


def _refuse_type_name(analysis: Analysis, new: str) -> None:
    if not _TYPE.fullmatch(new) or new == "list" or is_variable(new):
        raise RenameRefusedError(f"`{new}` can't name a type: use letters, digits and `_`, more than one of them.")
    if analysis.typed is not None and new in analysis.typed.types.parents:
        raise RenameRefusedError(f"There is already a type {new}; choose another name.")


def _refuse_prompt_name(analysis: Analysis, symbol: Symbol, new: str, file: str | None) -> None:
    if not _PROMPT.fullmatch(new):
        raise RenameRefusedError(f"`{new}` can't name a prompt: use letters, digits and `_`, starting with a letter.")
    if file is not None and file.endswith(".py") and not (new.isidentifier() and _IDENTIFIER.fullmatch(new)):
        raise RenameRefusedError(f"`{new}` can't name a prompt of {file}: use letters, digits and `_`.")
    folded = new.casefold()
    if folded == symbol.name:
        return
    if folded in analysis.prompts.prompts or occurrences_of(analysis, symbol_of("prompt", new)):
        raise RenameRefusedError(f"There is already a prompt {new}; choose another name.")


# Trying it out


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


# Prompt files


def prompt_file_edits(text: str, path: str, symbol: Symbol, old: str, new: str) -> list[TextEdit]:
    """The edits that rename a prompt in the file that defines it: a Python module of constants, or YAML."""
    return module_edits(text, symbol, old, new) if path.endswith(".py") else yaml_edits(text, path, symbol, old, new)


def module_edits(text: str, symbol: Symbol, old: str, new: str) -> list[TextEdit]:
    """Rename a constant in a Python module: every mention of the name as it is spelled there."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return []
    lines = split_lines(text.removeprefix("\ufeff"))
    edits = []
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and node.id.casefold() == symbol.name:
            line = node.lineno - 1
            # The syntax tree counts columns in bytes.
            column = len(lines[line].encode("utf-8", "replace")[: node.col_offset].decode("utf-8", "replace"))
            place = Range(Position(line, column), Position(line, column + len(node.id)))
            edits.append(TextEdit(place, respelled(node.id, old, new)))
    return sorted(edits)


def yaml_edits(text: str, path: str, symbol: Symbol, old: str, new: str) -> list[TextEdit]:
    """Rename an entry of a YAML file of prompts."""
    prompt = read_prompt_yaml(text, path).prompts.get(symbol.name)
    if prompt is None or prompt.range is None:
        return []
    return [TextEdit(unquoted(prompt.range, prompt.name), respelled(prompt.name, old, new))]
