"""What a case came to, as values and as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from merrow_analysis.cases.cases_reader import Case
from merrow_analysis.text import Span
from merrow_runtime.usage import NOTHING, Usage


class CaseStatus(StrEnum):
    """How a case ended. ``stale``: the recording does not have a call; ``error``: the endpoint or a metric failed, so nothing
    is known of the workflow.
    """

    PASSED = "passed"
    FAILED = "failed"
    STALE = "stale"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    ERROR = "error"


GOOD = frozenset({CaseStatus.PASSED, CaseStatus.SKIPPED, CaseStatus.XFAILED, CaseStatus.XPASSED})
"""Statuses with which a test is well."""


@dataclass(frozen=True, slots=True)
class ChangedOutput:
    """An output that differs from the one that was recorded before."""

    repeat: int
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What a case came to. ``place`` is what the message is about, in the cases file; ``expected`` and ``actual`` are texts to
    compare, ``node`` where the workflow failed or the recording misses a call, ``run`` its run in the journal.
    """

    case: Case
    status: CaseStatus
    message: str = ""
    expected: str | None = None
    actual: str | None = None
    place: Span | None = None
    node: str | None = None
    run: str | None = None
    source: str | None = None
    passed: int = 0
    changed: tuple[ChangedOutput, ...] = field(default=())
    usage: Usage = NOTHING
    seconds: float = 0.0

    @property
    def is_good(self) -> bool:
        """Whether a test is well with it."""
        return self.status in GOOD

    def to_json(self) -> dict[str, Any]:
        """Everything but the places, which editors and the command line count differently."""
        return {
            "id": self.case.id,
            "status": self.status.value,
            "message": self.message,
            "expected": self.expected,
            "actual": self.actual,
            "node": self.node,
            "run": self.run,
            "source": self.source,
            "passed": self.passed,
            "repeat": self.case.repeat,
            "min_pass": self.case.min_pass,
            "changed": [
                {"repeat": change.repeat, "before": change.before, "after": change.after} for change in self.changed
            ],
            "seconds": self.seconds,
            "cost_usd": self.usage.cost_usd,
        }


def counts(results: Iterable[CaseResult]) -> dict[str, int]:
    """How many cases came to each status that occurs, in the order of the statuses."""
    counted = Counter(result.status for result in results)
    return {status.value: counted[status] for status in CaseStatus if counted[status]}
