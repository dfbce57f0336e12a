"""Test: visible tests come with the task or from its text; failing code is repaired; nothing passes without a test."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.operators.scripted import ScriptedTools, given, node, outputs_of

from merrow_runtime.errors import NodeFailure
from merrow_runtime.operators.base import Given
from merrow_runtime.operators.programs.visible_tests import tests_in as shown_tests
from merrow_runtime.sandbox import Sandbox, TestFailure, TestResult

GOOD = "def double(x):\n    return 2 * x"
BAD = "def double(x):\n    return x + 1"
WORSE = "def double(x):\n    return None"
PASSED = TestResult(True, (), "passed")


def failed(*tests: str) -> TestResult:
    return TestResult(False, tuple(TestFailure(test, f"AssertionError: {test}") for test in tests), "failed")


def inputs_of(solution: str, problem: str = "Double x.", **more: list[Given]) -> dict[str, Any]:
    return {
        "solution": given(solution, type_="Code"),
        "problem": given(problem, type_="Problem"),
        "entry_point": given("double", type_="EntryPoint"),
        **more,
    }


TESTS = ["assert candidate(1) == 2", "assert candidate(3) == 6"]


async def test_passing_code_is_left_alone() -> None:
    tools = ScriptedTools(tests=[PASSED])
    outputs = await outputs_of(node("Test"), inputs_of(GOOD, tests=given(TESTS, type_="list[Text]")), tools)
    assert outputs == {"solution": GOOD, "result": True, "feedback": "Visible tests. All 2 passed."}
    assert tools.sandbox == [("test 1", GOOD, TESTS, "double")]
    assert tools.asked == []


async def test_failing_code_is_reflected_on_and_repaired() -> None:
    tools = ScriptedTools([f"It adds.\n```python\n{GOOD}\n```"], tests=[failed(TESTS[1]), PASSED])
    outputs = await outputs_of(node("Test"), inputs_of(BAD, tests=given(*TESTS)), tools)
    assert outputs == {"solution": GOOD, "result": True, "feedback": "Visible tests after 1 repair. All 2 passed."}
    assert [entry[0] for entry in tools.sandbox] == ["test 1", "test 2"]
    [asked] = tools.asked
    assert asked.step == "reflect 1"
    for shown in (BAD, "Double x.", "1 of 2 failed.", TESTS[1]):
        assert shown in asked.user


async def test_after_three_repairs_the_best_code_goes_on_as_failed() -> None:
    results = [failed(*TESTS), failed(TESTS[0]), failed(*TESTS), failed(*TESTS)]
    answers = {f"reflect {n}": [f"```python\n{code}\n```"] for n, code in enumerate((BAD, WORSE, WORSE), 1)}
    tools = ScriptedTools(answers, tests=results)
    outputs = await outputs_of(node("Test"), inputs_of(WORSE, tests=given(*TESTS)), tools)
    assert outputs["result"] is False
    assert outputs["solution"] == BAD
    assert "after 3 repairs" in str(outputs["feedback"])
    assert TESTS[0] in str(outputs["feedback"])
    assert [entry[0] for entry in tools.sandbox] == ["test 1", "test 2", "test 3", "test 4"]


async def test_a_program_whose_tests_never_ended_is_worse_than_one_that_fails_some() -> None:
    """A program that runs out of time or memory has no failed test; the model and the reader learn how it ended."""
    results = [failed(*TESTS), TestResult(False, (), "timeout"), failed(TESTS[0]), TestResult(False, (), "memory")]
    answers = {f"reflect {n}": [f"```python\n{code}\n```"] for n, code in enumerate((WORSE, GOOD, WORSE), 1)}
    tools = ScriptedTools(answers, tests=results)
    outputs = await outputs_of(node("Test"), inputs_of(BAD, tests=given(*TESTS)), tools)
    assert (outputs["solution"], outputs["result"]) == (GOOD, False)
    assert str(outputs["feedback"]).startswith("Visible tests after 3 repairs. 1 of 2 failed.")
    assert "What happened\n\nThe tests did not come to an end: timeout." in tools.asked[1].user.replace("```\n", "\n")


@pytest.mark.parametrize(("count", "more"), [(5, ""), (6, "\n\n(1 more failed.)"), (9, "\n\n(4 more failed.)")])
async def test_a_report_shows_five_failures_and_counts_the_rest(count: int, more: str) -> None:
    tests = [f"assert candidate({number}) == {2 * number}" for number in range(1, count + 1)]
    answers = {f"reflect {number}": [f"```python\n{BAD}\n```"] for number in (1, 2, 3)}
    tools = ScriptedTools(answers, tests=[failed(*tests)] * 4)
    outputs = await outputs_of(node("Test"), inputs_of(BAD, tests=given(*tests)), tools)
    shown = "\n\n".join(f"{test}\nAssertionError: {test}" for test in tests[:5])
    assert outputs["feedback"] == f"Visible tests after 3 repairs. {count} of {count} failed.\n\n{shown}{more}"


@pytest.mark.parametrize("port", ["solution", "entry_point"])
async def test_what_did_not_arrive_is_named(port: str) -> None:
    inputs = {name: values for name, values in inputs_of(GOOD, tests=given(*TESTS)).items() if name != port}
    with pytest.raises(NodeFailure, match=f"Node N: nothing arrived at its port `{port}`."):
        await outputs_of(node("Test"), inputs, ScriptedTools())


async def test_a_repair_that_loses_the_entry_point_is_asked_anew() -> None:
    tools = ScriptedTools(
        ["```python\ndef other(): ...\n```", f"```python\n{GOOD}\n```"], tests=[failed(TESTS[0]), PASSED]
    )
    outputs = await outputs_of(node("Test"), inputs_of(BAD, tests=given(*TESTS)), tools)
    assert outputs["solution"] == GOOD
    assert "`double`" in tools.remedies[0]


@pytest.mark.parametrize(
    ("said", "result"), [({}, False), ({"on_no_tests": "fail"}, False), ({"on_no_tests": "pass"}, True)]
)
async def test_without_a_test_nothing_is_run_and_the_feedback_says_so(said: dict[str, str], result: bool) -> None:
    tools = ScriptedTools()
    outputs = await outputs_of(node("Test", parameters=said), inputs_of(GOOD), tools)
    assert (outputs["result"], outputs["solution"]) == (result, GOOD)
    assert str(outputs["feedback"]).startswith("Nothing was tested")
    assert tools.sandbox == tools.asked == []


async def test_tests_of_port_and_parameter_are_joined_assertion_by_assertion() -> None:
    tools = ScriptedTools(tests=[PASSED])
    definition = node("Test", parameters={"tests": "assert candidate(0) == 0\nassert candidate(1) == 2\n"})
    await outputs_of(definition, inputs_of(GOOD, tests=given(*TESTS)), tools)
    assert tools.sandbox[0][2] == [*TESTS, "assert candidate(0) == 0"]


async def test_a_check_that_is_only_defined_is_called() -> None:
    tools = ScriptedTools(tests=[PASSED])
    check = "def check(candidate):\n    assert candidate(1) == 2"
    await outputs_of(node("Test"), inputs_of(GOOD, tests=given(check)), tools)
    assert tools.sandbox[0][2] == [f"{check}\n\ncheck(candidate)\n"]


@pytest.mark.parametrize(
    ("text", "why"),
    [("assert (", "is not valid Python"), ("x = 1", "asserts nothing"), ("import math", "asserts nothing")],
)
async def test_a_test_that_could_not_tell_is_refused(text: str, why: str) -> None:
    with pytest.raises(NodeFailure, match=why):
        await outputs_of(node("Test"), inputs_of(GOOD, tests=given(text)), ScriptedTools())


@pytest.mark.parametrize(
    ("problem", "tests"),
    [
        (
            "Such as:\n    >>> double(2)\n    4\n    >>> double('a')\n    'aa'\n",
            ["(double(2)) == (4)", "(double('a')) == ('aa')"],
        ),
        (
            'def double(x):\n    """Twice.\n    >>> double("\\\\n")\n    "\\\\n\\\\n"\n    """\n',
            [r"(double('\n')) == ('\n\n')"],
        ),
        (
            "This:\nassert double(1) == 2\nassert double(\n    2) == 4\nassert f(1) == 1",
            ["double(1) == 2", "double(2) == 4"],
        ),
        ("double(3) == 6\nand triple(3) == 9", ["double(3) == 6"]),
        (">>> double(5)\n10\nThat is all.", ["(double(5)) == (10)"]),
        (">>> print(double(2))\n<something>\n", []),
        ("Double the number x.", []),
        (">>> double(2)\n4\n" * 2, ["(double(2)) == (4)"]),
        (">>>double(2)\n4", []),
        (">>> double(\n4\n>>> # none\n>>> double(2)\n4\n", ["(double(2)) == (4)"]),
        (
            ">>> print(double(1))\n2\n>>> print(double([1.50]))\n[1.5, 1.5]\n",
            ["str(double(1)) == '2'", "str(double([1.5])) == '[1.5, 1.5]'"],
        ),
        (">>> print(double(1.25))\n2.50\n", ["str(double(1.25)) == '2.50'"]),
        (">>> print(double(1), 3)\n2\n>>> print(double(1), end='')\n2\n>>> print(double(1))\n2\nis two", []),
        (
            "double(2) => 4\n* double(3) ➞ 6\n- double(0) -> 0 (nothing)",
            ["double(2) == 4", "double(3) == 6", "double(0) == 0"],
        ),
        (
            "double('a') should return \"aa\".\ndouble([1]) returns [1, 1] # a list",
            ["double('a') == 'aa'", "double([1]) == [1, 1]"],
        ),
        ("for double(2) = 4\n>>> double(3) == 6", ["double(2) == 4", "double(3) == 6"]),
        ("double(2)  # => true", ["double(2) == True"]),
        ("double(x) => 4\ndouble(2) => twice two\ndouble(2) may be 4\ndouble(2", []),
        (
            'def double(x):\n    """Twice.\n\n    >>> double("a\\nb")\n    \'a\\nba\\nb\'\n    """',
            ["(double('a\\nb')) == ('a\\nba\\nb')"],
        ),
    ],
)
def test_what_a_problem_shows(problem: str, tests: list[str]) -> None:
    assert shown_tests(problem, "double") == [f"assert {test}" for test in tests]


