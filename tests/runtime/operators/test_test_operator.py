"""Test: visible tests come with the task or from its text; failing code is repaired; nothing passes without a test."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.operators.scripted import ScriptedTools, given, node, outputs_of

from merrow_runtime.errors import NodeFailure
from merrow_runtime.operators.base import Given
from merrow_runtime.operators.programs.visible_tests import single_tests
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


QUOTES = '"""'
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
    answers = {
        f"reflect {n}": [f"```python\n{code}\n```"] for n, code in enumerate((BAD, WORSE, f"{WORSE}\n# again"), 1)
    }
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
    answers = {f"reflect {number}": [f"```python\n{BAD}\n# {number}\n```"] for number in (1, 2, 3)}
    tools = ScriptedTools(answers, tests=[failed(*tests)] * 4)
    outputs = await outputs_of(node("Test"), inputs_of(BAD, tests=given(*tests)), tools)
    shown = "\n\n".join(f"{test}\nAssertionError: {test}" for test in tests[:5])
    assert outputs["feedback"] == f"Visible tests after 3 repairs. {count} of {count} failed.\n\n{shown}{more}"


async def test_code_that_comes_back_unchanged_is_not_tested_again() -> None:
    tools = ScriptedTools([f"```python\n{BAD}\n```"], tests=[failed(*TESTS)])
    outputs = await outputs_of(node("Test"), inputs_of(BAD, tests=given(*TESTS)), tools)
    assert (outputs["result"], outputs["solution"]) == (False, BAD)
    assert (len(tools.asked), [entry[0] for entry in tools.sandbox]) == (1, ["test 1"])


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


NO_PYTHON = "Node N: test {} is not valid Python; write it as `assert candidate(1) == 2`."
NOTHING = "Node N: test {} asserts nothing; write it as `assert candidate(1) == 2`."


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (["assert ("], NO_PYTHON.format(1)),
        (["assert a", "\n", "assert ("], NO_PYTHON.format(2)),
        (["x = 1"], NOTHING.format(1)),
        (["", "import math"], NOTHING.format(1)),
        (["def other(candidate):\n    assert candidate(1)"], NOTHING.format(1)),
        (["def check(candidate, more):\n    assert candidate(1)"], NOTHING.format(1)),
        (["async def check(candidate):\n    assert candidate(1)"], NOTHING.format(1)),
        (["class A:\n    assert 1"], NOTHING.format(1)),
    ],
)
async def test_a_test_that_could_not_tell_is_refused(texts: list[str], why: str) -> None:
    tools = ScriptedTools()
    with pytest.raises(NodeFailure) as refused:
        await outputs_of(node("Test"), inputs_of(GOOD, tests=given(texts, type_="list[Text]")), tools)
    assert str(refused.value) == why
    assert tools.sandbox == tools.asked == []


CHECK = "def check(candidate):\n    assert candidate(1)"
SEVERAL = (
    "def check():\n    assert 1\ndef test_x(c):\n    assert c\ndef test(a, b):\n    pass\ndef other(x):\n    pass\n"
    "def mycheck(x): pass"
)


