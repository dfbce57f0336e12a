"""The name that generated code must define."""

from __future__ import annotations

import keyword

from merrow_runtime.errors import NodeFailure
from merrow_runtime.operators.base import Task
from merrow_runtime.operators.questions import text_at


def entry_point_of(task: Task) -> str | None:
    """What arrived at the port ``entry_point``, None where nothing did.

    Raises `NodeFailure` for what can't name a function: the name goes into instructions, which data must not.
    """
    if not task.inputs.get("entry_point"):
        return None
    name = text_at(task, "entry_point").strip()
    if not name.isidentifier() or keyword.iskeyword(name):
        short = " ".join(name.split())[:40]
        raise NodeFailure.of(
            task.node.id, f"the entry point `{short}` can't name a function; give the bare name, such as `solve`."
        )
    return name
