"""The calls of a judge in a case: from the recording where it has them, else as they were answered before, else of the endpoint,
and recorded like any call.
"""

from __future__ import annotations

import hashlib
import time

from merrow_optimizer.evaluation.metrics.judge import Ask
from merrow_runtime.calls.queueing import Moment
from merrow_runtime.errors import EndpointFailure, ReplayMiss
from merrow_runtime.requests import AnswerSchema, CallKey, Message, ModelReply, ModelRequest
from merrow_runtime.running.purse import Purse
from merrow_runtime.running.resources import Chosen
from merrow_runtime.store.cache import Cache, kept
from merrow_runtime.store.contract import CallRecord
from merrow_runtime.store.recordings.case_recording import CallList
from merrow_runtime.store.recordings.recording import Replay
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.values import canonical

_KEY_BYTES = 16

NODE = "expect"
"""The node in the keys of calls that a judge makes."""


class JudgeCalls:
    """The calls of the judges of one answer. ``usage`` is what they used; ``answers`` has what was answered before, which is
    not used where ``fresh`` answers are wanted.
    """

    def __init__(
        self,
        model: str,
        workflow: str,
        chosen: Chosen | None,
        replay: Replay | None,
        kept: CallList | None,
        answers: Cache,
        *,
        fresh: bool = False,
    ) -> None:
        self.usage: Usage = NOTHING
        self._model = model
        self._workflow = workflow
        self._chosen = chosen
        self._replay = replay
        self._kept = kept
        self._answers = answers
        self._fresh = fresh

    def asks(self, number: int) -> Ask:
        """How the judge of the expectation with this number asks."""
        attempts = 0

        async def ask(messages: tuple[Message, ...], schema: AnswerSchema) -> str:
            nonlocal attempts
            request = ModelRequest(self._model, messages, schema=schema)
            key = CallKey(NODE, 0, f"judge {number}", attempts)
            attempts += 1
            return await self._answer(key, request)

        return ask

    async def _answer(self, key: CallKey, request: ModelRequest) -> str:
        replay = self._replay
        if replay is not None:
            known = replay.find(key, request.hash) if replay.may_ask else replay.recall(key, request.hash)
            if known is not None:
                await self._keep(known)
                return ModelReply.from_json(known.result).text
        if self._chosen is None:
            raise ReplayMiss("There is no endpoint to ask.")
        origin = self._chosen.endpoint.origin
        said = canonical([NODE, key.attempt, origin, request.to_json()])
        place = hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()[:_KEY_BYTES]
        before = None if self._fresh else await self._answers.get(place)
        if before is not None:
            reply = ModelReply.from_json(before)
            await self._keep(self._call(key, request, reply, "cache", time.time()))
            return reply.text
        started = time.time()
        purse = Purse(self._chosen, self._workflow)
        try:
            reply = await purse.ask(request, self)
        finally:
            purse.close()
        self.usage += reply.usage
        await self._answers.writer.write(kept(place, reply.json_text(), time.time()))
        await self._keep(self._call(key, request, reply, "endpoint", started))
        return reply.text

    def _call(self, key: CallKey, request: ModelRequest, reply: ModelReply, origin: str, started: float) -> CallRecord:
        assert self._chosen is not None  # noqa: S101 (see `_answer`)
        return CallRecord(
            key,
            "model",
            request.hash,
            request.canonical_text(),
            reply.json_text(),
            reply.usage,
            True,
            origin,
            started,
            reply.seconds,
            self._chosen.endpoint.origin,
            reply.model or request.model,
        )

    async def _keep(self, call: CallRecord) -> None:
        if self._kept is not None:
            await self._kept.record(call)

    def moved(self, moment: Moment) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""

    def retrying(self, failure: EndpointFailure, wait: float) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""

    def streamed(self, text: str) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""

    async def lost(self, usage: Usage, why: str) -> None:
        """See `merrow_runtime.calls.calling.Listener`."""
        del why
        self.usage += usage
