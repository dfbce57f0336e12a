"""How many tokens a text has, by one rule that needs no network and no model's vocabulary.

**A token is four bytes of UTF-8, rounded up.** For English prose this is the length that byte-pair vocabularies reach
on average; for code and for scripts outside Latin it is a little high or low, by less than a factor of two. The rule
never gives 0 for a text that isn't empty, and a longer text never has fewer tokens. Where an endpoint counts the tokens
itself, its figures replace these.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from merrow_runtime.models.endpoint import Endpoint, answer_limit_at
from merrow_runtime.models.prices import Price
from merrow_runtime.requests import AskedCall, ModelRequest
from merrow_runtime.usage import Usage
from merrow_runtime.values import canonical

BYTES_A_TOKEN = 4
TOKENS_A_MESSAGE = 4
"""What a chat format adds to each message: its role and its limits."""
TOKENS_A_REPLY = 3
"""What a chat format adds to open the answer."""
EXPECTED_COMPLETION = 1024
"""Tokens that an answer is expected to have at most where neither the request nor the endpoint sets a limit."""


def estimate_tokens(text: str) -> int:
    """The tokens of a text by the rule above; 0 only for an empty text."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -(-size // BYTES_A_TOKEN)


def prompt_tokens(request: ModelRequest) -> int:
    """The tokens of all that a request sends: its messages with what a chat format adds, its schema, and its tools; or the texts
    that it has embedded.
    """
    if request.embeds:
        return sum(map(estimate_tokens, request.embeds))
    total = TOKENS_A_REPLY + sum(TOKENS_A_MESSAGE + estimate_tokens(message.content) for message in request.messages)
    total += calls_tokens(call for message in request.messages for call in message.calls)
    total += sum(estimate_tokens(message.own.text) for message in request.messages if message.own is not None)
    if request.tools:
        total += estimate_tokens(canonical([tool.to_json() for tool in request.tools]))
    return total if request.schema is None else total + estimate_tokens(canonical(dict(request.schema.schema)))


def calls_tokens(calls: Iterable[AskedCall]) -> int:
    """The tokens of calls of tools."""
    return sum(TOKENS_A_MESSAGE + estimate_tokens(call.name) + estimate_tokens(call.arguments) for call in calls)


def estimate_call(request: ModelRequest, endpoint: Endpoint, price: Price | None) -> Usage:
    """What one call is expected to use at most: what a budget reserves, and what a forecast says. Its cost is None where the
    ``price`` of the model is unknown.
    """
    completion = 0 if request.embeds else request.max_tokens
    if completion is None:
        completion = answer_limit_at(endpoint, request.model) or EXPECTED_COMPLETION
    usage = Usage(prompt_tokens(request), completion, 1, None, estimated=True)
    return usage if price is None else replace(usage, cost_usd=price.cost(usage))


def sent_of(estimate: Usage, price: Price | None) -> Usage:
    """The part of `estimate_call` that is used in any case: what is sent, without the answer."""
    sent = replace(estimate, completion_tokens=0)
    return sent if price is None else replace(sent, cost_usd=price.cost(sent))
