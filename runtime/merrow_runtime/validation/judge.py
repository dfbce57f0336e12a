"""Judges results by the checks of a validator, cheap ones first."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from merrow_analysis.bounded.schema_check import SchemaRefusedError
from merrow_analysis.definitions.validators import ValidatorCheck
from merrow_runtime.errors import AnswerFailure, NodeFailure, ValidatorFailure
from merrow_runtime.operators.base import Task
from merrow_runtime.operators.ensembles.concurrently import concurrently
from merrow_runtime.operators.formats.python_code import read_code
from merrow_runtime.operators.programs.test_report import passing, report
from merrow_runtime.operators.programs.visible_tests import single_tests
from merrow_runtime.program.decision import holds_of_result
from merrow_runtime.program.validating import Validation
from merrow_runtime.requests import AnswerSchema, Message
from merrow_runtime.validation.code_checks import CODE, ENTRY, SECONDS, read_report
from merrow_runtime.validation.questions import rubric_question, tests_question, vote_temperature
from merrow_runtime.validation.schemas import problem_by
from merrow_runtime.validation.verdicts import ValidationVerdict, refused, short
from merrow_runtime.values import Outputs, Value, as_text

if TYPE_CHECKING:
    from merrow_runtime.sandbox import SandboxResult, TestResult

T = TypeVar("T")

_FREE = frozenset({"if", "schema"})
_IN_ONE_PROCESS = frozenset({"regex", "python"})


class JudgeTools(Protocol):
    """What a judge asks and runs through; every call is journalled as one of the node's."""

    async def ask(
        self,
        step: str,
        messages: Sequence[Message],
        read: Callable[[str], T],
        *,
        schema: AnswerSchema | None = None,
        temperature: float | None = None,
        model: str | None = None,
    ) -> T: ...

    async def check(self, step: str, code: str, call: str, arguments: Sequence[Value], seconds: float) -> SandboxResult:
        """Run code of a validator in the sandbox, and one function of it."""
        ...

    async def test(self, step: str, solution: str, tests: Sequence[str], entry_point: str) -> TestResult: ...


