"""What a user lets workflows do with tools: by the user's own settings, and by consent. No file that can be shared says it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

ServerTrust = Literal["yours", "trusted", "untrusted", "unusable", "unknown"]
"""Whether a server of tools, or the file of a local tool, may be started: it is in the user's own settings, the user has agreed
to what the workspace proposes, or has not, it can't be used, or there is none.
"""


class Permissions(Protocol):
    """What a user lets workflows do with tools."""

    def may_use(self, tool: str) -> bool:
        """Whether nobody need be asked before a tool, such as ``web.search``, is used."""
        ...

    def may_repeat(self, tool: str) -> bool:
        """Whether using a tool again with the same arguments does no harm."""
        ...

    def server_trust(self, tool: str) -> ServerTrust | None:
        """Whether the server of a tool may be started, as of now; None where nobody can tell."""
        ...


@dataclass(frozen=True, slots=True)
class NamedPermissions:
    """Permissions for these tools and no others. ``servers`` says of a tool's server, by the tool's name, if it is trusted."""

    allowed: Collection[str] = ()
    repeatable: Collection[str] = ()
    servers: Mapping[str, ServerTrust] = field(default_factory=dict)

    def may_use(self, tool: str) -> bool:
        """See `Permissions.may_use`."""
        return tool in self.allowed

    def may_repeat(self, tool: str) -> bool:
        """See `Permissions.may_repeat`."""
        return tool in self.repeatable

    def server_trust(self, tool: str) -> ServerTrust | None:
        """See `Permissions.server_trust`."""
        return self.servers.get(tool)


NO_PERMISSIONS = NamedPermissions()
