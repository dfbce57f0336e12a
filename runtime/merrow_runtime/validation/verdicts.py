"""What validators say of results, and how a model is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from merrow_runtime.records import record
from merrow_runtime.requests import Message
from merrow_runtime.values import Outputs, as_text

_LONGEST_REASON = 2_000
_MOST_REASONS = 20


@record(frozen=True, slots=True)
class ValidationVerdict:
    """What came of judging one result. ``reasons`` say why it did not pass, ``feedback`` what to do better; ``score`` grows with
    the number of checks that it passed.
    """

    passed: bool
    reasons: tuple[str, ...] = ()
    feedback: str = ""
    score: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The verdict as events and the journal have it."""
        return {"valid": self.passed, "reasons": list(self.reasons), "feedback": self.feedback}


def short(text: str) -> str:
    """A reason as it is kept: at most 2,000 characters."""
    text = text.strip()
    return text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 1]}…"


def refused(reasons: list[str], feedback: str = "", score: float = 0.0) -> ValidationVerdict:
    """A verdict on a result that does not pass."""
    kept = tuple(dict.fromkeys(short(reason) for reason in reasons if reason.strip()))[:_MOST_REASONS]
    return ValidationVerdict(False, kept, short(feedback), score)


def in_history(outputs: Outputs, verdict: ValidationVerdict) -> tuple[Message, Message]:
    """A result that did not pass and what was wrong with it, as the messages that the next attempt has of it."""
    result = as_text(next(iter(outputs.values()))) if len(outputs) == 1 else as_text(dict(outputs))
    paragraphs = ["Your result was checked, and it is not valid."]
    if verdict.reasons:
        paragraphs.append("What is wrong:\n" + "\n".join(f"- {reason}" for reason in verdict.reasons))
    if verdict.feedback:
        paragraphs.append(f"What to do better:\n{verdict.feedback}")
    paragraphs.append("Give the whole result again, in the form that you were asked for, so that it is valid.")
    return Message("assistant", result), Message("user", "\n\n".join(paragraphs))


def validation_record(digest: str, attempts: list[Mapping[str, Any]], attempt: int, *, valid: bool) -> dict[str, Any]:
    """What the record of a node keeps of its validation: by what it was judged, which attempt counts and whether that is valid,
    and each verdict.
    """
    return {"by": digest, "attempt": attempt, "valid": valid, "attempts": attempts}
