"""Suggestions in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


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