def test_statements_that_lead_to_an_example_go_with_it() -> None:
    assert shown_tests(">>> x = 4\n>>> double(x)\n8\n", "double") == ["x = 4\nassert (double(x)) == (8)"]


def test_an_assertion_has_the_imports_of_the_problem_that_it_needs() -> None:
    imports = "from 1 to 2\nimport math, re\nfrom os import path as p; math = 2\n\n"
    problem = f"{imports}assert math.isclose(double(2), 4)\nassert double(3) == 6\n"
    tests = ["import math, re\nassert math.isclose(double(2), 4)", "assert double(3) == 6"]
    assert shown_tests(problem, "double") == tests


async def test_the_problem_is_searched_only_where_the_task_brings_no_tests() -> None:
    problem = "assert double(10) == 20"
    without = ScriptedTools(tests=[PASSED])
    await outputs_of(node("Test"), inputs_of(GOOD, problem), without)
    assert without.sandbox[0][2] == ["assert double(10) == 20"]
    brought = ScriptedTools(tests=[PASSED])
    await outputs_of(node("Test"), inputs_of(GOOD, problem, tests=given(TESTS[0])), brought)
    assert brought.sandbox[0][2] == [TESTS[0]]


async def test_equal_names_of_two_tasks_do_not_meet() -> None:
    """Two tasks that both ask for a ``double``: each is tested by its own tests."""
    for solution, own in ((GOOD, "assert candidate(1) == 2"), (WORSE, "assert candidate(1) is None")):
        tools = ScriptedTools(box=Sandbox())
        assert (await outputs_of(node("Test"), inputs_of(solution, tests=given(own)), tools))["result"] is True
        assert tools.asked == []


async def test_in_the_sandbox() -> None:
    tools = ScriptedTools(["no", f"```python\n{BAD}\n```", f"```python\n{GOOD}\n```"], box=Sandbox())
    outputs = await outputs_of(node("Test"), inputs_of("def double(x:", tests=given(*TESTS)), tools)
    assert outputs["result"] is True
    assert outputs["feedback"] == "Visible tests after 2 repairs. All 2 passed."
    assert "SyntaxError" in tools.asked[0].user
    assert "1 of 2 failed." in tools.asked[2].user
