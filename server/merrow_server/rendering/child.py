"""A child of two workflows as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from merrow_optimizer.crossover.children import Child
from merrow_optimizer.mutations.operator_names import CROSSOVER


def child_object(child: Child, files: Sequence[str]) -> dict[str, Any]:
    """``child`` with its cuts and its text; ``files`` are the parents' names."""
    cuts = [
        {
            "parent": name,
            "file": file,
            "places": [
                {"title": place.title, "values": place.values, "into": place.into, "type": place.type}
                for place in places
            ],
        }
        for name, file, places in zip("AB", files, child.cuts, strict=True)
    ]
    return {"id": child.id, "operator": CROSSOVER, "title": child.title, "cuts": cuts, "text": child.text}
