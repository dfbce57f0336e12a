"""``merrow compile``: a workflow as a Python program."""

from __future__ import annotations

from pathlib import Path

import click

from merrow_server.cli import NOT_WELL, Command
from merrow_server.cli.given import words
from merrow_server.cli.output import complain
from merrow_server.errors import InputError
from merrow_server.files import Source, write_bytes, write_stdout
from merrow_server.rendering.terminal import echo


@click.command(
    "compile",
    cls=Command,
    epilog="""
    merrow compile flow.mmd -o flow.py          a program that runs without Merrow
    python flow.py --input problem="What is 6 times 7?"
    merrow compile flow.mmd -o flow.py --support shared.py
    merrow compile flow.mmd -o flow.py --runtime
    merrow compile --check flow.py              whether it is still what its workflow says
    """,
)
@click.argument("file", metavar="[FILE]", required=False, shell_complete=words.files)
@click.option("-o", "--output", metavar="FILE.py", help="Write the program to this file; otherwise it is printed.")
@click.option("--runtime", is_flag=True, help="Write a short program that imports Merrow's runtime.")
@click.option(
    "--support",
    metavar="FILE.py",
    help="Put Merrow's own code into this module beside it, which several programs can share.",
)
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
    runtime: bool,
    support: str | None,
    checked: tuple[str, ...],
    more: tuple[str, ...],
) -> None:
    """Compile the workflow in FILE (FILE.md#2: its second block) to a Python program.

    The program reads from top to bottom: prompts, one line for each node, the command line. Merrow's own code,
    which carries it out, follows below a marked line. The program asks exactly what `merrow run` asks, prints
    the same and ends with the same exit code. Each can replay the other's recordings.

    With --check the exit code is 1 when the workflow or the program has changed since it was compiled. Without
    FILE, the workflow that the program names is used.
    """
    from merrow_server.compiling import compiled, out_of_date, written

    if checked:
        if output is not None or runtime or support is not None:
            raise InputError("--check goes with FILE alone: the program says itself how it was compiled.")
        said = [one for one in (file, *more) if one is not None]
        sources = [one for one in said if not one.endswith(".py")]
        programs = [*checked, *(one for one in said if one.endswith(".py"))]
        if len(sources) > 1 or (sources and len(programs) > 1):
            raise InputError("One program is checked against a FILE; without FILE each names its own workflow.")
        wrong = 0
        for one in programs:
            why = out_of_date(Path(one), sources[0] if sources else None)
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
    program = compiled(file, output, runtime=runtime, support=support)
    if output is None:
        write_stdout(Source(program.text))
        return
    for path, text in written(Path(output), support, program):
        write_bytes(path, text.encode())
        echo(f"{path} is written.")
