"""Models at local addresses: as many calls at once as the server has places, answers that have an end, prompts that don't fit."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.engine.fakes import workflow
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step, serving

import merrow_runtime
from merrow_runtime.models import discovery
from merrow_runtime.models.user_settings import settings_path
from merrow_runtime.options import RunOptions
from merrow_runtime.running.run import RunResult
from merrow_runtime.store.memory import MemoryStore

VOTES = 8
ENSEMBLE = workflow(
    'A@{op: Custom, prompt: "p", samples: 8, temperature: 1, timeout: 6}',
    "PROBLEM --> A --> V",
    "V@{op: ScEnsemble}",
    "V --> RETURN",
)
ONE = workflow('A@{op: Custom, prompt: "p"}', "PROBLEM --> A --> RETURN")


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody says how many calls to make at once."""
    monkeypatch.delenv("MERROW_CONCURRENCY")


async def ran(flow: Any, server: OpenAIServer, **options: Any) -> tuple[RunResult, list[Any]]:
    """A run's result and its events."""
    chosen = RunOptions(**{"base_url": server.base_url, "model": "m", **options})
    run = merrow_runtime.start(flow, {"problem": "x"}, options=chosen, store=MemoryStore())
    return await run.result(), [event async for event in run.events()]


@pytest.mark.parametrize(("slots", "places"), [(2, 2), (6, 6), (0, 4)])
async def test_no_more_calls_are_sent_than_the_server_has_places(slots: int, places: int) -> None:
    async with OpenAIServer(lambda _: Reply("yes", delay=0.05)) as server:
        server.slots = slots
        result, _ = await ran(ENSEMBLE, server)
    assert (result.status, len(server.requests) >= VOTES) == ("finished", True)
    assert server.most_at_once == places


async def test_a_server_in_the_home_network_tells_its_places_too(monkeypatch: pytest.MonkeyPatch) -> None:
    look_up = socket.getaddrinfo

    def at_home(host: Any, *rest: Any, **options: Any) -> Any:
        return look_up("127.0.0.1" if host in ("attic", b"attic") else host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", at_home)
    async with OpenAIServer(lambda _: Reply("yes", delay=0.05)) as server:
        server.slots = 2
        await ran(ENSEMBLE, server, base_url=server.base_url.replace("127.0.0.1", "attic"))
    assert len(server.requests) >= VOTES
    assert server.most_at_once == 2


def test_a_server_that_never_comes_to_the_point_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "_ASKED_SECONDS", 0.2)
    enough = threading.Event()

    def drip() -> None:
        with listening.accept()[0] as client, suppress(OSError):
            client.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while not enough.wait(0.05):
                client.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = threading.Thread(target=drip)
        server.start()
        stop = threading.Timer(PATIENCE, enough.set)
        stop.start()
        try:
            assert discovery.places_of(f"http://127.0.0.1:{listening.getsockname()[1]}") is None
            assert not enough.is_set(), "it was waited for to the end"
        finally:
            stop.cancel()
            enough.set()
            server.join()


def test_a_busy_server_is_waited_for_until_it_tells_its_places_and_its_model() -> None:
    async def run(base_url: str) -> RunResult:
        options = RunOptions(base_url=base_url)
        return await merrow_runtime.run(ENSEMBLE, {"problem": "x"}, options=options, store=MemoryStore())

    with serving(lambda _: Reply("yes")) as server:
        server.slots, server.models, server.tells_after = 1, ("tiny",), 0.6
        result = asyncio.run(run(server.base_url))
        assert (result.status, server.most_at_once) == ("finished", 1)
        assert {body["model"] for body in server.bodies} == {"tiny"}


async def test_who_says_how_many_is_not_asked_again() -> None:
    async with OpenAIServer(lambda _: Reply("yes", delay=0.05)) as server:
        server.slots = 2
        await ran(ENSEMBLE, server, concurrency=5)
    assert server.most_at_once == 5


async def test_an_answer_has_an_end_that_is_no_part_of_its_request() -> None:
    async with OpenAIServer(lambda _: Reply("yes")) as server:
        result, _ = await ran(ONE, server)
        limited = workflow('A@{op: Custom, prompt: "p", max_tokens: 7}', "PROBLEM --> A --> RETURN")
        await ran(limited, server)
    assert result.status == "finished"
    assert [body["max_tokens"] for body in server.bodies] == [4096, 7]


async def test_the_users_settings_say_where_answers_end() -> None:
    path: Path = settings_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[models]\nmax_tokens = 99\n", "utf-8")
    try:
        usage = {"prompt_tokens": 5, "completion_tokens": 99, "total_tokens": 104}
        async with OpenAIServer(lambda _: Reply("half of", finish="length", usage=usage)) as server:
            result, _ = await ran(ONE, server)
    finally:
        path.unlink()
    assert server.bodies[0]["max_tokens"] == 99
    assert "the limit of 99 tokens for models at local addresses" in (result.error or "")
    assert "`[models]`" in (result.error or "")


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "m", "type": "invalid_request_error", "code": "context_length_exceeded"}},
        {"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it",
                   "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096}},
        {"error": {"message": "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens."}},
        {"error": "the input length exceeds the context length"},
        {"error": {"message": "litellm.ContextWindowExceededError: too long", "type": None, "code": "400"}},
    ],
)  # fmt: skip
async def test_a_prompt_that_does_not_fit_is_said_in_one_way(body: Any) -> None:
    async with OpenAIServer(lambda _: Status(400, body=body)) as server:
        result, _ = await ran(ONE, server)
    assert len(server.requests) == 2, "the second without an end for the answer"
    assert "max_tokens" not in server.bodies[1]
    assert "finds the prompt too long" in (result.error or "")
    assert "`memory:`" in (result.error or "")
    if "n_ctx" in json.dumps(body):
        assert "9,000 tokens where 4,096 fit" in (result.error or "")


async def test_where_only_the_answer_does_not_fit_it_is_asked_for_without_an_end() -> None:
    def small(request: Received) -> Step:
        if "max_tokens" in (request.body or {}):
            return Status(400, "max_tokens is too large: This model's maximum context length is 2048 tokens.")
        return Reply("yes")

    async with OpenAIServer(small) as server:
        result, _ = await ran(ONE, server)
    assert (result.status, len(server.requests)) == ("finished", 2)
