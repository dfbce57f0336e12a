"""Pass: hands on what it is given, or makes a record of it."""

from __future__ import annotations

from typing import ClassVar

from merrow_analysis.definitions.types import Type, item_of
from merrow_runtime.operators.base import Given, Task
from merrow_runtime.operators.formats.shapes import ValueShape
from merrow_runtime.operators.questions import Computation, default_port, output_shape, value_at
from merrow_runtime.values import Outputs, Value


class Pass(Computation):
    """Outputs its value as it came. With ``returns: Record`` each port gives a field of the record. It asks nothing."""

    name: ClassVar[str] = "Pass"
    version: ClassVar[int] = 1

    def compute(self, task: Task) -> Outputs:
        port = default_port(task.node)
        if "returns" not in task.node.parameters:
            return {port: value_at(task, port)}
        fields = output_shape(task.node, port).parts
        return {port: {name: _field(task, name, shape) for name, shape in fields}}


def _field(task: Task, name: str, shape: ValueShape) -> Value:
    if shape.kind != "list":
        return value_at(task, name)
    items: list[Value] = []
    for given in task.inputs.get(name, ()):
        items += given.value if isinstance(given.value, list) and _is_whole(given, shape) else [given.value]
    return items


def _is_whole(given: Given, shape: ValueShape) -> bool:
    """Whether a list that arrived is all of the field's list, or but one item of a list of lists."""
    return _depth(given.type) >= _depth(shape.type)


def _depth(type_: Type) -> int:
    depth = 0
    while (item := item_of(type_)) is not None:
        type_, depth = item, depth + 1
    return depth
