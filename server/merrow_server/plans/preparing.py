"""From what a person says about a plan to one that can begin: the task, the models, the bounds, what it may cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from merrow_optimizer.planning.candidates import REPAIRS, PlanCandidate, PlanningTask, Told, ask_for_plans, written
from merrow_optimizer.planning.choosing import RankedPlan, in_order, usable
from merrow_optimizer.planning.coverage import Coverage, judge
from merrow_optimizer.planning.questions import KEY
from merrow_optimizer.planning.ranking import RuleName
from merrow_optimizer.planning.reading import PlanBounds, read_plans
from merrow_runtime.asking.asker import Asker, UnknownAnswerError
from merrow_runtime.asking.purse import Purse
from merrow_runtime.errors import RunFailure
from merrow_runtime.models.dialects import DialectStore
from merrow_runtime.models.prices import price_at
from merrow_runtime.models.tokens import estimate_call
from merrow_runtime.models.trust import WorkspaceValue
from merrow_runtime.models.user_settings import ASK_ABOVE_USD, read_user_settings
from merrow_runtime.options import DEFAULT_MODEL, RunOptions
from merrow_runtime.provenance import OFFLINE_ORIGIN
from merrow_runtime.running.only_model import with_only_model
from merrow_runtime.running.resources import ChosenEndpoint, choose
from merrow_runtime.store.database import Store
from merrow_runtime.usage import Usage

OFFLINE = (
    "The embedded offline model plans, which is not a real model: it gives the same plan for every task, and nothing is"
    " judged."
)
Choosing = Callable[[RunOptions, str | None, Sequence[WorkspaceValue], DialectStore | None], ChosenEndpoint]
"""Chooses the endpoint, as `choose` does."""
_METER = "merrow plan"
"""What the ledger of spending calls it."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What is to be planned, and how. ``given`` is the text of a file that has the plans already."""

    task: str
    n: int = 3
    rank: RuleName = "expected"
    roles: tuple[str, ...] = ()
    max_agents: int | None = None
    max_nodes: int = 50
    judge: bool = True
    as_mermaid: bool = False
    optimizer_model: str | None = None
    judge_model: str | None = None
    model: str | None = None
    """The model that plans where neither the user's settings nor ``optimizer_model`` name one."""
    base_url: str | None = None
    fresh: bool = False
    given: str | None = None
    ask_above_usd: float | None = None
    """What may be spent unasked, unless the user's settings allow less; None: as they say."""


@dataclass(frozen=True, slots=True)
class PlanForecast:
    """Bounds of calls, tokens and US dollars: each plan asked for once, or once more for each repair, and the judge.

    The cost is None where a price is not known.
    """

    calls: tuple[int, int]
    tokens: tuple[int, int]
    cost_usd: tuple[float, float] | None

    def to_json(self) -> dict[str, Any]:
        """As ``--dry-run --format json`` prints it."""
        bounds = {"calls": self.calls, "tokens": self.tokens, "cost_usd": self.cost_usd}
        return {name: None if one is None else {"least": one[0], "most": one[1]} for name, one in bounds.items()}


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """The plans in order, those that can't be used, and what the judge said (or why nothing)."""

    plans: tuple[RankedPlan, ...]
    refused: tuple[PlanCandidate, ...]
    coverage: Coverage | None
    notice: str | None
    used: Usage
    known: int


