"""Programmer: writes a program that computes the answer, runs it in the sandbox, repairs it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from merrow_analysis.bounded.python_source import parse_python
from merrow_runtime.errors import AnswerFailure, NodeFailure
from merrow_runtime.operators.base import Task, Tools
from merrow_runtime.operators.formats.answer_forms import CODE_FORM
from merrow_runtime.operators.formats.python_code import read_code
from merrow_runtime.operators.formats.shapes import coerce
from merrow_runtime.operators.prompts.prompting import Section, compose, input_sections
from merrow_runtime.operators.questions import (
    ModelOperator,
    PlannedQuestion,
    Question,
    default_port,
    output_shape,
    text_at,
)
from merrow_runtime.values import Outputs, Value

if TYPE_CHECKING:
    from merrow_runtime.sandbox import SandboxResult

ATTEMPTS = 3
ENTRY_POINT = "solve"

PROMPT = """\
Write a Python 3 program that computes the answer to the problem you are given. Define a function `solve()` without \
parameters that returns the final answer, and only it, in the form the problem asks for. Put the data of the problem into \
the code and let the code do all calculation; where an exact result is wanted use integers, fractions or symbols instead \
of floating point. There is no network, no file, no input and no plotting, and printed text is ignored. Prefer the \
standard library."""

REPAIR = """\
An earlier program failed; it is given with what happened when it ran. Find the cause, and write the whole program anew."""

ANOTHER = """\
You wrote the same program twice, and it failed; it is given what happened when it ran. Write a different program, by \
another approach."""

_LONGEST_ERROR = 3000
_LONGEST_LINE = 300


class Programmer(ModelOperator):
    """Outputs what ``solve()`` returned, and the code. Every program and every run is a step of its own (``write 1``,
    ``run 1``, ...); when the third program fails too, the node does, with the last error.
    """

    name: ClassVar[str] = "Programmer"
    version: ClassVar[int] = 1
    calls: ClassVar[tuple[int, int]] = (1, ATTEMPTS)

    def plan(self, task: Task) -> Sequence[PlannedQuestion]:
        first = self._write(task, 1, None).planned()
        failed = ("<the program of the step before>", "<the error of its run>")
        later = [self._write(task, number, failed).planned(least=0) for number in range(2, ATTEMPTS + 1)]
        return [first, *later]

    async def run(self, task: Task, tools: Tools) -> Outputs:
        port = default_port(task.node)
        failed: tuple[str, str] | None = None
        number, written = 0, set[str]()
        for number in range(1, ATTEMPTS + 1):
            code = await self._write(task, number, failed).ask(tools)
            if code in written and failed is not None:
                # It would fail as before. A model that sees a program mostly repeats it, so it is shown only what happened.
                if not failed[0]:
                    break
                failed = ("", failed[1])
                continue
            written.add(code)
            result = await tools.evaluate(f"run {number}", code, ENTRY_POINT)
            try:
                output = self._output(task, port, result)
            except AnswerFailure as problem:
                failed = (code, str(problem))
                tools.output(f"Program {number} of at most {ATTEMPTS} failed: {_last_line(failed[1])}\n")
            else:
                return {name: output if name == port else code for name in task.node.outputs}
        error = _last_line(failed[1]) if failed else ""
        same = "" if len(written) == number else " (some were the same)"
        raise NodeFailure.of(
            task.node.id, f"{number} programs were written{same} and all failed; the last one: {error}"
        )

    def _write(self, task: Task, number: int, failed: tuple[str, str] | None) -> Question[str]:
        sections = input_sections(task.inputs, ["problem", "analysis"])
        analysis = task.node.parameters.get("analysis")
        if not task.inputs.get("analysis") and isinstance(analysis, str) and analysis.strip():
            sections.append(Section("Analysis", analysis, "analysis"))
        text_at(task, "problem")
        if failed is not None:
            sections += [Section("Program that failed", failed[0])] if failed[0] else []
            sections.append(Section("What happened", failed[1]))
        how = None if failed is None else REPAIR if failed[0] else ANOTHER
        instructions = (PROMPT, task.node.prompt, how, CODE_FORM)
        return Question(f"write {number}", compose(instructions, sections, task.memory), _read_program)

    def _output(self, task: Task, port: str, result: SandboxResult) -> Value:
        """What the program answered. Raises `AnswerFailure` with what to tell the model where it is no answer."""
        if not result.ok:
            detail = result.traceback.strip() or result.error
            text = detail if result.error in detail else f"{detail}\n{result.error}"
            raise AnswerFailure(text[-_LONGEST_ERROR:])
        if result.value is None or result.value.strip() in ("", "None"):
            raise AnswerFailure(f"`{ENTRY_POINT}()` returned nothing; it must return the answer, not print it.")
        return coerce(result.value, output_shape(task.node, port))


def _last_line(error: str) -> str:
    """The line of a traceback that says what was wrong."""
    return (error.strip().splitlines() or [""])[-1][-_LONGEST_LINE:]


def _read_program(text: str) -> str:
    code = read_code(text, ENTRY_POINT)  # it parses, or is refused
    for statement in parse_python(code).body:
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) or statement.name != ENTRY_POINT:
            continue
        arguments = statement.args
        needed = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
        if needed or None in arguments.kw_defaults or isinstance(statement, ast.AsyncFunctionDef):
            raise AnswerFailure(
                f"`{ENTRY_POINT}` can't be called without arguments.",
                advice=f"`{ENTRY_POINT}()` must be an ordinary function without parameters; put the data into the code.",
            )
    return code
