"""What the metrics share: how an output is read as text, golds that are alternatives, what is shown, what identifies one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.scores import FieldScore, Score
from merrow_runtime.values import as_text, canonical

_LONGEST_SHOWN = 1000


class BaseMetric:
    """A metric that needs no process. ``options`` are what it was made with, as JSON."""

    name: str
    version: int = 1
    needs_gold: bool = True
    of_episode: bool = False
    judges: int = 0
    """How many questions it asks a model for one answer."""
    reads_all: bool = False
    """See `Metric.reads_all`."""

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self.options = dict(options or {})

    @property
    def identity(self) -> str:
        if not self.options:
            return f"{self.name}/{self.version}"
        return f"{self.name}/{self.version}/{hashlib.sha256(canonical(self.options).encode()).hexdigest()[:16]}"

    def fault(self, item: Item) -> str | None:
        """Why this item can't be scored, in a sentence; None where it can. Asked before the first call."""
        del item
        return None

    async def prepare(self) -> None:
        """Make sure that scoring can begin.

        Raises:
            DataError: something is missing, in one sentence with the remedy.
        """

    def remarks(self, items: Sequence[Item]) -> list[str]:
        """What people should know before the first call, in sentences. The items are those that `fault` has nothing against."""
        del items
        return []

    async def score(self, item: Item, output: Any) -> Score:
        """See `Metric.score`."""
        raise NotImplementedError

    def failed(self, item: Item, reason: str) -> Mapping[str, FieldScore] | None:
        """See `Metric.failed`."""
        del item, reason
        return None

    async def close(self) -> None:
        """End what was started."""


def text_of(output: Any) -> str:
    """An output as text: itself, or its JSON."""
    return as_text(output).replace("\r\n", "\n")


def golds_of(gold: Any) -> list[Any]:
    """The right answers: one, or the items of a list, any of which is right."""
    return list(gold) if isinstance(gold, list) else [gold]


def shown(text: str) -> str:
    """A text as `Score.read` and `Score.reason` keep it: at most 1,000 characters."""
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def right(read: str, reason: str) -> Score:
    return Score(1.0, shown(read), shown(reason))


def wrong(read: str, reason: str) -> Score:
    return Score(0.0, shown(read), shown(reason))
