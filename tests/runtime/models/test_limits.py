"""An answer has a limit, however it comes: reading stops there, memory stays bounded, and nobody asks again."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache

import pytest
from tests.patience import PATIENCE
from tests.runtime.models.making import asking, endpoint_at, unseen
from tests.runtime.openai_server import OpenAIServer, Raw

from merrow_runtime.errors import EndpointFailure
from merrow_runtime.models import limits
from merrow_runtime.models.connections import EndpointConnection
from merrow_runtime.models.reach import reach
from merrow_runtime.models.retry import RetryPolicy

LIMIT = 200_000
IN_TRANSIT = 8_000_000
"""Bytes that may be in the buffers of the sockets between server and client, with room to spare."""
STREAMED = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ANSWER_LIMIT", LIMIT)
    monkeypatch.setattr(limits, "STREAM_LIMIT", LIMIT)


@dataclass
class Endless:
    """A server whose answers never end; ``sent`` counts their bytes."""

    head: str
    piece: bytes
    base_url: str = ""
    sent: int = 0
    requests: int = 0
    gone: asyncio.Event = field(default_factory=asyncio.Event)


@asynccontextmanager
async def endless(head: str, piece: bytes) -> AsyncIterator[Endless]:
    state = Endless(head, piece)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            state.requests += 1
            writer.write(f"HTTP/1.1 {state.head}\r\n\r\n".encode())
            while True:
                writer.write(state.piece)
                await writer.drain()
                state.sent += len(state.piece)
        state.gone.set()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    state.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield state
    finally:
        server.close()


BLANK = b" " * 50_000
EVENT = b'data: {"choices": [{"index": 0, "delta": {"content": "and on "}}]}\n\n' * 500
ENDLESS = {
    "JSON": ("200 OK\r\nContent-Type: application/json", BLANK),
    "text": ("200 OK\r\nContent-Type: text/plain", BLANK),
    "events": ("200 OK\r\nContent-Type: text/event-stream", EVENT),
    "one event": ("200 OK\r\nContent-Type: text/event-stream", b"data: " + b"[" * 50_000),
    "comments": ("200 OK\r\nContent-Type: text/event-stream", b": still there\n\n" * 3_000),
    "an error": ("400 Bad Request\r\nContent-Type: application/json", BLANK),
    "a busy server": ("503 Service Unavailable\r\nContent-Type: text/plain", BLANK),
    "a redirect": ("302 Found\r\nLocation: /\r\nContent-Type: text/html", BLANK),
    "empty blocks of gzip": (
        "200 OK\r\nContent-Type: application/json\r\nContent-Encoding: deflate",
        zlib.compressobj(wbits=-15).flush(zlib.Z_FULL_FLUSH) * 10_000,
    ),
}


@STREAMED
@pytest.mark.parametrize("kind", ENDLESS)
async def test_an_answer_without_end_is_read_to_its_limit_and_not_asked_for_again(kind: str, streamed: bool) -> None:
    async with endless(*ENDLESS[kind]) as server, endpoint_at(server.base_url) as endpoint:

        async def attempt() -> str:
            return (await endpoint.complete(asking(), unseen if streamed else None)).text

        with pytest.raises(EndpointFailure, match=r"sent more than 0\.19\d* MB") as caught:
            await attempt()
        with pytest.raises(EndpointFailure) as again:
            await RetryPolicy(first_wait=0.0, jitter=0.0).again(caught.value, attempt)
        assert again.value is caught.value
        await asyncio.wait_for(server.gone.wait(), PATIENCE)
    assert caught.value.paid
    assert str(caught.value).endswith(".")
    assert server.requests == 1
    assert server.sent < LIMIT + IN_TRANSIT


@pytest.mark.parametrize("kind", ["JSON", "an error", "events"])
async def test_doctor_reads_no_further_either(kind: str) -> None:
    async with endless(*ENDLESS[kind]) as server:
        reached = await reach(EndpointConnection(server.base_url))
        await asyncio.wait_for(server.gone.wait(), PATIENCE)
    assert reached.ok is False
    assert "sent more than" in reached.sentence
    assert server.sent < LIMIT + IN_TRANSIT


def _packed(coding: str, data: bytes) -> bytes:
    for each in coding.split(", "):
        if each == "identity":
            continue
        if each == "gzip":
            data = gzip.compress(data)
        elif each == "Deflate":  # without zlib's frame, as many servers send it
            packer = zlib.compressobj(wbits=-15)
            data = packer.compress(data) + packer.flush()
        else:
            data = zlib.compress(data)
    return data


@cache
def _bomb(coding: str) -> bytes:
    return _packed(coding, b'{"choices": "' + b" " * 40_000_000)


CODINGS = pytest.mark.parametrize(
    "coding", ["gzip", "deflate", "Deflate", "gzip, gzip", "deflate, gzip", "identity, deflate"]
)


def _answer(text: str) -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}).encode()


@STREAMED
@CODINGS
@pytest.mark.parametrize("status", [200, 400])
async def test_what_grows_when_it_is_unpacked_is_unpacked_to_the_limit(
    coding: str, status: int, streamed: bool
) -> None:
    bomb = _bomb(coding)
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(Raw(bomb, status=status, headers={"Content-Encoding": coding}))
        with pytest.raises(EndpointFailure, match="sent more than"):
            await endpoint.complete(asking(), unseen if streamed else None)


@STREAMED
@CODINGS
async def test_a_packed_answer_within_the_limit_is_read(coding: str, streamed: bool) -> None:
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        text = "x" * (LIMIT - 200)
        server.script(Raw(_packed(coding, _answer(text)), headers={"Content-Encoding": coding}))
        assert (await endpoint.complete(asking(), unseen if streamed else None)).text == text
        assert (await endpoint.complete(asking("and the next"))).text == "and the next"


@pytest.mark.parametrize("size", [LIMIT, LIMIT + 1])
async def test_the_limit_itself_is_allowed(size: int) -> None:
    answer = _answer("42").ljust(size)
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(Raw(answer))
        if size == LIMIT:
            assert (await endpoint.complete(asking())).text == "42"
        else:
            with pytest.raises(EndpointFailure, match="sent more than"):
                await endpoint.complete(asking())


@STREAMED
async def test_a_body_that_is_not_packed_as_it_says_is_told(streamed: bool) -> None:
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(Raw(b"not gzip at all", headers={"Content-Encoding": "gzip"}))
        with pytest.raises(EndpointFailure, match="decompressed") as caught:
            await endpoint.complete(asking(), unseen if streamed else None)
    assert caught.value.transient


async def test_compressions_may_be_named_in_several_headers() -> None:
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        headers = {"Content-Encoding": "deflate", "content-encoding": "gzip"}
        server.script(Raw(_packed("deflate, gzip", _answer("42")), headers=headers))
        assert (await endpoint.complete(asking())).text == "42"


@STREAMED
@pytest.mark.parametrize("head", [b"X: " + b"y" * 70_000, b"X: y\r\n" * 100_000, b"y" * 1_000_000], ids=len)
async def test_headers_without_end_are_given_up(head: bytes, streamed: bool) -> None:
    async with endless("200 OK\r\n" + head.decode(), BLANK) as server, endpoint_at(server.base_url) as endpoint:
        with pytest.raises(EndpointFailure):
            await endpoint.complete(asking(), unseen if streamed else None)
    assert server.sent < IN_TRANSIT


async def test_by_default_a_stream_may_be_larger_than_a_whole_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STREAM_LIMIT", 3 * LIMIT)
    chunk = b'data: {"choices": [{"index": 0, "delta": {"content": "42 "}, "finish_reason": null}]}\n\n'
    end = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    count = 2 * LIMIT // len(chunk)
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(Raw(chunk * count + end, "text/event-stream"))
        assert (await endpoint.complete(asking(), unseen)).text.count("42") == count
