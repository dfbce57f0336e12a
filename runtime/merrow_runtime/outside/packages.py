"""What servers of tools need beyond Merrow itself: the packages of the extra `tools`."""

from __future__ import annotations

from importlib.util import find_spec

from merrow_runtime.errors import UsageFailure
from merrow_runtime.installing import how_to_install
from merrow_runtime.outside.scripts import is_archived

NEEDED = "mcp>=2.3,<3"
"""What a program in an archive needs of the extra, of which it knows nothing. Its other packages come with this one."""


def check_packages() -> None:
    """Raise `UsageFailure`, with what to do, where they are not installed."""
    if find_spec("mcp") is not None:
        return
    if is_archived():
        raise UsageFailure(
            f"Servers of tools need the package mcp, which is not installed; install it with: pip install '{NEEDED}'",
            remedy="tools",
        )
    raise UsageFailure(f"Servers of tools need the extra `tools`; {how_to_install('tools')}", remedy="tools")
