"""What an evaluation may use, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from merrow_server.rendering.counts import counted
from merrow_server.rendering.forecast_text import bounds_text
from merrow_server.rendering.snippet import visible

if TYPE_CHECKING:
    from merrow_optimizer.evaluation.plan import EvaluationForecast


def forecast_text(forecast: EvaluationForecast, dataset: str, part: str) -> str:
    """What an evaluation may use, in a sentence."""
    times = "once" if forecast.repeats == 1 else f"{forecast.repeats} times"
    items = counted(forecast.items, "item")
    cost = forecast.cost_usd
    money = "cost unknown" if cost.most is None else "$0" if cost.most == 0 else f"at most about ${cost.most:.4f}"
    tokens = "unknown" if forecast.tokens.most is None else f"{forecast.tokens.most:,.0f}"
    calls = bounds_text(forecast.calls)
    calls += " call" if calls == "1" else " calls"
    return (
        f"{items} of {visible(dataset)} (part {part}), each {times}: {calls}, at most about {tokens} tokens, {money};"
        f" what is known already costs nothing and is not counted.{_judging(forecast)}"
    )


def _judging(forecast: EvaluationForecast) -> str:
    if forecast.judging is None or not forecast.judging.most:
        return ""
    return f" Tokens and cost of the judge's {bounds_text(forecast.judging)} calls come on top."
