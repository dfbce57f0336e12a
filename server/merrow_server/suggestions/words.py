"""Suggestions in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from merrow_runtime.provenance import named
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import visible
from merrow_server.reports.run_report import cost_text


def cost_sentence(forecast: Mapping[str, Any], optimizer: str, judge: str | None, endpoint: str) -> str:
    """What a session may cost, said before its first call."""
    calls, tokens, cost = forecast["calls"], forecast["tokens"], forecast["cost_usd"]
    money = "the price is not known" if cost["most"] is None else f"at most about ${cost['most']:.4f}"
    who = (
        visible(optimizer)
        if judge in (None, optimizer)
        else f"{visible(optimizer)} and, to judge, {visible(judge or '')}"
    )
    return (
        f"{calls['least']:.0f} to {calls['most']:.0f} calls to {who} at {named(endpoint)}, at most about"
        f" {tokens['most']:,.0f} tokens, {money}."
    )


def usage_sentence(usage: Mapping[str, Any]) -> str:
    """What a session used, as a sentence: ``3 calls, $0.0012.``."""
    calls = usage["calls"]
    return f"{counted(calls, 'call')}, {cost_text(usage)}."


def run_text(run: Mapping[str, Any] | None) -> str:
    """What a run uses: ``3 to 6 calls, at most $0.0012``."""
    if run is None:
        return "calls unknown"
    calls, cost = run["calls"], run["cost_usd"]
    most = "unknown" if calls["most"] is None else f"{calls['most']:.0f}"
    count = most if calls["most"] == calls["least"] else f"{calls['least']:.0f} to {most}"
    word = "call" if count == "1" else "calls"
    money = (
        "cost unknown" if cost["most"] is None else "$0" if cost["most"] == 0 else f"at most about ${cost['most']:.4f}"
    )
    return f"{count} {word}, {money}"


def score_text(scores: Mapping[str, Any] | None) -> str:
    """What the judge said: ``38.5 of 50``."""
    if scores is None:
        return "not judged"
    return f"{scores['total']:.1f} of 50{', unsure' if scores['unsure'] else ''}"


def valid_lines(valid: Mapping[str, Any]) -> list[str]:
    """How many candidates were valid when, over all and by form."""
    if not valid["proposed"]:
        return ["No candidate was proposed."]
    proposed = valid["proposed"]
    after = proposed - valid["never"]
    parts = [
        f"{word} {form['valid_first']} and {form['proposed'] - form['never']} of {form['proposed']}"
        for word, form in (("moves", valid["forms"]["moves"]), ("whole graph", valid["forms"]["graph"]))
        if form["proposed"]
    ]
    return [
        f"Valid at the first try: {valid['valid_first']} of {proposed}; after repair: {after} of {proposed}"
        f" ({'; '.join(parts)})."
    ]
