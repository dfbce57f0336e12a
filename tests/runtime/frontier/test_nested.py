"""The property of the language for Loops and Maps: a workflow without errors never meets a missing or ill-typed value, whatever
is chosen, however many turns and items there are; or it fails by a rule that says so.

Of the workflows that are made up some two in five are without errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest
from tests.runtime.frontier.nested_workflows import nested_workflow
from tests.runtime.frontier.nested_world import NestedRun
from tests.sizes import sized

from merrow_analysis.check import analyse
from merrow_analysis.graph.nodes import TypedGraph

COUNT = sized(250, 800)
PARTS = 8
RUNS = 5
"""Runs of each workflow without errors, each with other choices, numbers of items and failures."""


def _graph(seed: int) -> TypedGraph | None:
    analysis = analyse(nested_workflow(seed, records=seed % 3 > 0))
    return None if analysis.errors else analysis.typed


@pytest.mark.parametrize("part", range(PARTS))
def test_no_value_is_missing_or_ill_typed(part: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(part, COUNT, PARTS):
        graph = _graph(seed)
        seen["workflows"] += 1
        if graph is None:
            continue
        seen["accepted"] += 1
        for number in range(RUNS):
            try:
                run = NestedRun(graph, Random(f"{seed} {number}"), failing=[0, 0, 10, 30, 5][number])
                run.finish()
                seen.update(run.seen)
            except AssertionError as wrong:
                text = nested_workflow(seed, records=seed % 3 > 0)
                raise AssertionError(f"workflow {seed}, run {number}: {wrong}\n{text}") from wrong
    assert seen["accepted"] * 10 >= seen["workflows"]
    for kind in ("turns", "items", "nested", "skipped", "no items"):
        assert seen[kind], f"no run had {kind}"


@pytest.mark.parametrize("part", range(4))
def test_outcomes_may_arrive_in_any_order_at_all(part: int) -> None:
    for seed in range(part, COUNT // 8, 4):
        graph = _graph(seed)
        if graph is None:
            continue
        first = NestedRun(graph, Random(seed), failing=10)
        first.finish()
        second = NestedRun(graph, Random(seed))
        second.frontier.begin()
        told: Sequence[object] = first.told
        for outcome in Random(seed).sample(first.told, len(told)):
            second.frontier.tell(outcome)
        assert first.frontier.is_over
        assert second.frontier.is_over, nested_workflow(seed, records=seed % 3 > 0)
        assert first.frontier.results == second.frontier.results
        assert (first.frontier.failure is None) == (second.frontier.failure is None)
        if first.frontier.failure is None:
            for node in graph.nodes:
                assert first.frontier.standing(node) == second.frontier.standing(node), node.id
                assert first.frontier.outputs(node) == second.frontier.outputs(node)
