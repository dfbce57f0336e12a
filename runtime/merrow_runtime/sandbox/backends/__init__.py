"""The back ends of the sandbox, one per module: each says whether it works on this machine and how to start a guest."""

from __future__ import annotations

import asyncio
import sys

from merrow_runtime.sandbox.backends.base import BackendStatus, GuestStart
from merrow_runtime.sandbox.backends.bubblewrap import Bubblewrap
from merrow_runtime.sandbox.backends.container import Container
from merrow_runtime.sandbox.backends.landlock import Landlock
from merrow_runtime.sandbox.backends.limits_only import LimitsOnly
from merrow_runtime.sandbox.backends.seatbelt import Seatbelt
from merrow_runtime.sandbox.results import SandboxRefusedError

__all__ = ["Backend", "GuestStart", "available_backends", "choose"]

Backend = Landlock | Bubblewrap | Seatbelt | Container | LimitsOnly

_BACKENDS: tuple[type[Backend], ...] = (Landlock, Bubblewrap, Seatbelt, Container, LimitsOnly)
#: Taken without being asked for, in this order.
_BY_DEFAULT = ("landlock", "seatbelt", "container")
_REMEDY = {
    "linux": "use a kernel with Landlock (5.13 or later), or install bubblewrap and choose it, or install Docker or Podman",
    "darwin": "make sure that /usr/bin/sandbox-exec is there, or install Docker or Podman",
}


def available_backends() -> list[BackendStatus]:
    """Every back end, usable here or not, in order of preference. Asks the system again; a container engine may take seconds."""
    return [backend().status() for backend in _BACKENDS]


def choose(name: str | None, allow_unsafe: bool) -> Backend:
    """The back end that was asked for, or the best of those that are taken by default.

    Raises:
        SandboxRefusedError: when there is none, with the remedy.
        ValueError: for a name that no back end has.
    """
    if name is not None:
        backends = {backend.name: backend for backend in _BACKENDS}
        if name not in backends:
            raise ValueError(f"There is no sandbox named {name!r}: choose one of {', '.join(backends)}.")
        chosen = backends[name]()
        if isinstance(chosen, LimitsOnly) and not allow_unsafe:
            raise SandboxRefusedError(
                "Generated code was not run: limits alone are not a sandbox; allow unsafe execution explicitly to continue."
            )
        status = chosen.status()
        if not status.usable:
            raise SandboxRefusedError(
                f"Generated code was not run: the sandbox {name!r} can't be used here ({status.why}); choose another one."
            )
        return chosen
    for backend in _BACKENDS:
        if backend.name in _BY_DEFAULT:
            candidate = backend()
            if candidate.status().usable:
                return candidate
    if allow_unsafe and LimitsOnly().status().usable:
        return LimitsOnly()
    remedy = _REMEDY.get(sys.platform, "install Docker or Podman")
    raise SandboxRefusedError(
        f"Generated code was not run: no adequate sandbox is available; {remedy}, or allow unsafe execution explicitly."
    )


async def choose_soon(name: str | None, allow_unsafe: bool) -> Backend:
    """`choose`, without holding up the event loop while a container engine thinks."""
    return await asyncio.to_thread(choose, name, allow_unsafe)
