"""Answers that are huge, or look otherwise than they are: refused in a sentence, soon, and nothing of it gets into a file."""

from __future__ import annotations

import json
import time

import pytest
from tests.optimizer.planning.plans import answer, merrow_form, plan_of

from merrow_optimizer.planning import drawings
from merrow_optimizer.planning.coverage import read_coverage
from merrow_optimizer.planning.drawings import read_drawing
from merrow_optimizer.planning.plan_reader import LONGEST_TEXTS, PlanBounds, read_plan
from merrow_optimizer.planning.plan_workflow import workflow_text

SECONDS = 20.0
"""Of processor time. None takes one second; those that these bounds keep away take half a minute and more."""
HIDDEN = "\u202e\u2066\x1b[2J\x00\ud800"
EDGE = "PROBLEM([P]) --> {} --> RETURN([R])\n"


def drawn(lines: str) -> list[str]:
    begun = time.process_time()
    found, text = read_drawing(f"flowchart TD\n{lines}", "Do.", PlanBounds())
    assert time.process_time() - begun < SECONDS
    assert (found.graph, text) == (None, "")
    return list(found.problems)


def test_what_is_too_large_is_not_repaired() -> None:
    sides = (" & ".join(f"{side}{n}" for n in range(100)) for side in "AB")
    assert drawn(" --> ".join(sides)) == ["It has 200 nodes; at most 64 are run."]
    chain = EDGE.format(" --> ".join(f'N{n}["x"]' for n in range(5_000)))
    assert drawn(chain)[0].endswith("at most 50,000 are read.")


def test_a_text_that_is_nothing_but_mistakes_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawings, "repair", lambda _: pytest.fail("it is not repaired"))
    steps = "".join(f"A{n}@{{op: Nope{n}}}\n" for n in range(48))
    assert len(drawn(steps + EDGE.format(" --> ".join(f"A{n}" for n in range(48))))) == 9


@pytest.mark.parametrize("key", ["objective", "output_format"])
def test_texts_of_a_plan_are_bounded_together(key: str) -> None:
    form = merrow_form(plan_of("AB", "AB"))
    form["tasks"][1][key] = "y\n" * (LONGEST_TEXTS // 2)  # type: ignore[index]
    (problem,) = read_plan(answer(form), PlanBounds()).problems
    assert problem.endswith("write at most 100,000.")
    form["tasks"][1][key] = "y" * (LONGEST_TEXTS // 2)  # type: ignore[index]
    assert read_plan(answer(form), PlanBounds()).graph is not None


def test_what_makes_a_text_look_otherwise_is_left_out() -> None:
    form = merrow_form(plan_of("AB", "AB"))
    form["tasks"][1]["objective"] = f"Do{HIDDEN}it."  # type: ignore[index]
    found = read_plan(json.dumps(form), PlanBounds())
    assert found.graph is not None
    _, text = read_drawing("flowchart TD\n" + EDGE.format(f'A["Do{HIDDEN}it."]'), "Do.", PlanBounds())
    for written in (workflow_text(found.graph, "Do."), text):
        assert "Do" in written
        assert not set(HIDDEN) - set("[2J") & set(written)
        written.encode("utf-8")


def test_requirements_are_short_lines() -> None:
    plans = [plan_of("A")]
    names = ["r" * 900_000, HIDDEN, f"a\n{HIDDEN}b"]
    said = [{"requirement": name, "met_by": [{"plan": 1, "task": "A"}]} for name in names]
    found = read_coverage(json.dumps({"requirements": said}), plans)
    assert found is not None
    assert [len(one) for one in found.requirements] == [200, 3, 7]
    assert read_coverage("{" * 5_000_000, plans) is None
