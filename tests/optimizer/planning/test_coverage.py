"""What a judge says of plans, and how it puts them back."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.optimizer.planning.plans import answer, plan_of, plans

from merrow_optimizer.planning.candidates import PlanCandidate
from merrow_optimizer.planning.choosing import in_order, usable
from merrow_optimizer.planning.coverage import Coverage, read_coverage

PLANS = [plan_of("AB", "AB"), plan_of("A")]


def said(*requirements: tuple[str, list[tuple[object, object]]]) -> dict[str, Any]:
    return {
        "requirements": [
            {"requirement": name, "met_by": [{"plan": plan, "task": task} for plan, task in by]}
            for name, by in requirements
        ]
    }


def test_what_each_plan_misses() -> None:
    found = read_coverage(
        "Sure:\n" + answer(said(("map", [(1, "A"), (1, "B"), (2, "A")]), ("schedule", [(1, "B")]))), PLANS
    )
    assert found is not None
    assert [found.missing(0), found.missing(1)] == [(), ("schedule",)]
    assert found.met[0]["map"] == ("A", "B")
    assert not found.is_behind(1)


def test_an_answer_that_can_not_be_read_is_no_coverage() -> None:
    assert all(
        read_coverage(text, PLANS) is None for text in ("", "no", "{}", '{"requirements": []}', '{"requirements": [1]}')
    )


KEYS = st.sampled_from(["requirements", "requirement", "met_by", "plan", "task"])
VALUES = st.none() | st.integers() | st.text(max_size=3) | st.sampled_from(["A", "map"])


@given(st.recursive(VALUES, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner)))
def test_any_answer_is_survived(value: object) -> None:
    found = read_coverage(answer(value), PLANS)
    assert found is None or all(set(found.missing(one)) <= set(found.requirements) for one in (0, 1))


@given(st.lists(plans(), min_size=1, max_size=5), st.integers(0, 6), st.data())
def test_who_misses_two_more_than_the_best_comes_last(graphs: list[Any], count: int, data: st.DataObject) -> None:
    names = tuple(f"r{number}" for number in range(count))
    met = tuple({name: ("x",) for name in names if data.draw(st.booleans())} for _ in graphs)
    candidates = [PlanCandidate(number, graph, str(number)) for number, graph in enumerate(graphs, 1)]
    found = in_order(usable(candidates), "expected", Coverage(names, met))
    assert len(found) == len(graphs)
    least = min(len(one.missing) for one in found)
    behind = [len(one.missing) >= least + 2 for one in found]
    assert behind == sorted(behind)
    assert [one.is_behind for one in found] == behind
    for group in (True, False):
        scores = [one.figures["expected"]["score"] for one in found if one.is_behind is group]
        assert scores == sorted(scores)


def test_equal_plans_are_one() -> None:
    graph = plan_of("AB", "AB")
    assert [
        one.number for one, _ in usable([PlanCandidate(1), PlanCandidate(2, graph, "t"), PlanCandidate(3, graph, "t")])
    ] == [2]
