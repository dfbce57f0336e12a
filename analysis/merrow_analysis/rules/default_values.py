"""Whether a value that a file writes as a ``default:`` can be one of a type, as a run reads it."""

from __future__ import annotations

import ast
import json
import textwrap
from collections.abc import Mapping
from functools import lru_cache

from merrow_analysis.bounded.python_source import parse_python
from merrow_analysis.definitions.plain_values import is_json, read_bool, read_number, read_word
from merrow_analysis.definitions.provider import NoFiles
from merrow_analysis.definitions.types import (
    ANY,
    BOOL,
    BUILT_IN,
    CODE,
    JSON,
    NUMBER,
    WORKFLOW,
    Type,
    TypeTable,
    is_variable,
    item_of,
)
from merrow_analysis.graph.decisions import KIND
from merrow_analysis.graph.measures.kept_effects import acting
from merrow_analysis.rules.configuration import Config

VALUE = "value"
"""What a value of a union has beside its kind."""

_DEEPEST = 20
_MOST_NAMED = 8


def why_not(value: object, type_: Type, types: TypeTable, depth: int = 0) -> str | None:
    """What is wrong with a value of a type, as the end of a sentence; None where a run takes it, or where only a run can tell."""
    if depth > _DEEPEST or types.is_broken(type_):
        return None
    item = item_of(type_)
    if item is not None:
        listed = _parsed(value)
        if not isinstance(listed, list):
            return f"it is not a list ({type_})"
        return next((why for part in listed if (why := why_not(part, item, types, depth + 1))), None)
    words, fields, kinds = types.words_of(type_), types.fields_of(type_), types.kinds_of(type_)
    if words is not None:
        text = None if value is None or isinstance(value, (list, dict)) else _said(value)
        if text is not None and read_word(text, words) is not None:
            return None
        return f"it is none of {', '.join(words[:_MOST_NAMED])}"
    if fields is not None:
        return _record(_parsed(value), type_, fields, types, depth)
    if kinds is not None:
        return _union(_parsed(value), kinds, types, depth)
    return _plain(value, next((above for above in types.ancestors(type_) if above in BUILT_IN), type_))


def _plain(value: object, kind: str) -> str | None:
    """What is wrong with a value of a built-in type."""
    if kind in (JSON, ANY) or is_variable(kind):
        return None if is_json(value) else "it holds a number that JSON does not have"
    if kind == BOOL:
        return "it is neither true nor false" if read_bool(value) is None else None
    if kind == NUMBER:
        return "it is not a number" if read_number(value) is None else None
    if value is None:
        return "it is empty"
    if kind not in (CODE, WORKFLOW):
        return None
    if isinstance(value, (list, dict)):
        return "it is not text"
    text = _said(value)
    if any(mark in text for mark in ("```", "~~~")):
        return None  # a run takes what is in the fence, if it can be used
    return _no_code(text) if kind == CODE else _no_workflow(text.strip())


def _no_code(text: str) -> str | None:
    try:
        body = parse_python(textwrap.dedent(text)).body
    except SyntaxError as problem:
        where = "" if problem.lineno is None else f" (line {problem.lineno})"
        return f"it is not Python code{where}"
    mere = (ast.Name, ast.Constant, ast.Attribute)
    if all(isinstance(statement, ast.Expr) and isinstance(statement.value, mere) for statement in body):
        return "it is not a program"
    return None


@lru_cache(maxsize=16)
def _no_workflow(text: str) -> str | None:
    """What is wrong with a workflow as text, which can name no file."""
    from merrow_analysis.check import analyse  # which checks by these rules
    from merrow_analysis.workflow_values import oversized

    if not text:
        return "it is empty"
    for why in oversized(text):
        return why[0].lower() + why[1:].rstrip(".")
    files = NoFiles(lambda path: f"{path} can't be read: a workflow in a `default:` can name no file.")
    analysis = analyse(text, provider=files, config=Config(), as_workflow=True)
    first = next(iter(analysis.errors), None)
    if first is not None:
        return f"in its line {first.range.start.line + 1}: {first.message.rstrip('.')}"
    if analysis.typed is None:
        return "it is not a workflow"
    beyond = next(iter(acting(analysis.typed)), None)
    if beyond is not None:
        return f"its {beyond.id} is a {beyond.operator}, and such a workflow can only ask models"
    if analysis.settings.stores:
        return "it has `stores`, and such a workflow can only ask models"
    inputs, outputs = list(analysis.typed.inputs), list(analysis.typed.outputs)
    asked = [node for node in inputs if "default" not in node.resolution.parameters] or inputs
    if len(asked) != 1:
        return f"it must have one input, which is given the problem, and has {len(asked)}"
    return None if len(outputs) == 1 else f"it must have one output, which gives its result, and has {len(outputs)}"


def _record(given: object, type_: Type, fields: Mapping[str, Type], types: TypeTable, depth: int) -> str | None:
    if not isinstance(given, dict):
        return f"it is not an object with {', '.join(fields)}"
    written = {str(name).strip().casefold(): name for name in reversed(given)}
    taken = set()
    for name, wanted in fields.items():
        key = name if name in given else written.get(name.casefold())
        if key is None:
            return f"its field {name} is missing"
        taken.add(key)
        if why := _in_field(given[key], wanted, types, depth):
            return f"in its field {name}, {why}"
    extra = next((key for key in given if key not in taken), None)
    return None if extra is None else f"{extra} is not a field of {type_}"


def _in_field(value: object, type_: Type, types: TypeTable, depth: int) -> str | None:
    if isinstance(value, (list, dict)) and _is_text(type_, types):
        return "it is not text"
    return why_not(value, type_, types, depth + 1)


def _is_text(type_: Type, types: TypeTable) -> bool:
    if item_of(type_) is not None or type_ == ANY or is_variable(type_):
        return False
    if types.words_of(type_) is not None or types.fields_of(type_) is not None or types.kinds_of(type_) is not None:
        return False
    return not any(above in (BOOL, NUMBER, JSON) for above in types.ancestors(type_))


def _union(given: object, kinds: tuple[Type, ...], types: TypeTable, depth: int) -> str | None:
    """A value with its kind; the fields of a record may also stand beside the kind."""
    if not isinstance(given, dict):
        return f"it is not an object with {KIND} and {VALUE}"
    written = given.get(KIND)
    named = {kind.casefold(): kind for kind in kinds}
    kind = named.get(written.strip().casefold()) if isinstance(written, str) else None
    if kind is None:
        return f"its {KIND} is none of {', '.join(kinds[:_MOST_NAMED])}"
    beside = {key: part for key, part in given.items() if key != KIND}
    why = f"its {VALUE} is missing"
    if beside.keys() == {VALUE}:
        reason = _in_field(beside[VALUE], kind, types, depth)
        if reason is None:
            return None
        why = f"in its {VALUE}, {reason}"
    fields = types.fields_of(kind)
    if fields is not None and _record(beside, kind, fields, types, depth + 1) is None:
        return None
    return why


def _parsed(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _said(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
