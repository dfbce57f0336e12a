"""What candidates use for one item, by dry runs: known before anything is asked of them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from merrow_optimizer.evaluation.plan import EvaluationForecast, forecast_item
from merrow_optimizer.optimization.plan import SearchPlan, middle
from merrow_optimizer.search.candidates import CandidateDraft
from merrow_optimizer.search.children import Proposer
from merrow_runtime.errors import UsageFailure
from merrow_runtime.running.forecast_figures import Bounds


class Costs:
    """The dry runs of a search, each made once."""

    def __init__(self, plan: SearchPlan) -> None:
        self._plan = plan
        self._known: dict[str, EvaluationForecast] = {}

    def of(self, draft: CandidateDraft) -> EvaluationForecast:
        """What a candidate may use for the first item."""
        forecast = self._known.get(draft.key)
        if forecast is None:
            try:
                forecast = forecast_item(self._plan.candidate(draft.text), self._plan.split.searched[0])
            except UsageFailure:  # Its answers will say why.
                unknown = Bounds(0, None)
                forecast = EvaluationForecast(1, 1, Bounds(draft.calls, None), unknown, unknown)
            self._known[draft.key] = forecast
        return forecast

    def usd(self, forecast: EvaluationForecast) -> float | None:
        """One figure for the cost in US dollars; None where a price is not known."""
        return middle(forecast.cost_usd)

    def most_calls(self, forecast: EvaluationForecast) -> float:
        """The calls at most; the least where the most is not known."""
        return forecast.calls.least if forecast.calls.most is None else forecast.calls.most


@dataclass(frozen=True, slots=True)
class Priced:
    """A proposer without the candidates that use more than ``most`` US dollars for an item, or nobody knows how much."""

    proposer: Proposer
    costs: Costs
    most: float

    @property
    def operators(self) -> tuple[str, ...]:
        """See `Proposer`."""
        return self.proposer.operators

    def child(
        self, number: int, parent: CandidateDraft, chance: Random, operator: str | None = None
    ) -> CandidateDraft | None:
        """See `Proposer`."""
        return self._affordable(self.proposer.child(number, parent, chance, operator))

    def further(self, draft: CandidateDraft, chance: Random) -> CandidateDraft | None:
        """See `Proposer`."""
        return self._affordable(self.proposer.further(draft, chance))

    def crossed(
        self, number: int, parent: CandidateDraft, other_number: int, other: CandidateDraft, chance: Random
    ) -> CandidateDraft | None:
        """See `Proposer`."""
        return self._affordable(self.proposer.crossed(number, parent, other_number, other, chance))

    def _affordable(self, draft: CandidateDraft | None) -> CandidateDraft | None:
        if draft is None:
            return None
        cost = self.costs.usd(self.costs.of(draft))
        return draft if cost is not None and cost <= self.most else None
