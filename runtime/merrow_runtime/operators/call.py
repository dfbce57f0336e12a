"""Call: runs another workflow, a file or one that is planned, and gives what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from merrow_runtime.operators.base import Task, Tools
from merrow_runtime.operators.questions import ModelOperator, PlannedQuestion
from merrow_runtime.values import Outputs


class Call(ModelOperator):
    """Outputs what the called workflow gives. It asks nothing itself: the nodes in there do."""

    name: ClassVar[str] = "Call"
    version: ClassVar[int] = 1
    calls: ClassVar[tuple[int, int]] = (0, 0)

    def plan(self, task: Task) -> Sequence[PlannedQuestion]:
        """See `ModelOperator.plan`."""
        del task
        return ()

    async def run(self, task: Task, tools: Tools) -> Outputs:
        """See `merrow_runtime.operators.base.Operator`."""
        return await tools.run_file({port: given[0].value for port, given in task.inputs.items()})
