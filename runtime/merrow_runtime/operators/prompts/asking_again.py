"""A question that is asked again because its answer can't be used: what the model is shown of that answer, and what it is not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from merrow_runtime.errors import AnswerFailure
from merrow_runtime.records import record
from merrow_runtime.requests import Message, ModelReply

T = TypeVar("T")
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
        paragraphs = (_LEFT_OUT, told, _REPEATED) if self.repeats else (_LEFT_OUT, told)
        return joined(self._first, (Message("user", "\n".join(paragraphs)),))


@record(frozen=True, slots=True)
class QuestionTurn:
    """One time that a question is put: which (from 0), in which messages, after which failure, and whether answers came twice."""

    attempt: int
    messages: tuple[Message, ...]
    failure: AnswerFailure | None
    repeats: bool


@record(frozen=True, slots=True)
class Answered(Generic[T]):
    """The last answer to a question, and what was read of it: a value in a tuple, or nothing and why it can't be used.

    ``attempts`` is how often the question was put, ``repeats`` whether an answer came twice.
    """

    reply: ModelReply
    value: tuple[T, ...]
    failure: AnswerFailure | None
    attempts: int
    repeats: bool


Put = Callable[[QuestionTurn], Awaitable[tuple[ModelReply, tuple[T, ...], AnswerFailure | None]]]
"""Puts a question: the answer, and what was read of it, as `Answered` has them."""


async def until_read(first: Sequence[Message], tries: int, put: Put[T]) -> Answered[T]:
    """Put a question up to ``tries`` times (at least once), until its answer can be read or asking again is of no use.

    The model is told what was wrong: the failure's advice, if it has one. Raises what ``put`` does.
    """
    again = AskingAgain(first)
    messages, failure, attempt = tuple(first), None, 0
    while True:
        reply, value, failure = await put(QuestionTurn(attempt, messages, failure, again.repeats))
        attempt += 1
        if failure is None:
            return Answered(reply, value, None, attempt, again.repeats)
        told = failure.advice or f"That can't be used: {failure} Answer again."
        following = again.after(reply.text, told, cut=reply.finish == "length")
        if attempt >= tries or following is None:
            return Answered(reply, (), failure, attempt, again.repeats)
        messages = following


def joined(first: Sequence[Message], then: Sequence[Message]) -> tuple[Message, ...]:
    """One conversation after another. Two messages of the user in a row are one: some endpoints take no others."""
    if not first or not then or first[-1].role != "user" or then[0].role != "user":
        return (*first, *then)
    return (*first[:-1], Message("user", f"{first[-1].content}\n\n{then[0].content}"), *then[1:])
