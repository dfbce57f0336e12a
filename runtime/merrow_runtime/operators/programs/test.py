"""Test: runs the visible tests of a task, reflects on what failed, repairs the code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from merrow_runtime.errors import NodeFailure
from merrow_runtime.operators.base import Task, Tools
from merrow_runtime.operators.formats.answer_forms import CODE_FORM
from merrow_runtime.operators.formats.python_code import read_code
from merrow_runtime.operators.programs.entry_point import entry_point_of
from merrow_runtime.operators.programs.test_report import passing, report
from merrow_runtime.operators.programs.visible_tests import tests_in, tests_of
from merrow_runtime.operators.prompts.prompting import Section, compose, input_sections
from merrow_runtime.operators.questions import ModelOperator, PlannedQuestion, Question, text_at
from merrow_runtime.values import Outputs

REPAIRS = 3

PROMPT = """\
You are given a problem, a Python program that should solve it, and what happened when it was tested. First reflect, in a \
few sentences: what does the problem ask, what does the program do instead in the failed tests, and why? Then write the \
whole program anew so that it solves the problem in general, not only for the tests shown. Keep names and parameters."""


class TestOperator(ModelOperator):
    """Outputs the code that passed the most, whether it passed all, and what happened.

    It never passes without a test: where the task brings none and its text shows none, ``on_no_tests`` decides (``fail``
    where it isn't said), and the feedback tells. Steps are ``test 1``, ``reflect 1``, ``test 2``, ...
    """

    __test__ = False  # for pytest, which takes the name for a class of tests

    name: ClassVar[str] = "Test"
    version: ClassVar[int] = 1
    calls: ClassVar[tuple[int, int]] = (0, REPAIRS)

    def plan(self, task: Task) -> Sequence[PlannedQuestion]:
        code, report = "<the program of the step before>", "<the tests that failed>"
        name = _entry_point(task)
        return [self._reflect(task, n, name, code, report).planned(least=0) for n in range(1, REPAIRS + 1)]

    async def run(self, task: Task, tools: Tools) -> Outputs:
        code = text_at(task, "solution")
        entry_point = _entry_point(task)
        tests = tests_of(task) or tests_in(text_at(task, "problem"), entry_point)
        if not tests:
            return self._without_tests(task, code)
        result = await tools.test("test 1", code, tests, entry_point)
        best, best_result, repairs = code, result, 0
        while not result.passed and repairs < REPAIRS:
            repairs += 1
            text = report(result, len(tests))
            tools.output(f"{text.splitlines()[0]}\n")
            before, code = code, await self._reflect(task, repairs, entry_point, code, text).ask(tools)
            if code == before:
                break  # It fails as before, and the same question has the same answer.
            result = await tools.test(f"test {repairs + 1}", code, tests, entry_point)
            if passing(result, len(tests)) >= passing(best_result, len(tests)):
                best, best_result = code, result
        after = "" if not repairs else f" after {repairs} repair{'s' if repairs > 1 else ''}"
        feedback = f"Visible tests{after}. {report(best_result, len(tests))}"
        return {"solution": best, "result": best_result.passed, "feedback": feedback}

    def _without_tests(self, task: Task, code: str) -> Outputs:
        passes = task.node.parameters.get("on_no_tests") == "pass"
        verdict = (
            "passes, as `on_no_tests: pass` says" if passes else "fails, as `on_no_tests` says where it is not `pass`"
        )
        feedback = f"Nothing was tested: the task brings no tests and its text shows none. The solution {verdict}."
        return {"solution": code, "result": passes, "feedback": feedback}

    def _reflect(self, task: Task, number: int, entry_point: str, code: str, report: str) -> Question[str]:
        must = f"The code must define `{entry_point}` at its top level."
        sections = [
            *input_sections(task.inputs, ["problem"]),
            Section("Program", code, "solution"),
            Section("What happened", report),
        ]
        messages = compose((PROMPT, task.node.prompt, must, CODE_FORM), sections, task.memory, inputs=task.inputs)
        return Question(f"reflect {number}", messages, lambda text: read_code(text, entry_point))


def _entry_point(task: Task) -> str:
    name = entry_point_of(task)
    if name is None:
        raise NodeFailure.of(task.node.id, "nothing arrived at its port `entry_point`.")
    return name
