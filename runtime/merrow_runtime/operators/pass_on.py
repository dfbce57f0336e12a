"""Pass: hands on what it is given, or makes a record of it."""

from __future__ import annotations

from typing import ClassVar

from merrow_runtime.operators.base import Task
from merrow_runtime.operators.questions import Computation, default_port, output_shape, value_at, value_of_type
from merrow_runtime.values import Outputs


class Pass(Computation):
    """Outputs its value as it came. With ``returns: Record`` each port gives a field of the record. It asks nothing."""

    name: ClassVar[str] = "Pass"
    version: ClassVar[int] = 1

    def compute(self, task: Task) -> Outputs:
        port = default_port(task.node)
        if "returns" not in task.node.parameters:
            return {port: value_at(task, port)}
        fields = output_shape(task.node, port).parts
        return {port: {name: value_of_type(task, name, shape.type) for name, shape in fields}}
