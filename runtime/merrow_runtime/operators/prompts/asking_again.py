"""A question that is asked again because its answer can't be used: what the model is shown of that answer, and what it is not."""

from __future__ import annotations

from collections.abc import Sequence

from merrow_runtime.requests import Message

LONGEST_SENT_BACK = 20_000
"""Characters of an answer that is shown to the model again."""
_LEFT_OUT = "An earlier answer of yours could not be used and is left out here."
_REPEATED = "You have given the same answer more than once. Give a different one."


class AskingAgain:
    """One question with all of its attempts. Each attempt has the question and at most the last answer, so that it does not grow.

    ``repeats`` is whether an answer has come twice: then a seed should differ, too.
    """

    def __init__(self, first: Sequence[Message]) -> None:
        self.repeats = False
        self._first = tuple(first)
        self._answers: set[str] = set()
        self._is_shown = True

    def after(self, answer: str, told: str, *, cut: bool = False) -> tuple[Message, ...] | None:
        """The messages to send after an answer that can't be used; ``told`` says why, and what is wanted.

        An answer that was cut off, or is very long, is not shown: it would only fill the context. Neither is one that came
        before: a model that sees it mostly repeats it. None where it came although it was not shown: asking is of no use.
        """
        is_repeated = answer in self._answers
        self._answers.add(answer)
        self.repeats = self.repeats or is_repeated
        if is_repeated and not self._is_shown:
            return None
        self._is_shown = not (cut or self.repeats or len(answer) > LONGEST_SENT_BACK)
        if not answer.strip():
            return joined(self._first, (Message("user", told),))
        if self._is_shown:
            return (*self._first, Message("assistant", answer), Message("user", told))
        said = (_LEFT_OUT, told, _REPEATED) if self.repeats else (_LEFT_OUT, told)
        return joined(self._first, (Message("user", "\n".join(said)),))


def joined(first: Sequence[Message], then: Sequence[Message]) -> tuple[Message, ...]:
    """One conversation after another. Two messages of the user in a row are one: some endpoints take no others."""
    if not first or not then or first[-1].role != "user" or then[0].role != "user":
        return (*first, *then)
    return (*first[:-1], Message("user", f"{first[-1].content}\n\n{then[0].content}"), *then[1:])
