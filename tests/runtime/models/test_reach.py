"""``merrow doctor`` asks an endpoint what it has, and tells in one sentence what came of it."""

from __future__ import annotations

import json

import pytest
from tests.runtime.models.making import KEY
from tests.runtime.openai_server import Cut, Hang, OpenAIServer, Raw, Status, Step

from merrow_runtime.models.connections import Connection
from merrow_runtime.models.reach import reach


def listing(*names: str) -> Raw:
    return Raw(json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode())


@pytest.mark.parametrize(
    ("step", "ok", "words"),
    [
        (listing("b", "a"), True, "has 2 models: a, b."),
        (listing(*"abcdefgh"), True, "has 8 models: a, b, c, d, e and 3 more."),
        (listing("only"), True, "has 1 model: only."),
        (listing(), True, "has 0 models."),
        (Status(404), None, "doesn't list"),
        (Raw(b"<html>Sign in</html>", "text/html"), None, "base URL"),
        (Raw(b"{"), None, "base URL"),
        (Raw(b"[" * 200_000), None, "base URL"),
        (Raw(b"[" * 200_000, status=503), False, "503"),
        (Raw(b'{"data": [null, {"name": "x"}]}'), True, "has 0 models"),
        (Status(401, f"bad key {KEY}"), False, "OPENAI_API_KEY"),
        (Status(503), False, "503"),
        (Cut(), False, "cut the connection"),
        (Hang(), False, "within 0.3 seconds"),
    ],
    ids=lambda value: repr(value)[:60],
)
async def test_what_came_of_it_is_told(step: Step, ok: bool | None, words: str) -> None:
    async with OpenAIServer() as server:
        server.script(step)
        reached = await reach(Connection(server.base_url, KEY), 0.3 if isinstance(step, Hang) else 10.0)
        assert server.origin in reached.sentence
        assert (server.requests[0].method, server.requests[0].path) == ("GET", "/v1/models")
    assert reached.ok is ok
    assert words in reached.sentence
    assert KEY not in reached.sentence


async def test_nobody_there_is_told() -> None:
    async with OpenAIServer() as server:
        base_url = server.base_url
    reached = await reach(Connection(base_url))
    assert reached.ok is False
    assert "refuses connections" in reached.sentence
