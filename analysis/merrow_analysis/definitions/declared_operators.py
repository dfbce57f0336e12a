"""Operators that a workflow's front matter or an operator library declares, in the signature form of the built-in
ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from merrow_analysis.definitions.operators import (
    BUILT_IN_TABLE,
    OPERATOR_VARIANTS,
    InputPort,
    OperatorSpec,
    OperatorTable,
    OutputPort,
)
from merrow_analysis.definitions.templates import PromptTemplate
from merrow_analysis.definitions.types import (
    BUILT_IN_TYPES,
    DefinitionProblem,
    Type,
    TypeExpressionError,
    TypeTable,
    innermost,
    item_of,
)
from merrow_analysis.suggest import closest

_PORT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_OPERATOR_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def declare_operators(
    declared: Mapping[str, Any], types: TypeTable = BUILT_IN_TYPES, *, base: OperatorTable = BUILT_IN_TABLE
) -> tuple[OperatorTable, list[DefinitionProblem]]:
    """Add operators to those of ``base``, from ``operators:`` of a front matter or an operator library.

    Each is a mapping with ``inputs``, ``outputs``, and optionally ``prompt`` and ``note``. A port is written
    ``problem: Problem``;
    ``plan?: Text`` need not be fed; ``items: list[Text]`` takes many edges; ``text: {type: Text, required: false,
    many: true}`` says all of it. A single capital letter is a type variable: ``{inputs: {draft: T}, outputs:
    {better: T}}``. What is wrong is told in the list, and left out of the table as far as it goes: an operator with
    one bad port keeps its others.
    """
    if not declared:
        return base, []
    problems: list[DefinitionProblem] = []
    specs = dict(base.specs)
    for name, body in declared.items():
        spec = _declare_one(name, body, types, specs, problems)
        if spec is not None:
            specs[spec.name.casefold()] = spec
    return OperatorTable(specs), problems


_OPERATOR_KEYS = ("inputs", "outputs", "prompt", "template", "note")


def _declare_one(
    name: object,
    body: object,
    types: TypeTable,
    known: Mapping[str, OperatorSpec],
    problems: list[DefinitionProblem],
) -> OperatorSpec | None:
    path = ("operators", str(name))
    if not isinstance(name, str) or not _OPERATOR_NAME.fullmatch(name):
        message = f"`{name}` can't name an operator: use letters, digits and `_`, starting with a letter."
        problems.append(DefinitionProblem(path, message))
        return None
    taken = known.get(name.casefold())
    if taken is not None or name.casefold() in ("interface", *OPERATOR_VARIANTS):
        what = "a built-in operator" if taken is None or taken.built_in else "declared twice (case doesn't count)"
        problems.append(DefinitionProblem(path, f"Operator `{name}` is {what}; choose another name."))
        return None
    if not isinstance(body, Mapping):
        message = (
            f"Operator `{name}` needs its ports: `{name}: {{inputs: {{problem: Problem}}, outputs: {{plan: Plan}}}}`."
        )
        problems.append(DefinitionProblem(path, message))
        return None
    for key in body:
        if key not in _OPERATOR_KEYS:
            near = closest(str(key), _OPERATOR_KEYS)
            hint = f"did you mean `{near}`?" if near else f"the keys are {', '.join(_OPERATOR_KEYS)}."
            problems.append(DefinitionProblem((*path, str(key)), f"Operator `{name}` has no key `{key}`; {hint}"))
    inputs = _input_ports(name, body.get("inputs"), types, problems)
    outputs = _output_ports(name, body.get("outputs"), inputs, types, problems)
    prompt, note = body.get("prompt"), body.get("note")
    for key, value in (("prompt", prompt), ("note", note)):
        if value is not None and not isinstance(value, str):
            problems.append(DefinitionProblem((*path, key), f"The {key} of operator `{name}` must be text."))
    template = body.get("template")
    if template is not None and not isinstance(template, bool):
        message = f"The template of operator `{name}` must be true or false."
        problems.append(DefinitionProblem((*path, "template"), message))
    only_bulk = len(inputs) == 1 and inputs[0].many
    return OperatorSpec(
        name,
        inputs,
        outputs,
        bulk=inputs[0].name if only_bulk else None,
        idle=frozenset({"format"}) if len(outputs) > 1 else frozenset(),
        prompt=None if not isinstance(prompt, str) else PromptTemplate(prompt) if template is True else prompt,
        note=note if isinstance(note, str) else "",
        built_in=False,
    )


def _entries(
    name: str, side: str, ports: object, problems: list[DefinitionProblem]
) -> list[tuple[str, str, bool, object]]:
    """Name as a port has it, key as written, whether it ends in ``?``, and meaning, of each well-named port."""
    if ports is None and side == "inputs":
        return []
    if not isinstance(ports, Mapping) or (side == "outputs" and not ports):
        needed = f"Operator `{name}` needs {side} as a mapping of port to type: `{side}: {{text: Text}}`."
        problems.append(DefinitionProblem(("operators", name, side), needed))
        return []
    entries: list[tuple[str, str, bool, object]] = []
    seen: set[str] = set()
    for key, meaning in ports.items():
        written = str(key)
        optional = written.endswith("?")
        port = written.removesuffix("?").strip()
        message: str | None = None
        if not _PORT_NAME.fullmatch(port):
            message = f"`{written}` can't name a port of operator `{name}`: use letters, digits and `_`."
        elif optional and side == "outputs":
            message = f"Output `{port}` of operator `{name}` can't be optional; write it without `?`."
        elif port in seen:
            message = f"Operator `{name}` has port `{port}` twice among its {side}."
        if message is not None:
            problems.append(DefinitionProblem(("operators", name, side, written), message))
            continue
        seen.add(port)
        entries.append((port, written, optional, meaning))
    return entries


def _input_ports(
    name: str, ports: object, types: TypeTable, problems: list[DefinitionProblem]
) -> tuple[InputPort, ...]:
    made: list[InputPort] = []
    for port, written, optional, meaning in _entries(name, "inputs", ports, problems):
        path = ("operators", name, "inputs", written)
        text, required, many = meaning, not optional, False
        if isinstance(meaning, Mapping):
            text = meaning.get("type")
            required = meaning.get("required", required)
            many = meaning.get("many", False)
            unknown = [str(key) for key in meaning if key not in ("type", "required", "many")]
            if unknown or not isinstance(required, bool) or not isinstance(many, bool):
                message = (
                    f"Port `{port}` of operator `{name}` is written `{{type: Text, required: true, many: false}}`, "
                    "where `required` and `many` are true or false."
                )
                problems.append(DefinitionProblem(path, message))
                required, many = required is not False, many is True
        type_ = _port_type(name, port, text, types, path, problems)
        if type_ is not None:
            made.append(InputPort(port, type_, required, many or item_of(type_) is not None))
    return tuple(made)


def _output_ports(
    name: str, ports: object, inputs: tuple[InputPort, ...], types: TypeTable, problems: list[DefinitionProblem]
) -> tuple[OutputPort, ...]:
    variables = {innermost(port.type) for port in inputs}
    made: list[OutputPort] = []
    for port, written, _, meaning in _entries(name, "outputs", ports, problems):
        path = ("operators", name, "outputs", written)
        text = meaning.get("type") if isinstance(meaning, Mapping) and set(meaning) == {"type"} else meaning
        type_ = _port_type(name, port, text, types, path, problems)
        if type_ is None:
            continue
        inner = innermost(type_)
        if inner not in types.parents and inner not in variables:
            message = f"Output `{port}` of operator `{name}` has type `{type_}`, but no input says what `{inner}` is."
            problems.append(DefinitionProblem(path, message))
            continue
        made.append(OutputPort(port, type_))
    return tuple(made)


def _port_type(
    name: str,
    port: str,
    text: object,
    types: TypeTable,
    path: tuple[str | int, ...],
    problems: list[DefinitionProblem],
) -> Type | None:
    if not isinstance(text, str):
        # `items: [Text]` and `items: list[Text]` look alike to a reader who knows YAML's lists.
        message = f"Port `{port}` of operator `{name}` needs a type, such as `Text` or `list[Text]`."
        problems.append(DefinitionProblem(path, message))
        return None
    try:
        return types.parse(text, variables=True)
    except TypeExpressionError as error:
        problems.append(DefinitionProblem(path, f"Port `{port}` of operator `{name}`: {error}", error.misspelled))
        return None
