"""A question that is put to a model outside of a run, and its answer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from merrow_runtime.records import record
from merrow_runtime.requests import AnswerSchema, Message, ModelReply, ModelRequest
from merrow_runtime.usage import Usage
from merrow_runtime.values import canonical

T_co = TypeVar("T_co", covariant=True)

Source = Literal["endpoint", "cache", "job", "shared"]
"""Where an answer came from: the endpoint; what was kept before; what the job itself has, such as its rows in the journal or a
recording; or the same question, which was on its way.
"""
_KEY_BYTES = 16


@record(frozen=True, slots=True)
class QuestionAttempt:
    """One time that a question is put: to the endpoint at ``origin``, after ``attempt`` answers that could not be read."""

    purpose: str
    origin: str
    request: ModelRequest
    attempt: int


@dataclass(frozen=True, slots=True)
class Key:
    """What the answers of an asker are kept under. ``parts`` gives all that tells one apart, as plain data. They must never
    change: what is known would be paid for again.

    Where it ``is_own``, only the job that asks can have paid for what is kept under it; so that is counted as used by the job.
    """

    parts: Callable[[QuestionAttempt], Sequence[Any]]
    is_own: bool = False

    def of(self, asked: QuestionAttempt) -> bytes:
        """The key of one answer."""
        text = canonical(list(self.parts(asked)))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_KEY_BYTES]


def _unheard(attempt: int) -> None:
    """Nobody wants to know that a question is put again."""
    del attempt


@dataclass(frozen=True, slots=True)
class JobQuestion(Generic[T_co]):
    """A question: ``purpose`` names it within its job, ``read`` makes a value of an answer. It raises `AnswerFailure` where that
    can't be, whose advice is what the model is told; then the question is put again, up to ``tries`` times in all.

    ``max_tokens`` are those of an answer, ``longer`` those of the next one after one was cut off (None: as many). ``again`` is
    called with the number of each further time, from 1, before that.
    """

    purpose: str
    model: str
    messages: tuple[Message, ...]
    read: Callable[[ModelReply], T_co]
    schema: AnswerSchema | None = None
    tries: int = 1
    temperature: float = 0.0
    max_tokens: int | None = None
    longer: int | None = None
    again: Callable[[int], None] = _unheard


@dataclass(frozen=True, slots=True)
class ReadAnswer(Generic[T_co]):
    """What was read of the answer ``text``, what all ``attempts`` used now, and where the last one came from."""

    value: T_co
    text: str
    usage: Usage
    attempts: int
    source: Source
