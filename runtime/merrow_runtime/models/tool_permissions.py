"""What the user's settings say that workflows may do with tools, for the checker."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from merrow_runtime.errors import UsageFailure

if TYPE_CHECKING:
    from merrow_runtime.models.tool_servers import ToolServer


class UsersPermissions:
    """The permissions in the user's settings. These are read when a workflow with tools first asks; what is wrong in them is
    reported where they are used, and permits nothing.
    """

    @cached_property
    def _servers(self) -> Mapping[str, ToolServer]:
        from merrow_runtime.models.user_settings import read_user_settings

        try:
            return read_user_settings().servers
        except UsageFailure:
            return {}

    def may_use(self, tool: str) -> bool:
        """Whether nobody need be asked before a tool, such as ``web.search``, is used."""
        name, _, own = tool.partition(".")
        server = self._servers.get(name)
        return server is not None and server.may_call(own)

    def may_repeat(self, tool: str) -> bool:
        """Whether using a tool again with the same arguments does no harm."""
        name, _, own = tool.partition(".")
        server = self._servers.get(name)
        return server is not None and server.may_repeat(own)
