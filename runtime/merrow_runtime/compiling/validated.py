"""Validators of a program: read from its table, and results judged by them as in a run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from merrow_analysis.definitions.validators import DEFAULT_ATTEMPTS, KINDS, Check
from merrow_runtime.calls.tools import NodeTools
from merrow_runtime.operators.base import Task
from merrow_runtime.operators.output import Output
from merrow_runtime.program.definitions import Step
from merrow_runtime.program.validating import Validation
from merrow_runtime.running.attempts import ToolsOf, in_attempts, judged_by
from merrow_runtime.validation.verdicts import Verdict
from merrow_runtime.values import Outputs, Value


class Validating:
    """What a program that has validators does with them."""

    output = Output()
    """The operator of an output whose result is validated."""

    def read(self, said: Mapping[str, Any], validators: Mapping[str, Sequence[Mapping[str, Any]]]) -> Validation:
        """How the results of a node are judged of which the table says this."""
        checks = [(name, _check(one)) for name in said["validate"] for one in validators[name]]
        checks.sort(key=lambda one: KINDS.index(one[1].kind))
        attempts, end = said.get("attempts", DEFAULT_ATTEMPTS), said.get("on_invalid", "fail")
        return Validation(tuple(checks), attempts, end, "")

    async def judged(
        self,
        step: Step,
        task: Task,
        of_workflow: Mapping[str, Value],
        tools: ToolsOf,
        work: Callable[[NodeTools], Awaitable[Outputs]],
    ) -> Outputs:
        """The result of a node once it is valid, or as good as it gets. ``of_workflow`` are the inputs of its workflow."""
        by = judged_by(step, {port: list(given) for port, given in task.inputs.items()}, of_workflow)
        assert by is not None  # noqa: S101 (who calls this looked)
        done = await in_attempts(step, task, by.inputs, tools, work, _unheard)
        return done.outputs


def _check(said: Mapping[str, Any]) -> Check:
    kind = next((kind for kind in KINDS if kind in said), "tests")
    own = tuple(said.get(kind, ())) if kind == "tests" else said[kind]
    return Check(kind, own, said.get("entry_point", ""), said.get("generate", 0), said.get("votes", 1))  # type: ignore[arg-type]


def _unheard(attempt: int, verdict: Verdict) -> None:
    """Nobody is told of verdicts while a program runs."""
