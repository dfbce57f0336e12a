"""Entities such as ``#quot;``: markers while the text is lexed, shown as in the source everywhere else."""

from __future__ import annotations

import re

ENTITY_OPEN = "\ufdd0"
"""Stands for the ``#`` of an entity; like Mermaid's own marker it is no letter, so outside a label it is an error."""
ENTITY_CLOSE = "\ufdd1"

_ENTITY = re.compile(r"#(\w+);", re.ASCII)


def show_entities(text: str) -> str:
    """The text with each entity marker written as the ``#`` or ``;`` that it stands for."""
    if ENTITY_OPEN in text:
        return text.replace(ENTITY_OPEN, "#").replace(ENTITY_CLOSE, ";")
    return text


def hide_entities(text: str) -> str:
    """The text, as long as before, with markers for the ``#`` and ``;`` of each entity: `show_entities` undoes it."""
    return _ENTITY.sub(rf"{ENTITY_OPEN}\1{ENTITY_CLOSE}", text) if "#" in text else text
