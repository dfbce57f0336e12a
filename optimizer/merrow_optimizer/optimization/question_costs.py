"""What the questions of a search to a model that proposes may use, said before the first call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from merrow_optimizer.optimization.plan import SearchPlan, affords
from merrow_optimizer.optimization.questions import ATTEMPTS, EVERY, WANTED
from merrow_optimizer.suggestions.forecasts import SuggestionForecast, forecast
from merrow_optimizer.suggestions.ground import Ground
from merrow_optimizer.suggestions.prompt import Round, Wish
from merrow_optimizer.suggestions.session import Models, SuggestionSession
from merrow_optimizer.suggestions.tallies import REPAIRS
from merrow_runtime.running.forecast_figures import Bounds


@dataclass(frozen=True, slots=True)
class QuestionsForecast:
    """``each`` question may use so much, with what its judge and its repairs use; there are ``most`` of them (None: it is not
    known how many). ``models`` are those that are asked.
    """

    each: SuggestionForecast
    most: int | None
    models: Models

    def to_json(self) -> dict[str, Any]:
        """As ``--dry-run --format json`` prints it."""
        judge = self.models.judge
        return {
            "optimizer": self.models.optimizer,
            "judge": judge,
            "questions": self.most,
            "question": self.each.to_json(),
        }


def forecast_questions(plan: SearchPlan) -> QuestionsForecast | None:
    """The forecast for a search; None where no model proposes."""
    if plan.proposing is None:
        return None
    rounds, models = plan.rounds, plan.proposing.models
    wish = Wish(WANTED, plan.proposing.goal)
    if rounds is not None:
        wish = Wish(rounds.candidates, plan.proposing.goal, round=Round(None))
        models = models if rounds.candidates > 1 else Models(models.optimizer, None)
    endpoint = plan.base.chosen.endpoint
    ground = Ground(plan.start, plan.base.options, max_nodes=plan.moves.max_nodes)
    repairs = REPAIRS if rounds is None else rounds.repairs
    session = SuggestionSession(ground, wish, models, endpoint=endpoint, repairs=repairs)
    each = forecast(session, endpoint)
    if rounds is not None:  # Where nothing can be used, a round is asked for again.
        each = SuggestionForecast(*(_most(bounds) for bounds in (each.calls, each.tokens, each.cost_usd)))
    affordable = affords(plan)
    candidates = None if affordable is None else affordable[1]
    if candidates is None:
        most = None
    else:
        most = candidates if rounds is not None else candidates // EVERY + 1
    return QuestionsForecast(each, most, models)


def _most(bounds: Bounds) -> Bounds:
    return bounds if bounds.most is None else Bounds(bounds.least, ATTEMPTS * bounds.most)
