"""Clones of an agent wait for each other in turn, and who gives up waiting holds up nobody."""

from __future__ import annotations

import asyncio

import pytest
from tests.patience import PATIENCE

from merrow_runtime.running.clones import Clones

CRITIC = ("", "critic")


@pytest.mark.parametrize("late", [False, True], ids=["while it waits", "as its turn comes"])
@pytest.mark.parametrize("given_up", [0, 1], ids=["first in line", "second in line"])
async def test_the_next_in_line_takes_the_turn_of_one_that_gives_up(given_up: int, late: bool) -> None:
    """A revision may cancel a node at any moment, also between its turn and its next step."""
    clones = Clones()
    assert await clones.enter(CRITIC, 1) == 1
    waiting = [asyncio.create_task(clones.enter(CRITIC, 1)) for _ in range(3)]
    await asyncio.sleep(0)
    if late:
        clones.leave(CRITIC, 1)
    waiting[given_up].cancel()
    if not late:
        await asyncio.sleep(0)
        clones.leave(CRITIC, 1)
    others = [task for place, task in enumerate(waiting) if place != given_up]
    for task in others:
        assert await asyncio.wait_for(task, PATIENCE) == 1
        clones.leave(CRITIC, 1)
    assert waiting[given_up].cancelled()
    assert [await clones.enter(CRITIC, 2), await clones.enter(CRITIC, 2)] == [1, 2]
