"""Metrics that run Python in the sandbox: the tests of a solution, and a file of the user's that scores."""

from __future__ import annotations

import ast
import hashlib
import json
from pathlib import Path
from typing import Any

from merrow_analysis.bounded.python_source import parse_python
from merrow_optimizer.evaluation.data.problems import DataError
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.metrics.base import BaseMetric, right, shown, text_of, wrong
from merrow_optimizer.evaluation.scores import InvalidItemError, Score
from merrow_runtime.errors import AnswerFailure
from merrow_runtime.operators.formats.python_code import defines, parsed, read_code
from merrow_runtime.sandbox import Limits, Sandbox, SandboxJob, SandboxRefusedError

_TESTS_S = 15.0
_SCORING_S = 10.0
_CALL = "merrow_score_of_item"


class _InSandbox(BaseMetric):
    def __init__(self, options: dict[str, Any], seconds: float, sandbox: Sandbox | None) -> None:
        super().__init__(options)
        self._sandbox = sandbox or Sandbox(limits=Limits(wall_s=seconds))

    async def prepare(self) -> None:
        try:
            await self._sandbox.status()
        except SandboxRefusedError as refused:
            raise DataError.of(f"The metric {self.name} runs code. {refused}") from None


class PassAt1(_InSandbox):
    """All hidden tests of the item pass, in a process that the solution has no part in, within 15 seconds."""

    name = "pass@1"
    needs_gold = False

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        super().__init__({}, _TESTS_S, sandbox)

    def fault(self, item: Item) -> str | None:
        if item.extra.get("tests") and item.extra.get("entry_point"):
            return None
        return "there are no tests to run; use the reader humaneval or mbpp"

    async def score(self, item: Item, output: Any) -> Score:
        name = item.extra["entry_point"]
        preamble = item.extra.get("preamble", "")
        try:
            code = _solution(text_of(output), name, item.extra.get("prompt", ""))
        except AnswerFailure as failure:
            return wrong(text_of(output), str(failure))
        try:
            result = await self._sandbox.test(_after(preamble, code), item.extra["tests"], name)
        except SandboxRefusedError as refused:
            raise InvalidItemError(str(refused)) from None
        if result.passed:
            return right(code, "all tests passed")
        first = result.failures[0] if result.failures else None
        return wrong(code, (first.error if first else "") or f"the tests ended with: {result.outcome}")


def _solution(output: str, name: str, prompt: str) -> str:
    """The program in an output, without fences; an output that only continues the prompt is put behind it."""
    try:
        return read_code(output, name)
    except AnswerFailure:
        if prompt and output[:1] in " \t\n":
            whole = parsed(prompt + output)
            if whole is not None and defines(whole, name):
                return prompt + output
        raise


def _after(preamble: str, code: str) -> str:
    """The code after what the prompt defines; only imports from the future come before that."""
    if not preamble:
        return code
    tree = parsed(code)
    last = 0
    for statement in tree.body if tree else ():
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            last = statement.end_lineno or 0
    lines = code.split("\n")
    return "\n".join([*lines[:last], preamble, *lines[last:]])


class PythonFile(_InSandbox):
    """What ``score(inputs, gold, output)`` of a Python file says: a number from 0 to 1, or that and a reason."""

    name = "python"
    needs_gold = False

    def __init__(self, file: str | Path, sandbox: Sandbox | None = None) -> None:
        self._file = Path(file)
        code = _code_in(self._file)
        super().__init__({"sha256": hashlib.sha256(code.encode()).hexdigest()}, _SCORING_S, sandbox)
        # The call is a function of its own behind the file: its JSON text is what comes back whole.
        self._code = (
            f"{code}\n\ndef {_CALL}(inputs, gold, output):\n"
            "    import json\n"
            "    return json.dumps(score(inputs, gold, output))\n"
        )

    async def score(self, item: Item, output: Any) -> Score:
        job = SandboxJob(self._code, entry=_CALL, arguments=(dict(item.inputs), item.gold, output))
        try:
            result = await self._sandbox.run(job)
        except SandboxRefusedError as refused:
            raise InvalidItemError(str(refused)) from None
        if not result.ok or result.value is None:
            raise InvalidItemError(f"{self._file.name}: {result.error or result.outcome}")
        try:
            verdict = json.loads(result.value)
        except (ValueError, RecursionError):
            verdict = None
        value, reason = verdict if isinstance(verdict, list) and len(verdict) == 2 else (verdict, "")
        if isinstance(value, bool):
            value = float(value)
        if not isinstance(value, int | float) or not 0 <= value <= 1:  # what is no number at all is not within, either
            raise InvalidItemError(
                f"{self._file.name}: score() must return a number from 0 to 1, not {str(verdict)[:100]}"
            )
        return Score(float(value), shown(text_of(output)), shown(str(reason) if reason else f"score() says {value:g}"))


def _code_in(file: Path) -> str:
    try:
        code = file.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise DataError.of(f"The metric's file can't be read: {error.strerror or error}.", file) from None
    except UnicodeDecodeError:
        raise DataError.of("The metric's file isn't UTF-8 text; save it as UTF-8.", file) from None
    try:
        tree = parse_python(code)
    except SyntaxError as error:
        raise DataError.of(f"The metric's file isn't Python: {error}.", file, error.lineno) from None
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "score":
            count = len(statement.args.posonlyargs) + len(statement.args.args)
            least = count - len(statement.args.defaults)
            if least <= 3 <= count or (least <= 3 and statement.args.vararg):
                return code
            raise DataError.of(
                "The function `score` must take three values: score(inputs, gold, output).", file, statement.lineno
            )
    raise DataError.of("The metric's file must define a function `score(inputs, gold, output)`.", file)
