"""Which names can't be changed, and which a thing can't get: each with a sentence that says why."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.environments import SHIPPED
from merrow_analysis.definitions.operators import BUILT_IN_TABLE, INTERFACE_CLASS
from merrow_analysis.definitions.settings import read_settings
from merrow_analysis.definitions.types import is_variable
from merrow_analysis.graph.drawings.drawing import ENTRY_POINT_ID, PROBLEM_ID, RETURN_ID
from merrow_analysis.places.occurrences import occurrences_of
from merrow_analysis.places.symbols import Occurrence, Symbol
from merrow_analysis.places.symbols import symbol as symbol_of

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


def refuse_fixed(analysis: Analysis, here: Occurrence) -> None:
    """Raise `RenameRefusedError` for a name that can't be changed: built in, from a library, or known by itself."""
    kind, name = here.symbol
    written = here.written
    if kind == "operator":
        _refuse_operator(analysis, name, written)
    elif kind == "class":
        _refuse_class(analysis, written)
    elif kind in ("type", "field"):
        own, type_ = _own(analysis).types, name.partition(".")[0]
        if type_ not in own:
            where = "from a library" if type_ in analysis.settings.types else "built in"
            what = f"Type {written} is" if kind == "type" else f"Record {type_} of field {written} is"
            raise RenameRefusedError(f"{what} {where}, so it can't be renamed here.")
    elif kind == "input":
        operator = name.partition(":")[0]
        if operator not in {str(own).casefold() for own in _own(analysis).operators}:
            raise RenameRefusedError(f"Port {written} is declared in a library, so it can't be renamed here.")
    elif kind == "file":
        raise RenameRefusedError("Rename the file itself; the paths that lead to it are changed then.")
    elif kind == "tool":
        raise RenameRefusedError("A tool has the name that its server gives it, so it can't be renamed here.")
    elif kind in ("node", "subgraph", "edge"):
        flow = analysis.flow
        if name in flow.edge_ids and (name in flow.nodes or name in flow.subgraphs):
            raise RenameRefusedError(
                f"{written} names an edge and something else too; rename one of them by hand first."
            )
        if kind == "node" and analysis.is_workflow and name in _BY_NAME:
            refuse_special(analysis, name)


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


def refuse_special(analysis: Analysis, name: str) -> None:
    """Raise `RenameRefusedError` for an input or output that is one by its name."""
    if name not in _BY_NAME:
        return
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


def refuse_name(analysis: Analysis, symbol: Symbol, new: str, file: str | None) -> None:
    """Raise `RenameRefusedError` for a new name that a thing can't have; ``file`` is the file of a prompt."""
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
    elif kind == "field":
        _refuse_field_name(analysis, symbol, new)
    elif kind == "input":
        _refuse_input_name(analysis, symbol, new)
    elif kind == "agent":
        _refuse_declared_name(analysis, symbol, new, "an agent", analysis.settings.agents)
    elif kind == "validator":
        _refuse_declared_name(analysis, symbol, new, "a validator", analysis.settings.validators)
    elif kind == "store":
        _refuse_declared_name(analysis, symbol, new, "a store", analysis.settings.stores)
    elif kind == "environment":
        _refuse_declared_name(analysis, symbol, new, "an environment", {**analysis.settings.environments, **SHIPPED})
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


def _refuse_field_name(analysis: Analysis, symbol: Symbol, new: str) -> None:
    if not _TYPE.fullmatch(new):
        raise RenameRefusedError(f"`{new}` can't name a field: use letters, digits and `_`, starting with a letter.")
    record, _, old = symbol.name.rpartition(".")
    fields = () if analysis.typed is None else analysis.typed.types.records.get(record, ())
    if any(field.casefold() == new.casefold() and field != old for field in fields):
        raise RenameRefusedError(f"Record {record} already has a field {new}; choose another name.")


def _refuse_input_name(analysis: Analysis, symbol: Symbol, new: str) -> None:
    if not _TYPE.fullmatch(new):
        raise RenameRefusedError(f"`{new}` can't name a port: use letters, digits and `_`, starting with a letter.")
    operator, _, old = symbol.name.partition(":")
    spec = None if analysis.typed is None else analysis.typed.operators.named(operator)
    if spec is not None and new != old and new in spec.ports:
        raise RenameRefusedError(f"Operator {spec.name} already has a port {new}; choose another name.")


def _refuse_declared_name(
    analysis: Analysis, symbol: Symbol, new: str, what: str, declared: Mapping[str, object]
) -> None:
    if not _PROMPT.fullmatch(new):
        raise RenameRefusedError(f"`{new}` can't name {what}: use letters, digits and `_`, starting with a letter.")
    folded = new.casefold()
    if folded != symbol.name and (folded in declared or occurrences_of(analysis, symbol_of(symbol.kind, new))):
        raise RenameRefusedError(f"There is already {what} {new}; choose another name.")


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
