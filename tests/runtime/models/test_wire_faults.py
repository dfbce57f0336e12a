"""Everything that can go wrong on the wire ends with one sentence that names the endpoint and says whether to try again."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.models.making import KEY, asking, endpoint_at, unseen
from tests.runtime.openai_server import Cut, Hang, OpenAIServer, Raw, Reply, Status, Step

from merrow_runtime.errors import EndpointFailure, UsageFailure
from merrow_runtime.models.connections import EndpointConnection
from merrow_runtime.models.openai_endpoint import OpenAIEndpoint

HTML = Raw(b"<!DOCTYPE html><html><body>Sign in</body></html>", "text/html")
DEEP = Raw(b"[" * 200_000)
STREAMED = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


async def failing(step: Step, *, streamed: bool = False, **changes: Any) -> EndpointFailure:
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(step)
        with pytest.raises(EndpointFailure) as caught:
            await endpoint.complete(asking(**changes), unseen if streamed else None)
        assert len(server.requests) == 1
        text = str(caught.value)
        assert server.origin in text
        assert text.endswith(".")
        assert "\n" not in text
        assert KEY not in text
        return caught.value


@STREAMED
@pytest.mark.parametrize(
    "step",
    [
        Status(502, body="bad gateway"),
        Raw(b"<html>upstream</html>", "text/html", 503),
        Cut("answer"),
        Cut("body"),
        Reply(None),
        Reply("<think>hm</think>"),
        Raw(b'{"choices": [{"message": {"content": "4'),
        Raw(b"{}"),
        Raw(b"[]"),
        Raw(b"null"),
        Raw(b'"fine"'),
        Raw(b'{"choices": null}'),
        Raw(b'{"choices": [null]}'),
        Raw(b'{"choices": [{"message": null, "finish_reason": "stop"}]}'),
        Raw(b"\xff\xfe\x00"),
        Raw(b"", "application/json"),
        DEEP,
        replace(DEEP, content_type="text/plain"),
        replace(DEEP, status=503),
        replace(DEEP, body=b"data: " + DEEP.body + b"\n\n", content_type="text/event-stream"),
        Raw(b'data: {"error": {"message": "overloaded"}}\n\n', "text/event-stream"),
    ],
    ids=lambda value: repr(value)[:60],
)
async def test_what_may_pass_is_transient(step: Step, streamed: bool) -> None:
    failure = await failing(step, streamed=streamed)
    assert failure.transient
    assert not failure.fatal
    assert failure.paid == (step == Cut("body"))


@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({"Retry-After": "7"}, 7, 7),
        ({"Retry-After": "1.5"}, 1.5, 1.5),
        ({"Retry-After": "0"}, 0, 0),
        ({"retry-after-ms": "0", "Retry-After": "7"}, 0, 0),
        ({"retry-after-ms": "250", "Retry-After": "7"}, 0.25, 0.25),
        ({"Retry-After": format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)}, 3600, 7200),
        ({"Retry-After": format_datetime(datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=2))}, 3600, 7200),
        ({"Retry-After": "Thu, 01 Jan 2015 00:00:00 GMT"}, 0, 0),
    ],
)
async def test_the_wait_that_an_endpoint_asks_for_is_read(headers: dict[str, str], low: float, high: float) -> None:
    failure = await failing(Status(429, headers=headers))
    assert failure.retry_after is not None
    assert low <= failure.retry_after <= high


@pytest.mark.parametrize("said", ["soon", "", "-3", "nan", "inf", "1e999"])
async def test_an_illegible_wait_is_none(said: str) -> None:
    assert (await failing(Status(503, headers={"Retry-After": said}))).retry_after is None


@STREAMED
async def test_an_answer_that_never_comes_is_given_up(streamed: bool) -> None:
    failure = await failing(Hang(), streamed=streamed, timeout=0.2)
    assert failure.transient
    assert "0.2 seconds" in str(failure)
    # What was given up before it was sent has used nothing: a machine that stood still meanwhile is given longer.
    assert failure.paid or (await failing(Hang(), streamed=streamed, timeout=PATIENCE / 2)).paid


@STREAMED
async def test_cancelling_cuts_the_call_in_flight(streamed: bool) -> None:
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(Hang())
        call = asyncio.create_task(endpoint.complete(asking(), unseen if streamed else None))
        await server.arrived(1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(server.abandoned.wait(), PATIENCE)
        assert (await endpoint.complete(asking("still there"))).text == "still there"


async def test_a_refused_connection_is_fatal() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with endpoint_at(f"http://127.0.0.1:{port}/v1") as endpoint:
        with pytest.raises(EndpointFailure, match="refuses connections") as caught:
            await endpoint.complete(asking())
    assert caught.value.fatal
    assert f"http://127.0.0.1:{port}" in str(caught.value)


async def test_a_name_that_does_not_resolve_is_fatal() -> None:
    async with endpoint_at("http://merrow-nowhere.invalid/v1", proxy=False) as endpoint:
        with pytest.raises(EndpointFailure, match="doesn't resolve") as caught:
            await endpoint.complete(asking())
    assert caught.value.fatal


async def test_tls_with_a_server_that_speaks_none_is_fatal() -> None:
    async with OpenAIServer() as server, endpoint_at(server.base_url.replace("http:", "https:")) as endpoint:
        with pytest.raises(EndpointFailure, match="TLS") as caught:
            await endpoint.complete(asking())
    assert caught.value.fatal


SAYS_WHY = Reply(None, message={"refusal": "I can't help with that."})


@pytest.mark.parametrize(
    ("reply", "finish"),
    [
        (Reply("cut off", finish="length"), "length"),
        (Reply("<think>and on and on", finish="length"), "length"),
        (Reply("", finish="length"), "length"),
        (Reply("", finish="content_filter"), "refusal"),
        (SAYS_WHY, "refusal"),
        (Status(400, "The response was filtered", code="content_filter"), "refusal"),
    ],
    ids=repr,
)
@STREAMED
async def test_cut_and_refused_answers_say_so(reply: Step, finish: str, streamed: bool) -> None:
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(reply)
        answer = await endpoint.complete(asking(), unseen if streamed else None)
    assert answer.finish == finish
    assert "think" not in answer.text
    if reply == SAYS_WHY:
        assert answer.text == "I can't help with that."


@pytest.mark.parametrize(
    "url", ["", "api.openai.com/v1", "ftp://host/v1", "http://", "http://host:99999/v1", "http://me:pw@h/v1"]
)
def test_a_base_url_that_is_none_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(UsageFailure) as caught:
        OpenAIEndpoint(EndpointConnection(url, KEY))
    assert "pw" not in str(caught.value)