@pytest.mark.parametrize(
    ("texts", "ready"),
    [
        (
            ["assert a(1) == 2; assert a(2) == 3", "  ", "assert a(1) == 2", "assert é(1)"],
            ["assert a(1) == 2", "assert a(2) == 3", "assert é(1)"],
        ),
        (["assert  a( 1 )==2; assert a((2))  # two"], ["assert  a( 1 )==2", "assert a((2))"]),
        ([f"{CHECK}\n\n"], [f"{CHECK}\n\ncheck(candidate)\n"]),
        ([SEVERAL], [f"{SEVERAL}\n\ncheck()\ntest_x(candidate)\n"]),
        ([f"{CHECK}\nx = 3"], [f"{CHECK}\nx = 3\n\ncheck(candidate)\n"]),
        *(
            ([text], [text])
            for text in (
                f"{CHECK}\ncheck(candidate)",
                "import os\nassert os",
                "if x:\n    raise ValueError",
                "for x in 1,2:\n    assert x",
            )
        ),
    ],
)
def test_each_assertion_is_a_test_and_what_is_only_defined_is_called(texts: list[str], ready: list[str]) -> None:
    assert single_tests(texts, "N") == ready


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
        (
            "assert double(1) == 2\n  assert double(2) == 4 # c\nassertion double(3)",
            ["double(1) == 2", "double(2) == 4"],
        ),
        ("assert double(\n" + "\n" * 18 + "1) == 2", ["double(1) == 2"]),
        ("assert double(\n" + "\n" * 19 + "1) == 2", []),
        ("assert x == 3\nassert candidate(2) == 1\nassert m.double(1)", ["candidate(2) == 1"]),
        (">>> double(2); 3\n4\n>>> double(3)\nTraceback\n>>> double(4)\n\n5\n>>> x.double(1)\n2", []),
        (">>> double(1)\n[1,\n 2]\nprose\n\n7", ["(double(1)) == ([1, 2])"]),
        (
            ">>> print(double(1))\n  'a'  \n>>> print()\n1\n>>> x.print(double(2))\n3",
            ["str(double(1)) == \"'a'\"", "(x.print(double(2))) == (3)"],
        ),
        (
            "  - double(1) == 2\n1. double(2) == 3\n12) double(3) = 4\n\u2022 candidate(4) ==> 5\n>>> double(5) -> 6\n"
            "assert double(6) => 7\nfor double(7) returns 8\n* - double(8) must return 9\ndouble(9) will be 10\n"
            "double(10) gives 11\ndouble(11) is 12\ndouble(12) give 13\ndouble(13) \u2192 returns: 14\n"
            "double(14) # => 15\ndouble(15) should 16\ndouble(16) isx 17\ndouble(17) should  be: 18",
            [f"{'candidate' if n == 4 else 'double'}({n}) == {n + 1}" for n in (*range(1, 15), 17)],
        ),
        ("redouble(1) == 2\nforx double(1) == 2\nx double(1) == 2", []),
        (
            "double(1) == 2 (two)\ndouble(2) == 'x' (y).\ndouble(3) == [1, 2].\ndouble(4) == (1, 2)\ndouble(5) == NONE\n"
            "double(6) == null.\ndouble(7) == False (no)\ndouble(8) == 1.5.",
            [
                "double(1) == 2",
                "double(2) == 'x'",
                "double(3) == [1, 2]",
                "double(4) == (1, 2)",
                "double(5) == None",
                "double(6) == None",
                "double(7) == False",
                "double(8) == 1.5",
            ],
        ),
        (
            "double((1), [2, (3)]) == 2\ndouble(')') == 3\ndouble(f(2)) == 4\ndouble(x=1) == 5\ndouble(f) == 6",
            ["double(1, [2, 3]) == 2", "double(')') == 3", "double(f(2)) == 4", "double(x=1) == 5"],
        ),
        (f"double('{')' * 99}') == 2", [f"double('{')' * 99}') == 2"]),
        (f"double('{')' * 100}') == 2", []),
        (f"double(1) == '{'x' * 3985}'", [f"double(1) == '{'x' * 3985}'"]),
        (f"double(1) == '{'x' * 3986}'", []),
        (
            "def double(x):\n    'Doc.\\ndouble(1) == 2'\nclass A:\n    'double(2) == 3'\n"
            "    async def f(self):\n        'double(3) == 4'",
            ["double(1) == 2", "double(2) == 3", "double(3) == 4"],
        ),
        ("'double(0) == 1'", ["double(0) == 1"]),
        ("x = 3\ndouble = 4", []),
        (
            f"def f(:\n    {QUOTES}\n    >>> double(1)\n    2\n    {QUOTES}\n    >>> double(2)\n    4\n  {QUOTES} \n",
            ["(double(1)) == (2)", "(double(2)) == (4)"],
        ),
    ],
)
def test_what_a_problem_shows(problem: str, tests: list[str]) -> None:
    assert shown_tests(problem, "double") == [f"assert {test}" for test in tests]


def test_statements_that_lead_to_an_example_go_with_it() -> None:
    assert shown_tests(">>> x = 4\n>>> double(x)\n8\n", "double") == ["x = 4\nassert (double(x)) == (8)"]
    problem = ">>> double(1)\n2\n>>> y = 3\n>>> z = y\n7\n>>> y = 5\n>>> double(y)\n10\n"
    assert shown_tests(problem, "double") == [
        "assert (double(1)) == (2)",
        "y = 3\ny = 5\nassert (double(y)) == (10)",
    ]


def test_an_assertion_has_the_imports_of_the_problem_that_it_needs() -> None:
    imports = "from 1 to 2\nimport math, re\nfrom os import path as p; math = 2\n\n"
    problem = f"{imports}assert math.isclose(double(2), 4)\nassert double(3) == 6\n"
    tests = ["import math, re\nassert math.isclose(double(2), 4)", "assert double(3) == 6"]
    assert shown_tests(problem, "double") == tests
    imports = "import a.b\nfrom c import d as e, f\n import g as h, i\nimport\nimportant = 1\n"
    problem = f"{imports}assert double(a.x, e, h, i) == 1\nassert double(f, f) == 2\nassert double(d, b, c) == 3\n"
    assert shown_tests(problem, "double") == [
        "from c import d as e, f\nimport g as h, i\nimport a.b\nassert double(a.x, e, h, i) == 1",
        "from c import d as e, f\nassert double(f, f) == 2",
        "assert double(d, b, c) == 3",
    ]


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
