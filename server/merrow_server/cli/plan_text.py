"""Plans in words: what each is like, why one comes first, and why others can't be used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from merrow_optimizer.planning.candidates import Candidate
from merrow_optimizer.planning.choosing import Ranked
from merrow_optimizer.planning.coverage import Coverage
from merrow_optimizer.planning.ranking import RankingRule
from merrow_server.rendering.snippet import visible

_MOST_NAMED = 8


def refused_lines(refused: Sequence[Candidate]) -> Iterator[str]:
    """Why plans can't be used."""
    for one in refused:
        yield f"plan {one.number} can't be used: {visible(' '.join(one.problems))}"


def plan_lines(plans: Sequence[Ranked], coverage: Coverage | None, rule: RankingRule) -> Iterator[str]:
    """The plans in their order, with the figures of the rule that ranked them, its formula and its fault."""
    for place, one in enumerate(plans, 1):
        measures = one.measures
        figures = ", ".join(f"{name} {value:.4g}" for name, value in one.figures[rule.name].items())
        count = len(one.graph.tasks)
        tasks = "1 task" if count == 1 else f"{count} tasks"
        yield f"{place}. plan {one.candidate.number}: {tasks} in {measures.depth} steps; {figures.replace('_', ' ')}"
        names = [visible(name) for name in one.graph.ids[:_MOST_NAMED]]
        yield f"   {', '.join(names)}{', ...' if count > _MOST_NAMED else ''}"
        if coverage is not None:
            met = len(coverage.requirements) - len(one.missing)
            misses = f"; misses {visible('; '.join(one.missing))}" if one.missing else ""
            behind = " (put back for that)" if one.is_behind else ""
            yield f"   covers {met} of {len(coverage.requirements)} requirements{misses}{behind}"
        for note in one.candidate.notes:
            yield f"   note: {visible(note)}"
    if plans:
        yield f"Ranked by {rule.name}: {rule.formula} {rule.fault}"
