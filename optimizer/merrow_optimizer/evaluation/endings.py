"""How a run of an item ended: with an answer, by the workflow's fault, or without an answer that is anybody's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from merrow_optimizer.evaluation.scores import Status
from merrow_runtime.asking.bounded import OverallBudget
from merrow_runtime.errors import (
    BudgetFailure,
    EndpointFailure,
    ReplayMiss,
    RunFailure,
    StoreFailure,
    UnreachedFailure,
    ValidatorFailure,
)
from merrow_runtime.running.run import RunResult
from merrow_runtime.running.run_failures import InternalFailure
from merrow_runtime.spending.meter import MonthSpent

RETURN = "RETURN"


class Fatal(Enum):
    """Why no other item can be answered now."""

    ENDPOINT = "endpoint"
    BUDGET = "budget"


class ItemOutcome(NamedTuple):
    """What an item came to; ``value`` is None where it doesn't count, ``read`` what was taken for the answer, ``fields`` what
    each field is worth where they are scored, as a `ScoreRecord` has that.
    """

    status: Status
    value: float | None
    read: str
    reason: str
    fields: Mapping[str, Mapping[str, Any]] | None = None


class Ending(NamedTuple):
    """How a run ended; ``status`` is None where there is an ``output`` to be scored."""

    status: Status | None
    output: Any = None
    others: Mapping[str, Any] | None = None
    """The values of the other outputs where RETURN is one of several; where it has none, all of them."""
    reason: str = ""
    fatal: Fatal | None = None

    @property
    def scored(self) -> ItemOutcome:
        """What an item came to that no metric has scored."""
        status = Status.INVALID if self.status is None else self.status
        return ItemOutcome(status, 0.0 if status is Status.FAILED else None, "", self.reason)


def ending_of(result: RunResult, outputs: Sequence[str]) -> Ending:
    """How a run ended that was not cancelled; ``outputs`` are the ids of the workflow's output nodes.

    Raises `StoreFailure` where the journal could not be written.
    """
    failure = result.failure
    if isinstance(failure, StoreFailure):
        raise failure
    if failure is not None:
        return _failed(failure)
    if result.unanswered is not None:
        # The run went on without it, but what came out of that is not the workflow's fault.
        return Ending(Status.UNANSWERED, reason=result.unanswered)
    if len(outputs) == 1 or RETURN in result.outputs:
        name = outputs[0] if len(outputs) == 1 else RETURN
        if name not in result.outputs:
            return Ending(Status.FAILED, reason=f"No value reached {name}.")
        others = {each: value for each, value in result.outputs.items() if each != name}
        return Ending(None, result.outputs[name], None if len(outputs) == 1 else others)
    if not result.outputs:
        return Ending(Status.FAILED, reason="No value reached an output.")
    return Ending(None, dict(result.outputs), dict(result.outputs) if RETURN in outputs else None)


def all_outputs(output: Any, others: Mapping[str, Any] | None) -> Any:
    """The values of all outputs by their ids where there are several, of an answer and the ``others`` of its ending."""
    return output if others is None or output == others else {**others, RETURN: output}


def _failed(failure: RunFailure) -> Ending:
    if isinstance(failure, EndpointFailure):
        return Ending(Status.UNANSWERED, reason=failure.sentence, fatal=Fatal.ENDPOINT if failure.fatal else None)
    if isinstance(failure, OverallBudget | MonthSpent):
        return Ending(Status.UNANSWERED, reason=str(failure), fatal=Fatal.BUDGET)
    if isinstance(failure, ReplayMiss | InternalFailure | UnreachedFailure):
        return Ending(Status.UNANSWERED, reason=failure.sentence)
    if isinstance(failure, ValidatorFailure):
        # Nobody has said that the answer is wrong.
        return Ending(Status.INVALID, reason=failure.sentence)
    reason = failure.sentence
    if isinstance(failure, BudgetFailure):
        reason = f"The workflow's own budget: {reason}"
    return Ending(Status.FAILED, reason=reason)
