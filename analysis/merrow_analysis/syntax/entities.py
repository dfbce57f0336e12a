"""Entities such as ``#quot;``: markers while the text is lexed, shown as in the source everywhere else."""

from __future__ import annotations

from merrow_analysis.syntax.reduction import ENTITY_CLOSE, ENTITY_OPEN


def show_entities(text: str) -> str:
    """The text with each entity marker written as the ``#`` or ``;`` that it stands for."""
    if ENTITY_OPEN in text:
        return text.replace(ENTITY_OPEN, "#").replace(ENTITY_CLOSE, ";")
    return text
