"""``merrow doctor`` asks an endpoint what it has, and tells in one sentence what came of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.runtime.models.making import KEY
from tests.runtime.openai_server import Cut, Hang, OpenAIServer, Raw, Status, Step

from merrow_runtime.models.connections import EndpointConnection
from merrow_runtime.models.reach import reach


def listing(*names: str) -> Raw:
    return Raw(json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode())


NO_LIST = "answers, but not with a list of models; check the base URL."


@pytest.mark.parametrize(
    ("step", "ok", "sentence", "models"),
    [
        (listing("b", "a"), True, "answers and has 2 models: a, b.", ("a", "b")),
        (listing(*"edcba"), True, "answers and has 5 models: a, b, c, d, e.", tuple("abcde")),
        (listing(*"abcdef"), True, "answers and has 6 models: a, b, c, d, e and 1 more.", tuple("abcdef")),
        (listing("only"), True, "answers and has 1 model: only.", ("only",)),
        (
            listing("m" * 200, "m" * 201, "a\x1b[2J", " ", "a"),
            True,
            f"answers and has 2 models: a, {'m' * 200}.",
            ("a", "m" * 200),
        ),
        (listing(), True, "answers and has 0 models.", ()),
        (Raw(b'{"data": [null, {"name": "x"}, {"id": 7}]}'), True, "answers and has 0 models.", ()),
        *((Status(status), None, "answers, but doesn't list its models.", ()) for status in (404, 405, 501)),
        (Raw(b"<html>Sign in</html>", "text/html"), None, NO_LIST, ()),
        (Raw(b"{"), None, NO_LIST, ()),
        (Raw(b"[]"), None, NO_LIST, ()),
        (Raw(b'{"data": {}}'), None, NO_LIST, ()),
        (Raw(b"[" * 200_000), None, NO_LIST, ()),
        (replace(listing("a"), status=201), True, "answers and has 1 model: a.", ("a",)),
        (Raw(b"[" * 200_000, status=503), False, f"failed (HTTP 503: {'[' * 300}...); try again later.", ()),
        (
            Status(401, f"bad key {KEY}"),
            False,
            "refused the key (HTTP 401: bad key [hidden]); set the right one in OPENAI_API_KEY.",
            (),
        ),
        (Status(503, "no"), False, "failed (HTTP 503: no); try again later.", ()),
        (
            Raw(b"not gzip", headers={"Content-Encoding": "gzip"}),
            False,
            "answered with a body that can't be decompressed; check the server and the proxy.",
            (),
        ),
        (Cut(), False, "cut the connection before it answered; try again later.", ()),
        (Hang(), False, "did not answer within 0.3 seconds; raise `timeout:`, or try again later.", ()),
    ],
    ids=lambda value: repr(value)[:60],
)
async def test_what_came_of_it_is_told(step: Step, ok: bool | None, sentence: str, models: tuple[str, ...]) -> None:
    async with OpenAIServer() as server:
        server.scripts_models = True
        server.script(step)
        reached = await reach(EndpointConnection(server.base_url, KEY), 0.3 if isinstance(step, Hang) else 10.0)
        assert (server.requests[0].method, server.requests[0].path) == ("GET", "/v1/models")
        assert reached.sentence == f"The endpoint {server.origin} {sentence}"
    assert (reached.ok, reached.models) == (ok, models)


async def test_nobody_there_is_told() -> None:
    async with OpenAIServer() as server:
        base_url = server.base_url
    reached = await reach(EndpointConnection(base_url))
    assert reached.ok is False
    assert "refuses connections" in reached.sentence
