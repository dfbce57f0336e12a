"""Options by which a model changes a workflow while it runs: each key of `refine` of the front matter."""

from __future__ import annotations

from typing import Any

import click

REFINE_OPTIONS = (
    click.option(
        "--refine/--no-refine", default=None, help="Let a model change the workflow while it runs; see `refine`."
    ),
    click.option(
        "--refine-every", type=click.IntRange(min=0), metavar="N", help="Ask it after every N finished nodes; 0: never."
    ),
    click.option(
        "--refine-on", metavar="WHEN", help="Also ask it after a failure, an invalid result, or both: failure,invalid."
    ),
    click.option("--refine-max", type=click.IntRange(min=0), metavar="N", help="Ask it at most N times."),
    click.option(
        "--refine-strategy",
        type=click.Choice(["wait", "overlap"]),
        help="Wait while the model thinks, or let the run continue meanwhile.",
    ),
    click.option(
        "--refine-candidates",
        type=click.IntRange(1, 16),
        metavar="K",
        help="Ask for K answers, one of which is used; 1, and 3 with --refine-rank paper.",
    ),
    click.option(
        "--refine-rank",
        type=click.Choice(["kept", "paper"]),
        help="Of several answers use the one that keeps most results, or the paper's: most parallel, then least complex.",
    ),
    click.option("--refine-ask", is_flag=True, default=None, help="Ask you before a change is applied."),
    click.option("--refine-model", metavar="MODEL", help="The model that thinks about the workflow."),
    click.option(
        "--refine-view", type=click.IntRange(min=500), metavar="N", help="Show the model at most N tokens of the run."
    ),
    click.option(
        "--refine-max-nodes", type=click.IntRange(min=1), metavar="N", help="Let the workflow grow to at most N nodes."
    ),
    click.option("--refine-tokens", type=click.IntRange(min=1), metavar="N", help="Tokens that the model may use."),
    click.option(
        "--refine-usd",
        type=click.FloatRange(min=0, min_open=True),
        metavar="USD",
        help="US dollars that the model may cost.",
    ),
)

_KEYS = ("every", "max", "strategy", "candidates", "rank", "ask", "model", "view", "max_nodes", "tokens", "usd")


def refine_given(given: dict[str, Any]) -> dict[str, Any] | None:
    """`RunOptions.refine` by `REFINE_OPTIONS`; None where they say nothing."""
    if given["refine"] is False:
        return {"max": 0}
    refine = {key: given[f"refine_{key}"] for key in _KEYS if given[f"refine_{key}"] is not None}
    if given["refine_on"] is not None:
        moments = [word.strip() for word in given["refine_on"].split(",") if word.strip()]
        for word in moments:
            if word not in ("failure", "invalid"):
                raise click.BadParameter(f"{word!r} is neither failure nor invalid.", param_hint="--refine-on")
        refine["on"] = moments
    return refine if refine or given["refine"] else None
