"""Gates: what an evaluation must reach, so that a pipeline fails where it does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from merrow_analysis.suggest import closest
from merrow_optimizer.evaluation.data.problems import listed
from merrow_optimizer.evaluation.statistics.paired import p_text
from merrow_optimizer.evaluation.summary import Comparison, Summary
from merrow_runtime.errors import UsageFailure

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Gates:
    """What is asked of the score, of the lower end of its interval, and of the difference to a baseline; None asks nothing.

    More than ``allow_errors`` answers that are unanswered or invalid (0 where None) fail every gate. At most ``allow_exhausted``
    answers may come from runs in which a Loop was stopped. ``fields_under`` and ``fields_under_lower`` ask the same as the first
    two of fields of the answers, by their names.
    """

    fail_under: float | None = None
    fail_under_lower: float | None = None
    max_drop: float | None = None
    fail_if_worse: bool = False
    allow_errors: int | None = None
    allow_exhausted: int | None = None
    fields_under: Mapping[str, float] = field(default_factory=dict)
    fields_under_lower: Mapping[str, float] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        """Whether anything is asked."""
        asked = (self.fail_under, self.fail_under_lower, self.max_drop, self.allow_errors, self.allow_exhausted)
        of_fields = bool(self.fields_under or self.fields_under_lower)
        return self.fail_if_worse or of_fields or any(gate is not None for gate in asked)

    def failed(self, summary: Summary, comparison: Comparison | None) -> Iterator[str]:
        """A sentence for each gate that is not passed. ``comparison`` is that with the baseline."""
        if not self.any:
            return
        if summary.left_out > (self.allow_errors or 0):
            count = summary.left_out
            answers = "1 answer is" if count == 1 else f"{count} answers are"
            yield f"{answers} unanswered or invalid; --allow-errors allows {self.allow_errors or 0}."
        if self.allow_exhausted is not None and summary.exhausted > self.allow_exhausted:
            count = summary.exhausted
            answers = "1 answer comes from a Loop" if count == 1 else f"{count} answers come from Loops"
            yield f"{answers} whose turns or budget ran out; --allow-exhausted allows {self.allow_exhausted}."
        if summary.score is None or summary.interval is None:
            yield "No item has a score."
            return
        if self.fail_under is not None and summary.score < self.fail_under:
            yield f"The score {summary.score:.3f} is under {self.fail_under:g}."
        if self.fail_under_lower is not None and summary.interval.lower < self.fail_under_lower:
            yield f"The lower end of the interval, {summary.interval.lower:.3f}, is under {self.fail_under_lower:g}."
        for name, least in self.fields_under.items():
            score = summary.fields[name].score
            if score is None or score < least:
                yield f"The score of {name}, {'none' if score is None else f'{score:.3f}'}, is under {least:g}."
        for name, least in self.fields_under_lower.items():
            interval = summary.fields[name].interval
            if interval is None or interval.lower < least:
                lower = "none" if interval is None else f"{interval.lower:.3f}"
                yield f"The lower end of the interval of {name}, {lower}, is under {least:g}."
        if self.max_drop is not None or self.fail_if_worse:
            yield from self._compared(comparison)

    def named(self, fields: Mapping[str, object]) -> Gates:
        """The same with its fields as these are written. Raises `UsageFailure` for one that is not scored."""
        return replace(
            self,
            fields_under={_own(name, fields): least for name, least in self.fields_under.items()},
            fields_under_lower={_own(name, fields): least for name, least in self.fields_under_lower.items()},
        )

    def _compared(self, comparison: Comparison | None) -> Iterator[str]:
        difference = None if comparison is None else comparison.difference
        if difference is None:
            yield "The baseline has no item in common with this evaluation."
            return
        if self.max_drop is not None and -difference.difference > self.max_drop:
            yield f"The score dropped by {-difference.difference:.3f}, more than {self.max_drop:g}."
        if self.fail_if_worse and difference.difference < 0 and difference.p_worse < LEVEL:
            yield f"It is worse than the baseline by {-difference.difference:.3f} ({p_text(difference.p_worse, 'one-sided p')})."


def _own(name: str, fields: Mapping[str, object]) -> str:
    for known in fields:
        if known.casefold() == name.casefold():
            return known
    near = closest(name, fields)
    hint = f"did you mean `{near}`?" if near else f"those are {listed(list(fields))}." if fields else "none is."
    raise UsageFailure(f"A gate asks about the field `{name}`, which is not scored; {hint}")
