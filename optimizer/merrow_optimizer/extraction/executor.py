"""The single step that a search with extracted operators begins from, as A2Flow's does: it is told to solve the problem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from merrow_analysis.definitions.types import ENTRY_POINT

_FRAME = """\
flowchart TD
    PROBLEM([Problem])
{inputs}    EXECUTE["{operator}<br/>"]
    RETURN([Answer])
    PROBLEM -->|{port}| EXECUTE
{edges}    EXECUTE --> RETURN
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2,stroke-width:2px
    class {interface} Interface
    {prompt}
"""


def executor(inputs: Iterable[str]) -> str | None:
    """The text of a workflow of one step with these inputs, by id: a Custom that solves the problem, or where there is an entry
    point the operator that writes code. None for other inputs, which one step would leave unread.
    """
    names = {name.upper() for name in inputs}
    if not names <= {"PROBLEM", "ENTRY_POINT"} or "PROBLEM" not in names:
        return None
    is_code = "ENTRY_POINT" in names
    prompt = "Write the function that the problem asks for." if is_code else "Solve the problem."
    return _FRAME.format(
        inputs="    ENTRY_POINT([entry_point])\n" if is_code else "",
        operator="CustomCodeGenerate" if is_code else "Custom",
        port="problem" if is_code else "input",
        edges="    ENTRY_POINT -->|entry_point| EXECUTE\n" if is_code else "",
        interface="PROBLEM,ENTRY_POINT,RETURN" if is_code else "PROBLEM,RETURN",
        prompt=f'EXECUTE@{{ prompt: "{prompt}" }}',
    )


def inputs_for(operators: Mapping[str, Any]) -> tuple[str, ...]:
    """The inputs of a workflow that these declarations of operators suit: with an entry point where one of them reads it."""
    read = [body.get("inputs") for body in operators.values() if isinstance(body, dict)]
    is_code = any(ENTRY_POINT in map(str, ports.values()) for ports in read if isinstance(ports, dict))
    return ("PROBLEM", "ENTRY_POINT") if is_code else ("PROBLEM",)
