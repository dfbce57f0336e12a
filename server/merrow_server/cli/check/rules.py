"""``merrow rules``: what Merrow checks."""

from __future__ import annotations

import json
import sys

import click

from merrow_analysis.rules.registry import Rule, all_rules
from merrow_server.cli import Command
from merrow_server.cli.options.common import format_option
from merrow_server.rendering.terminal import console, echo, emit

_COLOUR = {"error": "red", "warning": "yellow", "hint": "cyan"}
_FIX = {"none": "", "sometimes": "sometimes", "always": "yes"}


@click.command(
    "rules",
    cls=Command,
    epilog="""
    merrow rules
    merrow rules --format json
    """,
)
@format_option()
def command(output: str) -> None:
    """List all rules: code, name, severity, summary, and whether there is a fix."""
    rules = all_rules()
    if output == "json":
        emit(json.dumps([rule_object(rule) for rule in rules], indent=2))
    elif sys.stdout.isatty():
        _print_table(rules)
    else:
        for rule in rules:
            echo(f"{rule.code}  {rule.severity.value:<7}  {rule.name}: {rule.summary}")


def rule_object(rule: Rule) -> dict[str, str]:
    """A rule for machines."""
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": rule.summary,
        "severity": rule.severity.value,
        "since": rule.since,
        "fix": rule.fix,
    }


def _print_table(rules: list[Rule]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("code", "severity", "name", "fix"):
        table.add_column(heading, no_wrap=True)
    table.add_column("summary")
    for rule in rules:
        severity = rule.severity.value
        table.add_row(
            rule.code,
            f"[{_COLOUR[severity]}]{severity}[/]",
            rule.name,
            _FIX[rule.fix],
            rule.summary.replace("[", r"\["),
        )
    console().print(table)
