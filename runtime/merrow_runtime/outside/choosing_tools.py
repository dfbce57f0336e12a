"""Whose tools a job uses that nobody watches: the servers themselves, what is known of their results, or functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from merrow_runtime.calls.tool_servers import ToolServers
from merrow_runtime.errors import UsageFailure
from merrow_runtime.outside.fake_functions import FakeFile, read_fakes
from merrow_runtime.store.contract import AnswerCache

ToolsFrom = Literal["live", "replay"]


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """``live`` calls the servers of the user's settings, ``replay`` nothing; ``fakes`` are functions in the place of all."""

    source: ToolsFrom = "live"
    fakes: FakeFile | None = None

    @classmethod
    def read(cls, source: str, fake_tools: str | None) -> ToolChoice:
        """What the options ``--tools`` and ``--fake-tools`` say. Raises `UsageFailure`."""
        if source not in ("live", "replay"):
            raise UsageFailure("--tools must be live or replay.")
        if fake_tools is None:
            return cls("replay" if source == "replay" else "live")
        if source == "replay":
            raise UsageFailure("Use either --tools replay or --fake-tools, not both.")
        return cls("live", read_fakes(Path(fake_tools)))

    @property
    def in_place(self) -> dict[str, Any] | None:
        """What is in the place of the tools, as plain data; None where they are called themselves."""
        if self.fakes is not None:
            return {"fake": Path(self.fakes.path).name, "sha256": self.fakes.sha256}
        return None if self.source == "live" else {"replayed": True}

    def open(self, known: AnswerCache, key: Callable[[], str | None]) -> ToolServers:
        """Those who call the tools, none of which is started before it is used; the caller closes them. ``known`` has the results
        of earlier runs, and ``key`` gives what no tool is sent.
        """
        if self.fakes is not None:
            from merrow_runtime.outside.fake_tools import FakeTools

            return FakeTools(self.fakes)
        if self.source == "replay":
            from merrow_runtime.outside.known_results import KnownResults

            return KnownResults(known)
        from merrow_runtime.outside.user_servers import UserServers

        return UserServers(key)


LIVE = ToolChoice()
