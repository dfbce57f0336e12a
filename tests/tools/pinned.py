"""Pins for tests: five tools of three servers."""

from __future__ import annotations

from typing import Any

from merrow_analysis.tools.pins import NO_PINS, Pins, pinned


def schema(required: list[str], /, **properties: Any) -> dict[str, Any]:
    """The schema of an object with these properties."""
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


TEXT, WHOLE, TRUTH = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
TOOLS: dict[str, dict[str, dict[str, Any]]] = {
    "web": {
        "search": {
            "description": "Search the web.",
            "inputSchema": schema(["query"], query=TEXT, limit=WHOLE),
            "outputSchema": schema(
                ["summary", "hits"], summary=TEXT, hits={"type": "array", "items": {"type": "object"}}
            ),
            "annotations": {"readOnlyHint": True},
        },
        "fetch": {
            "description": "Fetch a page.",
            "inputSchema": schema(["url"], url=TEXT),
            "annotations": {"readOnlyHint": True},
        },
    },
    "mail": {
        "send": {
            "description": "Send a mail.",
            "inputSchema": schema(["to", "subject"], to=TEXT, subject=TEXT, body=TEXT, urgent=TRUTH),
            "annotations": {"destructiveHint": True},
        }
    },
    "shop": {
        "price": {
            "description": "The price of an article.",
            "inputSchema": schema(["article"], article=TEXT, count=WHOLE, grade={**TEXT, "enum": ["new", "used"]}),
            "outputSchema": schema(["price", "currency"], price={"type": "number"}, currency=TEXT),
            "annotations": {"readOnlyHint": True},
        },
        "order": {
            "description": "Order an article.",
            "inputSchema": schema(["article", "count"], article=TEXT, count=WHOLE),
            "outputSchema": schema(["number"], number=TEXT),
        },
    },
}
PINS: Pins = NO_PINS.with_tools(
    pinned(server, {"name": name, **tool}) for server, tools in TOOLS.items() for name, tool in tools.items()
)
