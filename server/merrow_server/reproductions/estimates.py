"""What a step is taken to use before its first call: by dry runs, and by what is usual where those give only bounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from merrow_optimizer.evaluation.plan import EvaluationForecast, Known, Plan, forecast
from merrow_optimizer.extraction.plan import ExtractionPlan
from merrow_optimizer.optimization.plan import SearchPlan
from merrow_runtime.models.endpoint import answer_limit_at
from merrow_runtime.models.prices import price_at
from merrow_runtime.models.tokens import EXPECTED_COMPLETION
from merrow_runtime.running.forecast_figures import Bounds
from merrow_runtime.running.resources import ChosenEndpoint
from merrow_runtime.usage import Usage

_ANSWER = 300
"""Tokens of an answer, where a forecast has only how many it may have."""
_HALF = 0.5
"""Calls that a Decision or a vote may make or not."""
_UNBOUNDED = 1.5
_GROWN = 1.0
"""Calls that a workflow which a search found makes beside those of its start."""
_PROPOSAL, _JUDGED = (4_000, 1_500), (4_000, 600)
"""Tokens of a question and its answer, to a model that proposes candidates, and to the one that judges them."""
_ORDERS = 2
"""How often a judge is shown the candidates of a round: in both orders."""
_TASKS, _REVISIONS = 7, 2
"""Calls of a planned workflow, and of the model that revises a run of it."""
_TASK = (1_500, 900)
_CASE_CALLS = 2.0
"""Calls of the workflow of a solved case."""
_SECONDS_A_CALL = 3.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """Calls, tokens, and US dollars; None where a price is not known."""

    calls: float = 0.0
    tokens: float = 0.0
    usd: float | None = 0.0

    def __add__(self, other: Estimate) -> Estimate:
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Estimate(self.calls + other.calls, self.tokens + other.tokens, usd)

    def times(self, factor: float) -> Estimate:
        """So many times as much."""
        return Estimate(self.calls * factor, self.tokens * factor, None if self.usd is None else self.usd * factor)

    def to_json(self) -> dict[str, Any]:
        """As a plan shows it."""
        return {"calls": round(self.calls), "tokens": round(self.tokens), "cost_usd": self.usd}


def total(estimates: Iterable[Estimate]) -> Estimate:
    """All of them together."""
    return sum(estimates, Estimate())


def of_evaluation(plan: Plan, known: Known) -> Estimate:
    """An evaluation, beside what is known."""
    return _of_forecast(forecast(plan, known), plan)


def of_found(plan: Plan, known: Known) -> Estimate:
    """An evaluation of what a search finds that begins with the workflow of ``plan``."""
    estimate = of_evaluation(plan, known)
    items = len(plan.items) * plan.repeats
    return estimate.times(_growth(estimate.calls / max(1, items)))


def _growth(calls: float) -> float:
    """How many times the calls of its start a workflow makes that a search found."""
    return (calls + _GROWN) / calls if calls else 1.0


def of_search(plan: SearchPlan, rounds: int) -> Estimate:
    """A search of so many rounds: the start once, then candidates, and what a model proposes them for."""
    start = _of_forecast(plan.forecast, plan.base).times(plan.first)
    searched = start + start.times((rounds - 1) * (1 + _growth(start.calls / max(1, plan.first))) / 2)
    if plan.proposing is None:
        return searched
    models, chosen = plan.proposing.models, plan.base.chosen
    asked = of_calls(chosen, models.optimizer, rounds - 1, _PROPOSAL)
    if plan.strategy != "evolve":  # one candidate a round: nobody has to choose
        return searched + asked
    return searched + asked + of_calls(chosen, models.judge or models.optimizer, _ORDERS * (rounds - 1), _JUDGED)


def of_extraction(plan: ExtractionPlan) -> Estimate:
    """An extraction: what its stages usually need of their bounds."""
    settings, estimate = plan.settings, Estimate()
    usual = {3: settings.paths * (settings.steps + 1) / 2}  # a path ends where nothing is put together any more
    for stage in plan.forecast:
        least = Estimate(stage.calls.least, stage.tokens.least, stage.cost_usd.least)
        if stage.cost_usd.most is None:
            least = Estimate(least.calls, least.tokens, None)
        if not stage.calls.least:
            continue
        factor = _CASE_CALLS if stage.stage == 5 else usual.get(stage.stage, stage.calls.least) / stage.calls.least
        estimate += least.times(factor)
    return estimate


def of_planned(chosen: ChosenEndpoint, model: str, reviser: str | None, answers: int) -> Estimate:
    """So many runs of a workflow that is not planned yet; ``reviser`` is None where nobody changes it."""
    estimate = of_calls(chosen, model, answers * _TASKS, _TASK)
    return estimate if reviser is None else estimate + of_calls(chosen, reviser, answers * _REVISIONS, _TASK)


def of_calls(chosen: ChosenEndpoint, model: str, calls: float, tokens: tuple[int, int]) -> Estimate:
    """So many calls, each with the tokens of its prompt and of its answer."""
    price = price_at(chosen.endpoint, model)
    cost = None if price is None else price.cost(Usage(*tokens)) * calls
    return Estimate(calls, calls * sum(tokens), cost)


def _of_forecast(foreseen: EvaluationForecast, plan: Plan) -> Estimate:
    longest = answer_limit_at(plan.chosen.endpoint, plan.model.partition(", ")[0]) or EXPECTED_COMPLETION
    share = min(1.0, _ANSWER / longest)
    cost = None if foreseen.cost_usd.most is None else _between(foreseen.cost_usd, share)
    return Estimate(_between(foreseen.calls, _HALF), _between(foreseen.tokens, share), cost)


def _between(bounds: Bounds, share: float) -> float:
    most = bounds.least * _UNBOUNDED if bounds.most is None else bounds.most
    return bounds.least + share * (most - bounds.least)


def hours(estimate: Estimate, chosen: ChosenEndpoint) -> float:
    """How long it takes at least: each call some seconds, as many at once as are made, within the limits per minute."""
    limits = chosen.limits.endpoints.get(chosen.endpoint.origin)
    minutes = [estimate.calls * _SECONDS_A_CALL / 60 / max(1, chosen.concurrency)]
    if limits is not None and limits.requests is not None:
        minutes.append(estimate.calls / limits.requests)
    if limits is not None and limits.tokens is not None:
        minutes.append(estimate.tokens / limits.tokens)
    return max(minutes) / 60
