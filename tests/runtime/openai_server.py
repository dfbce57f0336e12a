"""A server on loopback that speaks the OpenAI protocol: what it answers is scripted, every fault of the wire included.

    async with OpenAIServer() as server:
        server.script(Status(429, headers={"Retry-After": "0"}), Reply("42"))
        ... server.base_url ... server.requests[0].body["messages"] ...

Scripted steps are used up in the order in which requests arrive; then ``server.answer`` decides (by default a `Reply`
that echoes the last message). `serving` runs one in a thread, for tests that start processes.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal, Self

_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    429: "Too Many Requests",
}


@dataclass(frozen=True)
class Received:
    """A request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any

    @property
    def prompt(self) -> str:
        if "input" in self.body:
            return "\n".join(self.texts)
        return "\n".join(message["content"] for message in self.body["messages"])

    @property
    def texts(self) -> list[str]:
        """Those that are to be embedded."""
        given: list[str] = self.body["input"]
        return given


@dataclass(frozen=True)
class Reply:
    """An answer of a model, streamed in ``pieces`` (or word by word) where the request asks for it.

    ``delay`` is in seconds; ``usage`` None counts words, False leaves it out. ``message`` adds fields to the message.
    """

    text: str | None = ""
    finish: str | None = "stop"
    usage: Mapping[str, Any] | bool | None = None
    delay: float = 0.0
    pieces: Sequence[str] | None = None
    message: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    ignores_stream: bool = False


@dataclass(frozen=True)
class Status:
    """An answer with an error's status and the protocol's error object (or ``body`` in its place)."""

    status: int
    message: str = "scripted"
    code: str | None = None
    param: str | None = None
    type: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None


@dataclass(frozen=True)
class Raw:
    """Any body with any status and type."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cut:
    """The connection is closed: before the ``answer``, or in its ``body`` (of a stream: after its first pieces)."""

    at: str = "answer"


@dataclass(frozen=True)
class Hang:
    """No answer at all, until the client goes."""


@dataclass(frozen=True)
class Embedding:
    """An answer with the vector of each text, made by ``of``; ``usage`` as in `Reply`."""

    of: Callable[[str], Sequence[float]]
    usage: Mapping[str, Any] | bool | None = None


Step = Reply | Embedding | Status | Raw | Cut | Hang


def lengths_of_words(text: str) -> Sequence[float]:
    """A vector of eight numbers: how many words of a text have 1, 2, ... letters."""
    lengths = [min(len(word), 8) for word in text.split()]
    return [float(lengths.count(length)) for length in range(1, 9)]


def echo(request: Received) -> Step:
    if request.path.endswith("/embeddings"):
        return Embedding(lengths_of_words)
    return Reply(request.body["messages"][-1]["content"])


def only(count: int, answer: Callable[[Received], Step]) -> Callable[[Received], Step]:
    """Answers the first ``count`` requests; all others wait without end, so that what asks can't be done before it is stopped."""
    left = iter(range(count))
    return lambda request: answer(request) if next(left, None) is not None else Hang()


