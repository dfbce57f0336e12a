"""What an extraction is to do, checked before the first call, and what it may cost by stage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from merrow_optimizer.evaluation.plan import Plan
from merrow_optimizer.extraction import initial
from merrow_optimizer.extraction.generator import LONGEST_ANSWER, TRIES
from merrow_optimizer.extraction.initial import ExtractionTask, case_question
from merrow_optimizer.extraction.leaks import CaseLeaks
from merrow_optimizer.extraction.solved_cases import CaseSplit, SolvedCase
from merrow_optimizer.extraction.steps import MOST_STEPS
from merrow_runtime.errors import UsageFailure
from merrow_runtime.models.prices import price_at
from merrow_runtime.models.tokens import prompt_tokens
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running.forecast_figures import Bounds
from merrow_runtime.usage import Usage

PARTS = ("initial", "clustering", "deep")
"""What can be left out, as in the paper's ablations."""
_SHORT_ANSWER = LONGEST_ANSWER // 10
_SHOWN = 3_000
"""Tokens that a question of the later stages has as a rule, and twice that at most."""
_CALLS_A_STEP = 24
"""Calls that one step of a workflow makes at most: several votes, or programs, each sent back."""
_STEP = (200, 9_000)
"""Tokens of one call of a step, as a rule and at most."""


@dataclass(frozen=True, slots=True)
class ExtractionSettings:
    """How operators are drawn: paths and steps of stage 3, the share of cases that the set is to cover, what is left out (of
    `PARTS`), and who puts the paths together: ``cover`` or ``model``.
    """

    paths: int = 6
    steps: int = 3
    coverage: float = 0.95
    without: tuple[str, ...] = ()
    aggregate: str = "cover"


@dataclass(frozen=True, slots=True)
class StageForecast:
    """What one stage may use: calls, tokens, US dollars. The cost's most is None where a price is not known."""

    stage: int
    name: str
    calls: Bounds
    tokens: Bounds
    cost_usd: Bounds

    def to_json(self) -> dict[str, Any]:
        """As ``--dry-run --format json`` prints it."""
        return {
            "stage": self.stage,
            "name": self.name,
            "calls": self.calls.to_json(),
            "tokens": self.tokens.to_json(),
            "cost_usd": self.cost_usd.to_json(),
        }


@dataclass(frozen=True, eq=False)
class ExtractionPlan:
    """An extraction made ready. ``base`` has the items, the metric and who answers (its workflow is a placeholder);
    ``left_out`` is how many cases have no solution.
    """

    base: Plan
    split: CaseSplit
    task: ExtractionTask
    generator: str
    settings: ExtractionSettings
    seed: int
    left_out: int = 0

    @cached_property
    def leaks(self) -> CaseLeaks:
        """Knows what is the cases' own."""
        return CaseLeaks(self.split.all, is_code=self.task.answer == "Code")

    @cached_property
    def forecast(self) -> list[StageForecast]:
        """What each stage may use, in order."""
        return list(_stages(self))


def check(plan: ExtractionPlan) -> None:
    """Raise `UsageFailure` where the budget does not cover stage 1."""
    limits, first = plan.base.limits, plan.forecast[0]
    for limit, bounds, form, unit, option in (
        (limits.usd, first.cost_usd, ".4g", "US dollars", "--budget-usd"),
        (limits.tokens, first.tokens, ",.0f", "tokens", "--budget-tokens"),
    ):
        if limit is not None and limit < bounds.least:
            raise UsageFailure(
                f"The budget of {limit:{form}} {unit} does not cover stage 1, a question about each of"
                f" {len(plan.split.all):,} cases, which uses at least {bounds.least:{form}} ({option})."
            )


def _stages(plan: ExtractionPlan) -> Iterator[StageForecast]:
    settings, cases = plan.settings, plan.split.all
    whole = "initial" not in settings.without
    asked = cases if whole else cases[:1]
    tokens = sum(_question_tokens(plan, case) for case in asked)
    yield _stage(plan, 1, "initial steps", (len(asked), TRIES * len(asked)), tokens)
    count = len(plan.split.extracted)
    steps = count * MOST_STEPS if whole else MOST_STEPS
    clustered = "clustering" not in settings.without
    # Each step may be a group of its own, and all but those of two groups may have to be placed.
    yield _stage(plan, 2, "groups", (1, TRIES * (2 * steps - 2)) if clustered else (0, 0))
    deep = "deep" not in settings.without
    yield _stage(plan, 3, "deepening", (settings.paths, settings.paths * settings.steps * TRIES) if deep else (0, 0))
    by_model = settings.aggregate == "model"
    # The model's own set may have all operators of all paths, the smallest one at most as many as there are steps.
    worded = settings.paths * steps + 1 if by_model else steps
    yield _stage(plan, 4, "choice", (1, TRIES * worded) if deep else (0, 0))
    swaps = 0 if by_model or not deep else count * settings.paths * MOST_STEPS
    least = 2 * len(cases)
    most = (2 * len(cases) + swaps) * MOST_STEPS * _CALLS_A_STEP
    yield _priced(plan, 5, "runs of cases", plan.base.model, (least, most), _STEP, _STEP)


def _question_tokens(plan: ExtractionPlan, case: SolvedCase) -> int:
    request = ModelRequest(plan.generator, case_question(case, plan.task), schema=initial.SCHEMA)
    return prompt_tokens(request)


def _stage(
    plan: ExtractionPlan, number: int, name: str, calls: tuple[int, int], tokens: int | None = None
) -> StageForecast:
    """A stage in which the generator is asked; ``tokens`` are those of all its first questions, where they are known."""
    each = _SHOWN if tokens is None else tokens / max(1, calls[0])
    again = 2 * each + LONGEST_ANSWER  # with the answer that was sent back
    return _priced(plan, number, name, plan.generator, calls, (each, _SHORT_ANSWER), (again, LONGEST_ANSWER))


def _priced(
    plan: ExtractionPlan,
    number: int,
    name: str,
    model: str,
    calls: tuple[int, int],
    least: tuple[float, float],
    most: tuple[float, float],
) -> StageForecast:
    """Bounds from calls at least and at most, each with the tokens of its prompt and of its answer."""
    price = price_at(plan.base.chosen.endpoint, model)
    usages = [
        Usage(round(many * each[0]), round(many * each[1])) for many, each in zip(calls, (least, most), strict=True)
    ]
    costs = [0.0 if price is None else price.cost(usage) for usage in usages]
    is_known = price is not None or not calls[1]
    return StageForecast(
        number,
        name,
        Bounds(*calls),
        Bounds(usages[0].tokens, usages[1].tokens),
        Bounds(costs[0], costs[1] if is_known else None),
    )
