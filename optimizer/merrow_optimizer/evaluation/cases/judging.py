"""What a case's recording has of its judges, whose calls are recorded like any call."""

from __future__ import annotations

from merrow_runtime.asking.question import Key, QuestionAttempt, Source
from merrow_runtime.errors import ReplayMiss
from merrow_runtime.requests import CallKey, ModelReply
from merrow_runtime.store.contract import CallRecord
from merrow_runtime.store.recordings.case_recording import CallList
from merrow_runtime.store.recordings.recording import Replay

NODE = "expect"
"""The node in the keys of calls that a judge makes."""
KEY = Key(lambda asked: [NODE, asked.attempt, asked.origin, asked.request.to_json()])


class JudgeRows:
    """The answers of judges in the recording that is read, and the ``kept`` one that is made. Unless it ``may_ask``, there is no
    endpoint for those that it does not have.
    """

    def __init__(self, replay: Replay | None, kept: CallList | None, *, may_ask: bool) -> None:
        self._replay, self._kept, self._may_ask = replay, kept, may_ask

    async def find(self, asked: QuestionAttempt) -> ModelReply | None:
        """See `merrow_runtime.asking.asker.Rows`. Raises `ReplayMiss`."""
        replay = self._replay
        if replay is not None:
            look = replay.find if replay.may_ask else replay.recall
            call = look(_place(asked), asked.request.hash)
            if call is not None:
                await self._record(call)
                return ModelReply.from_json(call.result)
        if not self._may_ask:
            raise ReplayMiss("There is no endpoint to ask.")
        return None

    async def keep(self, asked: QuestionAttempt, reply: ModelReply, source: Source, started: float) -> None:
        """See `merrow_runtime.asking.asker.Rows`."""
        request = asked.request
        await self._record(
            CallRecord(
                _place(asked),
                "model",
                request.hash,
                request.canonical_text(),
                reply.json_text(),
                reply.usage,
                True,
                "cache" if source == "cache" else "endpoint",
                started,
                reply.seconds,
                asked.origin,
                reply.model or request.model,
            )
        )

    async def _record(self, call: CallRecord) -> None:
        if self._kept is not None:
            await self._kept.record(call)


def _place(asked: QuestionAttempt) -> CallKey:
    return CallKey(NODE, 0, asked.purpose, asked.attempt)