class OpenAIServer:
    """The server; an async context manager. ``most_at_once`` is the highest number of requests that it ever had open."""

    def __init__(self, answer: Callable[[Received], Step] = echo) -> None:
        self.answer = answer
        self.requests: list[Received] = []
        self.connections = 0
        self.most_at_once = 0
        self.abandoned = asyncio.Event()
        """Set when a client has gone while its request was open."""
        self.slots = 0
        """How many places it tells of, as llama.cpp's server does; 0 for a server that doesn't tell."""
        self.tells_after = 0.0
        """Seconds that it takes to tell of itself: its places and its models."""
        self.models: tuple[str, ...] | None = None
        """What it lists at ``GET /models``, a question that isn't recorded; None for a server that doesn't list its models."""
        self.scripts_models = False
        """Whether ``GET /models`` is recorded and answered as every other request is."""
        self.answers_at_most: int | None = None
        """Requests after so many wait for their answer until this is None again; any thread may set it."""
        self._at_once = 0
        self._script: deque[Step] = deque()
        self._arrival = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        return f"{self.origin}/v1"

    @property
    def bodies(self) -> list[Any]:
        return [request.body for request in self.requests]

    def script(self, *steps: Step) -> Self:
        """What the next requests are answered with."""
        self._script.extend(steps)
        return self

    @contextmanager
    def holding(self, count: int) -> Iterator[None]:
        """No more than ``count`` requests are answered meanwhile, so that what is tried in the middle of a run is in its middle
        on every machine.
        """
        self.answers_at_most = count
        try:
            yield
        finally:
            self.answers_at_most = None

    async def arrived(self, count: int) -> None:
        """Wait until so many requests have come."""
        async with self._arrival:
            await self._arrival.wait_for(lambda: len(self.requests) >= count)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=1 << 24, backlog=1024)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._exchange(reader, writer):
                    pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; False ends the connection."""
        first = await reader.readexactly(1)
        if not first.isalpha():
            writer.write(_head(400, "text/plain", {}, 0))
            return False
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        text = await reader.readexactly(int(headers.get("content-length", 0)))
        told = self._told(method, path)
        if told is not None:
            await asyncio.sleep(self.tells_after)
            content = b"" if told is False else json.dumps(told).encode()
            writer.write(_head(404 if told is False else 200, "application/json", {}, len(content)) + content)
            return True
        request = Received(method, path, headers, json.loads(text) if text else None)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            async with self._arrival:
                self.requests.append(request)
                self._arrival.notify_all()
            step = self._script.popleft() if self._script else self.answer(request)
            if method != ("GET" if path.partition("?")[0].endswith("/models") else "POST"):
                step = Status(405, f"{method} is not for {path}")
            place = len(self.requests)
            while self.answers_at_most is not None and place > self.answers_at_most:
                await asyncio.sleep(0.01)
            return await self._perform(step, request, reader, writer)
        finally:
            self._at_once -= 1

    def _told(self, method: str, path: str) -> Mapping[str, Any] | Literal[False] | None:
        """What it tells of itself, which is no question that counts; False where it doesn't tell, None for all other requests."""
        if path == "/props":  # How many places it has, as llama.cpp's server tells.
            return {"total_slots": self.slots} if self.slots else False
        if method == "GET" and path == "/v1/models" and not self.scripts_models:
            if self.models is None:
                return False
            return {"object": "list", "data": [{"id": name} for name in self.models]}
        return None

    async def _perform(
        self, step: Step, request: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        is_stream = bool(request.body and request.body.get("stream"))
        if isinstance(step, Hang):
            await reader.read()
            self.abandoned.set()
            return False
        if isinstance(step, Cut):
            if step.at == "body":
                start = _sse(_chunk("cut ")) if is_stream else b'{"choices": [{"mess'
                kind = "text/event-stream" if is_stream else "application/json"
                writer.write(_head(200, kind, {}, 100_000) + start)
                await writer.drain()
            return False
        if isinstance(step, Status):
            error = {"message": step.message, "code": step.code, "param": step.param, "type": step.type}
            body = step.body if step.body is not None else {"error": error}
            content = json.dumps(body).encode()
            writer.write(_head(step.status, "application/json", step.headers, len(content)) + content)
        elif isinstance(step, Raw):
            writer.write(_head(step.status, step.content_type, step.headers, len(step.body)) + step.body)
        elif isinstance(step, Embedding):
            content = json.dumps(_embedded(step, request)).encode()
            writer.write(_head(200, "application/json", {}, len(content)) + content)
        elif is_stream and not step.ignores_stream:
            await self._stream(step, request, writer)
        else:
            if step.delay:
                await asyncio.sleep(step.delay)
            content = json.dumps(_completion(step, request)).encode()
            writer.write(_head(200, "application/json", {}, len(content)) + content)
        await writer.drain()
        return True

    async def _stream(self, step: Reply, request: Received, writer: asyncio.StreamWriter) -> None:
        if step.delay:
            await asyncio.sleep(step.delay)
        pieces = step.pieces
        if pieces is None:
            pieces = [piece + " " for piece in (step.text or "").split(" ")]
            pieces[-1] = pieces[-1][:-1]
        later = {key: value for key, value in step.message.items() if key not in ("tool_calls", "function_call")}
        events = [_chunk(piece, **(later if number else step.message)) for number, piece in enumerate(pieces)]
        if step.finish is not None:
            events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": step.finish}]})
        if step.usage is not False and (request.body.get("stream_options") or {}).get("include_usage"):
            events.append({"choices": [], "usage": _usage(step, request)})
        model = step.model or request.body["model"]
        writer.write(_head(200, "text/event-stream", {"Transfer-Encoding": "chunked"}, None))
        for event in events:
            _write_chunk(writer, _sse({"object": "chat.completion.chunk", "model": model, **event}))
            await writer.drain()
        _write_chunk(writer, b"data: [DONE]\n\n")
        writer.write(b"0\r\n\r\n")


@contextmanager
def serving(answer: Callable[[Received], Step] = echo) -> Iterator[OpenAIServer]:
    """A server in a thread of its own, for tests whose client is another process."""
    started: list[OpenAIServer] = []
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    done = asyncio.Event()

    async def serve() -> None:
        async with OpenAIServer(answer) as server:
            started.append(server)
            ready.set()
            await done.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield started[0]
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
        loop.close()


def _completion(step: Reply, request: Received) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": step.model or request.body["model"],
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": step.text, **step.message},
                "finish_reason": step.finish,
            }
        ],
    }
    if step.usage is not False:
        answer["usage"] = _usage(step, request)
    return answer


def _embedded(step: Embedding, request: Received) -> dict[str, Any]:
    vectors = [list(step.of(text)) for text in request.texts]
    answer: dict[str, Any] = {
        "object": "list",
        "model": request.body["model"],
        "data": [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(vectors)],
    }
    if step.usage is not False:
        tokens = len(request.prompt.split())
        usage = step.usage if isinstance(step.usage, Mapping) else {"prompt_tokens": tokens, "total_tokens": tokens}
        answer["usage"] = usage
    return answer


def _usage(step: Reply, request: Received) -> Mapping[str, Any]:
    if isinstance(step.usage, Mapping):
        return step.usage
    prompt, completion = len(request.prompt.split()), len((step.text or "").split())
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _chunk(text: str, **message: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text, **message}, "finish_reason": None}]}


def _sse(event: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def _write_chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


def _head(status: int, content_type: str, headers: Mapping[str, str], length: int | None) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Scripted')}", f"Content-Type: {content_type}"]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
