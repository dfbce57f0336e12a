"""Remember: adds a text to a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from merrow_runtime.operators.base import Task, Tools
from merrow_runtime.operators.questions import ModelOperator, PlannedQuestion, default_port, text_at
from merrow_runtime.operators.retrieve import STORE
from merrow_runtime.values import Outputs

STEP = "remember"


class Remember(ModelOperator):
    """Adds its text to a store, once, and outputs it. It asks no model."""

    name: ClassVar[str] = "Remember"
    version: ClassVar[int] = 1
    calls: ClassVar[tuple[int, int]] = (0, 0)

    def plan(self, task: Task) -> Sequence[PlannedQuestion]:
        """No model is asked."""
        del task
        return ()

    async def run(self, task: Task, tools: Tools) -> Outputs:
        text = text_at(task, "text")
        await tools.remember(STEP, str(task.node.parameters[STORE]), text)
        return {default_port(task.node): text}
