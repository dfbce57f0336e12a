"""What comes back: text, thinking, usage and cost, whole or streamed, and how it is asked for."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.runtime.models.making import KEY, SCHEMA, Notebook, asking, endpoint_at, unseen
from tests.runtime.openai_server import OpenAIServer, Raw, Received, Reply

from merrow_runtime.models.prices import Price, PriceTable
from merrow_runtime.models.thinking import ThinkingFilter
from merrow_runtime.requests import ModelReply
from merrow_runtime.usage import NOTHING, Usage

COUNTED = {"prompt_tokens": 1000, "completion_tokens": 500, "prompt_tokens_details": {"cached_tokens": 400}}


async def test_a_request_is_sent_as_the_protocol_has_it() -> None:
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        request = asking("6 * 7?", system="Be brief.", temperature=0.5, max_tokens=9, seed=3, schema=SCHEMA)
        await endpoint.complete(request)
    sent = server.requests[0]
    assert (sent.method, sent.path) == ("POST", "/v1/chat/completions")
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.body == {
        "model": "gpt-test",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "6 * 7?"}],
        "temperature": 0.5,
        "max_tokens": 9,
        "seed": 3,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": dict(SCHEMA.schema), "strict": True},
        },
    }


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_usage_is_the_servers_and_cached_tokens_have_their_price(streamed: bool) -> None:
    async with OpenAIServer() as server:
        prices = PriceTable({server.origin: {"gpt-*": Price(2.0, 8.0, 0.5)}})
        async with endpoint_at(server.base_url, prices=prices) as endpoint:
            server.script(Reply("42", usage=COUNTED, model="gpt-test-2026"))
            reply = await endpoint.complete(asking(), unseen if streamed else None)
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.calls) == (1000, 500, 1)
    assert reply.usage.cost_usd == pytest.approx((600 * 2.0 + 400 * 0.5 + 500 * 8.0) / 1e6)
    assert not reply.usage.estimated
    assert reply.model == "gpt-test-2026"
    assert reply.seconds > 0


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    "usage", [False, {}, {"prompt_tokens": "many"}, {"prompt_tokens": -1, "completion_tokens": None}]
)
async def test_what_a_server_does_not_count_is_estimated_and_marked(usage: object, streamed: bool) -> None:
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(Reply("forty-two it is", usage=usage))  # type: ignore[arg-type]
        reply = await endpoint.complete(asking(), unseen if streamed else None)
    assert reply.usage.estimated
    assert reply.usage.prompt_tokens > 0
    assert reply.usage.completion_tokens > 0
    assert reply.usage.cost_usd is None


async def test_a_streamed_answer_comes_in_pieces_that_join_to_the_whole() -> None:
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        pieces: list[str] = []
        server.script(Reply(pieces=["Six ", "times ", "seven\n", "is 42: ", "éß漢"], text="x"))
        reply = await endpoint.complete(asking(), pieces.append)
    assert reply.text == "".join(pieces) == "Six times seven\nis 42: éß漢"
    assert len(pieces) == 5
    assert server.bodies[0]["stream_options"] == {"include_usage": True}


async def test_a_server_that_answers_a_stream_at_once_is_shown_at_once() -> None:
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        pieces: list[str] = []
        server.script(Reply("<think>hm</think>42", ignores_stream=True))
        assert (await endpoint.complete(asking(), pieces.append)).text == "42"
    assert pieces == ["42"]


THOUGHTS = [
    ("<think>six sevens</think>\n\n42", "42", "six sevens", "marked"),
    ("<think>six sevens", "", "six sevens", "marked"),
    ("six sevens\n</think>\n\n42", "42", "six sevens", "implicit"),
    ("<THINK>six</THINK> 42 <think>sevens</think>", "42", "six\nsevens", "marked"),
    ("42\n<think>was that right", "42", "was that right", "marked"),
    ("<thinking>six</thinking>42", "42", "six", "marked"),
    ("Use the <think> tag in line", "Use the <think> tag in line", "", "no"),
    ("I think 42", "I think 42", "", "no"),
]


@pytest.mark.parametrize(("said", "text", "thinking", "thinks"), THOUGHTS)
async def test_thinking_is_taken_out_of_the_answer(said: str, text: str, thinking: str, thinks: str) -> None:
    notebook = Notebook()
    async with OpenAIServer() as server, endpoint_at(server.base_url, dialects=notebook) as endpoint:
        server.script(Reply(said, finish="length"))
        reply = await endpoint.complete(asking())
    assert (reply.text, reply.thinking) == (text, thinking)
    assert [page["thinks"] for page in notebook.pages.values()] == ([thinks] if thinks != "no" else [])


MARKS = st.sampled_from(["<think>", "</think>", "<THINKING>", "</thinking>", "<thin", "<", "a", "b c", "\n", " "])


@given(st.lists(MARKS, max_size=8).map("".join), st.lists(st.integers(0, 60), max_size=8))
@example("<think>a</think>b", [3])
@example("<thin b", [3])
@example("<think><<</think>\n", [17])
def test_however_the_marks_of_thinking_are_cut_the_same_is_shown(content: str, cuts: list[int]) -> None:
    whole, parts = ThinkingFilter("no"), ThinkingFilter("no")
    at_once = whole.feed(content) + whole.finish()
    places = [0, *sorted(cuts), len(content)]
    pieces = [content[start:end] for start, end in pairwise(places)]
    assert "".join(map(parts.feed, pieces)) + parts.finish() == at_once


async def test_streamed_chunks_without_a_choice_or_a_message_are_no_pieces() -> None:
    chunks = [
        {},
        {"finish_reason": None},
        {"delta": {"content": "4"}},
        {"delta": None},
        {"delta": {"content": "2"}},
        {"finish_reason": "stop"},
    ]
    # Some servers send something of their own first, or count tokens in a chunk without a choice.
    bodies = [{"choices": []}, {}, *({"choices": [{"index": 0, **chunk}]} for chunk in chunks), {"choices": None}]
    # And some send empty events, so that nobody takes the connection for dead.
    lines = [f"data: {json.dumps(body)}\n\n: wait\n\ndata:\n\ndata\n\n" for body in bodies]
    pieces: list[str] = []
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(Raw("".join(lines).encode() + b"data: [DONE]\n\n", "text/event-stream"))
        reply = await endpoint.complete(asking(), pieces.append)
    assert reply.text == "42"
    assert "".join(pieces) == "42"


def slow(_: Received) -> Reply:
    return Reply("ok", delay=0.01)


async def test_connections_are_shared_kept_and_no_more_than_the_concurrency() -> None:
    async with OpenAIServer(slow) as server:
        async with (
            endpoint_at(server.base_url, concurrency=4) as one,
            endpoint_at(server.base_url, concurrency=4) as two,
        ):
            calls = [endpoint.complete(asking(str(number))) for number in range(10) for endpoint in (one, two)]
            assert len(await asyncio.gather(*calls)) == 20
            assert server.most_at_once == 4
            assert server.connections == 4
            await one.close()
            assert (await two.complete(asking())).text == "ok"
            assert server.connections == 4
        # Closed endpoints open again when they are used again.
        assert (await two.complete(asking())).text == "ok"
        assert server.connections == 5, "those of before were closed"
        await two.close()


def served(request: Received) -> Reply:
    return Reply(request.prompt)


async def test_many_calls_side_by_side_each_get_their_own_answer() -> None:
    async with OpenAIServer(served) as server, endpoint_at(server.base_url, concurrency=50) as endpoint:
        replies = await asyncio.gather(*(endpoint.complete(asking(f"number {n}")) for n in range(300)))
    assert [reply.text for reply in replies] == [f"number {n}" for n in range(300)]


def choice(message: object, finish: object = "stop", **more: object) -> dict[str, object]:
    return {"choices": [{"message": message, "finish_reason": finish}], **more}


HALF_COUNTED = {"prompt_tokens": True, "completion_tokens": 0}


@pytest.mark.parametrize(
    ("body", "reply"),
    [
        (choice({"content": "42"}, model="m-2"), ModelReply("42", model="m-2")),
        (choice({"content": "42"}, model=7), ModelReply("42")),
        (choice({"content": "42"}, None), ModelReply("42")),
        (choice({"content": "42"}, "tool"), ModelReply("42")),
        (choice({"content": "42"}, "length"), ModelReply("42", "length")),
        (choice({"content": "42"}, "max_tokens"), ModelReply("42", "length")),
        (choice({"content": "42"}, "model_length"), ModelReply("42", "length")),
        (choice({"content": "42"}, "content_filter"), ModelReply("42", "refusal")),
        (choice({"content": "42"}, "refusal"), ModelReply("42", "refusal")),
        (choice({"content": "42", "refusal": "No."}, "length"), ModelReply("No.", "refusal")),
        (choice({"content": "42", "reasoning_content": "a", "reasoning": "b"}), ModelReply("42", thinking="a")),
        (choice({"content": "<think>b</think>42", "reasoning": "a"}), ModelReply("42", thinking="a\nb")),
        (
            choice(
                {
                    "content": [
                        {"type": "thinking", "thinking": "a"},
                        {"type": "thinking", "thinking": [{"text": "b"}, "c", {"text": 7}]},
                        {"type": "text", "text": "4"},
                        {"text": "2"},
                        {"type": "image"},
                        "5",
                    ],
                    "reasoning": "z",
                }
            ),
            ModelReply("42", thinking="ab"),
        ),
        (choice({"content": "42", "tool_calls": [{"id": "1"}]}), ModelReply("42")),
        (
            choice({"content": "42"}, usage={"prompt_tokens": 3, "completion_tokens": 2.0}),
            ModelReply("42", usage=Usage(3, 2, 1, None)),
        ),
        (choice({"content": "42"}, usage=HALF_COUNTED), ModelReply("42", usage=Usage(12, 0, 1, None, estimated=True))),
        (
            choice({"content": "42"}, usage={"prompt_tokens": 0, "completion_tokens": float("inf")}),
            ModelReply("42", usage=Usage(0, 1, 1, None, estimated=True)),
        ),
        (choice({"content": "42"}, error={"message": "not so well"}), ModelReply("42")),
    ],
)
async def test_each_form_of_an_answer_is_read(body: dict[str, object], reply: ModelReply) -> None:
    """The tokens of answers without a count are estimated: those of the question are 12, and one of each four bytes."""
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(Raw(json.dumps(body).encode()), Raw(json.dumps(body).encode(), "text/plain"))
        found = [await endpoint.complete(asking()) for _ in range(2)]
    usage = reply.usage
    if usage == NOTHING:
        usage = Usage(12, -(-len(reply.thinking + reply.text) // 4), 1, None, estimated=True)
    for one in found:
        if one.finish == "refusal" or "<think>" in str(body):
            usage = one.usage
        assert replace(one, seconds=0.0) == replace(reply, usage=usage, model=reply.model or "gpt-test")


async def test_cached_tokens_are_read_wherever_a_server_counts_them() -> None:
    counted = {"prompt_tokens": 1000, "completion_tokens": 0}
    ways: list[dict[str, object]] = [
        {"prompt_tokens_details": {"cached_tokens": 400}},
        {"prompt_cache_hit_tokens": 400},
        {"prompt_tokens_details": {"cached_tokens": 400}, "prompt_cache_hit_tokens": 1},
        {"prompt_tokens_details": {}, "prompt_cache_hit_tokens": 400},
        {},
    ]
    async with OpenAIServer() as server:
        prices = PriceTable({server.origin: {"*": Price(1.0, 8.0, 0.0)}})
        async with endpoint_at(server.base_url, prices=prices) as endpoint:
            server.script(*(Reply("42", usage={**counted, **way}) for way in ways))
            costs = [(await endpoint.complete(asking())).usage.cost_usd for _ in ways]
    assert costs == [0.0006, 0.0006, 0.0006, 0.001, 0.001]
