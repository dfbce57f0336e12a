"""What a user's own settings say that may be done with tools. No file that can be shared says it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol


class Permissions(Protocol):
    """What a user lets workflows do with tools."""

    def may_use(self, tool: str) -> bool:
        """Whether nobody need be asked before a tool, such as ``web.search``, is used."""
        ...

    def may_repeat(self, tool: str) -> bool:
        """Whether using a tool again with the same arguments does no harm."""
        ...


@dataclass(frozen=True, slots=True)
class NamedPermissions:
    """Permissions for these tools and no others."""

    allowed: Collection[str] = ()
    repeatable: Collection[str] = ()

    def may_use(self, tool: str) -> bool:
        """See `Permissions.may_use`."""
        return tool in self.allowed

    def may_repeat(self, tool: str) -> bool:
        """See `Permissions.may_repeat`."""
        return tool in self.repeatable


NO_PERMISSIONS = NamedPermissions()
