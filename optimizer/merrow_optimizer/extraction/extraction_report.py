"""What an extraction came to, as plain data and as the texts of its files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from merrow_analysis.fresh_ids import FreshIds
from merrow_optimizer.evaluation.statistics.intervals import interval_of
from merrow_optimizer.extraction.deepening import Path
from merrow_optimizer.extraction.extractor import ExtractionOutcome, Extractor, Proved, shapes
from merrow_optimizer.extraction.naming import takes
from merrow_optimizer.extraction.operators import library_text
from merrow_optimizer.extraction.plan import ExtractionPlan
from merrow_optimizer.extraction.pooling import PooledOperator
from merrow_optimizer.extraction.solved_cases import problem_digest
from merrow_optimizer.extraction.trials import Trials
from merrow_runtime.asking.rows import JobRows
from merrow_runtime.models.tokens import estimate_tokens

SCHEMA = 1
MOST_SHAPES = 10
"""Start workflows that are written."""
CASES, START = "cases", "start"
"""The folders of files beside the library."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST_NAME = 80


def report(extractor: Extractor) -> dict[str, Any]:
    """All that is known of an extraction that ended, as JSON shows it."""
    outcome, plan = extractor.outcome, extractor.plan
    shown: dict[str, Any] = {
        "schema": SCHEMA,
        "dataset": extractor.dataset,
        "cases": _cases(outcome, plan),
        "settings": {
            "paths": plan.settings.paths,
            "steps": plan.settings.steps,
            "coverage": plan.settings.coverage,
            "without": list(plan.settings.without),
            "aggregate": plan.settings.aggregate,
            "seed": plan.seed,
            "generator": plan.generator,
            "model": plan.base.model,
            "metric": plan.base.metric.name,
        },
        "why_nothing": outcome.why_nothing,
    }
    if outcome.why_nothing is not None:
        return shown
    coverage = _coverage(outcome, plan)
    return {
        **shown,
        "operators": [
            {"name": operator.name, **takes(operator.signature), "prompt": operator.prompt, **_support(pooled, outcome)}
            for operator, pooled in zip(outcome.operators, outcome.chosen, strict=True)
        ],
        "coverage": coverage,
        "is_enough": is_enough(coverage, plan),
        "chain": chain(outcome),
        "groups": [
            {
                "name": named.name,
                **takes(named.group.signature),
                "steps": len(named.group.members),
                "cases": len({place.case for place in named.group.members}),
            }
            for named in outcome.named
        ],
        "placed_by_model": outcome.placed,
        "paths": [_path(path) for path in outcome.paths],
        "pool": [
            {"name": pooled.name, **takes(pooled.signature), **_support(pooled, outcome)} for pooled in outcome.pool
        ],
        "choice": None
        if outcome.choice is None
        else {
            "by": "cover",
            "is_exact": outcome.choice.is_exact,
            "covered": outcome.choice.covered,
            "is_enough": outcome.choice.is_enough,
        },
        "scores": _scores(outcome),
        "answers": {str(stage): tally.to_json() for stage, tally in sorted(extractor.generator.tallies.items())},
        "leaks_refused": sum(tally.leaks for tally in extractor.generator.tallies.values()),
        "compression": _compression(outcome),
        "shapes": [
            {"file": f"{START}/{number}.mmd", "cases": count}
            for number, (_, count) in enumerate(_shown_shapes(outcome), 1)
        ],
        "cost": _cost(extractor.rows, extractor.trials),
        "notes": list(outcome.notes),
    }


def is_enough(coverage: Mapping[str, Any], plan: ExtractionPlan) -> bool:
    """Whether the set covers as much as was asked for of the cases that it was drawn from."""
    share = coverage["extraction"]["share"]
    return share is not None and share >= plan.settings.coverage - 1e-9


def chain(outcome: ExtractionOutcome) -> list[dict[str, Any]]:
    """How many operators there were from step to step, those of paths as ranges."""
    initial = sum(len(named.group.members) for named in outcome.named)
    links: list[dict[str, Any]] = [
        {"what": "initial", "least": initial, "most": initial},
        {"what": "groups", "least": len(outcome.named), "most": len(outcome.named)},
    ]
    steps = max((len(path.counts) for path in outcome.paths), default=1)
    for number in range(1, steps):
        counts = [path.counts[min(number, len(path.counts) - 1)] for path in outcome.paths]
        links.append({"what": f"step {number}", "least": min(counts), "most": max(counts)})
    links.append({"what": "pool", "least": len(outcome.pool), "most": len(outcome.pool)})
    links.append({"what": "set", "least": len(outcome.operators), "most": len(outcome.operators)})
    return links


def _cases(outcome: ExtractionOutcome, plan: ExtractionPlan) -> dict[str, Any]:
    return {
        "extraction": len(plan.split.extracted),
        "probe": len(plan.split.probe),
        "without_solution": plan.left_out,
        "unusable": sorted(outcome.unusable),
        "extracted_from": [case.id for case in plan.split.extracted],
        "problems": [problem_digest(case.item) for case in plan.split.extracted],
    }


