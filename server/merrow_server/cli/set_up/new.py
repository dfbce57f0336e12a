"""``merrow new``: a workflow file to start from."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from merrow_server.cli import MISUSED, OK, Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import format_option
from merrow_server.rendering.output import complain
from merrow_server.rendering.terminal import echo, emit, style

if TYPE_CHECKING:
    from merrow_server.templates import WorkflowTemplate

_DEFAULT = "chain_of_thought"
_SUFFIXES = (".mmd", ".mermaid")
# Endings of files that people also keep workflows in or beside, where `.mmd` behind it would surprise them.
_OTHER_SUFFIXES = (".md", ".markdown", ".py", ".json", ".yaml", ".yml", ".toml", ".txt")


@click.command(
    "new",
    cls=Command,
    epilog="""
    merrow new flow.mmd
    merrow new review.mmd --template self_refine
    merrow new --list
    """,
)
@click.argument("name", required=False)
@click.option(
    "--template",
    metavar="T",
    shell_complete=shell_completion.patterns,
    default=_DEFAULT,
    show_default=True,
    help="The pattern to start from.",
)
@click.option("--list", "listing", is_flag=True, help="List all patterns and write nothing.")
@format_option("How to print the list.")
@click.pass_context
def command(ctx: click.Context, name: str | None, template: str, listing: bool, output: str) -> None:
    """Write a workflow file NAME that starts from a known pattern. An existing file is never overwritten.

    .mmd is added to a NAME that does not end with .mmd or .mermaid.
    """
    from merrow_server.templates import templates

    known = templates()
    if listing:
        if output == "json":
            emit(json.dumps([template.listed() for template in known.values()], indent=2, ensure_ascii=False))
        else:
            _print_list(known.values())
        return
    if name is None:
        raise click.UsageError("Name the new file, such as `merrow new flow.mmd`.", ctx)
    if template not in known:
        from merrow_analysis.suggest import closest

        near = closest(template, known)
        hint = f" Did you mean {near}?" if near else " `merrow new --list` shows all templates."
        complain(f"There is no template {template}.{hint}")
        ctx.exit(MISUSED)
    problem = _no_name(name)
    path = Path(name if name.endswith(_SUFFIXES) else f"{name}.mmd")
    if problem is None:
        problem = _written(path, known[template].as_file(path.name))
    if problem is not None:
        complain(problem)
        ctx.exit(MISUSED)
    quoted = shlex.quote(str(path))
    echo(f"{path} is written: {known[template].title}.")
    for need in known[template].needs():
        echo(need)
    echo(f"Next: merrow check {quoted}, then merrow run {quoted} --dry-run")
    ctx.exit(OK)


def _print_list(known: Collection[WorkflowTemplate]) -> None:
    """All patterns, under what they are for."""
    width = max((len(template.name) for template in known), default=0)
    for group, members in groupby(known, attrgetter("group")):
        echo(style(group, bold=True))
        for template in members:
            echo(f"  {template.name:<{width}}  {template.title}")


def _no_name(name: str) -> str | None:
    """Why a workflow file can't be named like this, as a sentence."""
    if Path(name).name in _SUFFIXES:
        return f"A file needs a name of its own: {_example(Path(name).with_name('flow.mmd'))}"
    if Path(name).name in ("", "..") or name.endswith(("/", os.sep)) or Path(name).is_dir():
        return f"A file needs a name of its own: {_example(Path(name) / 'flow.mmd')}"
    if name.endswith(_OTHER_SUFFIXES):
        return f"A workflow file ends with .mmd or .mermaid: {_example(Path(name).with_suffix('.mmd'))}"
    return None


def _example(path: Path) -> str:
    return f"merrow new {shlex.quote(str(path))}"


def _written(path: Path, text: str) -> str | None:
    """Write a new file; why that can't be, as a sentence."""
    from merrow_runtime.program.workflow_files import reason_of

    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return f"{path} already exists; choose another name."
    except FileNotFoundError:
        return f"{path} can't be written: the folder {path.parent} does not exist. Make it first."
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else "a name can't have that character"
        return f"{path} can't be written: {reason}."
    return None
