"""Programmer: writes, runs, repairs; every program and error is kept, and failure is failure."""

from __future__ import annotations

import pytest
from tests.runtime.operators.scripted import ScriptedTools, error, given, node, ok, outputs_of

from merrow_runtime.errors import NodeFailure
from merrow_runtime.sandbox import Sandbox, SandboxResult


def program(body: str) -> str:
    return f"def solve():\n    {body}"


def fenced(body: str) -> str:
    return f"```python\n{program(body)}\n```"


PROBLEM = {"problem": given("6 times 7?", type_="Problem")}


async def test_the_first_program_that_runs_is_the_answer() -> None:
    tools = ScriptedTools([fenced("return 6 * 7")], runs=[ok("42")])
    assert await outputs_of(node("Programmer"), PROBLEM, tools) == {"output": "42", "code": program("return 6 * 7")}
    assert tools.sandbox == [("run 1", program("return 6 * 7"), "solve")]
    assert [asked.step for asked in tools.asked] == ["write 1"]


async def test_code_and_error_are_fed_back() -> None:
    tools = ScriptedTools(
        [fenced("return 1 / 0"), fenced("return 42")], runs=[error("ZeroDivisionError: oh"), ok("42")]
    )
    outputs = await outputs_of(node("Programmer"), PROBLEM, tools)
    assert outputs["code"] == program("return 42")
    assert [entry[0] for entry in tools.sandbox] == ["run 1", "run 2"]
    assert [asked.step for asked in tools.asked] == ["write 1", "write 2"]
    assert program("return 1 / 0") in tools.asked[1].user
    assert "ZeroDivisionError: oh" in tools.asked[1].user
    assert "ZeroDivisionError: oh" not in tools.asked[1].system


async def test_three_failures_fail_the_node_with_the_last_error() -> None:
    runs = [
        error("NameError: a"),
        SandboxResult("timeout", error="it did not end within 30 s"),
        error("TypeError: last"),
    ]
    tools = ScriptedTools([fenced(f"return a{number}") for number in range(3)], runs=runs)
    with pytest.raises(NodeFailure, match=r"3 programs .* TypeError: last"):
        await outputs_of(node("Programmer"), PROBLEM, tools)
    assert [entry[0] for entry in tools.sandbox] == ["run 1", "run 2", "run 3"]
    assert "it did not end within 30 s" in tools.asked[2].user


async def test_a_program_that_is_written_again_is_not_run_again_nor_shown_a_second_time() -> None:
    same, other = fenced("return a"), fenced("return 42")
    tools = ScriptedTools([same, same, other], runs=[error("NameError: a"), ok("42")])
    assert (await outputs_of(node("Programmer"), PROBLEM, tools))["output"] == "42"
    assert [entry[0] for entry in tools.sandbox] == ["run 1", "run 3"]
    assert "return a" in tools.asked[1].user
    assert "return a" not in tools.asked[2].user
    assert "NameError: a" in tools.asked[2].user
    tools = ScriptedTools([same] * 3, runs=[error("NameError: a")])
    with pytest.raises(NodeFailure, match=r"3 programs were written \(some were the same\) .* NameError: a"):
        await outputs_of(node("Programmer"), PROBLEM, tools)


@pytest.mark.parametrize("value", [None, "None", "", "  "])
async def test_a_program_that_returns_nothing_has_failed(value: str | None) -> None:
    tools = ScriptedTools([fenced("print(42)"), fenced("return 42")], runs=[ok(value), ok("42")])
    assert (await outputs_of(node("Programmer"), PROBLEM, tools))["output"] == "42"
    assert "returned nothing" in tools.asked[1].user


@pytest.mark.parametrize(
    "code",
    [
        "def main():\n    return 1",
        "def solve(n):\n    return n",
        "def solve(*, n):\n    return n",
        "async def solve():\n    return 1",
    ],
)
async def test_solve_must_be_callable_as_it_is_called(code: str) -> None:
    tools = ScriptedTools([f"```python\n{code}\n```", fenced("return 1")], runs=[ok("1")])
    await outputs_of(node("Programmer"), PROBLEM, tools)
    assert "solve" in tools.remedies[0]
    assert len(tools.sandbox) == 1


async def test_a_declared_type_of_the_answer_is_part_of_success() -> None:
    definition = node("Programmer", outputs={"output": "Number", "code": "Code"})
    tools = ScriptedTools([fenced("return 'x'"), fenced("return 1")], runs=[ok("x"), ok("1,000.5")])
    assert (await outputs_of(definition, PROBLEM, tools))["output"] == 1000.5
    assert "`x` is not a number" in tools.asked[1].user


@pytest.mark.parametrize("by", ["edge", "label"])
async def test_an_analysis_by_edge_or_label(by: str) -> None:
    tools = ScriptedTools([fenced("return 1")], runs=[ok("1")])
    inputs = {**PROBLEM, **({"analysis": given("Multiply.")} if by == "edge" else {})}
    definition = node("Programmer", parameters={"analysis": "Multiply." if by == "label" else "Not this."})
    await outputs_of(definition, inputs, tools)
    assert "## Analysis\n```\nMultiply.\n```" in tools.asked[0].user
    assert "Not this." not in tools.asked[0].user


async def test_in_the_sandbox() -> None:
    tools = ScriptedTools([fenced("return 1 / 0"), fenced("import math\n    return math.comb(5, 2)")], box=Sandbox())
    assert (await outputs_of(node("Programmer"), PROBLEM, tools))["output"] == "10"
    assert "ZeroDivisionError" in tools.asked[1].user
