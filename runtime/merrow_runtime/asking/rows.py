"""The answers that the journal has of a job, beside all else that the job came by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from merrow_runtime.asking.question import QuestionAttempt, Source
from merrow_runtime.requests import ModelReply
from merrow_runtime.store.listed import Keeping
from merrow_runtime.usage import NOTHING, Usage

_PAID = "paid"
"""Whether what the journal has was paid by the job itself; an answer that was known cost it nothing."""


def paid_in(kept: Mapping[str, Mapping[str, Any]]) -> Usage:
    """What a job has paid, by what the journal has of it."""
    return sum(
        (Usage.from_json(entry["usage"]) for entry in kept.values() if "usage" in entry and entry.get(_PAID, True)),
        NOTHING,
    )


class JobRows:
    """The answers that the journal has of a job, one of ``kept``; ``known`` is what it has now. ``used`` is what those have used
    that were needed here, whoever paid.
    """

    def __init__(self, identity: str, kept: Keeping[Any], known: Mapping[str, Mapping[str, Any]]) -> None:
        self._identity, self._kept = identity, kept
        self._known = dict(known)
        self._used: dict[str, Usage] = {}

    @property
    def used(self) -> Usage:
        """See the class."""
        return sum(self._used.values(), NOTHING)

    async def find(self, asked: QuestionAttempt) -> ModelReply | None:
        """See `merrow_runtime.asking.asker.Rows`."""
        key = _row(asked)
        known = self._known.get(key)
        reply = None if known is None else ModelReply.from_json(known)
        if reply is not None:
            self._used[key] = reply.usage
        return reply

    async def keep(self, asked: QuestionAttempt, reply: ModelReply, source: Source, started: float) -> None:
        """See `merrow_runtime.asking.asker.Rows`."""
        del started
        key = _row(asked)
        kept = {**reply.to_json(), _PAID: source == "endpoint"}
        await self._kept.keep(self._identity, key, kept)
        self._known[key], self._used[key] = kept, reply.usage


def _row(asked: QuestionAttempt) -> str:
    return f"answer {asked.purpose} {asked.request.hash}"
