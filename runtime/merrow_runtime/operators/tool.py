"""Tool: calls a tool of a server, or a function beside the workflow, with what arrives at its ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from merrow_analysis.definitions.types import TEXT
from merrow_runtime.errors import NodeFailure
from merrow_runtime.models.redaction import quoted
from merrow_runtime.operators.base import Task, Tools
from merrow_runtime.operators.formats.shapes import shown
from merrow_runtime.operators.questions import ModelOperator, PlannedQuestion, value_of_type
from merrow_runtime.requests import ToolCall
from merrow_runtime.values import Outputs, Value, as_text

STEP = "tool"
PIN, GIVEN, TAKES, WHOLE = "pin", "given", "takes", "whole"
"""Parameters of its definition beside ``tool``: the hash of the pin, the arguments that the workflow says itself, the types of
the others, and the names of those that are whole numbers.
"""


class Tool(ModelOperator):
    """Its ports are the parameters of the tool as it is pinned; its outputs are the fields of the result, or its text."""

    name: ClassVar[str] = "Tool"
    version: ClassVar[int] = 1
    calls: ClassVar[tuple[int, int]] = (0, 0)

    def plan(self, task: Task) -> Sequence[PlannedQuestion]:
        """No model is asked."""
        del task
        return ()

    async def run(self, task: Task, tools: Tools) -> Outputs:
        node = task.node
        call = ToolCall(str(node.parameters["tool"]), str(node.parameters[PIN]), arguments_of(task))
        result = await tools.use(STEP, call)
        if result.refused:
            raise NodeFailure.of(node.id, result.text)
        if result.failed:
            raise NodeFailure.of(node.id, f"the tool {call.tool} failed. It says: {quoted(result.text)}")
        if list(node.outputs.values()) == [TEXT] and result.fields is None:
            return dict.fromkeys(node.outputs, result.text)
        return {port: _field(node.outputs, result.fields, port) for port in node.outputs}


def arguments_of(task: Task) -> dict[str, Any]:
    """What the tool is called with: what arrives at the ports, and what the workflow says itself. Raises `NodeFailure`."""
    parameters = task.node.parameters
    given, takes, whole = parameters[GIVEN], parameters[TAKES], parameters[WHOLE]
    assert isinstance(given, dict) and isinstance(takes, dict) and isinstance(whole, list)  # noqa: S101, PT018 (as they are made)
    arguments = dict(given)
    for port, type_ in takes.items():
        if port not in task.inputs:
            continue
        value = value_of_type(task, port, str(type_))
        arguments[port] = as_text(value) if type_ == TEXT else value
    for name in map(str, whole):
        number = arguments.get(name)
        if isinstance(number, float):
            if not number.is_integer():
                raise NodeFailure.of(
                    task.node.id, f"its port `{name}` takes whole numbers, and {shown(number)} is none."
                )
            arguments[name] = int(number)
    return arguments


def _field(outputs: Mapping[str, str], fields: Mapping[str, Any] | None, port: str) -> Value:
    """What a result has at an output. One that may be absent is Json, and then null."""
    if fields is None:
        return None
    if port in fields:
        value: Value = fields[port]
        return value
    return dict(fields) if list(outputs) == ["result"] else None
