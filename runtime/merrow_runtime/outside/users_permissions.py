"""What the user's settings say that workflows may do with tools, for the checker."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from merrow_runtime.errors import UsageFailure

if TYPE_CHECKING:
    from pathlib import Path

    from merrow_analysis.tools.permissions import ServerTrust
    from merrow_runtime.models.tool_servers import ToolServer


class UsersPermissions:
    """The permissions in the user's settings. These are read when a workflow with tools first asks; what is wrong in them is
    reported where they are used, and permits nothing. With a ``workspace`` and a ``folder`` in it, the trust in servers is
    known, too.
    """

    def __init__(self, workspace: Path | None = None, folder: Path | None = None) -> None:
        self._workspace, self._folder = workspace, folder

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

    def server_trust(self, tool: str) -> ServerTrust | None:
        """Whether the server of a tool, or a local tool, may be started. It is looked up each time: consent is given and
        taken back elsewhere. None where the workspace isn't known, or the settings can't be read.
        """
        if self._workspace is None or self._folder is None:
            return None
        from merrow_analysis.tools.pins import LOCAL
        from merrow_runtime.models.user_settings import read_user_settings
        from merrow_runtime.outside.known_servers import KnownServers

        server = tool.partition(".")[0]
        try:
            known = KnownServers(read_user_settings(), self._workspace, self._folder)
        except UsageFailure:
            return None
        wanted = tool if server == LOCAL else server
        return next((one.trust for one in known.all() if one.name == wanted), "unknown")
