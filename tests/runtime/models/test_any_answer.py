"""Whatever a server sends, a call ends with a reply that holds something or with an `EndpointFailure`, never otherwise."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.models.making import SCHEMA, asking, endpoint_at, unseen
from tests.runtime.openai_server import OpenAIServer, Raw

from merrow_runtime.errors import EndpointFailure
from merrow_runtime.requests import ModelReply

EXAMPLES = 15
NAMES = [
    *(
        "choices",
        "message",
        "delta",
        "content",
        "finish_reason",
        "usage",
        "prompt_tokens",
        "completion_tokens",
        "error",
    ),
    *(
        "code",
        "param",
        "type",
        "model",
        "refusal",
        "tool_calls",
        "reasoning_content",
        "text",
        "thinking",
        "data",
        "detail",
    ),
    *("prompt_tokens_details", "cached_tokens", "index"),
]
WORDS = [
    "stop",
    "length",
    "error",
    "42",
    "<think>",
    "</think>",
    "429",
    "model_not_found",
    "max_tokens is not supported",
]
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats()
    | st.sampled_from(WORDS)
    | st.text(st.characters(exclude_categories=[]), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)
MESSAGE = st.fixed_dictionaries({}, optional=dict.fromkeys(("content", "refusal", "tool_calls", "reasoning"), ANYTHING))
CHOICE = st.fixed_dictionaries(
    {}, optional={"message": MESSAGE | ANYTHING, "delta": MESSAGE | ANYTHING, "finish_reason": ANYTHING}
)
COMPLETION = st.fixed_dictionaries(
    {},
    optional={
        "choices": st.lists(CHOICE | ANYTHING, max_size=2),
        "usage": ANYTHING,
        "error": ANYTHING,
        "model": ANYTHING,
    },
)
BODIES = st.one_of(
    st.binary(max_size=60),
    st.builds(lambda value: json.dumps(value).encode(), COMPLETION | ANYTHING),
    st.builds(
        lambda values: b"".join(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values),
        st.lists(COMPLETION),
    ),
)
TYPES = st.sampled_from(["application/json", "text/event-stream", "text/html", "application/octet-stream", ""])
STATUSES = st.sampled_from([200, 200, 200, 204, 302, 400, 403, 404, 422, 429, 500, 503])


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    answers=st.lists(st.builds(Raw, BODIES, TYPES, STATUSES), min_size=1, max_size=12),
    streamed=st.booleans(),
    schema=st.booleans(),
)
async def test_every_call_ends_with_a_reply_or_a_failure(answers: list[Raw], streamed: bool, schema: bool) -> None:
    wanted: dict[str, Any] = {"schema": SCHEMA} if schema else {}
    async with OpenAIServer() as server, endpoint_at(server.base_url) as endpoint:
        server.script(*answers)
        while len(server.requests) < len(answers):
            ended = await outcome(endpoint.complete(asking(max_tokens=5, **wanted), unseen if streamed else None))
            if isinstance(ended, EndpointFailure):
                assert server.origin in str(ended)
                assert str(ended).isprintable()
            else:
                assert ended.text.strip() or ended.finish != "stop"
                assert ended.usage.prompt_tokens >= 0
                assert ended.usage.completion_tokens >= 0
                json.dumps(ended.to_json(), allow_nan=False)


async def outcome(call: Awaitable[ModelReply]) -> ModelReply | EndpointFailure:
    try:
        return await call
    except EndpointFailure as failure:
        return failure
