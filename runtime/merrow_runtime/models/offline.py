"""The embedded offline model: answers by rule, costs nothing, needs no network. The run says who answered."""

from __future__ import annotations

import asyncio
import re

from merrow_runtime.models.endpoint import OnText
from merrow_runtime.models.offline_answers import answer_to
from merrow_runtime.models.offline_vectors import vector_of
from merrow_runtime.models.prices import FREE, Price
from merrow_runtime.models.tokens import estimate_tokens, prompt_tokens
from merrow_runtime.provenance import OFFLINE_ORIGIN
from merrow_runtime.requests import ModelReply, ModelRequest
from merrow_runtime.usage import Usage

NOTICE = "The embedded offline model answers, which is not a real model: its answers are made by rule."
"""What every run says that it answers."""
OFFLINE_MODEL = "merrow-offline (not a real model)"
_PIECES = re.compile(r"\S+\s*|\s+")


class OfflineEndpoint:
    """Answers every request, whatever model it names. The same request has the same answer, on every machine."""

    @property
    def origin(self) -> str:
        return OFFLINE_ORIGIN

    def price(self, model: str) -> Price | None:  # noqa: ARG002 (every model)
        """Nothing."""
        return FREE

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        """Answer. Tokens are counted by the offline rule; answers are short and never cut at ``max_tokens``."""
        await asyncio.sleep(0)
        text = answer_to(request)
        if on_text is not None:
            for piece in _PIECES.findall(text):
                on_text(piece)
                await asyncio.sleep(0)
        usage = Usage(prompt_tokens(request), estimate_tokens(text), 1, 0.0)
        return ModelReply(text, "stop", usage, OFFLINE_MODEL, 0.0)

    async def embed(self, request: ModelRequest) -> ModelReply:
        """The vectors of texts, by the words that they share."""
        await asyncio.sleep(0)
        usage = Usage(prompt_tokens(request), 0, 1, 0.0)
        return ModelReply("", "stop", usage, OFFLINE_MODEL, 0.0, vectors=tuple(map(vector_of, request.embeds)))

    async def close(self) -> None:
        """Nothing is open."""
