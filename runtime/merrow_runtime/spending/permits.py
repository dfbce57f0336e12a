"""What a process may use of a minute without asking again: permits for requests and tokens that it took for about a second."""

from __future__ import annotations

from dataclasses import dataclass, field

from merrow_runtime.models.spending_limits import MinuteLimits

LIFE = 1.0
"""Seconds for which permits may be used after they were taken."""
_SHARE = 8
"""Of what a minute still has, at most one part in so many is taken for calls that have not come yet."""
_SHORTEST = 0.1
"""Seconds: over less than that it isn't said how many calls a second there are."""


@dataclass(frozen=True, slots=True)
class Permit:
    """That one call of so many ``tokens`` may leave now. ``number`` is that of the row that it is counted in."""

    number: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Demand:
    """So many calls, with so many tokens together."""

    requests: int = 0
    tokens: int = 0


NOBODY = Demand()


@dataclass(frozen=True, slots=True)
class Room:
    """What is left of a minute; None is without a limit. ``is_unused`` says that the minute has no call yet."""

    requests: int | None
    tokens: int | None
    is_unused: bool

    def fits(self, tokens: int) -> bool:
        """Whether a call of so many tokens may leave. One that is larger than a whole minute does so alone."""
        if self.is_unused:
            return True
        return (self.requests is None or self.requests >= 1) and (self.tokens is None or self.tokens >= tokens)

    def granted(self, tokens: int, behind: Demand, ahead: Demand) -> Demand:
        """What to take for a call that fits: for those that wait ``behind`` it as much as there is, and some for those ``ahead``
        of us in time.
        """
        if self.tokens is not None and tokens > self.tokens:
            return Demand(1, tokens)
        requests = _part(self.requests, 1, behind.requests, ahead.requests)
        return Demand(requests, _part(self.tokens, tokens, behind.tokens, ahead.tokens))


def _part(room: int | None, own: int, behind: int, ahead: int) -> int:
    if room is None:
        return own + behind + ahead
    behind = max(0, min(behind, room - own))
    return own + behind + max(0, min(ahead, (room - own - behind) // _SHARE))


@dataclass(slots=True)
class _PermitBlock:
    """Permits that were taken together, in one row: those that are left, and those that were used until the moment ``last``."""

    number: int
    begun: float
    left: Demand
    used: Demand = field(default_factory=Demand)
    last: float = 0.0


class Hand:
    """The permits that a process has for one endpoint. Moments are those of the clock that all go by."""

    def __init__(self) -> None:
        self._block: _PermitBlock | None = None
        self._taken = Demand()
        self._since = 0.0

    def take(self, tokens: int, limits: MinuteLimits, now: float) -> Permit | None:
        """A permit for a call of so many tokens; None where more have to be taken first."""
        block = self._block
        if block is None or not block.begun <= now < block.begun + LIFE or not block.left.requests:
            return None
        if limits.tokens is not None and block.left.tokens < tokens:
            return None
        block.left = Demand(block.left.requests - 1, block.left.tokens - tokens)
        block.used = Demand(block.used.requests + 1, block.used.tokens + tokens)
        block.last = now
        self._taken = Demand(self._taken.requests + 1, self._taken.tokens + tokens)
        return Permit(block.number, tokens)

    def correct(self, number: int, requests: int, tokens: int) -> bool:
        """A permit of the block with this number was used for so much more (negative: less); False where that is another one."""
        block = self._block
        if block is None or block.number != number:
            return False
        block.used = Demand(block.used.requests + requests, block.used.tokens + tokens)
        block.left = Demand(block.left.requests - requests, block.left.tokens - tokens)
        return True

    def is_over(self, now: float) -> bool:
        """Whether there are permits that may not be used any more."""
        return self._block is not None and not self._block.begun <= now < self._block.begun + LIFE

    def laid_down(self) -> tuple[int, Demand, float] | None:
        """Give up the permits: the number of their row, what was used, and the moment of the last one. None without any."""
        block, self._block = self._block, None
        return None if block is None else (block.number, block.used, block.last or block.begun)

    def expected(self, now: float) -> Demand:
        """What the next second takes if it is like the time since permits were taken."""
        passed = max(now - self._since, _SHORTEST)
        return Demand(*(int(each * LIFE / passed) for each in (self._taken.requests, self._taken.tokens)))

    def hold(self, number: int, granted: Demand, now: float) -> None:
        """Have permits that were taken now, in the row with this number."""
        self._block = _PermitBlock(number, now, granted)
        self._taken, self._since = Demand(), now
