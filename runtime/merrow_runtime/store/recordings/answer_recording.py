"""Recordings of all answers of models, whoever asks for them: each found by its question.

The first line is a header, each further one a question and its answer. What asks of several runs and of none at all is
recorded so, an extraction of operators.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from merrow_runtime.errors import EmptyAnswerFailure, EndpointFailure, UsageFailure
from merrow_runtime.models.endpoint import Endpoint, OnText
from merrow_runtime.models.prices import FREE, Price, price_at
from merrow_runtime.provenance import REPLAY_ORIGIN
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.store.recordings.recording import ANSWERS_MARK, FORMAT, MARK, begin_file, object_of, write_line
from merrow_runtime.usage import NOTHING, Usage


class AnsweringRecorded:
    """An endpoint that answers from a recording, and from nowhere else. Raises `UsageFailure` where that can't be read."""

    origin = REPLAY_ORIGIN

    def __init__(self, path: Path) -> None:
        self._path = path
        self._replies = _read(path)

    def price(self, model: str) -> Price | None:  # noqa: ARG002 (every model)
        """Nothing."""
        return FREE

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        """Answer. Raises `EndpointFailure` where the recording does not have the question."""
        del on_text
        reply = self._replies.get(_hash(request))
        if reply is None:
            asked = " ".join(request.messages[-1].content.split())[:60]
            raise EndpointFailure(
                f"The recording {self._path} has no answer to a question that begins {asked!r}: the data, the options or a prompt"
                " changed since. Record it again.",
                fatal=True,
            )
        if reply.finish == "stop" and not reply.text.strip():
            raise EmptyAnswerFailure(f"The recording {self._path} has an empty answer.", usage=reply.usage)
        return reply

    async def close(self) -> None:
        """Nothing is open."""


class RecordingAnswers:
    """An endpoint whose answers are written into a file, each before it is used. All else is that of the endpoint itself."""

    def __init__(self, endpoint: Endpoint, path: Path) -> None:
        """Raises `UsageFailure` where the file can't be written; one that is there is replaced."""
        self._endpoint, self._path = endpoint, path
        try:
            self._file = path.open("w", encoding="utf-8", newline="\n")
        except OSError as problem:
            raise UsageFailure(f"The recording {path} can't be written ({problem.strerror}).") from None
        begin_file(self._file, self._path, {MARK: FORMAT, ANSWERS_MARK: True})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._endpoint, name)

    @property
    def origin(self) -> str:
        """See `Endpoint`."""
        return self._endpoint.origin

    def price(self, model: str) -> Price | None:
        """The price of a model at the endpoint."""
        return price_at(self._endpoint, model)

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        """Answer. Raises `EndpointFailure`; `StoreFailure` where the recording can't be written."""
        try:
            reply = await self._endpoint.complete(request, on_text)
        except EmptyAnswerFailure as failure:
            empty = ModelReply("", usage=failure.usage or NOTHING)
            write_line(self._file, self._path, answer_line(request, empty))
            raise
        write_line(self._file, self._path, answer_line(request, reply))
        return reply

    async def close(self) -> None:
        """Close the file, and let the endpoint go."""
        with contextlib.suppress(OSError):  # of a full disk; every line was written out, or its failure reported
            self._file.close()
        await self._endpoint.close()


def _hash(request: ModelRequest) -> str:
    """What a question is found by: all of it but the name of the model, which is another one for other users."""
    return replace(request, model="").hash


def answer_line(request: ModelRequest, reply: ModelReply) -> dict[str, Any]:
    """A question and its answer as a line of a recording has them."""
    return {"hash": _hash(request), "request": request.to_json(), "reply": {**reply.to_json(), "seconds": 0.0}}


def _read(path: Path) -> dict[str, ModelReply]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8 text"
        raise UsageFailure(f"The recording {path} can't be read ({reason}).") from None
    header = object_of(path, 1, lines[0] if lines else "")
    if header.get(MARK) != FORMAT or not header.get(ANSWERS_MARK):
        raise UsageFailure(f"{path} is not the recording of an extraction; make one with: merrow extract ... --record")
    replies: dict[str, ModelReply] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        content = object_of(path, number, line)
        try:
            reply = dict(content["reply"])
            usage = {**Usage.from_json(reply["usage"]).to_json(), "cost_usd": 0.0}
            replies[content["hash"]] = ModelReply.from_json({**reply, "usage": usage})
        except (KeyError, TypeError, AttributeError, ValueError) as problem:
            raise UsageFailure(f"Line {number} of the recording {path} lacks {problem}; record it again.") from None
    return replies
