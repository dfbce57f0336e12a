"""What a reader makes of a record, before its id is settled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ItemDraft:
    """An item that has no id of its own yet, perhaps. ``id`` is what the record has for one, None where it has none."""

    id: Any
    inputs: Mapping[str, Any]
    gold: Any
    extra: Mapping[str, Any] = field(default_factory=dict)


class FieldFault(Exception):  # noqa: N818 (it is collected, not reported on its own)
    """A value of a record that can't be used, in a sentence; ``field`` has the value."""

    def __init__(self, sentence: str, field: str) -> None:
        super().__init__(sentence)
        self.field = field
