"""Options of commands that run workflows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from merrow_server.cli.given import shell_completion

ASKING_OPTIONS = (
    click.option("--base-url", metavar="URL", help="The endpoint to use; `offline` is the embedded model."),
    click.option("--concurrency", type=click.IntRange(min=1), help="How many calls to make at the same time."),
    click.option(
        "--budget-usd", type=click.FloatRange(min=0), metavar="USD", help="Stop once this many US dollars are spent."
    ),
    click.option(
        "--budget-tokens", type=click.IntRange(min=0), metavar="N", help="Stop once this many tokens are used."
    ),
    click.option("--budget-seconds", type=click.FloatRange(min=0), metavar="S", help="Stop after this many seconds."),
)
"""Who is asked, and how much."""

BUDGET_OPTIONS = (
    click.option(
        "--budget-usd",
        type=click.FloatRange(min=0),
        metavar="USD",
        help="Begin no call that may cost more than is left.",
    ),
    click.option(
        "--budget-tokens", type=click.IntRange(min=0), metavar="N", help="Begin no call that may use more than is left."
    ),
    click.option("--budget-seconds", type=click.FloatRange(min=0), metavar="S", help="Stop after this many seconds."),
)
"""How much, of those who only ask models: their budget is kept strictly."""

SANDBOX_OPTIONS = (
    click.option(
        "--sandbox",
        metavar="MEANS",
        help="Sandbox for generated code (merrow doctor lists them). Default: the strongest one available.",
    ),
    click.option(
        "--allow-unsafe-code", is_flag=True, help="Run generated code even if nothing on this machine can isolate it."
    ),
)
"""Where generated code runs."""

RUN_OPTIONS = (
    *ASKING_OPTIONS,
    click.option(
        "--record",
        metavar="F",
        shell_complete=shell_completion.files,
        help="Record all calls in this file, to replay them.",
    ),
    click.option(
        "--replay",
        metavar="F",
        shell_complete=shell_completion.files,
        help="Answer all calls from this recording only.",
    ),
    click.option(
        "--reuse",
        type=click.Choice(["same", "any"]),
        help="What to do with results from another endpoint than the current one: run them again (same), or keep them (any).",
    ),
    *SANDBOX_OPTIONS,
    click.option(
        "--fail-on-exhausted",
        is_flag=True,
        help="Exit with 1 if a Loop stopped because its turns or its budget ran out. The results are still written.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print events, one JSON object on each line."),
)
"""What ``merrow run`` and ``merrow resume`` share."""


def process_options(given: dict[str, Any]) -> dict[str, Any]:
    """The fields of `RunOptions` that `RUN_OPTIONS` say; those not given are left out."""
    fields: dict[str, Any] = {
        name: given[name]
        for name in ("base_url", "concurrency", "budget_usd", "budget_tokens", "budget_seconds", "reuse", "sandbox")
        if given.get(name) is not None
    }
    fields.update({name: Path(given[name]) for name in ("record", "replay") if given.get(name) is not None})
    if given["allow_unsafe_code"]:
        fields["allow_unsafe"] = True
    return fields
