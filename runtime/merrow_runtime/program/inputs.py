"""What is given to the input nodes of a workflow, as values of their types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from merrow_analysis.definitions.types import ANY, Type, TypeTable
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.graph.placing.ports import INPUT_OUTPUT
from merrow_analysis.suggest import closest
from merrow_runtime.errors import AnswerFailure, UsageFailure
from merrow_runtime.operators.formats.shapes import coerce, is_of, shape_of
from merrow_runtime.program.definitions import meanings_of
from merrow_runtime.values import Value


@dataclass(frozen=True, slots=True)
class MissingInput:
    """An input without a value, and its type as it is written. ``read`` makes a value of a text and raises `UsageFailure` where
    the type doesn't take it.
    """

    id: str
    type: str
    read: Callable[[str], Value]


class MissingInputs(UsageFailure):
    """Inputs have no value. Ask the user for each of ``missing``, then begin again with what is given."""

    def __init__(self, missing: Sequence[MissingInput]) -> None:
        self.missing = tuple(missing)
        first, others = missing[0].id, [node.id for node in missing[1:]]
        also = f" (and {', '.join(others)})" if others else ""
        super().__init__(f"The input {first}{also} has no value; give it one with: --input {first.lower()}=...")


def read_inputs(graph: TypedGraph, given: Mapping[str, Value]) -> dict[str, Value]:
    """The value of each input node, by id. ``given`` names nodes in any case; a node that it doesn't name has its
    ``default``. Of the inputs of a drawing some may be left out where another one is given: these bring nothing.

    Raises `MissingInputs` where inputs have no value, `UsageFailure` for a name that no input has, and a value that its type
    doesn't take.
    """
    nodes = {node.id: node for node in graph.inputs}
    values: dict[str, Value] = {}
    for name, value in given.items():
        node = input_named(nodes, name)
        if node is None:
            near = closest(name, nodes)
            hint = f"Did you mean {near}?" if near else f"Its inputs are: {', '.join(nodes) or 'none'}."
            raise UsageFailure(f"The workflow has no input {name}. {hint}")
        if node.id in values:
            raise UsageFailure(f"The input {node.id} is given twice.")
        values[node.id] = typed_value(value, type_of_input(node), graph.types, f"The input {node.id}")
    missing: list[MissingInput] = []
    for node in graph.inputs:
        if node.id in values:
            continue
        default = node.resolution.parameters.get("default")
        if default is None or default.value is None:
            type_ = type_of_input(node)
            read = partial(typed_value, type_=type_, types=graph.types, what=f"The input {node.id}")
            missing.append(MissingInput(node.id, str(type_), read))
            continue
        values[node.id] = typed_value(
            default.value,  # type: ignore[arg-type]
            type_of_input(node),
            graph.types,
            f"The default of input {node.id}",
        )
    if missing and not (given and graph.core.reading.drawn):
        raise MissingInputs(missing)
    return {node.id: values[node.id] for node in graph.inputs if node.id in values}


def type_of_input(node: TypedNode) -> Type:
    """The type of what an input node gives."""
    return node.outputs.get(INPUT_OUTPUT) or ANY


def typed_value(value: Value, type_: Type, types: TypeTable, what: str) -> Value:
    """``value`` as one of ``type_``: text stays as it is, ``"3"`` is a Number and ``"yes"`` a Bool where one is wanted.

    Raises `UsageFailure` about ``what``.
    """
    shape = shape_of(type_, *meanings_of([type_], types))
    if is_of(value, shape):
        return value
    try:
        if shape.kind in ("text", "code") and not isinstance(value, (dict, list)):
            return str(value)
        return coerce(value, shape)
    except AnswerFailure as problem:
        raise UsageFailure(f"{what} must be of type {type_}: {problem}") from None


def with_defaults(graph: TypedGraph, defaults: Mapping[str, Value], given: Mapping[str, Value]) -> dict[str, Value]:
    """What inputs are given, in whatever spelling, and the ``defaults``, by id, of the others."""
    nodes = {node.id: node for node in graph.inputs}
    named = [node.id for name in given if (node := input_named(nodes, name)) is not None]
    return {**{name: value for name, value in defaults.items() if name not in named}, **given}


def input_named(nodes: Mapping[str, TypedNode], name: str) -> TypedNode | None:
    """The input of a name: by its id, else by its only id that differs in case alone; None where there is none."""
    if name in nodes:
        return nodes[name]
    matches = [node for id_, node in nodes.items() if id_.casefold() == name.casefold()]
    return matches[0] if len(matches) == 1 else None
