"""What a program has in place of what only the runtime can hold: it stands in for it where code is cut out."""

from __future__ import annotations

from typing import Any

from merrow_runtime.errors import AnswerFailure
from merrow_runtime.models.prices import PriceTable

GUESTS: dict[str, str] = {}
"""The sources of the modules that a sandboxed process is sent, by name; filled in where a program may run code."""


def title_of(node: Any) -> str:
    """For `merrow_runtime.program.titles.title_of`: the program's table has it."""
    title: str = node.title
    return title


def packaged_prices() -> PriceTable:
    """For `merrow_runtime.models.prices.packaged_prices`: a program counts tokens, and no money."""
    return PriceTable()


def guest_source(name: str) -> str:
    """For `merrow_runtime.sandbox.process.guest_source`: the program has it itself."""
    return GUESTS[name]


def read_workflow(text: str) -> str:
    """For `merrow_runtime.operators.formats.planned.read_workflow`: no compiled workflow asks for workflows."""
    raise AnswerFailure(f"A workflow ({len(text)} characters) can't be read without Merrow.")


def problem_of(text: str) -> str:
    """For `merrow_runtime.operators.formats.planned.problem_of`."""
    return f"A workflow ({len(text)} characters) can't be read without Merrow."


OFFLINE_HINT = ""
"""For `merrow_runtime.models.connections.OFFLINE_HINT`: a program has no model of its own."""
EMPTY = ""
"""For `merrow_runtime.operators.formats.planned.EMPTY`."""
