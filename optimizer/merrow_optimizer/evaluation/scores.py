"""What an item comes to: one of five statuses, which never mix, and the score of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Protocol

from merrow_optimizer.evaluation.items import Item


class Status(StrEnum):
    """How an item ended.

    ``failed`` is the workflow's fault and counts as 0. ``unanswered`` (endpoint, budget) is asked again by `resume`; it and
    ``invalid`` (the metric or the data) are left out of scores and comparisons, and counted in the headline.
    """

    RIGHT = "right"
    WRONG = "wrong"
    FAILED = "failed"
    UNANSWERED = "unanswered"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class FieldScore:
    """What one field of an answer is worth: a value from 0 to 1, the answer and the right one as texts, and why."""

    value: float
    read: str
    gold: str
    reason: str

    def to_json(self) -> dict[str, Any]:
        """As journals and reports have it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Score:
    """What a metric says of one answer: a value from 0 to 1, what it read as the answer, and why it is worth that; and the same
    of each field where the metric scores fields.
    """

    value: float
    read: str
    reason: str
    fields: Mapping[str, FieldScore] | None = None


class InvalidItemError(Exception):
    """A metric can't score this item; the sentence says why."""


class PartlyScoredError(Exception):
    """Of an answer only these ``fields`` could be scored. ``cause`` is why another one could not: `InvalidItemError`, or that a
    model gave no answer.
    """

    def __init__(self, fields: Mapping[str, FieldScore], cause: Exception) -> None:
        super().__init__(str(cause))
        self.fields, self.cause = fields, cause


class Metric(Protocol):
    """Scores answers. ``version`` changes whenever some answer's score may."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def of_episode(self) -> bool:
        """Whether it scores what an environment said, which then goes with the answer
        (`merrow_optimizer.evaluation.metrics.reward.with_episode`).
        """
        ...

    @property
    def identity(self) -> str:
        """What a stored score is found by, beside the item and the answer: name, version and all that the metric is made with."""
        ...

    async def score(self, item: Item, output: Any) -> Score:
        """The score of ``output``, the value of the workflow's result.

        Raises:
            InvalidItemError: the item's data can't be scored, or the metric failed on it.
            PartlyScoredError: the metric scores fields, and not all of them could be.
            EndpointFailure, BudgetFailure: a model that it asks gave no answer.
        """
        ...

    @property
    def judges(self) -> int:
        """How many questions it asks a model for one answer."""
        ...

    @property
    def reads_all(self) -> bool:
        """Whether of a workflow with several outputs it scores the values of all, by their ids."""
        ...

    def failed(self, item: Item, reason: str) -> Mapping[str, FieldScore] | None:
        """What the fields of an item without an answer are worth; None where the metric scores no fields."""
        ...

    async def close(self) -> None:
        """End the processes that the metric started."""
        ...
