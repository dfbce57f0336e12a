"""Records that a run makes several of for each call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

__all__ = ["record"]

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:

    def record(*, frozen: bool, slots: bool) -> Any:
        """`dataclasses.dataclass`, frozen for the type checker alone.

        Python freezes a dataclass by a call for each field whenever one is made. A dozen records are made for each call
        to a model, and that would take a seventh of all that the runtime does for it.
        """
        return dataclass(slots=slots, unsafe_hash=frozen)
