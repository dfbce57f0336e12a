"""An endpoint's dialect is learned from its refusals: once, without a failed call, and kept for the next run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.runtime.models.making import SCHEMA, Notebook, asking, endpoint_at, put
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step

from merrow_runtime.errors import EndpointFailure
from merrow_runtime.models.dialects import Dialect
from merrow_runtime.requests import AnswerSchema, Message

Refusal = Callable[[dict[str, Any]], Step | None]


def strict(*refusals: Refusal) -> Callable[[Received], Step]:
    def answer(request: Received) -> Step:
        return next((step for refuse in refusals if (step := refuse(request.body))), Reply('{"answer": "42"}'))

    return answer


def refuses(field: str, message: str, status: int = 400, value: object = None, **error: Any) -> Refusal:
    def refuse(body: dict[str, Any]) -> Step | None:
        given = body.get(field)
        return Status(status, message, **error) if given is not None and value in (None, given) else None

    return refuse


def refuses_system(message: str, status: int = 400) -> Refusal:
    return lambda body: Status(status, message) if body["messages"][0]["role"] == "system" else None


def refuses_format(kind: str, message: str, **error: Any) -> Refusal:
    return lambda body: (
        Status(400, message, **error) if (body.get("response_format") or {}).get("type") == kind else None
    )


FULL = asking(system="Be brief; answer in JSON.", max_tokens=50, seed=7, schema=SCHEMA)
STREAM = "stream"

CASES: list[tuple[str, Refusal, dict[str, object]]] = [
    (
        "OpenAI's reasoning models, limit",
        refuses(
            "max_tokens",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            code="unsupported_parameter",
            param="max_tokens",
        ),
        {"limit": "max_completion_tokens"},
    ),
    (
        "OpenAI's reasoning models, temperature",
        refuses(
            "temperature",
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
            code="unsupported_value",
            param="temperature",
        ),
        {"temperature": False},
    ),
    (
        "one temperature allowed",
        refuses("temperature", "invalid temperature: only 1 is allowed for this model"),
        {"temperature": False},
    ),
    (
        "deprecated temperature",
        refuses("temperature", "`temperature` is deprecated for this model."),
        {"temperature": False},
    ),
    (
        "pydantic's words",
        refuses("seed", '[{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]', 422),
        {"seed": False},
    ),
    ("Go's words", refuses("seed", 'json: unknown field "seed"'), {"seed": False}),
    (
        "stream options",
        refuses("stream_options", "Unrecognized request argument supplied: stream_options"),
        {"stream_options": False},
    ),
    (
        "streaming kept from an organization",
        refuses(
            "stream",
            "Your organization must be verified to stream this model.",
            param="stream",
            code="unsupported_value",
        ),
        {"stream": False},
    ),
    ("a template without system", refuses_system("System role not supported"), {"system": False}),
    ("a template that fails", refuses_system("Jinja Exception: System role not supported", 500), {"system": False}),
    (
        "OpenAI's first reasoning models",
        refuses_system("Unsupported value: 'messages[0].role' does not support 'system' with this model."),
        {"system": False},
    ),
    (
        "only users",
        refuses_system("Conversation roles must alternate user/assistant; role system is not allowed"),
        {"system": False},
    ),
    (
        "schemas unknown",
        refuses_format("json_schema", "This response_format type is unavailable now"),
        {"schema": "json_object"},
    ),
    (
        "schemas unknown, by parameter",
        refuses_format("json_schema", "Invalid parameter", param="response_format.type"),
        {"schema": "json_object"},
    ),
]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", STREAM])
@pytest.mark.parametrize(("refusal", "facts"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
async def test_a_refusal_is_learned_and_the_call_succeeds(
    refusal: Refusal, facts: dict[str, object], streamed: bool
) -> None:
    streamed = streamed or STREAM in "".join(facts)
    notebook = Notebook()
    async with OpenAIServer(strict(refusal)) as server:
        pieces: list[str] = []
        async with endpoint_at(server.base_url, dialects=notebook) as endpoint:
            reply = await put(endpoint, FULL, pieces.append if streamed else None)
            assert reply.text == '{"answer": "42"}'
            assert reply.usage.calls == 1
            assert len(server.requests) == 2
        assert notebook.writes == 1
        learned = notebook.pages[server.origin, "gpt-test"]
        assert {name: learned[name] for name in facts} == facts
        # The next run knows it from the start.
        async with endpoint_at(server.base_url, dialects=notebook) as endpoint:
            await put(endpoint, FULL, pieces.append if streamed else None)
        assert len(server.requests) == 3
        assert notebook.writes == 1


async def test_a_server_that_refuses_everything_is_learned_step_by_step() -> None:
    notebook = Notebook()
    everything = strict(
        refuses("max_tokens", "max_tokens is not supported"),
        refuses("max_completion_tokens", "Unknown parameter: max_completion_tokens"),
        refuses("temperature", "temperature is not supported"),
        refuses("seed", "seed is not supported"),
        refuses("stream_options", "stream_options is not supported"),
        refuses("stream", "streaming is not supported"),
        refuses_system("the system role is not supported"),
        refuses_format("json_schema", "response_format json_schema is not supported"),
        refuses_format("json_object", "response_format json_object is not supported"),
    )
    async with OpenAIServer(everything) as server, endpoint_at(server.base_url, dialects=notebook) as endpoint:
        pieces: list[str] = []
        assert (await put(endpoint, FULL, pieces.append)).text == "".join(pieces) == '{"answer": "42"}'
        assert server.bodies[-1] == {
            "model": "gpt-test",
            "messages": [{"role": "user", "content": "Be brief; answer in JSON.\n\nWhat is 6 times 7?"}],
        }
        assert notebook.writes == len(server.requests) - 1 == 9


async def test_what_is_learned_of_one_model_says_nothing_of_another() -> None:
    refusal = strict(
        lambda body: refuses("temperature", "temperature is not supported")(body) if body["model"] == "a" else None
    )
    async with OpenAIServer(refusal) as server, endpoint_at(server.base_url) as endpoint:
        await put(endpoint, asking(model="a"))
        await put(endpoint, asking(model="b"))
        assert ["temperature" in body for body in server.bodies] == [True, False, True]


async def test_calls_side_by_side_learn_a_fact_once() -> None:
    notebook = Notebook()
    refusal = strict(
        refuses("max_tokens", "Use 'max_completion_tokens' instead."), refuses("seed", "seed is not supported")
    )
    async with OpenAIServer(refusal) as server, endpoint_at(server.base_url, dialects=notebook) as endpoint:
        replies = await asyncio.gather(*(put(endpoint, FULL) for _ in range(20)))
        assert len(replies) == 20
        assert notebook.writes == 2
        learned = notebook.pages[server.origin, "gpt-test"]
        assert learned["limit"] == "max_completion_tokens"
        assert learned["seed"] is False


@pytest.mark.parametrize(
    "refused",
    [
        Status(
            400, "max_tokens is too large: 50. This model supports at most 16 completion tokens", param="max_tokens"
        ),
        Status(400, "'temperature' must be between 0 and 2"),
        Status(400, "Your prompt was flagged: temperature of the discussion too high"),
        Status(400, "Bad request"),
        Status(413, "max_tokens not supported"),
    ],
    ids=lambda step: step.message[:30],
)
async def test_other_complaints_teach_nothing(refused: Status) -> None:
    notebook = Notebook()
    async with OpenAIServer() as server, endpoint_at(server.base_url, dialects=notebook) as endpoint:
        server.script(refused)
        with pytest.raises(EndpointFailure):
            await endpoint.complete(asking(max_tokens=50))
        assert len(server.requests) == 1
        assert notebook.writes == 0


async def test_a_complaint_of_many_words_is_looked_at_as_far_as_a_sentence_goes() -> None:
    """Megabytes of words would take minutes."""
    refused = Status(400, "word " * 1_000 + "temperature is not supported")
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(refused)
        with pytest.raises(EndpointFailure):
            await endpoint.complete(asking())
        assert len(server.requests) == 1


async def test_a_schema_that_is_silently_ignored_is_learned() -> None:
    notebook = Notebook()
    async with (
        OpenAIServer(lambda _: Reply("It is 42.")) as server,
        endpoint_at(server.base_url, dialects=notebook) as endpoint,
    ):
        for _ in range(4):
            assert (await endpoint.complete(asking(schema=SCHEMA))).text == "It is 42."
        formats = [(body.get("response_format") or {}).get("type") for body in server.bodies]
        assert formats == ["json_schema", "json_object", None, None]
        assert notebook.writes == 2
        # A server that forces nothing is told the schema in words.
        assert '"required":["answer"]' in server.bodies[-1]["messages"][-1]["content"]
        assert '"required":["answer"]' not in server.bodies[0]["messages"][-1]["content"]


@pytest.mark.parametrize(
    "reply", [Reply('{"answer": "42"}'), Reply('{"answ', finish="length"), Reply("", finish="content_filter")]
)
async def test_an_answer_that_is_valid_cut_or_refused_teaches_nothing_of_schemas(reply: Reply) -> None:
    notebook = Notebook()
    async with OpenAIServer(lambda _: reply) as server, endpoint_at(server.base_url, dialects=notebook) as endpoint:
        await endpoint.complete(asking(schema=SCHEMA))
    assert notebook.writes == 0


async def test_a_schema_beyond_what_can_be_forced_changes_its_own_calls_alone() -> None:
    notebook = Notebook()
    complaint = "Invalid schema for response_format 'answer': 'required' is required to be supplied"
    async with OpenAIServer() as server, endpoint_at(server.base_url, dialects=notebook) as endpoint:
        server.script(Status(400, complaint, param="response_format", code="invalid_json_schema"), *[Reply("{}")] * 3)
        for schema in (SCHEMA, AnswerSchema("other", {"type": "object"}), SCHEMA):
            await put(endpoint, asking(schema=schema))
        formats = [body["response_format"]["type"] for body in server.bodies]
        assert formats == ["json_schema", "json_object", "json_schema", "json_object"]
        assert notebook.writes == 0


@pytest.mark.parametrize(
    ("said", "is_strict"),
    [
        ({"additionalProperties": False}, True),
        ({}, False),
        ({"additionalProperties": False, "required": []}, False),
        ({"additionalProperties": False, "required": ["a", "b"]}, False),
    ],
    ids=["closed", "open", "optional", "unknown"],
)
async def test_a_schema_is_strict_only_where_it_can_be(said: dict[str, Any], is_strict: bool) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], **said}
    request = asking(schema=type(SCHEMA)("answer", schema))
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        await endpoint.complete(request)
        sent = server.bodies[0]["response_format"]["json_schema"]
        assert sent.get("strict", False) is is_strict
        assert sent["schema"] == schema


async def test_a_damaged_page_of_the_notebook_is_no_obstacle() -> None:
    notebook = Notebook()
    async with OpenAIServer() as server:
        notebook.pages[server.origin, "gpt-test"] = {
            "limit": "max_length",
            "temperature": "no",
            "new": 1,
            "seed": False,
        }
        async with endpoint_at(server.base_url, dialects=notebook) as endpoint:
            await endpoint.complete(FULL)
        assert {"max_tokens", "temperature"} <= server.bodies[0].keys()
        assert "seed" not in server.bodies[0]


async def test_a_limit_that_nobody_set_is_not_sent() -> None:
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        await endpoint.complete(asking())
    assert not server.bodies[0].keys() & {"max_tokens", "max_completion_tokens", "seed", "stream", "response_format"}


async def test_a_limit_that_is_named_without_being_refused_teaches_nothing() -> None:
    message = "The sum of the prompt and of max_completion_tokens is more than 4096."
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(Status(400, message))
        with pytest.raises(EndpointFailure, match="4096"):
            await endpoint.complete(asking(max_tokens=5000))
        assert len(server.requests) == 1


async def test_where_the_system_role_is_refused_its_text_is_sent_though_there_is_no_other() -> None:
    request = replace(asking(), messages=(Message("system", "Say 42."),))
    refusing = strict(refuses_system("The role system is not supported."))
    async with OpenAIServer(refusing) as server, endpoint_at(server.base_url) as endpoint:
        await put(endpoint, request)
    assert server.bodies[-1]["messages"] == [{"role": "user", "content": "Say 42."}]


@pytest.mark.parametrize("value", [0, 1, "yes", None, [], {}])
@pytest.mark.parametrize("name", ["temperature", "seed", "stream", "system", "limit", "schema", "thinks"])
def test_a_fact_of_another_kind_is_left_out(name: str, value: object) -> None:
    assert Dialect.from_json({name: value}) == Dialect()


def test_what_was_learned_is_read_as_it_was_written() -> None:
    learned = Dialect("none", False, "json_object", False, False, False, False, "implicit")
    assert Dialect.from_json(learned.to_json()) == learned
