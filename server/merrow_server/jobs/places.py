"""Where the workflows that the journal names are."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def place_of(workflow: str) -> dict[str, Any]:
    """The document and the number of the diagram that a workflow's name in the journal means."""
    name, mark, number = workflow.rpartition("#")
    if not mark or not number.isdecimal():
        name, number = workflow, "1"
    path = Path(name)
    uri = path.as_uri() if path.is_absolute() else name if ":" in name else None
    return {"uri": uri, "diagram": int(number[:9])}
