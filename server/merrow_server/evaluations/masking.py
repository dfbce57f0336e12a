"""Evaluations whose results are masked: what is to be expected of them, beside what was found."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from merrow_optimizer.evaluation.plan import Plan
from merrow_runtime.running.masking import expected_success, mask_of, maskable

PUBLISHED = {"website": (46, 87), "gobang": (0, 93), "slides": (67, 93)}
"""Success in per cent without and with refinement, as Flow (arXiv 2501.07834) has it: 5 trials, with a rate that is not given."""


def masking_of(plan: Plan) -> dict[str, Any]:
    """What the runs of an evaluation mask, and what follows from that for a workflow whose nodes give something good exactly
    where what they are given is good, as plain data; empty where they mask nothing.

    ``redone`` is how often a model may have masked results made again, None where once is enough.
    """
    graph, options, refine = plan.workflow.graph, plan.options, plan.refine
    mask = mask_of(graph, options)
    if mask is None:
        return {}
    nodes = [name for name in maskable(graph) if not mask.only or name in mask.only]
    redone = 0 if refine is None else refine.max if mask.every else math.inf
    return {
        "masking": {
            "rate": mask.rate,
            "only": sorted(mask.only),
            "every": mask.every,
            "refine": refine is not None,
            "nodes": len(nodes),
            "redone": None if math.isinf(redone) else redone,
            "expected": expected_success(mask.rate, len(nodes), redone),
        }
    }


def expected_text(masking: Mapping[str, Any]) -> str:
    """What is to be expected, with its formula."""
    rate, nodes, redone = masking["rate"], masking["nodes"], masking["redone"]
    left = "0" if redone is None else f"{rate:g}" if not redone else f"{rate:g}^{redone + 1}"
    return f"(1 - {left})^{nodes} = {masking['expected']:.3f}"


def masking_text(masking: Mapping[str, Any]) -> str:
    """What was masked and what is to be expected, in a sentence."""
    of = f" of {', '.join(masking['only'])}" if masking["only"] else ""
    refined = "with" if masking["refine"] else "without"
    return (
        f"Each result{of} was passed on as `none` with probability {masking['rate']:g}, {refined} refinement. A workflow that"
        f" is right exactly where nothing masked is left scores {expected_text(masking)}."
    )


def published_lines() -> Iterator[str]:
    """Flow's figures, to be read beside those of flow-tasks."""
    told = ", ".join(f"{task} {before} and {after} %" for task, (before, after) in PUBLISHED.items())
    yield f"Published for Flow without and with refinement, at a rate that its paper does not give: {told}."
