"""What a Tool runs with: its pin, its constants, and what its ports take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from merrow_analysis.definitions.operators import DEFAULT_STEPS
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.resolve import constants_of, may_ask_person
from merrow_analysis.tools.listed import PERSON
from merrow_analysis.tools.pins import PINS_FILE, PinnedTool, PinsError, read_pins
from merrow_runtime.operators.agents.offers import DESCRIPTION, MAX, NAME, SCHEMA, TOOLS, offered_tools
from merrow_runtime.operators.agents.tool_agent import ToolAgent
from merrow_runtime.operators.base import NodeDefinition
from merrow_runtime.operators.environment import OF, Environment
from merrow_runtime.operators.tool import GIVEN, PIN, TAKES, WHOLE, Tool
from merrow_runtime.program.workflow_files import whole_path
from merrow_runtime.values import Value

if TYPE_CHECKING:
    from merrow_runtime.workflow import Workflow


ENVIRONMENT_CALLS = ("reset", "step")
"""The tools that a server of an environment has."""
UNPINNED = "not pinned"
GYMNASIUM = "gymnasium "
"""In the place of pins, of tools of environments: their schemas are those of the language. The second is before an id."""


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


def agent_parameters(node: TypedNode) -> dict[str, Value]:
    """The parameters of an agent's definition: the tools that it may use, and in how many steps
    (`merrow_runtime.operators.agents.offers`).
    """
    offered: list[Value] = []
    for tool in node.resolution.tools:
        assert tool.pin is not None  # noqa: S101 (it was checked)
        said = "\n".join(words for words in (tool.pin.title, tool.pin.description) if words.strip())
        offered.append(
            {NAME: tool.name, PIN: pin_text(tool.pin), DESCRIPTION: said, SCHEMA: dict(tool.pin.input_schema)}
        )
    if may_ask_person(node.resolution):
        offered.append({NAME: PERSON, PIN: "", DESCRIPTION: "", SCHEMA: {}})
    most = node.resolution.parameters.get(MAX)
    return {TOOLS: offered, MAX: DEFAULT_STEPS if most is None or most.value is None else int(str(most.value))}


def pins_of(workflow: Workflow) -> dict[tuple[str, str], PinnedTool]:
    """What was pinned when a workflow was read, by name and by what each pin is known by."""
    found: dict[tuple[str, str], PinnedTool] = {}
    for path, file in workflow.files.items():
        if path.rpartition("/")[2] == PINS_FILE and "text" in file:
            with suppress(PinsError):
                servers = read_pins(file["text"]).servers.values()
                found.update({(pin.full_name, pin_text(pin)): pin for tools in servers for pin in tools.values()})
    return found


def folder_of(reached: Workflow, root: Path | None) -> Path:
    """The folder of a workflow's file, or of one that it calls. ``root`` is that of the workflow that is run; None, where that is
    not in a file, stands for the current folder.
    """
    return (Path.cwd() if root is None else root) / PurePosixPath(reached.place).parent


def root_of(workflow: Workflow) -> Path | None:
    """The folder of the file of the workflow that is run; None where it has none."""
    return None if workflow.path is None else Path(whole_path(workflow.name)).parent


def tools_of(definitions: Iterable[NodeDefinition], *, agents: bool = True) -> dict[tuple[str, str], str]:
    """What nodes call: tools by their names in workflows and their pins, each with the id of the first node that calls it; those
    that models may call with ``agents``.
    """
    calling: dict[tuple[str, str], str] = {}
    for node in definitions:
        if node.operator == Tool.name and node.spec is None:
            calling.setdefault((str(node.parameters["tool"]), str(node.parameters[PIN])), node.id)
        elif node.operator == Environment.name and node.spec is None:
            of = node.parameters[OF]
            assert isinstance(of, dict)  # noqa: S101 (as it is made)
            for call in ENVIRONMENT_CALLS:
                if (tool := environment_tool(of, call)) is not None:
                    calling.setdefault(tool, node.id)
        elif agents and node.operator == ToolAgent.name and node.spec is None:
            for name, pin in offered_tools(node):
                if name != PERSON:
                    calling.setdefault((name, pin), node.id)
    return calling


def environment_tool(of: Mapping[str, Any], call: str) -> tuple[str, str] | None:
    """The tool that resets an environment or takes a step in it, as `tools_of` has tools; None for one that is shipped. ``of``
    says which environment it is.
    """
    if "server" in of:
        return f"{of['server']}.{call}", UNPINNED
    if "gymnasium" in of:
        return f"gymnasium.{call}", f"{GYMNASIUM}{of['gymnasium']}"
    return None
