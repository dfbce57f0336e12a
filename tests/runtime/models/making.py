"""What the tests of endpoints share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from tests.patience import PATIENCE

from merrow_runtime.errors import RephrasedFailure
from merrow_runtime.models.connections import EndpointConnection
from merrow_runtime.models.endpoint import Endpoint, OnText
from merrow_runtime.models.openai_endpoint import OpenAIEndpoint
from merrow_runtime.requests import AnswerSchema, Message, ModelReply, ModelRequest

KEY = "sk-merrow-test-0123456789"
SCHEMA = AnswerSchema(
    "answer",
    {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
        "additionalProperties": False,
    },
)


def asking(text: str = "What is 6 times 7?", **changes: Any) -> ModelRequest:
    system = changes.pop("system", None)
    messages = (*((Message("system", system),) if system else ()), Message("user", text))
    return ModelRequest(**{"model": "gpt-test", "messages": messages, "timeout": PATIENCE, **changes})


def unseen(piece: str) -> None:
    """Takes streamed text and does nothing with it."""


@asynccontextmanager
async def endpoint_at(base_url: str, *, key: str | None = KEY, **options: Any) -> AsyncIterator[OpenAIEndpoint]:
    connection = {
        name: options.pop(name) for name in ("proxy", "concurrency", "environment_headers") if name in options
    }
    endpoint = OpenAIEndpoint(EndpointConnection(base_url, key, **connection), **options)
    try:
        yield endpoint
    finally:
        await endpoint.close()


class Notebook:
    """A store of dialects that counts what is written."""

    def __init__(self) -> None:
        self.pages: dict[tuple[str, str], Mapping[str, Any]] = {}
        self.writes = 0

    def get(self, origin: str, model: str) -> Mapping[str, Any] | None:
        return self.pages.get((origin, model))

    def put(self, origin: str, model: str, learned: Mapping[str, Any]) -> None:
        self.writes += 1
        self.pages[origin, model] = learned


async def put(endpoint: Endpoint, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
    """The reply, after as many requests as it takes to find a form that the endpoint takes: as a run makes a call."""
    while True:
        try:
            return await endpoint.complete(request, on_text)
        except RephrasedFailure:
            continue
