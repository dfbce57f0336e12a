"""A streamed answer: where it ends, what breaks it off, and what of it counts then."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.runtime.models.making import asking, endpoint_at, unseen
from tests.runtime.openai_server import OpenAIServer, Raw

import merrow_runtime
from merrow_runtime.errors import EmptyAnswerFailure, EndpointFailure
from merrow_runtime.models import limits
from merrow_runtime.models.limits import Events, TooLargeError
from merrow_runtime.models.retry import RetryPolicy
from merrow_runtime.requests import ModelReply

DONE = "data: [DONE]\n\n"


def event(value: object, name: str = "") -> str:
    return f"{f'event: {name}' + chr(10) if name else ''}data: {value if isinstance(value, str) else json.dumps(value)}\n\n"


def chunk(text: str, reason: str | None = None, **message: Any) -> str:
    return event({"choices": [{"index": 0, "delta": {"content": text, **message}, "finish_reason": reason}]})


BLUE, HERON, STOP = chunk("BLUE "), chunk("HERON"), chunk("", "stop")


async def answered(*parts: str) -> ModelReply:
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(Raw("".join(parts).encode(), "text/event-stream"))
        try:
            return await endpoint.complete(asking(), unseen)
        finally:
            assert len(server.requests) == 1


async def failed(*parts: str) -> EndpointFailure:
    with pytest.raises(EndpointFailure) as caught:
        await answered(*parts)
    return caught.value


@pytest.mark.parametrize(
    "ending",
    [
        (STOP, DONE),
        (STOP,),
        (DONE,),
        ("data:[DONE]\r\n\r\n",),
        ("data: [DONE]",),
        (event({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3}}), DONE),
    ],
    ids=repr,
)
async def test_a_stream_with_either_ending_is_finished(ending: tuple[str, ...]) -> None:
    reply = await answered(BLUE, HERON, *ending)
    assert (reply.text, reply.finish) == ("BLUE HERON", "stop")


@pytest.mark.parametrize(
    "life",
    [": alive\n\n", "data:\n\n", "data: : KEEP ALIVE\n\n", "event: ping\n\n", "id: 7\n\n", "retry: 9\n\n", "\n\n"],
)
async def test_a_sign_of_life_is_no_part_of_an_answer(life: str) -> None:
    reply = await answered(life, "id: 1\n", BLUE, life, HERON, life, life, DONE)
    assert reply.text == "BLUE HERON"


@pytest.mark.parametrize(
    "error",
    [
        event({"error": {"message": "upstream overloaded"}}),
        event({"message": "upstream overloaded"}, "error"),
        event({"detail": "upstream overloaded", "type": "server_error"}, "error"),
        event({"error": "upstream overloaded"}, "error"),
        event("upstream overloaded", "error"),
        event('"upstream overloaded"', "error"),
        event({"object": "error", "message": "upstream overloaded", "code": 503}),
    ],
)
async def test_an_error_in_a_stream_is_told_in_its_own_words_and_what_came_counts(error: str) -> None:
    before, within = await failed(error, DONE), await failed(BLUE, error, DONE)
    for failure in (before, within):
        assert "upstream overloaded" in str(failure)
        assert "HTTP 500" not in str(failure)
        assert failure.transient
    assert (before.paid, within.paid) == (False, True)


@pytest.mark.parametrize("ending", [(STOP, DONE), (DONE,)], ids=["stop", "done"])
async def test_thoughts_without_an_answer_are_told_as_such(ending: tuple[str, ...]) -> None:
    failure = await failed(chunk("", reasoning_content="A bird, but which?"), *ending)
    assert isinstance(failure, EmptyAnswerFailure)
    assert "the thoughts of `gpt-test` and no answer" in str(failure)
    assert failure.usage is not None
    assert failure.usage.completion_tokens > 0


FLOW = """\
flowchart LR
    PROBLEM([Question]):::Interface
    SAY["Custom<br/>(prompt: Name a bird.)"]
    RETURN([Answer]):::Interface
    PROBLEM -->|input| SAY --> RETURN
    classDef Interface fill:#e2e2f2
"""


async def test_what_a_broken_stream_has_used_is_taken_from_the_budget() -> None:
    """After the first try, nothing is left for another: so many tokens came before the error."""
    broken = "".join([BLUE, chunk("HERON " * 400), event({"error": {"message": "overloaded", "code": 502}})])
    async with OpenAIServer(lambda _: Raw(broken.encode(), "text/event-stream")) as server:
        async with endpoint_at(server.base_url) as endpoint:
            workflow = merrow_runtime.check_workflow(FLOW)
            options = merrow_runtime.RunOptions(
                model="m", stream=True, budget_tokens=300, retry=RetryPolicy(first_wait=0.0, jitter=0.0)
            )
            result = await merrow_runtime.run(workflow, {"problem": "x"}, options=options, endpoint=endpoint)
        assert len(server.requests) == 1
    assert "budget of 300 tokens" in str(result.error)
    assert result.usage.completion_tokens > 300


@pytest.mark.parametrize("ending", ["\n\n", "\n", ""], ids=repr)
async def test_one_event_has_the_limit_of_an_answer(monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr(limits, "ANSWER_LIMIT", 100_000)
    assert (await answered(*[chunk("x" * 10_000)] * 15, DONE)).text == "x" * 150_000
    for large in ("data: " + '{"a":' * 25_000 + ending, 'data: {"a":1,\n' * 9_000 + ending):
        assert "sent more than 0.09" in str(await failed(BLUE, large, STOP, DONE))


LINES = st.lists(
    st.sampled_from(
        ["data: 1", "data:2", "data: [DONE]", "data:", "data", ": hm", "event: x", "id", "x", "", "data: é"]
    )
)


@example(["data: 1"], "\r", [], True)
@given(LINES, st.sampled_from(["\n", "\r", "\r\n"]), st.lists(st.integers(1, 9)), st.booleans())
async def test_lines_are_the_same_however_they_come(lines: list[str], end: str, sizes: list[int], mark: bool) -> None:
    """Of any pieces, byte by byte if need be: the lines with data, the empty ones, and whether the last event came."""
    body = (("\ufeff" if mark else "") + "".join(line + end for line in lines)).encode()

    async def pieces() -> Any:
        at = 0
        for size in [*sizes, len(body)]:
            yield body[at : at + size]
            at += size

    events = Events()
    kept = b"".join([piece async for piece in events.kept(pieces())]).decode()
    wanted = [line for line in lines if not line or (line.startswith("data:") and line != "data:")]
    assert kept.replace("\r\n", "\n").replace("\r", "\n").split("\n")[:-1] == wanted
    assert events.is_done == ("data: [DONE]" in lines)


async def test_an_event_without_end_is_not_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ANSWER_LIMIT", 1_000)
    taken = 0

    async def endless() -> Any:
        nonlocal taken
        while True:
            taken += 100
            yield b"x" * 100

    with pytest.raises(TooLargeError):
        async for _ in Events().kept(endless()):
            pass
    assert taken <= 1_100
