"""``merrow explain``: the page of one rule."""

from __future__ import annotations

import sys

import click

from merrow_analysis.rules.pages import shown_page
from merrow_analysis.rules.registry import all_rules, find_rule
from merrow_analysis.suggest import closest
from merrow_server.cli import Command
from merrow_server.cli.given import shell_completion
from merrow_server.rendering.terminal import console, echo


@click.command(
    "explain",
    cls=Command,
    epilog="""
    merrow explain MW105
    merrow explain ensemble-needs-two-sources
    """,
)
@click.argument("rule", metavar="CODE", shell_complete=shell_completion.rules)
@click.pass_context
def command(ctx: click.Context, rule: str) -> None:
    """Show the page of a rule, given its code or name: what it reports, why, and an example before and after."""
    known = find_rule(rule) or find_rule(f"MW{rule}")
    if known is None:
        near = closest(rule, [word for each in all_rules() for word in (each.code, each.name)])
        hint = f"Did you mean {near}?" if near else "merrow rules lists them all."
        raise click.UsageError(f"There is no rule {rule}. {hint}", ctx)
    page = shown_page(known.code) or f"# {known.code} {known.name}\n\n{known.summary}\n"
    if not sys.stdout.isatty():
        echo(page, nl=False)
        return
    from rich.markdown import Markdown

    terminal = console()
    terminal.print(Markdown(page), width=min(terminal.width, 100))
