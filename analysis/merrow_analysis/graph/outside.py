"""What a workflow uses of other files: those that it calls, and the pins of its tools."""

from __future__ import annotations

from typing import Protocol

from merrow_analysis.definitions.callees import Callee
from merrow_analysis.tools.permissions import Permissions
from merrow_analysis.tools.pinned_tools import PinnedTools


class Outside(Protocol):
    """Finds what a workflow names in other files. It never raises, and answers with the same values while no file changes."""

    def find(self, path: str) -> Callee:
        """The file at ``path``, as a Call names it."""
        ...

    def way_back(self, path: str) -> tuple[str, ...] | None:
        """The files through which a call of ``path`` leads to the caller again, whatever is chosen in them; the last is the
        caller. None where it need not.
        """
        ...

    @property
    def tools(self) -> PinnedTools:
        """The pins of its tools."""
        ...

    @property
    def permissions(self) -> Permissions:
        """What the user's settings let it do with tools."""
        ...
