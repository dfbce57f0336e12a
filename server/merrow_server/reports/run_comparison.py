"""Two runs side by side, as Markdown; and what both may cost, before they begin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import Any

from merrow_server.reports.run_report import cost_text

_LONGEST = 4000
"""Characters of one result that are shown."""

Json = Mapping[str, Any]


def cost_of_both(plans: Sequence[Json]) -> str:
    """What two runs may ask and cost together, as a sentence: at least, where the second asks what the first has asked."""
    least = max(plan["calls"]["least"] for plan in plans)
    most = _sum([plan["calls"]["most"] for plan in plans])
    money = _sum([plan["cost_usd"]["most"] for plan in plans])
    price = "an unknown amount" if money is None else f"at most ${money:.4f}"
    calls = f"{least:.0f} calls or more" if most is None else f"{least:.0f} to {most:.0f} calls"
    return f"running both makes {calls} to {plans[0]['endpoint']} and costs {price}; what both ask alike is asked once."


def _sum(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def comparison(title: str, now: Json, after: Json) -> str:
    """Results, calls, cost and time of a workflow as it is and after a change. Both are ends as `merrow.run` answers them."""
    rows = [
        ("", "now", "after"),
        ("---", "---", "---"),
        ("run", now["run"], after["run"]),
        ("status", now["status"], after["status"]),
        ("calls", now["usage"]["calls"], after["usage"]["calls"]),
        ("tokens", _tokens(now), _tokens(after)),
        ("cost", cost_text(now["usage"]), cost_text(after["usage"])),
        ("time", f"{now['seconds']:.1f} s", f"{after['seconds']:.1f} s"),
    ]
    lines = [f"# Now, and after: {title}", "", *("| " + " | ".join(map(_cell, row)) + " |" for row in rows)]
    for run, heading in ((now, "now"), (after, "after")):
        if run.get("error"):
            lines += ["", f"**{heading}:** {run['error']}"]
    mine, theirs = now["outputs"] or {}, after["outputs"] or {}
    for name in dict.fromkeys((*mine, *theirs)):
        same = mine.get(name) == theirs.get(name)
        lines += ["", f"## {name}{': the same' if same else ''}"]
        shown = [("", mine.get(name))] if same else [("now", mine.get(name)), ("after", theirs.get(name))]
        lines += [line for part in starmap(_result, shown) for line in part]
    return "\n".join(lines) + "\n"


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")


def _tokens(run: Json) -> str:
    usage = run["usage"]
    return str(usage["prompt_tokens"] + usage["completion_tokens"])


def _result(heading: str, value: Any) -> list[str]:
    from merrow_runtime.values import as_text

    text = "(nothing)" if value is None else as_text(value)
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
    fence = "```"
    while fence in text:
        fence += "`"
    return [*(["", f"**{heading}**"] if heading else []), "", fence, text, fence]
