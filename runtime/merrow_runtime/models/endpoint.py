"""What answers model requests: a server that speaks the OpenAI protocol, the embedded model, or a program's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from merrow_runtime.errors import EndpointFailure
from merrow_runtime.requests import ModelReply, ModelRequest

OnText = Callable[[str], None]
"""Called with each piece of text as it is streamed."""


def refused_at(endpoint: Endpoint, model: str) -> tuple[str, ...]:
    """The parameters of requests (``temperature``, ``seed``, ``max_tokens``) that an endpoint does not take for a model, as far
    as it has refused them by now; its answers follow its own choice. A program's own endpoint may have no say in this.
    """
    refused: Callable[[str], tuple[str, ...]] | None = getattr(endpoint, "refused", None)
    return () if refused is None else refused(model)


def answer_limit_at(endpoint: Endpoint, model: str) -> int | None:
    """How many tokens an endpoint lets an answer have where a request has no ``max_tokens``; None where it sets no limit."""
    limit: Callable[[str], int | None] | None = getattr(endpoint, "answer_limit", None)
    return None if limit is None else limit(model)


def embed_at(endpoint: Endpoint, request: ModelRequest) -> Awaitable[ModelReply]:
    """The vectors of the texts that a request ``embeds``. A program's own endpoint may have none to give.

    Raises `EndpointFailure`.
    """
    embed: Callable[[ModelRequest], Awaitable[ModelReply]] | None = getattr(endpoint, "embed", None)
    if embed is None:
        raise EndpointFailure(
            f"{endpoint.origin} embeds no texts; find the documents by their words (`by: words`), or use another endpoint.",
            fatal=True,
            model=request.model,
            sent=False,
        )
    return embed(request)


class Endpoint(Protocol):
    """One place that answers. It makes one try a call: retries, budgets, cache and journal are not its business."""

    @property
    def origin(self) -> str:
        """Scheme, host and port, as it is cached and reported: ``https://api.openai.com``; ``merrow:offline`` for the
        embedded model. Never holds a secret.
        """
        ...

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        """Answer. Raises `EndpointFailure`; cancelling stops the call in flight."""
        ...

    async def close(self) -> None:
        """Let connections go."""
        ...
