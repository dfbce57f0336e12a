"""What an operator plans is what it asks: the same steps and prompts, and as many as its bounds say."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.operators.scripted import OUTPUTS, ScriptedTools, error, given, node, ok, outputs_of, preview

from merrow_analysis.definitions.operators import BUILT_IN_OPERATORS
from merrow_runtime.operators.registry import BUILT_IN, operator_for
from merrow_runtime.sandbox import TestFailure, TestResult

PROGRAM = "```python\ndef solve():\n    return 1\n```"
PROGRAMS = [f"```python\ndef solve():\n    return {number}\n```" for number in (1, 2, 3)]
VOTE = '{"thought": "", "choice": "A"}'
FAILED = TestResult(False, (TestFailure("assert solve() == 2", "AssertionError"),), "failed")
PASSED = TestResult(True, (), "passed")
TESTS = given("assert solve() == 2")

# Operator, inputs, answers of the shortest and the longest way, with what the sandbox says on it.
WAYS: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "Custom": ({"input": given("a", "b")}, [{"answers": ["x"]}]),
    "AnswerGenerate": ({"input": given("a")}, [{"answers": ['{"thought": "", "answer": "x"}']}]),
    "CustomCodeGenerate": ({"problem": given("a"), "entry_point": given("solve")}, [{"answers": [PROGRAM]}]),
    "Programmer": (
        {"problem": given("a")},
        [
            {"answers": [PROGRAM], "runs": [ok("1")]},
            {"answers": PROGRAMS, "runs": [error("x"), error("x"), ok("1")]},
        ],
    ),
    "ScEnsemble": ({"solutions": given("a", "b")}, [{"answers": [VOTE]}]),
    "MdEnsemble": ({"solutions": given("a", "b")}, [{"answers": [VOTE] * 5}]),
    "Test": (
        {"solution": given("x = 1"), "problem": given("a"), "entry_point": given("solve"), "tests": TESTS},
        [{"tests": [PASSED]}, {"answers": PROGRAMS, "tests": [FAILED] * 4}],
    ),
    "Review": ({"solution": given("s"), "problem": given("a")}, [{"answers": ['{"feedback": "f", "accepted": true}']}]),
    "Revise": ({"solution": given("s"), "problem": given("a"), "feedback": given("f")}, [{"answers": ["x"]}]),
    "Format": ({"solution": given("s"), "problem": given("a")}, [{"answers": ["x"]}]),
    "Assemble": ({"results": given("a", "b"), "problem": given("p")}, [{"answers": ["x"]}]),
    "Pass": ({"value": given("a")}, [{}]),
    "Select": ({"items": given(3, 5, type_="Number")}, [{}]),
    "Call": ({"PROBLEM": given("a")}, [{}]),
    "Human": ({"input": given("a")}, [{"answers": ["x"]}]),
    "Retrieve": ({"query": given("a")}, [{}]),
    "Remember": ({"text": given("a")}, [{}]),
}


def test_every_operator_of_the_language_runs_and_decisions_that_ask() -> None:
    assert set(BUILT_IN) == {spec.name for spec in BUILT_IN_OPERATORS}
    # What a Tool takes and gives is said by its pin, and what an agent asks by what its tools give (`tests.tools`); an
    # Environment acts in one (`tests.environments`).
    assert set(BUILT_IN) - {"Decision", "Tool", "ToolAgent", "Environment"} == set(WAYS)
    for spec in BUILT_IN_OPERATORS:
        if not (spec.is_decision or spec.is_tool or spec.is_agent):
            assert list(OUTPUTS[spec.name]) == [port.name for port in spec.outputs]


@pytest.mark.parametrize("operator", WAYS)
async def test_what_is_planned_is_asked(operator: str) -> None:
    inputs, ways = WAYS[operator]
    definition = node(operator)
    planned = preview(definition, inputs)
    least, most = operator_for(definition).calls
    assert sum(question.least for question in planned) == least
    assert sum(question.most for question in planned) == most
    for way in ways:
        tools = ScriptedTools(**way)
        await outputs_of(definition, inputs, tools)
        assert least <= len(tools.asked) <= most
        assert [asked.step for asked in tools.asked] == [question.step for question in planned][: len(tools.asked)]
        if tools.asked and operator not in ("Test", "MdEnsemble"):
            # Test's first question holds what its tests say, MdEnsemble's an order drawn when it runs.
            assert tools.asked[0].messages == planned[0].messages
        assert [asked.schema for asked in tools.asked] == [question.schema for question in planned][: len(tools.asked)]
        assert [asked.system for asked in tools.asked] == [
            question.messages[0].content for question in planned[: len(tools.asked)]
        ]
    if most > least and len(ways) > 1:
        assert len(tools.asked) == most


@pytest.mark.parametrize("operator", [*WAYS, "Call"])
def test_each_operator_has_a_version(operator: str) -> None:
    assert operator_for(node(operator)).version >= 1


@pytest.mark.parametrize("operator", ["ScEnsemble", "MdEnsemble"])
def test_equal_placeholders_are_candidates_of_their_own(operator: str) -> None:
    inputs = {"solutions": given(["<Text from A>"] * 3, type_="list[Text]")}
    for question in preview(node(operator), inputs):
        assert question.schema is not None
        assert question.schema.schema["properties"]["choice"]["enum"] == ["A", "B", "C"]
