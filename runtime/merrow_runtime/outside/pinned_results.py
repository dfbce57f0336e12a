"""Whether what a tool gave is what its pin says that it gives."""

from __future__ import annotations

from typing import Any

from merrow_analysis.bounded.schema_check import SchemaRefusedError
from merrow_analysis.bounded.schemas import first_fault
from merrow_analysis.tools.pins import PinnedTool
from merrow_runtime.errors import ToolFailure


def check_result(tool: str, pin: PinnedTool | None, structured: Any) -> None:
    """Raise `ToolFailure` where the structured result of a tool does not fit its pinned ``outputSchema``. The tool has done what
    it does by then, so that it is not called again.
    """
    schema = None if pin is None else pin.output_schema
    if schema is None:
        return
    if structured is None:
        raise ToolFailure(
            f"The tool {tool} gave no structured result, although its pinned `outputSchema` describes one.",
            answered=True,
        )
    try:
        fault = first_fault(schema, structured)
    except SchemaRefusedError as problem:
        raise ToolFailure(
            f"The result of the tool {tool} can't be checked: its pinned `outputSchema` {problem}.", answered=True
        ) from None
    if fault is not None:
        where = f" at {fault.place}" if fault.place else ""
        raise ToolFailure(
            f"The tool {tool} gave a result that does not fit its pinned `outputSchema`{where}: {fault.message}.",
            answered=True,
        )
