"""``merrow costs``: what calls to models cost, over all runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import Command
from merrow_server.cli.options.common import format_option
from merrow_server.rendering.snippet import cells, visible
from merrow_server.rendering.terminal import echo, emit

if TYPE_CHECKING:
    from merrow_runtime.spending.ledger import Spent

_SUMS = ("calls", "prompt_tokens", "completion_tokens", "usd", "unpriced", "open")


@click.command(
    "costs",
    cls=Command,
    epilog="""
    merrow costs                       by day, this month
    merrow costs --by model            by endpoint and model
    merrow costs --month 2026-11       of another month
    merrow costs --all --by workflow   of all time
    """,
)
@click.option(
    "--by",
    type=click.Choice(["workflow", "model", "day"]),
    default="day",
    show_default=True,
    help="Group the costs by this.",
)
@click.option("--month", metavar="YYYY-MM", help="Show this month (UTC) instead of the current one.")
@click.option("--all", "everything", is_flag=True, help="Include all months.")
@format_option()
def command(by: str, month: str | None, everything: bool, output: str) -> None:
    """Show what calls to models cost: all runs and evaluations of this user on this machine, including deleted ones.

    Prices are those known when a call was made; calls without a known price are counted separately. The embedded model
    costs nothing and is not listed.
    """
    from merrow_runtime.models.user_settings import read_user_settings
    from merrow_runtime.spending.ledger import ledger

    if month is not None and everything:
        raise click.UsageError("Either --month or --all, not both.")
    chosen = None if everything else _month(month)
    known = ledger(reading=True)
    spent = known.spent() if chosen is None else known.spent(f"{chosen}-01", f"{chosen}-31")
    rows = _summed(spent, _KEYS[by])
    cap = read_user_settings().limits.month_usd
    now = f"{datetime.now(UTC):%Y-%m}"
    if output == "json":
        emit(json.dumps({"month": chosen, "by": by, "rows": rows, "month_usd": cap}, indent=2))
        return
    if not rows:
        echo("Nothing was spent" + ("." if chosen is None else f" in {chosen}."), err=True)
    else:
        _print(rows)
    if cap is not None and chosen == now:
        total = sum(row["usd"] for row in rows)
        echo(f"Your settings allow {cap:g} US dollars a month; {max(0.0, cap - total):.4f} are left.")


def _month(given: str | None) -> str:
    if given is None:
        return f"{datetime.now(UTC):%Y-%m}"
    try:
        return f"{datetime.strptime(given, '%Y-%m'):%Y-%m}"
    except ValueError:
        raise click.UsageError(f"--month {given} is not a month; write it as 2026-11.") from None


_KEYS: dict[str, Callable[[Spent], dict[str, str]]] = {
    "workflow": lambda spent: {"workflow": spent.workflow},
    "model": lambda spent: {"endpoint": spent.origin, "model": spent.model},
    "day": lambda spent: {"day": spent.day},
}


def _summed(spent: list[Spent], key: Callable[[Spent], dict[str, str]]) -> list[dict[str, Any]]:
    """A row for each key, the dearest first; days in order."""
    sums: dict[tuple[str, ...], dict[str, Any]] = {}
    for spending in spent:
        named = key(spending)
        row = sums.setdefault(tuple(named.values()), {**named, **dict.fromkeys(_SUMS, 0)})
        values = asdict(spending)
        for name in _SUMS:
            row[name] += values[name]
    rows = list(sums.values())
    return rows if rows and "day" in rows[0] else sorted(rows, key=lambda row: (-row["usd"], -row["calls"]))


def _print(rows: list[dict[str, Any]]) -> None:
    names = [name for name in rows[0] if name not in _SUMS]
    total = {**dict.fromkeys(names, ""), **{name: sum(row[name] for row in rows) for name in _SUMS}, names[0]: "in all"}
    table = [[*names, "calls", "tokens", "US dollars"], *(_cells(row, names) for row in [*rows, total])]
    widths = [max(cells(line[column]) for line in table) for column in range(len(table[0]))]
    for line in table:
        padded = [
            value + " " * (width - cells(value)) if place < len(names) else " " * (width - cells(value)) + value
            for place, (value, width) in enumerate(zip(line, widths, strict=True))
        ]
        echo("  ".join(padded).rstrip())
    if total["unpriced"]:
        calls = "1 call has" if total["unpriced"] == 1 else f"{total['unpriced']} calls have"
        echo(f"+ {calls} no known price; name one under `[prices]` in your own settings.")
    if total["open"]:
        calls = "1 call has" if total["open"] == 1 else f"{total['open']} calls have"
        echo(f"{calls} no known end, being under way or of a process that was killed: counted without an answer.")


def _cells(row: dict[str, Any], names: list[str]) -> list[str]:
    plus = "+" if row["unpriced"] else ""
    tokens = row["prompt_tokens"] + row["completion_tokens"]
    labels = [
        visible(row[name]) or "(runs that keep nothing)" if row[name] != "" or name == "workflow" else ""
        for name in names
    ]
    return [*labels, f"{row['calls']:,}", f"{tokens:,}", f"{row['usd']:.4f}{plus}"]
