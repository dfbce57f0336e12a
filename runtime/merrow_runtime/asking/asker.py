"""The one way to ask a model outside of a run: known answers are found, others are paid for, kept, and only then read."""

from __future__ import annotations

import asyncio
import time
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from merrow_runtime.asking.purse import Purse
from merrow_runtime.asking.question import JobQuestion, Key, QuestionAttempt, ReadAnswer, Source
from merrow_runtime.calls.queueing import Moment
from merrow_runtime.errors import AnswerFailure, EndpointFailure, RunFailure
from merrow_runtime.operators.prompts.asking_again import QuestionTurn, until_read
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.store.cache import Cache, kept
from merrow_runtime.usage import NOTHING, Usage

T = TypeVar("T")
_MISSING = {"finish": "stop", "model": "", "seconds": 0.0, "thinking": ""}
"""What a reply was where no more than its text and usage were kept."""


class UnknownAnswerError(Exception):
    """An answer is not known, and none may be asked for."""


class Rows(Protocol):
    """The answers that a job has of its own, such as rows in the journal or a recording."""

    async def find(self, asked: QuestionAttempt) -> ModelReply | None:
        """An answer; None where it is not there, and may be had elsewhere. May raise `RunFailure`."""
        ...

    async def keep(self, asked: QuestionAttempt, reply: ModelReply, source: Source, started: float) -> None:
        """Keep an answer that has come, asked for at ``started`` in seconds since 1970. Raises `StoreFailure`."""
        ...


@dataclass(eq=False, slots=True)
class PurposeAccount:
    """What is used for one thing, such as the score of an answer; ``name`` is what that is called in keys."""

    name: str
    used: Usage = NOTHING


ACCOUNT: ContextVar[PurposeAccount | None] = ContextVar("what is asked for in this context", default=None)
"""Where what is used in this context is counted, too."""


class Asker:
    """Asks the endpoint that ``purse`` pays. An answer is taken from an equal question that is on its way, from the ``rows`` of
    the job, or from ``cache``, where it is under ``key``; else it is asked for, and committed before it is read.

    With ``fresh`` the cache is not looked at; with ``only_known`` nobody is asked, but `UnknownAnswerError` raised. ``used`` is
    what was used here, ``known`` how many answers were in the cache already, ``missed`` why there is no answer to the last
    question that could not be paid or reached nobody.
    """

    def __init__(
        self,
        purse: Purse,
        cache: Cache,
        key: Key,
        rows: Rows | None = None,
        *,
        fresh: bool = False,
        only_known: bool = False,
    ) -> None:
        self.used: Usage = NOTHING
        self.known = 0
        self.missed: RunFailure | None = None
        self._purse, self._cache, self._key, self._rows = purse, cache, key, rows
        self._fresh, self._only_known = fresh, only_known
        self._on_their_way: dict[bytes, asyncio.Future[ModelReply]] = {}

    async def ask(self, question: JobQuestion[T]) -> ReadAnswer[T]:
        """The answer that can be read. Raises `AnswerFailure` where none of them can; `EndpointFailure`, `BudgetFailure`,
        `StoreFailure`, `UnknownAnswerError`, and what the rows raise.
        """
        used, most = NOTHING, question.max_tokens
        source: Source = "endpoint"

        async def put(turn: QuestionTurn) -> tuple[ModelReply, tuple[T, ...], AnswerFailure | None]:
            nonlocal used, source, most
            if turn.attempt:
                question.again(turn.attempt)
            request = ModelRequest(question.model, turn.messages, question.temperature, most, schema=question.schema)
            asked = QuestionAttempt(question.purpose, self._purse.origin, request, turn.attempt)
            reply, source = await self._reply(asked)
            used += reply.usage if source == "endpoint" else NOTHING
            if reply.finish == "length":
                most = question.longer or most
            try:
                return reply, (question.read(reply),), None
            except AnswerFailure as failure:
                return reply, (), failure

        answer = await until_read(question.messages, question.tries, put)
        if answer.failure is not None:
            raise answer.failure
        return ReadAnswer(answer.value[0], answer.reply.text, used, answer.attempts, source)

    def close(self) -> None:
        """No more is asked; what was paid is written down."""
        self._purse.close()

    async def _reply(self, asked: QuestionAttempt) -> tuple[ModelReply, Source]:
        key = self._key.of(asked)
        while (other := self._on_their_way.get(key)) is not None:
            await asyncio.wait([other])
            if not other.cancelled():  # else whoever asked was cancelled, which is nobody else's affair
                return await self._shared(asked, other.result())
        coming = self._on_their_way[key] = asyncio.get_running_loop().create_future()
        try:
            reply, source = await self._found(asked, key)
        except RunFailure as failure:
            self.missed = failure
            coming.set_exception(failure)
            coming.exception()  # others may hear of it, but need not
            raise
        except BaseException:
            coming.cancel()
            raise
        else:
            coming.set_result(reply)
            return reply, source
        finally:
            del self._on_their_way[key]

    async def _shared(self, asked: QuestionAttempt, reply: ModelReply) -> tuple[ModelReply, Source]:
        if self._rows is not None and await self._rows.find(asked) is None:
            await self._rows.keep(asked, reply, "shared", time.time())
        return reply, "shared"

    async def _found(self, asked: QuestionAttempt, key: bytes) -> tuple[ModelReply, Source]:
        own = None if self._rows is None else await self._rows.find(asked)
        if own is not None:
            return own, "job"
        started = time.time()
        source: Source
        before = None if self._fresh else _reply_of(await self._cache.get(key))
        if before is not None:
            self.known += 1
            if self._key.is_own:
                self._count(before.usage)
            reply, source = before, "cache"
        elif self._only_known:
            raise UnknownAnswerError
        else:
            reply, source = await self._purse.ask(asked.request, self), "endpoint"
            self._count(reply.usage)
        # One commit for both: with the first alone, a job that looks at no cache would ask again.
        writes: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._keep(asked, reply, source, started))]
        if source == "endpoint":
            writes.append(self._cache.writer.write(kept(key, reply.json_text(), time.time())))
        await asyncio.gather(*writes)
        return reply, source

    async def _keep(self, asked: QuestionAttempt, reply: ModelReply, source: Source, started: float) -> None:
        if self._rows is not None:
            await self._rows.keep(asked, reply, source, started)

    def _count(self, usage: Usage) -> None:
        self.used += usage
        account = ACCOUNT.get()
        if account is not None:
            account.used += usage

    def moved(self, moment: Moment) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""

    def retrying(self, failure: EndpointFailure, wait: float) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""

    def streamed(self, text: str) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""

    async def lost(self, usage: Usage, why: str) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""
        del why
        self._count(usage)


def _reply_of(known: Any) -> ModelReply | None:
    """An answer that was kept, perhaps its text and usage alone; None where it is damaged, so that it is asked for again."""
    try:
        return None if known is None else ModelReply.from_json({**_MISSING, **known})
    except (KeyError, TypeError, AttributeError):
        return None
