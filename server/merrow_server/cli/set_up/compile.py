"""``merrow compile``: a workflow as a Python program."""

from __future__ import annotations

from pathlib import Path

import click

from merrow_server.cli import NOT_WELL, Command
from merrow_server.cli.given import shell_completion
from merrow_server.errors import InputError
from merrow_server.files import SourceText, write_stdout
from merrow_server.rendering.output import complain
from merrow_server.rendering.terminal import echo

_PROGRAMS = (".py", ".pyz")


@click.command(
    "compile",
    cls=Command,
    epilog="""
    merrow compile flow.mmd -o flow.py          a short program that imports Merrow
    python flow.py --input problem="What is 6 times 7?"
    merrow compile flow.mmd --standalone -o flow.pyz   one file with all of Merrow that it needs
    merrow compile --check flow.py              whether it is still what its workflow says
    """,
)
@click.argument("file", metavar="[FILE]", required=False, shell_complete=shell_completion.files)
@click.option("-o", "--output", metavar="FILE.py", help="Write the program to this file; otherwise it is printed.")
@click.option("--standalone", is_flag=True, help="Write one file, FILE.pyz, that needs no installed Merrow.")
@click.option(
    "--check",
    "checked",
    metavar="FILE.py",
    multiple=True,
    help="Write nothing; check that this program is up to date with its workflow.",
)
@click.argument("more", metavar="", nargs=-1, required=False)
@click.pass_context
def command(
    ctx: click.Context,
    file: str | None,
    output: str | None,
    standalone: bool,
    checked: tuple[str, ...],
    more: tuple[str, ...],
) -> None:
    """Compile the workflow in FILE (FILE.md#2: its second block) to a Python program.

    The program reads from top to bottom: prompts, one line for each node, the command line. It asks exactly what
    `merrow run` asks, prints the same and ends with the same exit code. Each can replay the other's recordings.

    With --standalone the program is in one file with Merrow's own code. To replay a recording it needs nothing but
    Python; to ask a model it needs the package openai, and to use tools the package mcp.

    With --check the exit code is 1 when the workflow or the program has changed since it was compiled, or another
    version of Merrow compiled it. Without FILE, the workflow that the program names is used.
    """
    from merrow_server.compiling import compiled, out_of_date, write_program

    if checked:
        if output is not None or standalone:
            raise InputError("--check goes with FILE alone: the program says itself how it was compiled.")
        names = [name for name in (file, *more) if name is not None]
        sources = [name for name in names if not name.endswith(_PROGRAMS)]
        programs = [*checked, *(name for name in names if name.endswith(_PROGRAMS))]
        if len(sources) > 1 or (sources and len(programs) > 1):
            raise InputError("One program is checked against a FILE; without FILE each names its own workflow.")
        wrong = 0
        for path in programs:
            why = out_of_date(Path(path), sources[0] if sources else None)
            if why is not None:
                wrong += 1
                complain(why)
        if wrong:
            ctx.exit(NOT_WELL)
        return
    if file is None:
        raise InputError("Name the workflow: merrow compile FILE -o FILE.py")
    if more:
        raise InputError(
            f"One workflow is compiled at a time, but got {more[0]} as well. The program is named with -o."
        )
    if standalone and output is None:
        raise InputError("--standalone needs -o FILE.pyz: an archive is not printed.")
    program = compiled(file, output)
    if output is None:
        write_stdout(SourceText(program))
        return
    write_program(Path(output), program, alone=standalone)
    echo(f"{output} is written.")
