"""What asking models may cost and has cost, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from merrow_runtime.provenance import OFFLINE_ORIGIN, named
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import visible
from merrow_server.reports.run_report import cost_text

ALL_KNOWN = "All answers are known already; no call is made."


def cost_sentence(forecast: Mapping[str, Any], model: str, judge: str | None, origin: str) -> str:
    """What asking ``model`` and a ``judge`` (None: there is none) may cost, said before the first call. ``forecast`` has bounds
    of ``calls``, ``tokens`` and ``cost_usd``.
    """
    calls, tokens, cost = forecast["calls"], forecast["tokens"], forecast["cost_usd"]
    many = f"{calls['least']:.0f} to {calls['most']:.0f} calls"
    if calls["least"] == calls["most"]:
        many = counted(round(calls["most"]), "call")
    if origin == OFFLINE_ORIGIN:
        return f"{many} to the embedded offline model, which cost nothing."
    who = visible(model) if judge in (None, model) else f"{visible(model)} and, to judge, {visible(judge or '')}"
    is_known = cost is not None and cost["most"] is not None
    money = f"at most about ${cost['most']:.4f}" if is_known else "the price is not known"
    return f"{many} to {who} at {named(origin)}, at most about {tokens['most']:,.0f} tokens, {money}."


def usage_sentence(usage: Mapping[str, Any]) -> str:
    """What was used, as a sentence: ``3 calls, $0.0012.``."""
    return f"{counted(usage['calls'], 'call')}, {cost_text(usage)}."
