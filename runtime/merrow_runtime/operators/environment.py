"""Environment: begins an episode, or takes an action in it, and gives what is seen then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from merrow_runtime.operators.base import Task, Tools
from merrow_runtime.operators.questions import ModelOperator, PlannedQuestion
from merrow_runtime.requests import EnvironmentAction
from merrow_runtime.values import Outputs, as_text

ACTION, TASK = "action", "task"
ENV, OF = "env", "of"
"""Parameters of its definition: the name of the environment, and what it is."""


class Environment(ModelOperator):
    """Where an action arrives it is one step of the episode; where none does, an episode begins with what arrives at `task`."""

    name: ClassVar[str] = "Environment"
    version: ClassVar[int] = 1
    calls: ClassVar[tuple[int, int]] = (0, 0)

    def plan(self, task: Task) -> Sequence[PlannedQuestion]:
        """No model is asked."""
        del task
        return ()

    async def run(self, task: Task, tools: Tools) -> Outputs:
        step = await tools.act(action_of(task))
        return {"observation": step.observation, "done": step.done, "reward": step.reward}


def action_of(task: Task) -> EnvironmentAction:
    """What a node does in its environment."""
    parameters = task.node.parameters
    action, given = task.inputs.get(ACTION), task.inputs.get(TASK)
    of = parameters[OF]
    assert isinstance(of, dict)  # noqa: S101 (as it is made)
    if action:
        return EnvironmentAction(str(parameters[ENV]), of, as_text(action[0].value), None)
    return EnvironmentAction(str(parameters[ENV]), of, None, given[0].value if given else None)
