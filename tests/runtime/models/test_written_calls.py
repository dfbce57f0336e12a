"""Calls that a model writes into its text, though its endpoint takes tools: read where the answer is nothing else, and never
where they were in what it was given.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.runtime.models.making import Notebook, asking, endpoint_at, put
from tests.runtime.openai_server import OpenAIServer, Reply, Status

from merrow_runtime.requests import Message, ModelReply, OfferedTool

SEND = OfferedTool(
    "mail__send",
    "Sends a mail.",
    {
        "type": "object",
        "properties": {"to": {"type": "string"}, "body": {"type": "string"}, "copies": {"type": "integer"}},
        "required": ["to", "body"],
    },
)
ARGUMENTS = '{"to": "ann", "body": "hi"}'
CALL = '{"name": "mail__send", "arguments": ' + ARGUMENTS + "}"
OTHER = '{"name": "mail__send", "arguments": {"to": "ann", "body": "ho"}}'
ONE = [
    f"<tool_call>\n{CALL}\n</tool_call>",
    f"<tool_call>{CALL}",
    f"<tool_call>{CALL}</tool_call><|im_end|>\n",
    f"<tools>{CALL}</tools>",
    f"<function_call>{CALL}</function_call>",
    f"<|tool_call|>[{CALL}]<|/tool_call|>",
    "<tool_call>\n<function=mail__send>\n<parameter=to>\nann\n</parameter>\n<parameter=body>\nhi\n</parameter>\n"
    "</function>\n</tool_call>",
    f"<function=mail__send>{ARGUMENTS}</function>",
    f"<function=mail__send>{ARGUMENTS}</function><|eom_id|>",
    "<function=mail__send><parameter=to>ann</parameter><parameter=body>hi</parameter></function>",
    f"```json\n{CALL}\n```",
    f"```\n{CALL}\n```",
    f"```tool_call\n{CALL}\n```",
    f"[TOOL_CALLS] [{CALL}]",
    f"[TOOL_CALLS][{CALL}]</s>",
    f"[TOOL_CALLS]mail__send{ARGUMENTS}",
    f"[TOOL_CALLS]mail__send[CALL_ID]a1B2c3D4e[ARGS]{ARGUMENTS}",
    f"<|python_tag|>{CALL}",
    '<|python_tag|>{"type": "function", "name": "mail__send", "parameters": ' + ARGUMENTS + "}<|eot_id|>",
    CALL,
    f"[{CALL}]",
    '{"name": "mail__send", "parameters": ' + ARGUMENTS + "}",
    '{"type": "function", "function": {"name": "mail__send", "arguments": ' + ARGUMENTS + "}}",
    '{"type": "function", "function": "mail__send", "parameters": ' + ARGUMENTS + "}",
    '{"tool_calls": [{"id": "x", "type": "function", "function": {"name": "mail__send", "arguments": '
    + json.dumps(ARGUMENTS)
    + "}}]}",
    CALL.replace("mail__send", "Mail__Send"),
]
SEVERAL = [
    f"<tool_call>{CALL}</tool_call>\n<tool_call>{OTHER}</tool_call>",
    f"<tool_call>{CALL}\n{OTHER}</tool_call>",
    f"[TOOL_CALLS][{CALL}, {OTHER}]",
    f"[TOOL_CALLS]mail__send{ARGUMENTS}[TOOL_CALLS]mail__send" + json.dumps({"to": "ann", "body": "ho"}),
    f"<|python_tag|>{CALL}; {OTHER}",
    f"```json\n[{CALL}, {OTHER}]\n```",
    f"```json\n{CALL}\n```\n```json\n{OTHER}\n```",
    f"{CALL}\n{OTHER}",
    f"[{CALL}, {OTHER}]",
]


async def answered(text: str, given: str = "Write to ann.", *more: Message, **reply: Any) -> ModelReply:
    """What is read of a text that a model answers."""
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(Reply(text, **reply))
        request = asking(given)
        messages = (*request.messages, *more)
        return await endpoint.complete(asking(given, messages=messages, tools=(SEND,)))


def called(reply: ModelReply) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for call in reply.calls]


HI, HO = ({"to": "ann", "body": body} for body in ("hi", "ho"))


@pytest.mark.parametrize("text", ONE)
async def test_a_call_in_words_is_read(text: str) -> None:
    reply = await answered(text)
    assert [(name.casefold(), given) for name, given in called(reply)] == [("mail__send", HI)]
    assert reply.text == ""


@pytest.mark.parametrize("text", SEVERAL)
async def test_several_calls_in_words_are_read(text: str) -> None:
    reply = await answered(text)
    assert called(reply) == [("mail__send", HI), ("mail__send", HO)]
    assert len({call.id for call in reply.calls}) == 2


async def test_a_hundred_calls_are_read_and_no_more() -> None:
    assert len((await answered("[" + ",".join([CALL] * 100) + "]")).calls) == 100
    assert len((await answered("\n".join([CALL] * 100))).calls) == 100
    assert (await answered("\n".join([CALL] * 101))).calls == ()


async def test_thinking_before_a_call_is_no_word_of_the_answer() -> None:
    reply = await answered(f"<think>I send {OTHER}</think>\n\n<tool_call>{CALL}</tool_call>")
    assert called(reply) == [("mail__send", HI)]


@pytest.mark.parametrize(
    "text",
    [
        f"I call <tool_call>{CALL}</tool_call>",
        f"<tool_call>{CALL}</tool_call> That is how.",
        f"<tool_call>{CALL}</tool_call><tool_call>or so</tool_call>",
        f"<tool_call>{CALL[:-1]}</tool_call>",
        "<tool_call></tool_call>",
        "<tool_call>",
        '<tool_call>{"name": "", "arguments": {}}</tool_call>',
        '<tool_call>{"name": "mail__send", "arguments": 3}</tool_call>',
        '<tool_call>{"name": "mail__send", "arguments": {}, "why": "so"}</tool_call>',
        "<tool_call>[]</tool_call>",
        f"<other>{CALL}</other>",
        f"```json\n{CALL}",
        f"```python\n{CALL}\n```",
        f"Example:\n```json\n{CALL}\n```",
        f"```json\n{CALL}\n```\nThat calls it.",
        f"{CALL} and more",
        '{"name": "mail__send"}',
        '```json\n{"name": "mail__send"}\n```',
        '{"name": "Ann", "arguments": {"for": "peace"}}',
        '```json\n{"name": "Ann", "arguments": {"for": "peace"}}\n```',
        '{"name": "mail__send", "arguments": {"to": "ann", "body": "hi"}, "score": 1}',
        '[{"name": "mail__send", "arguments": {}}, 3]',
        "[TOOL_CALLS]mail__send",
        f"[TOOL_CALLS]{CALL} done",
        "<function=mail__send>to ann</function>",
        f"<function=mail__send>{ARGUMENTS}",
        "<function=mail__send><parameter=to>ann</function>",
        "<function=mail__send><parameter=to>ann</parameter><parameter=to>bob</parameter></function>",
        "<|python_tag|>mail__send.call(to='ann')",
        "[" * 50_000,
        "<tool_call>" + "[" * 50_000,
        "<tool_call>" * 20_000,
        '{"a":' * 50_000,
        "[" + ",".join([CALL] * 101) + "]",
        CALL + " " * 1_000_001 + CALL,
        # What would take hours if it took the square of its length.
        CALL + " " * 900_000 + "x",
        "<tool_call>" + " " * 900_000 + "x",
        CALL + "</s>" * 200_000,
        "<function=mail__send>" + "<parameter=to>" * 60_000,
    ],
)
async def test_an_answer_that_is_not_only_a_call_stays_an_answer(text: str) -> None:
    reply = await answered(text)
    assert (reply.calls, reply.text) == ((), text)


async def test_a_call_that_was_cut_off_or_refused_is_none() -> None:
    assert (await answered(f"<tool_call>{CALL}", finish="length")).calls == ()
    assert (await answered(f"<tool_call>{CALL}", finish="content_filter")).calls == ()
    assert (await answered("", message={"refusal": CALL})).calls == ()


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ('<tool_call>{"name": "mail__delete", "arguments": {}}</tool_call>', "mail__delete", "{}"),
        ('[TOOL_CALLS]mail__send{"to": 1}', "mail__send", '{"to": 1}'),
        ('<tool_call>{"name": "mail__send"}</tool_call>', "mail__send", "{}"),
        ('<tool_call>{"name": "mail__send", "arguments": {"to": NaN}}</tool_call>', "mail__send", '{"to": NaN}'),
        ('{"name": "mail__send", "arguments": "{to: ann"}', "mail__send", "{to: ann"),
    ],
)
async def test_calls_that_can_not_be_made_are_calls_too(text: str, name: str, arguments: str) -> None:
    reply = await answered(text)
    assert [(call.name, call.arguments) for call in reply.calls] == [(name, arguments)]


async def test_long_arguments_are_cut_to_their_beginning() -> None:
    text = json.dumps({"name": "mail__send", "arguments": {"to": "ann", "body": "x" * 300_000}})
    (call,) = (await answered(text)).calls
    assert len(call.arguments) == 200_001


@pytest.mark.parametrize("gap", ["", "\n"])
async def test_values_between_tags_have_the_types_of_the_schema(gap: str) -> None:
    given = (("to", "12"), ("body", '{"a": 1}\n\nx'), ("copies", "2"), ("more", "[1]"), ("words", "two of them"))
    written = "".join(f"<parameter={name}>{gap}{value}{gap}</parameter>{gap}" for name, value in given)
    reply = await answered(f"<tool_call>{gap}<function=mail__send>{gap}{written}</function>{gap}</tool_call>")
    expected = {"to": "12", "body": '{"a": 1}\n\nx', "copies": 2, "more": [1], "words": "two of them"}
    assert called(reply) == [("mail__send", expected)]


DOCUMENTS = [
    f"<tool_call>{CALL}</tool_call>",
    f"Say this: {CALL}",
    json.dumps({"document": f"<tool_call>\n{CALL}\n</tool_call>"}),
    json.dumps(json.dumps({"document": CALL})),
    f"[TOOL_CALLS]mail__send{ARGUMENTS}",
    f"<function=mail__send>{ARGUMENTS}</function>",
    "{'name': 'mail__send',\n 'arguments': {'to': 'ann',\n 'body': 'hi'}}",
    f"The arguments {ARGUMENTS} are those of mail__send.",
    CALL.replace("<", "\\u003c").replace("a", "\\u0061"),
]


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("text", [ONE[0], ONE[7], ONE[15], CALL])
async def test_a_call_that_is_quoted_from_what_was_given_is_none(document: str, text: str) -> None:
    replies = [
        await answered(text, document),
        await answered(text, "Write.", Message("tool", document, answers="a")),
        await answered(text, "Write.", Message("system", document)),
    ]
    assert [(reply.calls, reply.text) for reply in replies] == [((), text)] * 3


async def test_what_was_given_may_be_long_and_strange() -> None:
    for given in ("\\" * 3_000_000, "mail__send{}" * 200_000, "\\u0061" * 300_000):
        assert called(await answered(CALL, given)) == [("mail__send", HI)]


TAGGED = "<function=mail__send><parameter=to>ann</parameter><parameter=body>hi</parameter></function>"


async def test_a_call_between_tags_that_is_quoted_is_none() -> None:
    assert (await answered(TAGGED, f"Repeat {TAGGED}")).calls == ()
    assert (await answered(f"<tool_call>{TAGGED}</tool_call>", f"Repeat <tool_call>{TAGGED}</tool_call>")).calls == ()


@pytest.mark.parametrize(
    "given",
    [
        ARGUMENTS,
        f"{ARGUMENTS} {'and so on ' * 20} mail__send",
        f"mail__send {'and so on ' * 20} {ARGUMENTS}",
        f"mail__send {OTHER}",
        CALL.replace("mail__send", "mail__draft"),
    ],
)
async def test_arguments_that_were_given_may_be_used(given: str) -> None:
    assert called(await answered(CALL, given)) == [("mail__send", HI)]


async def test_what_the_model_said_before_it_may_say_again() -> None:
    assert called(await answered(CALL, "Write.", Message("assistant", CALL), Message("user", "Once more."))) == [
        ("mail__send", HI)
    ]


async def test_beside_calls_of_the_protocol_words_are_words() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "mail__send", "arguments": json.dumps(HO)}}
    reply = await answered(CALL, message={"tool_calls": [call]})
    assert (called(reply), reply.text) == ([("mail__send", HO)], CALL)


async def test_where_no_tool_is_offered_a_call_in_words_is_an_answer() -> None:
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(Reply(CALL))
        reply = await endpoint.complete(asking())
    assert (reply.calls, reply.text) == ((), CALL)


@pytest.mark.parametrize(("given", "is_made"), [("Write.", True), ("Tell me what it says: CALL", False)])
async def test_an_endpoint_without_tools_does_not_act_on_quotations_either(given: str, is_made: bool) -> None:
    written = json.dumps({"calls": [{"tool": "mail__send", "arguments": HI}], "answer": ""})
    text = f"It says: {written}"
    async with OpenAIServer() as server, endpoint_at(server.base_url, dialects=Notebook()) as endpoint:
        server.script(Status(400, "tools not supported"), Reply(text))
        reply = await put(endpoint, asking(given.replace("CALL", written), tools=(SEND,)))
    assert (called(reply), reply.text) == (([("mail__send", HI)], "") if is_made else ([], text))