class ResultJudge:
    """Judges the results of one node in all its attempts. ``inputs`` is what checks know as that."""

    def __init__(self, validation: Validation, task: Task, inputs: Mapping[str, Value]) -> None:
        self._validation = validation
        self._task = task
        self._inputs = dict(inputs)
        self._generated: dict[int, list[str]] = {}

    async def judge(self, outputs: Outputs, tools: JudgeTools, first: JudgeTools) -> ValidationVerdict:
        """What is to be said of one result. ``tools`` are those of its attempt, ``first`` of the first one, in which tests are
        written once for all.

        Checks that need no model and no tests are all made; of the others the first that does not pass is the last. Raises
        `ValidatorFailure` where a validator can't judge it.
        """
        checks = self._validation.checks
        reasons, score = await self._cheap(outputs, tools)
        if reasons:
            return refused(reasons, score=score)
        dear = [(number, *check) for number, check in enumerate(checks) if check[1].kind in ("tests", "rubric")]
        step = _Steps(any(check.kind in _IN_ONE_PROCESS for _, check in checks))
        for number, name, check in dear:
            if check.kind == "tests":
                verdict = await self._tested(number, name, check, outputs, tools, first, step.next())
            else:
                verdict = await self._voted(name, check, outputs, tools, step.next())
            if not verdict.passed:
                return refused(list(verdict.reasons), verdict.feedback, score + verdict.score)
            score += 1
        return ValidationVerdict(True, score=score)

    async def _cheap(self, outputs: Outputs, tools: JudgeTools) -> tuple[list[str], float]:
        """Why the result does not pass what needs no model and no tests, and how many of these checks it passes."""
        output = next(iter(outputs.values()))
        known = {"output": output, "outputs": dict(outputs), "inputs": self._inputs}
        reasons: list[str] = []
        passed = 0
        in_process: list[tuple[str, ValidatorCheck]] = []
        for name, check in self._validation.checks:
            if check.kind in _IN_ONE_PROCESS:
                in_process.append((name, check))
            elif check.kind in _FREE:
                reason = self._free(name, check, output, known)
                reasons += [] if reason is None else [reason]
                passed += reason is None
        for several in _by_cost(in_process, reasons):
            several_checks: list[Value] = [[check.kind, check.said] for _, check in several]
            arguments: list[Value] = [several_checks, as_text(output), output, self._inputs]
            result = await tools.check("validate", CODE, ENTRY, arguments, SECONDS)
            checked = read_report(result, [check for _, check in several])
            if checked.broken is not None:
                number, why = checked.broken
                raise self._broken(several[number][0], why)
            reasons += checked.reasons
            passed += checked.passed
        return reasons, float(passed)

    def _free(self, name: str, check: ValidatorCheck, output: Value, known: Mapping[str, Value]) -> str | None:
        """Why the result does not pass a check that is made here; None where it does."""
        if check.kind == "if":
            try:
                return None if holds_of_result(check.said, known) else f"`{check.said}` does not hold."
            except ValueError as problem:
                raise self._broken(name, f"`if: {check.said}` can't be worked out: {problem}.") from None
        try:
            return problem_by(check.said, output)
        except SchemaRefusedError as problem:
            raise self._broken(name, f"its `schema` {problem}.") from None

    async def _tested(
        self,
        number: int,
        name: str,
        check: ValidatorCheck,
        outputs: Outputs,
        tools: JudgeTools,
        first: JudgeTools,
        step: str,
    ) -> ValidationVerdict:
        tests = self._generated.get(number)
        if tests is None:
            try:
                tests = single_tests(check.said, self._task.node.id)
            except NodeFailure as problem:
                raise self._broken(name, problem.reason) from None
            if check.generate:
                asked = "tests" if not self._generated else f"tests {len(self._generated) + 1}"
                question = tests_question(self._task, self._inputs, check, asked)
                asking = first.ask(
                    question.step, question.messages, question.read, schema=question.schema, model=check.model
                )
                tests += await self._asked(name, asking)
            self._generated[number] = tests
        if not tests:
            raise self._broken(name, "it has no tests; write some, or say `generate`.")
        try:
            code = read_code(as_text(next(iter(outputs.values()))), check.entry_point)
        except AnswerFailure as problem:
            return refused([str(problem)], problem.advice)
        result = await self._asked(name, tools.test(step, code, tests, check.entry_point))
        if result.passed:
            return ValidationVerdict(True)
        return refused(
            [f"Unit tests: {report(result, len(tests))}"], score=max(0, passing(result, len(tests))) / len(tests)
        )

    async def _voted(
        self, name: str, check: ValidatorCheck, outputs: Outputs, tools: JudgeTools, step: str
    ) -> ValidationVerdict:
        question = rubric_question(self._task, self._inputs, check, outputs, step)
        steps = [step] if check.votes == 1 else [f"{step} vote {number}" for number in range(1, check.votes + 1)]
        temperature = vote_temperature(check)
        asked = (
            tools.ask(
                vote,
                question.messages,
                question.read,
                schema=question.schema,
                temperature=temperature,
                model=check.model,
            )
            for vote in steps
        )
        votes = await self._asked(name, concurrently(asked))
        against = [vote for vote in votes if not vote.passed]
        if 2 * len(against) < len(votes):
            return ValidationVerdict(True)
        reasons = [reason for vote in against for reason in vote.reasons] or ["It does not meet the rubric."]
        feedback = "\n".join(dict.fromkeys(vote.feedback for vote in against if vote.feedback))
        return refused(reasons, feedback, 1 - len(against) / len(votes))

    async def _asked(self, name: str, work: Coroutine[Any, Any, T]) -> T:
        """What a model or the sandbox gives; that neither can be used is a failure of the validator."""
        try:
            return await work
        except NodeFailure as problem:
            raise self._broken(name, problem.reason) from None

    def _broken(self, name: str, why: str) -> ValidatorFailure:
        return ValidatorFailure.of(self._task.node.id, f"its validator {name} can't judge the result: {short(why)}")


class _Steps:
    """The steps of one validation, by name: ``validate``, ``validate 2``, ..."""

    def __init__(self, begun: bool) -> None:
        self._count = 1 if begun else 0

    def next(self) -> str:
        """The next one."""
        self._count += 1
        return "validate" if self._count == 1 else f"validate {self._count}"


def _by_cost(checks: list[tuple[str, ValidatorCheck]], reasons: list[str]) -> list[list[tuple[str, ValidatorCheck]]]:
    """The checks that are made in one process of the sandbox; of a result that is not valid anyway only patterns."""
    if reasons:
        checks = [check for check in checks if check[1].kind == "regex"]
    return [checks] if checks else []
