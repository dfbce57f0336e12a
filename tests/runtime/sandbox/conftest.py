"""The means of isolation that can be tried on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from merrow_runtime.sandbox import available_backends

T = TypeVar("T")

USABLE = {means.name: means for means in available_backends()}
_NOTHING = "no sandbox is available here: " + "; ".join(f"{found.name}: {found.why}" for found in USABLE.values())
ISOLATING = ("landlock", "bubblewrap", "seatbelt", "container")


@pytest.fixture(params=[name for name in ISOLATING if USABLE[name].usable] or ["none at all"])
def means(request: pytest.FixtureRequest) -> str:
    """Every means that isolates and can be used here, one after the other."""
    name: str = request.param
    if name not in USABLE:
        pytest.skip(_NOTHING)
    return name


@pytest.fixture
def default_means() -> str:
    """The means that is taken without being asked for."""
    for name in ("landlock", "seatbelt", "container"):
        if USABLE[name].usable:
            return name
    pytest.skip(_NOTHING)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)
