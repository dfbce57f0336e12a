"""Plans in words: what each is like, why one comes first, and why others can't be used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import visible
from merrow_server.reports.run_report import cost_text

Json = dict[str, Any]
_MOST_NAMED = 8


def report_lines(report: Json) -> Iterator[str]:
    """A report: why plans can't be used, and the others in their order, with the figures of the rule that ranked them, its
    formula and its fault.
    """
    for refused in report["refused"]:
        yield f"plan {refused['candidate']} can't be used: {visible(' '.join(refused['problems']))}"
    for plan in report["plans"]:
        yield f"{plan['rank']}. {title_of(plan)}; {figures_text(plan, report['rule']['name'])}"
        names = [visible(task["id"]) for task in plan["tasks"]]
        yield f"   {', '.join(names[:_MOST_NAMED])}{', ...' if len(names) > _MOST_NAMED else ''}"
        if report["requirements"] is not None:
            yield f"   {coverage_text(plan, len(report['requirements']))}"
        for note in plan["notes"]:
            yield f"   note: {visible(note)}"
    if report["plans"]:
        rule = report["rule"]
        yield f"Ranked by `{rule['name']}`: {rule['formula']} {rule['fault']}"


def title_of(plan: Json) -> str:
    """``plan 2: 5 tasks in 3 steps``."""
    many, depth = len(plan["tasks"]), plan["metrics"]["depth"]
    return f"plan {plan['candidate']}: {counted(many, 'task')} in {counted(depth, 'step')}"


def figures_text(plan: Json, rule: str) -> str:
    """``score 312.4, time 12.1, work 20.3, rework 5.4``."""
    return ", ".join(f"{name} {value:.4g}" for name, value in plan["figures"][rule].items()).replace("_", " ")


def coverage_text(plan: Json, count: int) -> str:
    """Which of ``count`` requirements a plan covers, and which not."""
    missing = plan["missing"]
    misses = f"; misses {visible('; '.join(missing))}" if missing else ""
    behind = " (ranked lower for that)" if plan["behind"] else ""
    return f"covers {count - len(missing)} of {count} requirements{misses}{behind}"


def used_text(report: Json) -> str:
    """What it has cost: ``4 calls, 8,120 tokens, $0.0031``."""
    usage, known = report["usage"], report["known"]
    if not usage["calls"]:
        return "No call was made." if not known else "All answers were known already; no call was made."
    already = f" ({known} known already)" if known else ""
    tokens = usage["prompt_tokens"] + usage["completion_tokens"]
    return f"{counted(usage['calls'], 'call')}{already}, {tokens:,} tokens, {cost_text(usage)}"
