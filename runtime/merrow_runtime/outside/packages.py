"""What servers of tools need beyond Merrow itself: the packages of the extra `tools`."""

from __future__ import annotations

from importlib.util import find_spec

from merrow_runtime.errors import UsageFailure
from merrow_runtime.installing import how_to_install


def check_packages() -> None:
    """Raise `UsageFailure`, with what to do, where they are not installed."""
    if find_spec("mcp") is None:
        raise UsageFailure(f"Servers of tools need the extra `tools`; {how_to_install('tools')}", remedy="tools")
