"""Keeps a user's calls within what a minute may have: rows of permits that processes took, and what this one has of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from merrow_runtime.models.spending_limits import MinuteLimits
from merrow_runtime.spending.permits import LIFE, Demand, Hand, Permit, Room
from merrow_runtime.store.names import new_number
from merrow_runtime.store.sql import Database

MINUTE = 60.0
CLOCKS_APART = 0.9
"""Seconds by which a clock may be ahead of that of another process."""


@dataclass(slots=True)
class Changes:
    """What is to be written of permits: by the number of their row what was used, and until when; and what is to be added."""

    used: dict[int, tuple[Demand, float]] = field(default_factory=dict)
    added: dict[int, Demand] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.used or self.added)

    def add(self, number: int, requests: int, tokens: int) -> None:
        known = self.added.get(number, Demand())
        self.added[number] = Demand(known.requests + requests, known.tokens + tokens)

    def write(self, database: Database) -> None:
        """Write them, in a transaction."""
        database.executemany(
            "UPDATE paced SET requests = ?, tokens = ?, at = ? WHERE number = ?",
            [(each.requests, each.tokens, last, number) for number, (each, last) in sorted(self.used.items())],
        )
        database.executemany(
            "UPDATE paced SET requests = requests + ?, tokens = tokens + ? WHERE number = ?",
            [(each.requests, each.tokens, number) for number, each in sorted(self.added.items())],
        )


class Pacing:
    """What this process has of permits, for one thread at a time. Moments are those of the clock that all processes go by."""

    def __init__(self) -> None:
        self._hands: dict[str, Hand] = {}
        self._changes = Changes()

    def hand(self, origin: str) -> Hand:
        """The permits for an endpoint."""
        return self._hands.setdefault(origin, Hand())

    def is_unwritten(self, now: float) -> bool:
        """Whether there is something to be written."""
        return bool(self._changes) or any(hand.is_over(now) for hand in self._hands.values())

    def lay_down(self, is_wanted: Callable[[Hand], bool]) -> None:
        """Give up the permits in some hands, which are not used any more."""
        for hand in self._hands.values():
            if is_wanted(hand) and (laid := hand.laid_down()) is not None:
                self._changes.used[laid[0]] = laid[1:]

    def correct(self, permit: Permit, tokens: int | None) -> None:
        """A call used so many tokens, None: it did not leave."""
        requests, more = (-1, -permit.tokens) if tokens is None else (0, tokens - permit.tokens)
        if not (requests or more) or any(hand.correct(permit.number, requests, more) for hand in self._hands.values()):
            return
        self._changes.add(permit.number, requests, more)

    def taken(self) -> Changes:
        """What is to be written now; `keep` it where that failed."""
        changes, self._changes = self._changes, Changes()
        return changes

    def keep(self, changes: Changes) -> None:
        """Have what could not be written written later."""
        self._changes.used = {**changes.used, **self._changes.used}
        for number, more in changes.added.items():
            self._changes.add(number, more.requests, more.tokens)


@dataclass(frozen=True, slots=True)
class Asked:
    """Permits that a process asks for, ``now``: for a call of some ``tokens``, those that wait ``behind`` it, and as many as it
    expects within the next second (``ahead``). ``late`` is by how many seconds a single call may leave after that.
    """

    origin: str
    limits: MinuteLimits
    tokens: int
    behind: Demand
    ahead: Demand
    now: float
    late: float

    def granted(self, database: Database) -> tuple[int, Demand, float]:
        """The number of the row with what is granted, and that; or 0, and the seconds until there may be room. In a transaction
        that is alone.
        """
        # Rows of the future are of a clock that was set back since.
        gone = (self.now - MINUTE, self.now + LIFE + CLOCKS_APART)
        database.execute("DELETE FROM paced WHERE at <= ? OR at > ?", gone)
        room = self._room(database)
        if not room.fits(self.tokens):
            held = "SELECT at, requests, tokens FROM paced WHERE origin = ? ORDER BY at"
            return 0, Demand(), self._wait(database.execute(held, (self.origin,)).fetchall())
        ahead = Demand(self.ahead.requests, 0 if self.limits.tokens is None else self.ahead.tokens)
        granted = room.granted(self.tokens, self.behind, ahead)
        until = self.now + (LIFE if granted.requests > 1 else self.late)
        # SQLite would give a number again whose row is gone, and its process may still write to that.
        number = new_number()
        placed = "INSERT INTO paced (number, origin, at, requests, tokens) VALUES (?, ?, ?, ?, ?)"
        database.execute(placed, (number, self.origin, until, granted.requests, granted.tokens))
        return number, granted, 0.0

    def _room(self, database: Database) -> Room:
        sums = "SELECT coalesce(sum(requests), 0), coalesce(sum(tokens), 0) FROM paced WHERE origin = ?"
        requests, tokens = map(int, database.execute(sums, (self.origin,)).fetchone())
        limits = self.limits
        return Room(
            None if limits.requests is None else limits.requests - requests,
            None if limits.tokens is None else limits.tokens - tokens,
            requests <= 0,
        )

    def _wait(self, rows: list[tuple[float, int, int]]) -> float:
        """The seconds until the call may follow ``rows``: moments, requests and tokens of the last minute, in order."""
        limits = self.limits
        requests, tokens = sum(row[1] for row in rows), sum(row[2] for row in rows)
        last = self.now - MINUTE
        for at, *row in rows:
            has_request = limits.requests is None or requests < limits.requests
            if has_request and (limits.tokens is None or tokens + self.tokens <= limits.tokens):
                break
            requests, tokens, last = requests - row[0], tokens - row[1], at
        return max(0.0, last + MINUTE - self.now) + 0.001
