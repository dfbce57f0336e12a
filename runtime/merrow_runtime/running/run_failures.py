"""Failures that end a run, whatever its nodes' `on_error` says."""

from __future__ import annotations

from merrow_runtime.errors import (
    BudgetFailure,
    EndpointFailure,
    NodeFailure,
    ReplayMiss,
    RunFailure,
    StoreFailure,
    UsageFailure,
)


class InternalFailure(NodeFailure):
    """Not a node's failure but a fault of a program: ``__cause__`` has it."""

    code = "internal"


_ENDS_THE_RUN = (BudgetFailure, ReplayMiss, StoreFailure, UsageFailure, InternalFailure)
"""Failures that are not a node's own."""


def ends_run(failure: RunFailure) -> bool:
    """Whether a failure is of the run and not of a node, so that `on_error` says nothing about it."""
    if isinstance(failure, EndpointFailure):
        return (
            failure.fatal and failure.model is None
        )  # No other node could succeed either: defaults alone would hide that.
    return isinstance(failure, _ENDS_THE_RUN)


def internal_failure(node: str, fault: BaseException) -> InternalFailure:
    """A fault met at a node, as the failure that is reported."""
    internal = InternalFailure.of(node, f"internal error, {type(fault).__name__}: {fault}")
    internal.__cause__ = fault
    return internal
