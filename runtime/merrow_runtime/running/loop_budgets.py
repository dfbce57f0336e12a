"""What Loops may use: beyond it no further turn begins."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field

from merrow_analysis.definitions.settings import BudgetSettings
from merrow_runtime.calls.effects import Effects
from merrow_runtime.frontier import JudgeTurn, Opens
from merrow_runtime.requests import CallKey
from merrow_runtime.store.contract import CallRecord
from merrow_runtime.usage import Usage
from merrow_runtime.values import canonical
from merrow_runtime.visit import segment

STEP = "budget"


@dataclass(slots=True, eq=False)
class LoopBudgets:
    """The budgets of the Loops of one run, by the paths of their turns without the number.

    That a Loop has used up its budget is not a function of its calls, since time is part of it and answers of a cache are free:
    so it is journalled, and a run that is resumed or replayed ends the Loop after the same turn.
    """

    _begun: dict[str, float] = field(default_factory=dict)

    def begin(self, first: Opens) -> None:
        """A Loop, or a Map, begins with its first turn."""
        self._begun[_place(first.path, first.composite.id)] = time.monotonic()

    async def spent(self, turn: JudgeTurn, effects: Effects) -> bool:
        """Whether no further turn begins after this one. Raises `StoreFailure`, `UsageFailure`."""
        limits = turn.settings.budget
        if limits is None:
            return False
        place = _place(turn.around, turn.composite.id)
        content = canonical(
            {"turn": turn.number, "usd": limits.usd, "tokens": limits.tokens, "seconds": limits.seconds}
        )
        digest = hashlib.sha256(content.encode()).hexdigest()
        key = CallKey(turn.composite.id, 0, STEP, turn.number, turn.around)
        if effects.knows and await effects.recall_fact(key, digest):
            return True
        if effects.replay is not None and not effects.replay.may_ask:
            return False
        used = effects.account.used_in(place)
        seconds = time.monotonic() - self._begun[place]
        if not _is_spent(limits, used, seconds):
            return False
        result = canonical({"spent": True, "usage": used.to_json(), "seconds": seconds})
        record = CallRecord(key, "budget", digest, content, result, origin="budget", started=time.time())
        await effects.commit(record, effects.account.of(key.visit))
        return True


def _is_spent(limits: BudgetSettings, used: Usage, seconds: float) -> bool:
    if limits.seconds is not None and seconds >= limits.seconds:
        return True
    if limits.tokens is not None and used.tokens >= limits.tokens:
        return True
    # A price is never taken for nothing.
    return limits.usd is not None and (used.cost_usd is None or used.cost_usd >= limits.usd)


def _place(around: str, box: str) -> str:
    own = segment(box)
    return f"{around}/{own}" if around else own
