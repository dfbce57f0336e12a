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
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.values import Value, canonical
from merrow_runtime.visit import segment

STEP = "budget"


@dataclass(slots=True, eq=False)
class LoopBudgets:
    """The budgets of the Loops of one run, by the paths of their turns without the number.

    That a Loop has used up its budget is not a function of its calls, since time is part of it and answers of a cache are free:
    so it is journalled, and a run that is resumed or replayed ends the Loop after the same turn.
    """

    _begun: dict[str, float] = field(default_factory=dict)
    _turns: dict[str, tuple[Usage, float]] = field(default_factory=dict)
    """What a Loop without a box had used when its newest turn began, and when that was."""

    def begin(self, turn: Opens, waited: float) -> None:
        """A Loop, or a Map, begins a turn; ``waited`` seconds of this process were spent on waiting for people."""
        now, place = time.monotonic() - waited, _place(turn.path, turn.composite.id)
        if turn.number == 1:
            self._begun[place] = now
            self._turns[place] = NOTHING, now

    async def spent(self, turn: JudgeTurn, effects: Effects) -> bool:
        """Whether no further turn begins after this one. Raises `StoreFailure`, `UsageFailure`."""
        limits = turn.settings.budget
        place = _place(turn.around, turn.composite.id)
        if limits is None and not turn.by_run:
            return False
        told: dict[str, Value] = {"turn": turn.number, "run": True}
        if limits is not None:
            told = {"turn": turn.number, "usd": limits.usd, "tokens": limits.tokens, "seconds": limits.seconds}
        content = canonical(told)
        digest = hashlib.sha256(content.encode()).hexdigest()
        key = CallKey(turn.composite.id, 0, STEP, turn.number, turn.around)
        if effects.knows and await effects.recall_fact(key, digest):
            return True
        if effects.replay is not None and not effects.replay.may_ask:
            return False
        used, now = effects.account.used_in(place), time.monotonic() - effects.people.seconds
        seconds = now - self._begun[place]
        if limits is None:
            before, began = self._turns[place]
            self._turns[place] = used, now
            if effects.calling.allows(_since(before, used), now - began):
                return False
        elif not _is_spent(limits, used, seconds):
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


def _since(before: Usage, used: Usage) -> Usage:
    cost = None if used.cost_usd is None or before.cost_usd is None else used.cost_usd - before.cost_usd
    prompt, completion = used.prompt_tokens - before.prompt_tokens, used.completion_tokens - before.completion_tokens
    return Usage(prompt, completion, used.calls - before.calls, cost)


def _place(around: str, box: str) -> str:
    own = segment(box)
    return f"{around}/{own}" if around else own
