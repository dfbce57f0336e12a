"""Plans in words: what they may cost, what each is like, why one comes first, and why others can't be used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from merrow_optimizer.planning.candidates import PlanCandidate
from merrow_optimizer.planning.choosing import RankedPlan
from merrow_optimizer.planning.coverage import Coverage
from merrow_optimizer.planning.ranking import RankingRule
from merrow_runtime.provenance import OFFLINE_ORIGIN, named
from merrow_server.plans.preparing import PreparedPlan
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import visible

_MOST_NAMED = 8


def cost_sentence(prepared: PreparedPlan) -> str:
    """What planning may cost, said before the first call."""
    forecast, model, judge = prepared.forecast, visible(prepared.wanted.model), visible(prepared.judge_model)
    least, most = forecast.calls
    calls = counted(most, "call") if least == most else f"{least} to {most} calls"
    who = model if judge == model or not prepared.is_judged else f"{model} and, to judge, {judge}"
    if prepared.asked.given is not None:
        who = judge
    money = "the price is not known" if forecast.cost_usd is None else f"at most about ${forecast.cost_usd[1]:.4f}"
    if prepared.chosen.endpoint.origin == OFFLINE_ORIGIN:
        return f"{calls} to the embedded offline model, which cost nothing."
    where = named(prepared.chosen.endpoint.origin)
    return f"{calls} to {who} at {where}, at most about {forecast.tokens[1]:,} tokens, {money}."


def refused_lines(refused: Sequence[PlanCandidate]) -> Iterator[str]:
    """Why plans can't be used."""
    for one in refused:
        yield f"plan {one.number} can't be used: {visible(' '.join(one.problems))}"


def plan_lines(plans: Sequence[RankedPlan], coverage: Coverage | None, rule: RankingRule) -> Iterator[str]:
    """The plans in their order, with the figures of the rule that ranked them, its formula and its fault."""
    for place, one in enumerate(plans, 1):
        yield f"{place}. {title_of(one)}; {figures_text(one, rule)}"
        names = [visible(name) for name in one.graph.ids[:_MOST_NAMED]]
        yield f"   {', '.join(names)}{', ...' if len(one.graph.ids) > _MOST_NAMED else ''}"
        if coverage is not None:
            yield f"   {coverage_text(one, coverage)}"
        for note in one.candidate.notes:
            yield f"   note: {visible(note)}"
    if plans:
        yield f"Ranked by `{rule.name}`: {rule.formula} {rule.fault}"


def title_of(one: RankedPlan) -> str:
    """``plan 2: 5 tasks in 3 steps``."""
    depth = one.measures.depth
    assert depth is not None  # noqa: S101 (what is ranked has no cycle)
    return f"plan {one.candidate.number}: {counted(len(one.graph.tasks), 'task')} in {counted(depth, 'step')}"


def figures_text(one: RankedPlan, rule: RankingRule) -> str:
    """``score 312.4, time 12.1, work 20.3, rework 5.4``."""
    return ", ".join(f"{name} {value:.4g}" for name, value in one.figures[rule.name].items()).replace("_", " ")


def coverage_text(one: RankedPlan, coverage: Coverage) -> str:
    """Which requirements a plan covers, and which not."""
    met, count = len(coverage.requirements) - len(one.missing), len(coverage.requirements)
    misses = f"; misses {visible('; '.join(one.missing))}" if one.missing else ""
    behind = " (ranked lower for that)" if one.is_behind else ""
    return f"covers {met} of {count} requirements{misses}{behind}"
