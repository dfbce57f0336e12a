"""A node whose result is validated: tried until it is valid, each time with what was wrong before."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, Protocol

from merrow_runtime.calls.tools import NodeTools
from merrow_runtime.errors import InvalidFailure
from merrow_runtime.frontier import Inputs
from merrow_runtime.operators.base import Task
from merrow_runtime.program.definitions import Step
from merrow_runtime.requests import Message
from merrow_runtime.store.contract import NodeRecord
from merrow_runtime.validation.judge import ResultJudge
from merrow_runtime.validation.verdicts import ValidationVerdict, in_history
from merrow_runtime.values import Outputs, Value, canonical


class ToolsOf(Protocol):
    """Gives the tools of an attempt: with what it is told of earlier ones, or those of the validator."""

    def __call__(self, attempt: int, history: tuple[Message, ...] = (), *, judges: bool = False) -> NodeTools: ...


class Standard(NamedTuple):
    """By what results of a node are judged: ``by`` stands for the checks and all else that they see but for the node's key.
    ``inputs`` is what checks know as that: of a node by port, of an output the inputs of the workflow.
    """

    by: str
    inputs: Mapping[str, Value]

    def has_judged(self, earlier: NodeRecord) -> bool:
        """Whether an earlier result was judged by the same."""
        return earlier.validation is not None and earlier.validation["by"] == self.by


def judged_by(step: Step, inputs: Inputs, of_workflow: Mapping[str, Value]) -> Standard | None:
    """By what a step's results are judged that is given ``inputs``; None where nothing does."""
    if step.validation is None:
        return None
    digest = step.validation.digest
    if step.node.kind != "output":
        values = {port: [value.value for value in given] for port, given in inputs.items()}
        return Standard(digest, {port: given[0] if len(given) == 1 else given for port, given in values.items()})
    text = f"{digest}{canonical(dict(of_workflow))}"
    return Standard(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), of_workflow)


def kept_of(earlier: NodeRecord, samples: int | None) -> list[Outputs] | None:
    """The results of each sample in an earlier record; None where some are missing."""
    outputs = dict(earlier.outputs or {})
    if samples is None:
        return [outputs]
    if any(not isinstance(value, list) or len(value) != samples for value in outputs.values()):
        return None
    return [{port: value[sample] for port, value in outputs.items()} for sample in range(samples)]


class Attempted(NamedTuple):
    """The result of the attempt that counts, and whether it is valid."""

    outputs: Outputs
    attempt: int
    valid: bool


async def in_attempts(
    step: Step,
    task: Task,
    inputs: Mapping[str, Value],
    tools_of: ToolsOf,
    work: Callable[[NodeTools], Awaitable[Outputs]],
    tell: Callable[[int, ValidationVerdict], None],
    kept: Outputs | None = None,
) -> Attempted:
    """Have ``work`` done until its result is valid, as often as the step allows. ``inputs`` is what checks know as that; ``tell``
    is told of each verdict. A result that is ``kept`` from an earlier run is the first attempt.

    An attempt that asks no model is the last: the next would come to the same. Raises `InvalidFailure` where none is valid,
    but for ``on_invalid: accept``: then the best attempt counts, of equals the last.
    """
    validation = step.validation
    assert validation is not None  # noqa: S101 (who calls this looked)
    judge, first = ResultJudge(validation, task, inputs), tools_of(1, judges=True)
    history: tuple[Message, ...] = ()
    best: tuple[float, Attempted] | None = None
    before: Outputs | None = None
    verdict, attempt = ValidationVerdict(False), 0
    for attempt in range(1, validation.attempts + 1):
        own = tools_of(attempt, history)
        is_kept = attempt == 1 and kept is not None
        outputs = kept if is_kept and kept is not None else await work(own)
        verdict = await judge.judge(outputs, tools_of(attempt, judges=True), first)
        tell(attempt, verdict)
        if verdict.passed:
            return Attempted(outputs, attempt, valid=True)
        if best is None or verdict.score >= best[0]:
            best = verdict.score, Attempted(outputs, attempt, valid=False)
        if not own.asked and not is_kept:
            break
        messages = in_history(outputs, verdict)
        if outputs != before:
            history += messages
        elif len(history) == 1:
            break  # It came again although it was not shown.
        else:
            history = messages[1:]  # A model that sees its result mostly repeats it.
        before = outputs
    if validation.on_invalid == "accept" and best is not None:
        return best[1]
    raise _invalid(step.definition.id, validation.on_invalid, attempt, verdict)


def _invalid(node: str, on_invalid: str, attempts: int, verdict: ValidationVerdict) -> InvalidFailure:
    what = "its result is not valid" if attempts == 1 else f"none of its {attempts} results is valid; of the last"
    reason = f"{what}: {'; '.join(verdict.reasons)}"
    if on_invalid == "refine":
        reason += (
            " `on_invalid: refine` has a model change the workflow where the run has `refine:` or --refine; else say `fail`,"
            " `skip` or `accept`."
        )
    failure = InvalidFailure.of(node, reason)
    failure.on_invalid = on_invalid
    return failure


def told(verdict: ValidationVerdict, attempt: int, sample: int | None) -> dict[str, Any]:
    """A verdict as the record of a node keeps it."""
    which: dict[str, Any] = {"attempt": attempt}
    if sample is not None:
        which["sample"] = sample
    return {**which, **verdict.to_json()}
