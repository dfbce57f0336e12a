"""The three rules by which plans are ranked: the worked examples, the published candidates, and what always holds."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.optimizer.planning.plans import plan_of, plans
from tests.shared import SHARED

from merrow_optimizer.planning.plan_reader import PlanBounds, read_plans
from merrow_optimizer.planning.ranking import RULES, path_counts, ranked
from merrow_optimizer.planning.task_graph import PlannedTask, TaskGraph

EXAMPLES = {
    "workflow1": plan_of("ABCD", "AC", "BC", "AD", "BD", "CD"),
    "workflow2": plan_of("ABCD", "AC", "BC", "CD"),
    "workflow3": plan_of("ABCD", "AB", "BC", "CD"),
    "diamond": plan_of("ABCD", "AB", "AC", "BD", "CD"),
    "independent": plan_of("ABCD"),
}


def order(names: list[str], rule: str) -> list[str]:
    return [names[number] for number, _ in ranked([EXAMPLES[name] for name in names], RULES[rule])]  # type: ignore[index]


def score(plan: TaskGraph) -> float:
    return RULES["expected"].figures([plan])[0].shown["score"]


def test_the_papers_rule_contradicts_its_text() -> None:
    assert order(["workflow2", "workflow1", "workflow3"], "paper") == ["workflow1", "workflow2", "workflow3"]


def test_expected_agrees_with_the_papers_text() -> None:
    assert order(["workflow3", "workflow1", "workflow2"], "expected") == ["workflow2", "workflow1", "workflow3"]
    assert order(list(EXAMPLES), "expected")[0] == "independent"


def test_expected_by_hand() -> None:
    """Four tasks of two units: 0.81 of the tries succeed, and a quarter is read for each input."""
    figures = RULES["expected"].figures([EXAMPLES["workflow2"]])[0].shown
    source, join = 2.25 / 0.81, 2.5 / 0.81
    assert figures["time"] == pytest.approx(2 * source + join)
    assert figures["work"] == pytest.approx(3 * source + join)
    assert figures["rework"] == pytest.approx((2 * source + 3 * join + 4 * source) / 4)
    assert figures["score"] == pytest.approx(figures["time"] * (figures["work"] + figures["rework"]))


def test_no_more_than_eight_tasks_count_as_running_at_once() -> None:
    figures = RULES["expected"].figures([plan_of("ABCDEFGHIJKLMNOP")])[0].shown
    assert figures["time"] == pytest.approx(figures["work"] / 8)


@pytest.mark.parametrize(
    ("name", "paths"),
    [("workflow1", 8 / 3), ("workflow2", 2), ("workflow3", 1), ("diamond", 5 / 3), ("independent", 4)],
)
def test_the_codes_parallelism(name: str, paths: float) -> None:
    assert RULES["code"].figures([EXAMPLES[name]])[0].shown["path_parallelism"] == pytest.approx(paths)


def test_layers_take_no_exponential_time() -> None:
    layers = [[f"t{layer}_{number}" for number in range(5)] for layer in range(200)]
    tasks = [PlannedTask(one, "x") for one in layers[0]]
    for above, layer in itertools.pairwise(layers):
        tasks += [PlannedTask(one, "x", after=tuple(above)) for one in layer]
    assert path_counts(TaskGraph(tuple(tasks)))["t199_0"] == 5**199


def _published() -> list[Path]:
    return sorted((SHARED / "corpus" / "flow").glob("*.candidates.json"))


@pytest.mark.parametrize("file", _published(), ids=lambda file: file.stem)
def test_published_figures_and_choices(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    known = json.loads(text)
    read = read_plans(text, PlanBounds(needs_agents=False))
    accepted = [one.graph for one, said in zip(read, known["candidates"], strict=True) if said["accepted_by_original"]]
    graphs = [graph for graph in accepted if graph is not None]
    assert len(graphs) == len(accepted)
    figures = [one.shown for one in RULES["code"].figures(graphs)]
    assert [one["complexity"] for one in figures] == pytest.approx(known["recorded_c_dependency"], abs=1e-12)
    assert [one["path_parallelism"] for one in figures] == pytest.approx(known["recorded_p_avg"], abs=1e-12)
    selection = known["selection"]
    assert [one["score"] for one in figures] == pytest.approx(selection["z_scores"], abs=1e-5)
    assert [ranked(graphs, RULES["code"])[0][0]] == selection["observed"]
    assert ranked(graphs, RULES["paper"])[0][0] == selection["paper_rule_on_definition_metric"]


@given(plans(), st.data())
def test_an_edge_never_helps(plan: TaskGraph, data: st.DataObject) -> None:
    """By `expected`: whatever dependency is added, the score is not lower."""
    target = data.draw(st.sampled_from(plan.tasks))
    behind = {target.id}
    for _ in plan.tasks:
        behind |= {task.id for task in plan.tasks if behind.intersection(task.after)}
    free = [one for one in plan.ids if one not in behind and one not in target.after]
    assume(free)
    added = replace(target, after=(*target.after, data.draw(st.sampled_from(free))))
    more = TaskGraph(tuple(added if task.id == target.id else task for task in plan.tasks))
    assert score(more) > score(plan) or len(plan.tasks) == 1 or len(added.after) == 1
    assert score(more) >= score(plan)


@given(st.lists(plans(), min_size=2, max_size=5), st.data())
def test_other_candidates_do_not_matter(several: list[TaskGraph], data: st.DataObject) -> None:
    """By `expected` and `paper`: leaving out a plan changes the order of no two others."""
    gone = data.draw(st.integers(0, len(several) - 1))
    for name in ("expected", "paper"):
        whole = [number for number, _ in ranked(several, RULES[name]) if number != gone]  # type: ignore[index]
        left = [plan for number, plan in enumerate(several) if number != gone]
        again = [number if number < gone else number + 1 for number, _ in ranked(left, RULES[name])]  # type: ignore[index]
        assert again == whole


def test_by_the_codes_rule_a_loser_matters() -> None:
    """The fault that is told with it."""
    assert "leaving out" in RULES["code"].fault
    published = [json.loads(file.read_text(encoding="utf-8")) for file in _published()]
    if not published:
        pytest.skip("the corpus is not here")
    changed = 0
    for file, known in zip(_published(), published, strict=True):
        read = read_plans(file.read_text(encoding="utf-8"), PlanBounds(needs_agents=False))
        graphs = [
            one.graph for one, said in zip(read, known["candidates"], strict=True) if said["accepted_by_original"]
        ]
        found = [graph for graph in graphs if graph is not None]
        best = ranked(found, RULES["code"])[0][0]
        for gone in range(len(found)):
            if gone != best:
                left = found[:gone] + found[gone + 1 :]
                changed += left[ranked(left, RULES["code"])[0][0]] is not found[best]
    assert changed > 0


@given(plans(), st.data())
def test_isomorphic_plans_are_equal(plan: TaskGraph, data: st.DataObject) -> None:
    """Names, texts and order of the tasks count for nothing."""
    names = dict(
        zip(plan.ids, data.draw(st.permutations([f"n{number}" for number in range(len(plan.ids))])), strict=True)
    )
    tasks = [
        PlannedTask(
            names[task.id],
            "Other words.",
            None,
            after=tuple(data.draw(st.permutations([names[one] for one in task.after]))),
        )
        for task in plan.tasks
    ]
    other = TaskGraph(tuple(data.draw(st.permutations(tasks))))
    for rule in RULES.values():
        one, two = rule.figures([plan, other])
        assert one.order == two.order
