"""The means of isolation, one a module: each says whether it works here and how a guest is started with it."""

from __future__ import annotations

import asyncio
import sys

from merrow_runtime.sandbox.means.base import Means, Start
from merrow_runtime.sandbox.means.bubblewrap import Bubblewrap
from merrow_runtime.sandbox.means.container import Container
from merrow_runtime.sandbox.means.landlock import Landlock
from merrow_runtime.sandbox.means.limits_only import LimitsOnly
from merrow_runtime.sandbox.means.seatbelt import Seatbelt
from merrow_runtime.sandbox.results import SandboxRefusedError

__all__ = ["Start", "Way", "available_means", "choose"]

Way = Landlock | Bubblewrap | Seatbelt | Container | LimitsOnly

_WAYS: tuple[type[Way], ...] = (Landlock, Bubblewrap, Seatbelt, Container, LimitsOnly)
#: Taken without being asked for, in this order.
_BY_DEFAULT = ("landlock", "seatbelt", "container")
_REMEDY = {
    "linux": "use a kernel with Landlock (5.13 or later), or install bubblewrap and choose it, or install Docker or Podman",
    "darwin": "make sure that /usr/bin/sandbox-exec is there, or install Docker or Podman",
}


def available_means() -> list[Means]:
    """Every means, usable here or not, in order of preference. Asks the system again; a container engine may take seconds."""
    return [way().means() for way in _WAYS]


def choose(name: str | None, allow_unsafe: bool) -> Way:
    """The means that was asked for, or the best of those that are taken by default.

    Raises:
        SandboxRefusedError: when there is none, with the remedy.
        ValueError: for a name that no means has.
    """
    if name is not None:
        ways = {way.name: way for way in _WAYS}
        if name not in ways:
            raise ValueError(f"There is no sandbox named {name!r}: choose one of {', '.join(ways)}.")
        chosen = ways[name]()
        if isinstance(chosen, LimitsOnly) and not allow_unsafe:
            raise SandboxRefusedError(
                "Generated code was not run: limits alone are not a sandbox; allow unsafe execution explicitly to go on."
            )
        means = chosen.means()
        if not means.usable:
            raise SandboxRefusedError(
                f"Generated code was not run: the sandbox {name!r} can't be used here ({means.why}); choose another one."
            )
        return chosen
    for way in _WAYS:
        if way.name in _BY_DEFAULT:
            candidate = way()
            if candidate.means().usable:
                return candidate
    if allow_unsafe and LimitsOnly().means().usable:
        return LimitsOnly()
    remedy = _REMEDY.get(sys.platform, "install Docker or Podman")
    raise SandboxRefusedError(
        f"Generated code was not run: no adequate sandbox is available; {remedy}, or allow unsafe execution explicitly."
    )


async def choose_soon(name: str | None, allow_unsafe: bool) -> Way:
    """`choose`, without holding up the event loop while a container engine thinks."""
    return await asyncio.to_thread(choose, name, allow_unsafe)
