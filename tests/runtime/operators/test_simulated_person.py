"""What a model that plays a person is sent, for whatever arrives, and how its results are kept apart from those of people."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.operators.scripted import ScriptedTools
from tests.runtime.operators.scripted import given as given_values

from merrow_analysis.visible import plain
from merrow_runtime.errors import NodeFailure
from merrow_runtime.operators.base import NodeDefinition, Task
from merrow_runtime.operators.formats.fences import fences
from merrow_runtime.operators.registry import operator_for
from merrow_runtime.operators.simulated_person import PARAMETER, SimulatedPerson
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import make_steps
from merrow_runtime.program.loading import load

TEXTS = st.text(min_size=1, max_size=60) | st.lists(
    st.sampled_from(["```", "````", "## Draft", "## Question", "\n", "\x1b[2J", "yes"]), min_size=1, max_size=8
).map("".join)


def definition(returns: str = "Text", ask: str = "Is this right?") -> NodeDefinition:
    outputs = {"answer": returns, "note": "Text"}
    return NodeDefinition("ASK", "Human", "Human", ask, "m", 0.0, None, None, outputs, {PARAMETER: True})


def person() -> SimulatedPerson:
    operator = operator_for(definition())
    assert isinstance(operator, SimulatedPerson)
    return operator


@given(TEXTS, TEXTS, TEXTS)
def test_nothing_that_arrives_gets_out_of_its_frame(ask: str, shown: str, draft: str) -> None:
    inputs = {"input": given_values(shown), "draft": given_values(draft)}
    system, user = person().question(Task(definition(ask=ask), inputs)).messages
    assert [block.text for block in fences(user.content)] == [plain(ask), plain(shown), draft]
    other = {"input": given_values("a"), "draft": given_values("b")}
    assert system == person().question(Task(definition(ask="c"), other)).messages[0]


@given(TEXTS)
def test_any_answer_is_read_as_the_form_has_it_or_asked_for_again(said: str) -> None:
    tools = ScriptedTools([said] * 3)
    task = Task(definition("Bool"), {"input": given_values("x")})
    try:
        outputs = asyncio.run(person().run(task, tools))
    except NodeFailure:
        assert len(tools.asked) == 3
    else:
        assert outputs.keys() == {"answer", "note"}
        assert isinstance(outputs["answer"], bool)


CALLING = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    PROBLEM --> NODE --> RETURN
    classDef Interface fill:#eee
"""


@pytest.mark.parametrize("node", ["ASK@{op: Human, ask: 'Yes?'}", "ASK@{op: Call, workflow: ./inner.mmd}"])
def test_results_of_each_person_have_keys_of_their_own(node: str, tmp_path: Path) -> None:
    inner = CALLING.replace("NODE", "WHO@{op: Human, ask: 'Yes?'}")
    (tmp_path / "inner.mmd").write_text(inner)
    (tmp_path / "w.mmd").write_text(CALLING.replace("NODE", node))
    workflow = load(tmp_path / "w.mmd")
    keys = {
        model: next(
            step for step in make_steps(workflow, RunOptions(person=model)).values() if step.node.id == "ASK"
        ).key({}, [])
        for model in (None, "a", "b")
    }
    assert len(set(keys.values())) == 3
    again = RunOptions.from_json(RunOptions(person="a").to_json())
    assert again.person == "a"  # a run that continues has the same one
