"""``merrow new``: a workflow file to start from."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from merrow_server.cli import MISUSED, OK, Command
from merrow_server.cli.given import words
from merrow_server.cli.output import complain
from merrow_server.rendering.terminal import echo, emit, style

_DEFAULT = "chain_of_thought"
_SUFFIXES = (".mmd", ".mermaid")


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
    shell_complete=words.patterns,
    default=_DEFAULT,
    show_default=True,
    help="The pattern to start from.",
)
@click.option("--list", "listing", is_flag=True, help="List the patterns there are, and write nothing.")
@click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print the list.",
)
@click.pass_context
def command(ctx: click.Context, name: str | None, template: str, listing: bool, output: str) -> None:
    """Write a workflow file NAME that starts from a known pattern. A file that is there already is never overwritten.

    NAME gets the ending .mmd where it has none.
    """
    from merrow_server.templates import templates

    known = templates()
    if listing:
        if output == "json":
            told = [{"name": one.name, "title": one.title, "source": one.source} for one in known.values()]
            emit(json.dumps(told, indent=2, ensure_ascii=False))
        else:
            width = max(map(len, known), default=0)
            for one in known.values():
                echo(f"{style(f'{one.name:<{width}}', bold=True)}  {one.title}")
        return
    if name is None:
        raise click.UsageError("Say how the file is to be called, such as `merrow new flow.mmd`.", ctx)
    if template not in known:
        from merrow_analysis.suggest import closest

        near = closest(template, known)
        hint = f" Did you mean {near}?" if near else " `merrow new --list` shows all."
        complain(f"There is no template {template}.{hint}")
        ctx.exit(MISUSED)
    path = Path(name if name.endswith(_SUFFIXES) else f"{name}.mmd")
    problem = _written(path, known[template].text)
    if problem is not None:
        complain(problem)
        ctx.exit(MISUSED)
    said = shlex.quote(str(path))
    echo(f"{path} is written: {known[template].title}.")
    echo(f"Next: merrow check {said}, then merrow run {said} --dry-run")
    ctx.exit(OK)


def _written(path: Path, text: str) -> str | None:
    """Write a new file; why that can't be, as a sentence."""
    from merrow_runtime.program.files import reason_of

    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return f"{path} is there already; choose another name."
    except FileNotFoundError:
        return f"{path} can't be written: the folder {path.parent} does not exist. Make it first."
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else "a name can't have that character"
        return f"{path} can't be written: {reason}."
    return None
