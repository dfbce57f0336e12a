"""What a session may use, said before its first call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from merrow_optimizer.suggestions.candidate_answers import SCHEMA
from merrow_optimizer.suggestions.judge import TRIES, limit_of, messages, schema_of
from merrow_optimizer.suggestions.session import READINGS, SuggestionSession
from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.models.prices import price_at
from merrow_runtime.models.tokens import estimate_call, prompt_tokens
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running.forecast_figures import Bounds
from merrow_runtime.usage import Usage

_LEAST = 0.1
"""The share of the tokens that an answer may have, which a short answer has."""
_SHOWN = 1_000
"""Tokens that one candidate takes in a prompt, at most as a rule."""


@dataclass(frozen=True, slots=True)
class SuggestionForecast:
    """Bounds of calls, tokens and US dollars of one session. The cost's most is None where a price is not known."""

    calls: Bounds
    tokens: Bounds
    cost_usd: Bounds

    def to_json(self) -> dict[str, Any]:
        """As ``--dry-run --format json`` prints it."""
        return {"calls": self.calls.to_json(), "tokens": self.tokens.to_json(), "cost_usd": self.cost_usd.to_json()}


def first_question(session: SuggestionSession, endpoint: Endpoint) -> Usage:
    """What the first question may use: what has to be left in a budget for it to begin."""
    model = session.models.optimizer
    request = ModelRequest(model, session.first, max_tokens=session.first_limit, schema=SCHEMA)
    return estimate_call(request, endpoint, price_at(endpoint, model))


def forecast(session: SuggestionSession, endpoint: Endpoint) -> SuggestionForecast:
    """What a session may use: at least the question and two calls of the judge, at most all times back as well."""
    models, n = session.models, session.wish.n
    first = ModelRequest(models.optimizer, session.first, max_tokens=session.first_limit, schema=SCHEMA)
    asked = prompt_tokens(first)
    # Two kinds of calls: the model, its prompt's tokens, those of its answer at most, and how often at least and at most.
    kinds = [
        (models.optimizer, asked, session.first_limit, 1, 1),
        (models.optimizer, asked + _SHOWN, 2 * session.first_limit, 0, READINGS - 1),
        (models.optimizer, asked + 2 * _SHOWN, session.repair_limit, 0, session.repairs * n),
    ]
    if models.judge is not None:
        question = ModelRequest(models.judge, messages({}, [{} for _ in range(n)], range(n)), schema=schema_of())
        shown = prompt_tokens(question) + asked // 2 + n * _SHOWN
        kinds.append((models.judge, shown, limit_of(n), 2, 2 * TRIES))
    calls, tokens, cost = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]
    is_priced = True
    for model, prompt, answer, *times in kinds:
        price = price_at(endpoint, model)
        is_priced = is_priced and price is not None
        for bound, share in enumerate((_LEAST, 1.0)):
            usage = Usage(prompt, round(answer * share), 1)
            calls[bound] += times[bound]
            tokens[bound] += times[bound] * usage.tokens
            cost[bound] += 0.0 if price is None else times[bound] * price.cost(usage)
    return SuggestionForecast(Bounds(*calls), Bounds(*tokens), Bounds(cost[0], cost[1] if is_priced else None))