@dataclass(frozen=True, slots=True)
class PreparedPlan:
    """A plan that can be asked for, with what it may cost. Close it in the end."""

    asked: PlanRequest
    wanted: PlanningTask
    judge_model: str
    chosen: ChosenEndpoint
    forecast: PlanForecast
    ask_above_usd: float
    notices: tuple[str, ...]
    _user: Store

    @property
    def is_judged(self) -> bool:
        """Whether a judge is asked."""
        return _is_judged(self.asked, self.chosen)

    @property
    def may_cost(self) -> bool:
        """Whether it may cost more than the user wants to spend unasked."""
        cost = self.forecast.cost_usd
        return cost is None or cost[1] > self.ask_above_usd

    async def known(self) -> PlanOutcome | None:
        """The outcome, where every answer is known already; None where a model has to be asked."""
        if self.asked.fresh:
            return None
        try:
            return await self._made(Asker(Purse(self.chosen, _METER), self._user.cache, KEY, only_known=True))
        except (UnknownAnswerError, RunFailure):
            return None

    async def run(self, told: Told = lambda _, __, ___: None) -> PlanOutcome:
        """Ask the models; what came of it. ``told`` hears how far it is. Raises `RunFailure`."""
        asker = Asker(Purse(self.chosen, _METER), self._user.cache, KEY, fresh=self.asked.fresh)
        try:
            return await self._made(asker, told)
        finally:
            asker.close()

    async def _made(self, asker: Asker, told: Told = lambda _, __, ___: None) -> PlanOutcome:
        asked, wanted = self.asked, self.wanted
        steps = asked.n + (1 if self.is_judged else 0)
        if asked.given is None:
            candidates = await ask_for_plans(wanted, asked.n, asker, lambda what, done, _: told(what, done, steps))
        else:
            read = read_plans(asked.given, wanted.bounds)
            candidates = [written(number, one, wanted.task) for number, one in enumerate(read, 1)]
        plans = usable(candidates)
        coverage: Coverage | str | None = None
        if plans and self.is_judged:
            told("comparing the plans with the task", steps - 1, steps)
            coverage = await judge(wanted.task, [graph for _, graph in plans], self.judge_model, asker)
        found = coverage if isinstance(coverage, Coverage) else None
        return PlanOutcome(
            tuple(in_order(plans, asked.rank, found)),
            tuple(one for one in candidates if one.graph is None),
            found,
            coverage if isinstance(coverage, str) else None,
            asker.used,
            asker.known,
        )

    async def close(self) -> None:
        """Let the endpoint go."""
        await self.chosen.endpoint.close()


def prepare(asked: PlanRequest, user: Store, *, choosing: Choosing = choose) -> PreparedPlan:
    """Make a plan ready to be asked for. ``user`` is the user's store. Raises `UsageFailure`."""
    settings = read_user_settings()
    options = RunOptions(default_model=settings.model, base_url=asked.base_url)
    chosen = choosing(options, asked.base_url, (), user.dialects)
    named = asked.optimizer_model or asked.model or settings.models.optimizer
    if named is None:
        chosen = with_only_model(chosen, options, None)
    model = named or chosen.model or DEFAULT_MODEL
    judge_model = asked.judge_model or settings.models.judge or model
    bounds = PlanBounds(asked.max_nodes, asked.max_agents, asked.roles, needs_agents=asked.given is None)
    wanted = PlanningTask(asked.task, model, bounds, asked.as_mermaid)
    is_offline = chosen.endpoint.origin == OFFLINE_ORIGIN
    notices = chosen.notices + ((OFFLINE,) if is_offline and asked.given is None else ())
    allowed = [usd for usd in (settings.suggest_ask_above_usd, asked.ask_above_usd) if usd is not None]
    return PreparedPlan(
        asked,
        wanted,
        judge_model,
        chosen,
        _forecast(asked, wanted, judge_model, chosen),
        min(allowed, default=ASK_ABOVE_USD),
        notices,
        user,
    )


def _forecast(asked: PlanRequest, wanted: PlanningTask, judge_model: str, chosen: ChosenEndpoint) -> PlanForecast:
    """A call of the judge, which is shown all plans, is taken to be as long as one for a plan."""
    judges = 1 if _is_judged(asked, chosen) else 0
    asks = 0 if asked.given is not None else asked.n
    most = asks * (1 + REPAIRS)
    question = wanted.request()
    one, judged = (estimate_call(question, price_at(chosen.endpoint, model)) for model in (wanted.model, judge_model))
    known = (not asks or one.cost_usd is not None) and (not judges or judged.cost_usd is not None)
    once, last = one.cost_usd or 0.0, judges * (judged.cost_usd or 0.0)
    return PlanForecast(
        (asks + judges, most + judges),
        ((asks + judges) * one.tokens, (most + judges) * one.tokens),
        (asks * once + last, most * once + last) if known else None,
    )


def _is_judged(asked: PlanRequest, chosen: ChosenEndpoint) -> bool:
    """Whether a judge is asked: the embedded model can't judge."""
    return asked.judge and chosen.endpoint.origin != OFFLINE_ORIGIN
