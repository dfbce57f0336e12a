"""Completion of variables in prompts that are templates."""

from __future__ import annotations

import re

from merrow_analysis.ide.completion.items import CompletionItems
from merrow_analysis.ide.cursor.lookup import spot
from merrow_analysis.places.template_places import templates_of

_OPENED = re.compile(r"(\{+)([\w-]*)$")


def variable_items(items: CompletionItems) -> bool:
    """Add the ports that may be named behind the brace at the cursor; False where there is no such brace."""
    opened = _OPENED.search(items.line[: items.position.column])
    here = spot(items.analysis, items.position)
    if opened is None or len(opened[1]) % 2 == 0 or here is None:
        return False
    closed = items.line[items.position.column :].lstrip().startswith("}")
    for template in templates_of(items.analysis):
        start, end = template.span
        if template.block is not here.block or not start <= here.offset <= end:
            continue
        for node in template.nodes:
            for rank, port in enumerate(node.input_ports):
                items.add(
                    port.name,
                    "port",
                    items.range(len(opened[2])),
                    rank=rank,
                    text=port.name if closed else f"{port.name}}}",
                    detail=port.type,
                    subject=("port", node.id, port.name),
                )
        return True
    return False
