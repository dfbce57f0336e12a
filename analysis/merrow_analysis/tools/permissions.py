"""What a user's own settings say that may be done with tools. No file that can be shared says it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Permissions:
    """``allowed`` are the tools that may be used without asking a person, ``repeatable`` those that may be used again with the
    same arguments: names such as ``web.search``, or ``web.*`` for all tools of a server.
    """

    allowed: frozenset[str] = frozenset()
    repeatable: frozenset[str] = frozenset()

    def may_use(self, tool: str) -> bool:
        """Whether nobody need be asked before a tool is used."""
        return _names(self.allowed, tool)

    def may_repeat(self, tool: str) -> bool:
        """Whether using a tool again does no harm."""
        return _names(self.repeatable, tool)


def _names(names: frozenset[str], tool: str) -> bool:
    return tool in names or f"{tool.partition('.')[0]}.*" in names


NO_PERMISSIONS = Permissions()
