"""From what a person says about a plan to one that can begin: the task, the models, the bounds, what it may cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from merrow_optimizer.evaluation.plan import EvaluationLimits
from merrow_optimizer.planning.candidates import REPAIRS, PlanningTask, ask_for_plans, written
from merrow_optimizer.planning.choosing import in_order, usable
from merrow_optimizer.planning.coverage import Coverage, judge
from merrow_optimizer.planning.plan_reader import PlanBounds, read_plans
from merrow_optimizer.planning.questions import KEY
from merrow_optimizer.planning.ranking import RULES, RuleName
from merrow_runtime.asking.asker import Asker
from merrow_runtime.models.prices import price_at
from merrow_runtime.models.tokens import estimate_call
from merrow_runtime.models.user_settings import read_user_settings
from merrow_runtime.options import DEFAULT_MODEL, RunOptions
from merrow_runtime.provenance import OFFLINE_ORIGIN
from merrow_runtime.running.only_model import with_only_model
from merrow_runtime.running.resources import ChosenEndpoint, choose
from merrow_runtime.store.database import Store
from merrow_runtime.store.jobs import JobRecord
from merrow_runtime.usage import Usage
from merrow_server.asking_jobs import Asking, Choosing, Json, Told, address_kept, allowed_usd
from merrow_server.asking_words import cost_sentence
from merrow_server.continuing import ResumeChanges
from merrow_server.plans.plan_data import PlanOutcome

OFFLINE = (
    "The embedded offline model plans, which is not a real model: it gives the same plan for every task, and nothing is"
    " judged."
)
_BOOKED = "merrow plan"
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
    limits: EvaluationLimits = field(default_factory=EvaluationLimits)


@dataclass(frozen=True, slots=True)
class PlanForecast:
    """PlanBounds of calls, tokens and US dollars: each plan asked for once, or once more for each repair, and the judge.

    The cost is None where a price is not known.
    """

    calls: tuple[int, int]
    tokens: tuple[int, int]
    cost_usd: tuple[float, float] | None

    def to_json(self) -> dict[str, Any]:
        """As ``--dry-run --format json`` prints it."""
        bounds = {"calls": self.calls, "tokens": self.tokens, "cost_usd": self.cost_usd}
        return {
            name: None if bound is None else {"least": bound[0], "most": bound[1]} for name, bound in bounds.items()
        }


@dataclass(slots=True, kw_only=True)
class PreparedPlan(Asking[PlanOutcome]):
    """PreparedPlan that can be asked for."""

    kind, key = "plan", KEY

    asked: PlanRequest
    wanted: PlanningTask
    judge_model: str
    bounds: PlanForecast

    @property
    def is_judged(self) -> bool:
        """Whether a judge is asked."""
        return _is_judged(self.asked, self.chosen)

    async def ask(self, asker: Asker, told: Told) -> PlanOutcome:
        """See `Asking`."""
        asked, wanted = self.asked, self.wanted
        steps = asked.n + (1 if self.is_judged else 0)
        if asked.given is None:
            candidates = await ask_for_plans(wanted, asked.n, asker, lambda what, done, _: told(what, done, steps))
        else:
            read = read_plans(asked.given, wanted.bounds)
            candidates = [written(number, answer, wanted.task) for number, answer in enumerate(read, 1)]
        plans = usable(candidates)
        coverage: Coverage | str | None = None
        if plans and self.is_judged:
            told("comparing the plans with the task", steps - 1, steps)
            coverage = await judge(wanted.task, [graph for _, graph in plans], self.judge_model, asker)
        judged = coverage if isinstance(coverage, Coverage) else None
        return PlanOutcome(
            tuple(in_order(plans, asked.rank, judged)),
            tuple(candidate for candidate in candidates if candidate.graph is None),
            judged,
            coverage if isinstance(coverage, str) else None,
        )

    def report(self, outcome: PlanOutcome, used: Usage, known: int) -> Json:
        """See `Asking`."""
        return {
            "task": self.wanted.task,
            "model": self.wanted.model,
            "endpoint": self.chosen.endpoint.origin,
            **outcome.to_json(RULES[self.asked.rank]),
            "notices": list(self.notices),
            "usage": used.to_json(),
            "known": known,
        }

    def forecast(self) -> Json:
        """See `Asking`."""
        return {**self.bounds.to_json(), "model": self.wanted.model}

    def sentence(self) -> str:
        """See `Asking`."""
        who = self.wanted.model if self.asked.given is None else self.judge_model
        judge = self.judge_model if self.is_judged else None
        return cost_sentence(self.bounds.to_json(), who, judge, self.chosen.endpoint.origin)

    def most_usd(self) -> float | None:
        """See `Asking`."""
        return None if self.bounds.cost_usd is None else self.bounds.cost_usd[1]


def prepare(
    asked: PlanRequest,
    user: Store,
    *,
    choosing: Choosing = choose,
    output: Path | None = None,
    folder: Path | None = None,
) -> PreparedPlan:
    """Make plans ready to be asked for. ``user`` is the user's store, ``output`` and ``folder`` are where they are to be written.
    Raises `UsageFailure`.
    """
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
    places = {
        name: None if place is None else str(place.absolute())
        for name, place in (("output", output), ("folder", folder))
    }
    kept = {
        **asdict(asked),
        "base_url": address_kept(asked.base_url),
        "optimizer_model": model,
        "judge_model": judge_model,
    }
    del kept["limits"]
    return PreparedPlan(
        user=user,
        chosen=chosen,
        file=places["output"] or places["folder"] or "",
        booked=_BOOKED,
        again={"asked": kept, **places},
        shown={"task": asked.task, "model": model},
        notices=chosen.notices + ((OFFLINE,) if is_offline and asked.given is None else ()),
        limits=asked.limits,
        ask_above_usd=allowed_usd(settings, asked.ask_above_usd),
        fresh=asked.fresh,
        asked=asked,
        wanted=wanted,
        judge_model=judge_model,
        bounds=_forecast(asked, wanted, judge_model, chosen),
    )


def prepare_plans_again(
    record: JobRecord, user: Store, changed: ResumeChanges, choosing: Choosing = choose
) -> PreparedPlan:
    """PreparedPlan of the journal made ready to continue. Raises `RunFailure`."""
    settings = record.plan["asked"]
    given = {
        "roles": tuple(settings["roles"]),
        "base_url": changed.base_url or settings["base_url"],
        "limits": changed.limits_after(EvaluationLimits(**record.plan["limits"])),
    }
    plans = prepare(PlanRequest(**{**settings, **given}), user, choosing=choosing)
    plans.continues(record, changed)
    return plans


def _forecast(asked: PlanRequest, wanted: PlanningTask, judge_model: str, chosen: ChosenEndpoint) -> PlanForecast:
    """A call of the judge, which is shown all plans, is taken to be as long as one for a plan."""
    judges = 1 if _is_judged(asked, chosen) else 0
    asks = 0 if asked.given is not None else asked.n
    most = asks * (1 + REPAIRS)
    question = wanted.request()
    planned, judged = (
        estimate_call(replace(question, model=model), chosen.endpoint, price_at(chosen.endpoint, model))
        for model in (wanted.model, judge_model)
    )
    known = (not asks or planned.cost_usd is not None) and (not judges or judged.cost_usd is not None)
    once, last = planned.cost_usd or 0.0, judges * (judged.cost_usd or 0.0)
    return PlanForecast(
        (asks + judges, most + judges),
        ((asks + judges) * planned.tokens, (most + judges) * planned.tokens),
        (asks * once + last, most * once + last) if known else None,
    )


def _is_judged(asked: PlanRequest, chosen: ChosenEndpoint) -> bool:
    """Whether a judge is asked: the embedded model can't judge."""
    return asked.judge and chosen.endpoint.origin != OFFLINE_ORIGIN
