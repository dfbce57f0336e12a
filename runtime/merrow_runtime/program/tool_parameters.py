"""What a Tool runs with: its pin, its constants, and what its ports take."""

from __future__ import annotations

from collections.abc import Iterable

from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.resolve import constants_of
from merrow_analysis.tools.pins import PinnedTool
from merrow_runtime.operators.base import NodeDefinition
from merrow_runtime.operators.tool import GIVEN, PIN, TAKES, WHOLE, Tool
from merrow_runtime.values import Value


def pin_text(pin: PinnedTool) -> str:
    """What a pin is known by: the hash of what the tool says of itself, and of its file where it has one."""
    return pin.sha256 if pin.file is None else f"{pin.sha256}:{pin.file}"


def tool_parameters(node: TypedNode) -> dict[str, Value]:
    """The parameters of a Tool's definition beside those that are written (`merrow_runtime.operators.tool`)."""
    tool, spec = node.resolution.tool, node.spec
    assert tool is not None and tool.pin is not None and tool.signature is not None and spec is not None  # noqa: S101, PT018 (it was checked)
    whole: list[Value] = [parameter.name for parameter in tool.signature.parameters if parameter.whole]
    required = tool.pin.input_schema.get("required")
    named = required if isinstance(required, list) else []
    # What must be there and may be null is null where nothing gives it.
    nothing = {
        parameter.name: None
        for parameter in tool.signature.parameters
        if parameter.nullable and parameter.name in named
    }
    return {
        "tool": tool.name,
        PIN: pin_text(tool.pin),
        GIVEN: {**nothing, **constants_of(node.resolution).values},
        # What arrives at another port is only waited for.
        TAKES: {port.name: port.type for port in spec.inputs if tool.signature.parameter(port.name) is not None},
        WHOLE: whole,
    }


def tools_of(definitions: Iterable[NodeDefinition]) -> dict[tuple[str, str], str]:
    """What nodes call: tools by their names in workflows and their pins, each with the id of the first node that calls it."""
    calling: dict[tuple[str, str], str] = {}
    for node in definitions:
        if node.operator == Tool.name and node.spec is None:
            calling.setdefault((str(node.parameters["tool"]), str(node.parameters[PIN])), node.id)
    return calling