def _support(pooled: PooledOperator, outcome: ExtractionOutcome) -> dict[str, Any]:
    cases = {place.case for source in pooled.sources for place in outcome.named[source].group.members}
    groups = [outcome.named[source].name for source in sorted(pooled.sources)]
    return {"support": pooled.support, "paths": len(outcome.paths), "cases": len(cases), "groups": groups}


def _path(path: Path) -> dict[str, Any]:
    return {
        "counts": path.counts,
        "operators": [{"name": operator.name, **takes(operator.signature)} for operator in path.operators],
        "steps": [[mapped.to_json() for mapped in step] for step in path.steps],
    }


def _parts(outcome: ExtractionOutcome, plan: ExtractionPlan) -> dict[str, list[Proved]]:
    parts = {"extraction": plan.split.extracted, "probe": plan.split.probe}
    return {
        name: [outcome.proved[case.id] for case in cases if case.id in outcome.proved] for name, cases in parts.items()
    }


def _coverage(outcome: ExtractionOutcome, plan: ExtractionPlan) -> dict[str, Any]:
    """What share of each part is covered, with its interval; of the cases whose steps could be used."""
    coverage: dict[str, Any] = {}
    for name, proved in _parts(outcome, plan).items():
        values = [1.0 if case.is_covered else 0.0 for case in proved]
        interval = interval_of(values) if values else None
        coverage[name] = {
            "cases": len(values),
            "covered": round(sum(values)),
            "share": sum(values) / len(values) if values else None,
            "interval": None if interval is None else [interval.lower, interval.upper],
        }
    return coverage


def _scores(outcome: ExtractionOutcome) -> dict[str, Any]:
    """The mean score of all cases by their own workflows, and of those that are whole with the set by both."""
    proved = list(outcome.proved.values())
    both = [(case.own.value, case.trial.value) for case in proved if case.trial is not None]
    return {
        "own": _mean([case.own.value for case in proved]),
        "whole": len(both),
        "own_of_whole": _mean([own for own, _ in both]),
        "with_set": _mean([value for _, value in both]),
    }


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _compression(outcome: ExtractionOutcome) -> dict[str, Any]:
    """Nodes, operators and tokens of prompts: of the workflows of all cases that were extracted from, and of what is written
    in their place.
    """
    members = [place for named in outcome.named for place in named.group.members]
    cases = {place.case for place in members}
    tokens = sum(estimate_tokens(outcome.steps[place.case][place.step].prompt) for place in members)
    shown = _shown_shapes(outcome)
    pairs = {
        "nodes": (
            sum(len(outcome.steps[case]) for case in cases),
            sum(len(outcome.steps[case.case.id]) for case, _ in shown),
        ),
        "operators": (len(members), len(outcome.operators)),
        "prompt_tokens": (tokens, sum(estimate_tokens(operator.prompt) for operator in outcome.operators)),
    }
    return {
        name: {"cases": before, "library": after, "ratio": before / after if after else None}
        for name, (before, after) in pairs.items()
    }


def _cost(rows: JobRows, trials: Trials) -> dict[str, Any]:
    """What the answers of the generator took, whether they were paid by this extraction or known, and how many cases were run.
    What was paid in all is in the journal: it depends on what was known before.
    """
    return {"generator": rows.used.to_json(), "runs_of_cases": trials.count}


def _shown_shapes(outcome: ExtractionOutcome) -> list[tuple[Proved, int]]:
    return shapes(outcome)[:MOST_SHAPES]


def files(extractor: Extractor) -> dict[str, str]:
    """The texts of all files but the library and the report, by their paths beside it."""
    outcome = extractor.outcome
    texts: dict[str, str] = {}
    names = FreshIds((), str.casefold)
    for name, proved in sorted(outcome.proved.items()):
        file = names.new(_NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME], "case")
        texts[f"{CASES}/{file}.mmd"] = titled(proved.rewritten.text, f"Case {name}, with extracted operators")
    whole = sum(count for _, count in shapes(outcome))
    for number, (proved, count) in enumerate(_shown_shapes(outcome), 1):
        title = f"A shape of workflow that {count} of {whole} cases have"
        texts[f"{START}/{number}.mmd"] = titled(proved.rewritten.text, title)
    return texts


def titled(text: str, title: str) -> str:
    """A file with a comment before its diagram."""
    return text.replace("\nflowchart TD\n", f"\n%% {' '.join(title.split())}\nflowchart TD\n", 1)


def library(extractor: Extractor) -> str:
    """The operator library."""
    outcome, plan = extractor.outcome, extractor.plan
    covered = _coverage(outcome, plan)["extraction"]
    noted = []
    for operator, pooled in zip(outcome.operators, outcome.chosen, strict=True):
        support = _support(pooled, outcome)
        note = f"From {support['cases']} cases"
        if outcome.paths:
            note += f", in {support['support']} of {support['paths']} paths"
        note += f". The set covers {covered['covered']} of {covered['cases']} cases."
        noted.append(replace(operator, note=note))
    return library_text(noted)
