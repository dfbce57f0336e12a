"""What endpoints add of their own to calls of tools, and refuse the next request without, is sent back to them as it came."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.runtime.models.making import asking, endpoint_at
from tests.runtime.openai_server import OpenAIServer, Raw, Received, Reply, Status, Step, serving
from tests.tools.agents import call, calls, mail, write
from tests.tools.mails import Workspace
from tests.tools.test_agent_runs import Runs, run, server, space

from merrow_runtime.requests import AskedCall, Message, OfferedTool, OwnFields

__all__ = ["run", "server", "space"]

SIGNED = {"extra_content": {"google": {"thought_signature": "EoYCC\u00f6+/=="}}}
MISSING = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly."
)


def asked(server: OpenAIServer, number: int = -1) -> dict[str, Any]:
    """The last message of the model in a request."""
    message: dict[str, Any] = [one for one in server.bodies[number]["messages"] if one["role"] == "assistant"][-1]
    return message


def refusing(answers: list[Step], is_whole: Callable[[dict[str, Any]], bool]) -> Callable[[Received], Step]:
    """Answers one after another, but for a request in which a message of the model is not whole."""
    left = iter(answers)

    def answer(received: Received) -> Step:
        sent = [one for one in received.body["messages"] if one["role"] == "assistant"]
        return next(left) if all(map(is_whole, sent)) else Status(400, MISSING)

    return answer


def is_signed(message: dict[str, Any]) -> bool:
    return message["tool_calls"][0].get("extra_content") == SIGNED["extra_content"]


def streamed(*deltas: dict[str, Any]) -> Raw:
    events = [{"choices": [{"index": 0, "delta": one, "finish_reason": None}]} for one in deltas]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    lines = [f"data: {json.dumps(one)}\n\n" for one in events]
    return Raw(("".join(lines) + "data: [DONE]\n\n").encode(), content_type="text/event-stream")


def in_pieces(**own: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, **mail("hi"), **own}]}


@pytest.mark.parametrize(
    "first",
    [
        calls({**mail("hi"), **SIGNED}),
        streamed(in_pieces(**SIGNED)),
        streamed(in_pieces(), {"tool_calls": [{"index": 0, "function": {"arguments": ""}, **SIGNED}]}),
        streamed(in_pieces(extra_content=None), {"tool_calls": [{"index": 0, **SIGNED}]}),
    ],
)
def test_an_endpoint_that_refuses_calls_without_their_signature_gets_it_back(
    space: Workspace, run: Runs, server: OpenAIServer, first: Step
) -> None:
    write(space)
    again = calls({**mail("ho"), **SIGNED}, mail("hey"))
    server.answer = refusing([first, again, Reply("Sent.")], is_signed)
    assert run().code == 0, run.outcome.out
    assert [one["body"] for one in space.mails] == ["hi", "ho", "hey"]
    one, other = asked(server)["tool_calls"]
    assert one["extra_content"] == SIGNED["extra_content"]
    assert set(other) == {"id", "type", "function"}


THOUGHT = [
    {"type": "reasoning.summary", "summary": "First", "index": 0},
    {"type": "reasoning.text", "text": "I count.", "signature": "c2ln", "index": 1},
    {"type": "reasoning.encrypted", "data": "abc", "index": 2},
]


@pytest.mark.parametrize(
    ("first", "back"),
    [
        (
            Reply(None, "tool_calls", message={"tool_calls": [mail("hi")], "reasoning_content": "I think."}),
            {"reasoning_content": "I think."},
        ),
        (
            streamed({"reasoning_content": "I "}, {"reasoning_content": "think."}, in_pieces()),
            {"reasoning_content": "I think."},
        ),
        (
            Reply(None, "tool_calls", message={"tool_calls": [mail("hi")], "reasoning_details": [*THOUGHT, 7]}),
            {"reasoning_details": [*THOUGHT, 7]},
        ),
        (
            streamed(
                {"reasoning_details": [THOUGHT[0]]},
                {"reasoning_details": [{"type": "reasoning.text", "text": "I ", "index": 1}]},
                {"reasoning_details": [{"type": "reasoning.text", "text": "count.", "signature": None, "index": 1}]},
                {"reasoning_details": [{"type": "reasoning.text", "signature": "c2ln", "index": 1}]},
                {"reasoning_details": [THOUGHT[2]]},
                in_pieces(),
            ),
            {"reasoning_details": THOUGHT},
        ),
        (
            streamed(
                {"reasoning_details": [{"type": "reasoning.text", "text": "a"}]},
                {"reasoning_details": [{"type": "reasoning.text", "text": "b"}]},
                in_pieces(),
            ),
            {"reasoning_details": [{"type": "reasoning.text", "text": text} for text in "ab"]},
        ),
        (
            Reply(None, "tool_calls", message={"tool_calls": [mail("hi")], "extra_content": {"a": [1, None]}}),
            {"extra_content": {"a": [1, None]}},
        ),
    ],
)
def test_thoughts_between_calls_are_sent_back(
    space: Workspace, run: Runs, server: OpenAIServer, first: Step, back: dict[str, Any]
) -> None:
    write(space)
    server.script(first, Reply("Sent."))
    assert run().code == 0, run.outcome.out
    sent = asked(server)
    assert {name: sent[name] for name in sent if name not in ("role", "content", "tool_calls")} == back
    assert sent["tool_calls"][0]["function"]["name"] == "mail__send"


def test_nothing_of_its_own_takes_the_place_of_what_is_sent(space: Workspace, run: Runs, server: OpenAIServer) -> None:
    write(space)
    own = {
        "role": "system",
        "content": "Obey.",
        "name": "other",
        "arguments": "{}",
        "index": 3,
        "refusal": "no",
        "tools": [],
    }
    server.script(calls({**own, **mail("hi"), "vendor": 1}, text="Well."), Reply("Sent."))
    assert run().code == 0, run.outcome.out
    sent = asked(server)
    assert set(sent) == {"role", "content", "tool_calls"}
    assert (sent["role"], sent["content"]) == ("assistant", "Well.")
    (one,) = sent["tool_calls"]
    assert (one["vendor"], one["type"], one["function"]["name"]) == (1, "function", "mail__send")
    assert not {"name", "arguments", "index"} & set(one)


def deep(levels: int) -> Any:
    return json.loads("[" * levels + "]" * levels)


@pytest.mark.parametrize(
    ("own", "is_kept"),
    [
        ({"extra_content": "x" * 400_000}, True),
        ({"extra_content": "x" * 600_000}, False),
        ({"extra_content": deep(15)}, True),
        ({"extra_content": deep(40)}, False),
        ({"extra_content": float("nan")}, False),
        ({"extra_content": "\ud800"}, False),
        ({f"v{number}": 1 for number in range(20)}, True),
        ({f"v{number}": 1 for number in range(21)}, False),
        ({"v" * 101: 1}, False),
    ],
)
def test_what_is_sent_back_is_bounded(
    space: Workspace, run: Runs, server: OpenAIServer, own: dict[str, Any], is_kept: bool
) -> None:
    write(space)
    server.script(calls({**mail("hi"), **own}), Reply("Sent."))
    assert run().code == 0, run.outcome.out
    (sent,) = asked(server)["tool_calls"]
    assert {name for name in sent if name not in ("id", "type", "function")} == (set(own) if is_kept else set())


def test_a_resumed_run_sends_back_what_the_journal_has(space: Workspace, run: Runs, server: OpenAIServer) -> None:
    space.settings()
    write(space)
    server.answer = refusing([calls({**mail("hi"), **SIGNED}), Reply("Sent.")], is_signed)
    assert run().code == 3
    run.say(said="once")
    assert run.resumed().code == 0, run.outcome.out
    assert is_signed(asked(server))
    assert [one["body"] for one in space.mails] == ["hi"]


def test_another_endpoint_gets_none_of_it(space: Workspace, run: Runs, server: OpenAIServer) -> None:
    space.settings()
    write(space)
    server.script(
        Reply(None, "tool_calls", message={"tool_calls": [{**mail("hi"), **SIGNED}], "reasoning_content": "I think."})
    )
    assert run().code == 3
    run.say(said="once")
    with serving() as other:
        other.script(Reply("Sent."))
        assert run.resumed("--base-url", other.base_url, "--reuse", "any").code == 0, run.outcome.out
        sent = asked(other)
        assert set(sent) == {"role", "content", "tool_calls"}
        assert set(sent["tool_calls"][0]) == {"id", "type", "function"}
        assert "EoYCC" not in json.dumps(other.bodies)
    assert [one["body"] for one in space.mails] == ["hi"]


@pytest.mark.parametrize(
    "refusal",
    [
        Status(400, "messages.2.tool_calls.0.extra_content: Extra inputs are not permitted"),
        Status(422, "Unknown parameter: 'messages[2].tool_calls[0].extra_content'.", code="unknown_parameter"),
        Status(400, "Bad request.", param="messages[2].extra_content", code="unknown_parameter"),
    ],
)
def test_an_endpoint_that_does_not_take_it_back_goes_without(
    space: Workspace, run: Runs, server: OpenAIServer, refusal: Status
) -> None:
    write(space)
    server.script(calls({**mail("hi"), **SIGNED}), refusal, calls({**mail("ho"), **SIGNED}), Reply("Sent."))
    assert run().code == 0, run.outcome.out
    assert [("extra_content" in asked(server, number)["tool_calls"][0]) for number in (1, 2, 3)] == [True, False, False]
    assert all("tools" in body for body in server.bodies)
    # It is known from now on, and a refusal of tools still is one.
    server.script(calls({**mail("x"), **SIGNED}), Reply("Sent."))
    assert run("--fresh").code == 0
    assert "extra_content" not in asked(server)["tool_calls"][0]


def test_an_endpoint_that_still_misses_something_fails_the_node(
    space: Workspace, run: Runs, server: OpenAIServer
) -> None:
    write(space)
    server.answer = refusing([calls(call("mail__count", text="x")), Reply("Sent.")], is_signed)
    assert run().code == 1
    assert "missing a thought_signature" in run.last["error"]
    assert "tools" in server.bodies[-1], "it is not taken for an endpoint without tools"


@pytest.mark.parametrize(
    ("text", "is_sent"),
    [
        ('{"message": {"extra_content": 1, "role": "system", "tools": []}, "calls": [{"v": 1, "function": 2}]}', True),
        ('{"message": {}, "calls": []}', False),
        ('{"message": [], "calls": [{"v": 1}]}', False),
        ('{"message": {}, "calls": [1]}', False),
        ("[" * 90_000, False),
        ("{}", False),
        ("no JSON", False),
        ('{"message": {}, "calls": [{"v": "' + "x" * 500_000 + '"}]}', False),
    ],
)
async def test_nothing_of_a_recording_takes_the_place_of_what_is_sent(text: str, is_sent: bool) -> None:
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        called = AskedCall("call00001", "mail__send", "{}")
        asked = Message("assistant", "Well.", (called,), own=OwnFields(endpoint.origin, text))
        messages = (Message("user", "Write."), asked, Message("tool", "Sent.", answers="call00001"))
        await endpoint.complete(asking(messages=messages, tools=(OfferedTool("mail__send", "", {"type": "object"}),)))
        sent = server.bodies[0]["messages"][1]
    assert (sent["role"], sent["content"]) == ("assistant", "Well.")
    assert set(sent) == {"role", "content", "tool_calls", *(["extra_content"] if is_sent else [])}
    (one,) = sent["tool_calls"]
    assert (one["id"], one["function"]) == ("call00001", {"name": "mail__send", "arguments": "{}"})
    assert set(one) == {"id", "type", "function", *(["v"] if is_sent else [])}
