"""Workflows that use tools, and what is found in them."""

from __future__ import annotations

from tests.analysis.rule_page import GivenFiles
from tests.people.flows import ENDS
from tests.tools.pinned import PINS

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.rules.configuration import Config
from merrow_analysis.tools.permissions import NO_PERMISSIONS, Permissions
from merrow_analysis.tools.pins import PINS_FILE, Pins

CLASSES = "    classDef Interface fill:#eee\n"
NOT_SAID = ("MW302", "MW507")
"""Hints that nearly all of these have."""


def flow(tools: str, *lines: str, more: str = "") -> str:
    """A workflow with these tools in its front matter, and these lines."""
    front = f"---\nworkflow:\n  tools: [{tools}]\n{more}---\n"
    return front + ENDS + "".join(f"    {line}\n" for line in lines) + CLASSES


def price(parameters: str) -> str:
    """A workflow with one Tool, whose parameter `article` an edge feeds."""
    return flow(
        "shop.price",
        f"PRICE@{{ op: Tool, tool: shop.price{parameters} }}",
        "PROBLEM -->|article| PRICE",
        "PRICE -->|currency:result| RETURN",
    )


def checked(
    text: str, pins: Pins | str | None = PINS, permissions: Permissions = NO_PERMISSIONS, **files: str
) -> Analysis:
    """The analysis of a workflow beside a file of pins, and others."""
    written = {} if pins is None else {PINS_FILE: pins if isinstance(pins, str) else pins.text()}
    provider = GivenFiles({**written, **{name.replace("_", "."): body for name, body in files.items()}})
    return analyse(text, path="flow.mmd", provider=provider, config=Config(permissions=permissions))


def found(
    text: str, pins: Pins | str | None = PINS, permissions: Permissions = NO_PERMISSIONS
) -> list[tuple[str, str]]:
    """The codes and messages of its findings, without what nearly all of these have."""
    findings = checked(text, pins, permissions).diagnostics
    return [(one.code, one.message) for one in findings if one.code not in NOT_SAID]
