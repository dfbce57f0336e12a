"""The forms in which servers say what was wrong, and what each part of them decides."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.runtime.models.making import asking, endpoint_at, put
from tests.runtime.openai_server import OpenAIServer, Reply, Status

from merrow_runtime.models.failures import ServerError
from merrow_runtime.models.redaction import redacted

WHOLE = {"message": "no", "param": "seed", "code": "c1", "type": "t1"}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"error": WHOLE}, ServerError("no", "seed", "c1", "t1")),
        (WHOLE, ServerError("no", "seed", "c1", "t1")),
        ([{"error": WHOLE}], ServerError("no", "seed", "c1", "t1")),
        ({"error": {"message": "no", "code": 429}}, ServerError("no", "", "429", "")),
        ({"error": {"message": "no", "param": None, "code": None, "type": None}}, ServerError("no")),
        ({"error": "no"}, ServerError("no")),
        ({"detail": "no"}, ServerError("no")),
        ({"msg": "no", "type": "t1"}, ServerError("no", "", "", "t1")),
        ({"detail": [{"msg": "no"}]}, ServerError("[{'msg': 'no'}]")),
        ({"error": {"message": "", "detail": "no"}}, ServerError("no")),
        ({"error": 7}, ServerError()),
        ({}, ServerError()),
        ([], ServerError()),
        (None, ServerError()),
        ("plain words", ServerError("plain words")),
        ("<!doctype html><HTML>no</HTML>", ServerError()),
    ],
)
def test_each_form_of_an_error_is_read(body: object, found: ServerError) -> None:
    assert ServerError.read(body) == found


@pytest.mark.parametrize(
    "form",
    [lambda text: text, lambda text: {"error": text}, lambda text: {"detail": text}, lambda text: {"msg": [text]}],
    ids=["text", "error", "detail", "list"],
)
def test_of_an_error_without_end_only_the_beginning_is_looked_at(form: Callable[[str], object]) -> None:
    long = ServerError.read(form("no " * 1_000_000)).message
    assert ServerError.read(form("no " * 2_000_000)).message == long
    assert len(long) < 1_000_000
    assert "no no no" in long


async def test_a_code_alone_says_that_a_part_was_refused() -> None:
    refused = Status(400, body={"error": {"message": "no", "param": "seed", "code": "unsupported_parameter"}})
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(refused, Reply("42"))
        assert (await put(endpoint, asking(seed=3))).text == "42"
        assert ["seed" in body for body in server.bodies] == [True, False]


@pytest.mark.parametrize("around", ["", "a", "7", " ", '"', "\\", "é"])
def test_a_key_with_marks_that_json_escapes_is_hidden_wherever_it_stands(around: str) -> None:
    key = 'sk-"quoted"\\and\\more'
    text = json.dumps({"header": around + key + around, "text": "stays"})
    shown = redacted(text, [key])
    assert json.loads(shown) == {"header": f"{around}[hidden]{around}", "text": "stays"}
