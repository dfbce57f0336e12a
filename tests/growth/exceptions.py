"""What is known to grow faster than the text, each with its reason: nothing else may."""

from __future__ import annotations

KNOWN: dict[tuple[str | None, str | None], str] = {}
"""(shape, door), None for all of them, to the reason."""


def exception(shape: str, door: str) -> str | None:
    """Why a shape may grow faster at a door; None where it may not."""
    for key in ((shape, door), (shape, None), (None, door)):
        if key in KNOWN:
            return KNOWN[key]
    return None
