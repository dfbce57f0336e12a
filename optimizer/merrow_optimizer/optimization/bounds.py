"""How far the budget of a search goes: what reading the held-out items takes is left over."""

from __future__ import annotations

from collections.abc import Sequence

from merrow_optimizer.evaluation.plan import JUDGED_MOST
from merrow_optimizer.optimization.costs import Costs
from merrow_optimizer.optimization.plan import JUDGED_READ, ROUNDS, SearchPlan
from merrow_optimizer.optimization.search_answers import SearchAnswers
from merrow_optimizer.search.candidates import START, CandidateDraft
from merrow_runtime.asking.bounded import Most
from merrow_runtime.jobs.clock import Clock


class Reserve:
    """Bounds what the answers of draws may use. ``elapsed`` are the seconds that the search took before it was continued."""

    def __init__(self, plan: SearchPlan, costs: Costs, answers: SearchAnswers, elapsed: float) -> None:
        self._plan, self._costs, self._answers = plan, costs, answers
        self._clock = Clock(plan.base.limits.seconds, elapsed)

    def why_over(self, drafts: Sequence[CandidateDraft]) -> str | None:
        """Why the budget pays for no other draw, with these candidates; None where it does."""
        limits = self._plan.base.limits
        left = self.seconds_left
        if left is not None and left <= 0:
            return self.time_is_over
        if limits.usd is None and limits.tokens is None:
            return None
        spent, calls = self._answers.paid, self._reserved_calls(drafts)
        call, last = self._call, self._last_call
        usd = None if limits.usd is None else limits.usd - calls * call.usd - last.usd
        tokens = None if limits.tokens is None else int(limits.tokens - calls * call.tokens - last.tokens)
        self._answers.bound(usd, tokens)
        no_money = usd is not None and (spent.cost_usd or 0.0) + last.usd > usd
        return self.used_up if no_money or (tokens is not None and spent.tokens + last.tokens > tokens) else None

    def release(self) -> None:
        """Let the held-out items have what is reserved for them."""
        self._answers.bound(self._plan.base.limits.usd, self._plan.base.limits.tokens)

    @property
    def is_limited(self) -> bool:
        """Whether the search itself may use only so much money or so many tokens."""
        limits = self._plan.base.limits
        return limits.usd is not None or limits.tokens is not None

    @property
    def used_up(self) -> str:
        """That the money or the tokens are gone, as a sentence."""
        limits = self._plan.base.limits
        bounds = [] if limits.usd is None else [f"{limits.usd:g} US dollars"]
        bounds += [] if limits.tokens is None else [f"{limits.tokens:,} tokens"]
        if not bounds:
            return "The limits in your settings, such as `month_usd`, allow no further call; `merrow costs` shows what was spent."
        return f"The budget of {' and '.join(bounds)} is used up{self._but}."

    @property
    def no_answers(self) -> str:
        """The same of the answers."""
        bound = self._plan.bounds.evaluations
        if bound is None:
            return (
                f"{self._plan.evaluations:,} answers were asked for, {ROUNDS} for each item; a budget allows for more."
            )
        return f"The budget of {bound:,} answers is used up{self._but}."

    @property
    def _but(self) -> str:
        return ", except for what the held-out items need" if self._plan.split.held_out else ""

    @property
    def time_is_over(self) -> str:
        """The same of the time."""
        return f"{self._clock.is_over}."

    @property
    def seconds_left(self) -> float | None:
        """The time for draws, with what reading the held-out items takes at the pace so far left over; None without a limit."""
        whole = self.whole_seconds_left
        if whole is None:
            return None
        answers = self._plan.reserved
        return whole - (answers * self._clock.here / self._answers.asked if self._answers.asked else 0.0)

    @property
    def whole_seconds_left(self) -> float | None:
        """The time for all that is left to do; None without a limit."""
        return self._clock.left

    def _reserved_calls(self, drafts: Sequence[CandidateDraft]) -> float:
        """How many calls reading the held-out items may take: of the start and of the candidate with the most."""
        calls = [self._costs.most_calls(self._costs.of(draft)) for draft in drafts]
        judged = 0 if self._plan.base.asking is None else 2 * JUDGED_MOST
        read = len(self._plan.split.held_out) * (calls[START] + max(calls) + judged)
        return read + JUDGED_READ * len(self._plan.judge_items) * (max(calls) + judged / 2)

    @property
    def _call(self) -> Most:
        """What a call is taken to use: as much as the dearest one so far, before the first one what a dry run says at least."""
        dearest, item = self._answers.dearest, self._plan.forecast
        calls = max(1.0, item.calls.least)
        return dearest if dearest.tokens else Most(item.cost_usd.least / calls, item.tokens.least / calls)

    @property
    def _last_call(self) -> Most:
        """What has to be left for a call to begin, however little it uses then."""
        return self._answers.may_use if self._plan.split.held_out else Most()
