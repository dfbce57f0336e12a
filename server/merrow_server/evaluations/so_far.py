"""What there is to tell while an evaluation goes on, over the answers that there are."""

from __future__ import annotations

from collections.abc import Iterable

from merrow_optimizer.evaluation.scores import Status
from merrow_optimizer.evaluation.summary import COUNTED
from merrow_runtime.store.evaluations import ScoreRecord
from merrow_runtime.usage import NOTHING
from merrow_server.reports.run_report import cost_text
from merrow_server.times import Pace


class SoFar:
    """The score so far, money and rest of an evaluation with ``total`` answers, of which ``known`` were there before."""

    def __init__(self, total: int, known: Iterable[ScoreRecord] = (), *, is_scored: bool = True) -> None:
        self.done = 0
        self._is_scored = is_scored
        self.total = total
        self._values, self._counted, self._usage = 0.0, 0, NOTHING
        for score in known:
            if score.status != Status.UNANSWERED:
                self.add(score)
        self._pace = Pace(self.done)

    def add(self, score: ScoreRecord) -> None:
        """Count an answer."""
        self.done += 1
        self._usage += score.usage
        if score.status in COUNTED:
            self._counted += 1
            self._values += score.value or 0.0

    def text(self) -> str:
        """The score so far, money and rest."""
        parts = [f"score {self._values / self._counted:.3f}"] if self._counted and self._is_scored else []
        parts.append(cost_text(self._usage.to_json()))
        return ", ".join(filter(None, [*parts, self._pace.left(self.done, self.total)]))
