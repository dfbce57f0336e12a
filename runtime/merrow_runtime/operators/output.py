"""Output: what reaches an output of a workflow, where that is validated."""

from __future__ import annotations

from typing import ClassVar

from merrow_analysis.definitions.operators import INTERFACE_CLASS
from merrow_runtime.operators.base import Task
from merrow_runtime.operators.questions import Computation, value_at
from merrow_runtime.values import Outputs


class Output(Computation):
    """Hands on what arrived first. No node names it as its operator."""

    name: ClassVar[str] = INTERFACE_CLASS
    version: ClassVar[int] = 1
    port: ClassVar[str] = "result"

    def compute(self, task: Task) -> Outputs:
        return {self.port: value_at(task, next(iter(task.inputs), self.port))}
