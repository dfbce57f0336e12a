"""Agents at work: nodes of one agent that run at once are its clones, and no more run than it has instances."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class _Team:
    """The clones of one agent: their numbers, and who waits for one to be free."""

    working: set[int] = field(default_factory=set)
    waiting: list[asyncio.Future[None]] = field(default_factory=list)


class Clones:
    """The agents of one run, by the place of their file and their name."""

    def __init__(self) -> None:
        self._teams: defaultdict[tuple[str, str], _Team] = defaultdict(_Team)

    async def enter(self, agent: tuple[str, str], instances: int | None) -> int:
        """Wait until the agent may do one more node; the lowest free number, from 1, is that of the clone that does it."""
        team = self._teams[agent]
        while instances is not None and len(team.working) >= instances:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            team.waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():
                    self._wake(team)  # It had its turn: the next one takes it.
                raise
        number = next(number for number in range(1, len(team.working) + 2) if number not in team.working)
        team.working.add(number)
        return number

    def leave(self, agent: tuple[str, str], number: int) -> None:
        """A clone has finished its node."""
        team = self._teams[agent]
        team.working.discard(number)
        self._wake(team)

    def _wake(self, team: _Team) -> None:
        while team.waiting:
            turn = team.waiting.pop(0)
            if not turn.done():
                turn.set_result(None)
                return
