"""``merrow fmt``: workflow files in one layout."""

from __future__ import annotations

import sys

import click

from merrow_analysis.formatting import FormatOptions, format_edits
from merrow_analysis.text import apply_edits
from merrow_runtime.program.workflow_files import diagrams
from merrow_server.cli import MISUSED, NOT_WELL, Command
from merrow_server.cli.options.common import paths_argument, stdin_filename_option
from merrow_server.errors import InputError, RunFailure
from merrow_server.faults import at_file
from merrow_server.files import SourceText, Target, discover, read, write, write_stdout
from merrow_server.rendering.counts import counted
from merrow_server.rendering.output import complain, print_diff, progress
from merrow_server.rendering.terminal import echo, style

_DEFAULTS = FormatOptions()


@click.command(
    "fmt",
    cls=Command,
    epilog="""
    merrow fmt flow.mmd                format one file
    merrow fmt --diff .                what would change below this folder
    merrow fmt --check .               for continuous integration
    cat flow.mmd | merrow fmt -        from standard input to standard output
    """,
)
@paths_argument
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a file is not formatted.")
@click.option("--diff", is_flag=True, help="The same, and print what would change.")
@click.option(
    "--indent-width",
    type=click.IntRange(0, 16),
    default=_DEFAULTS.indent_width,
    show_default=True,
    metavar="N",
    help="Spaces for each level.",
)
@click.option("--keep-semicolons", is_flag=True, help="Leave semicolons at the ends of lines.")
@stdin_filename_option
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[str, ...],
    check: bool,
    diff: bool,
    indent_width: int,
    keep_semicolons: bool,
    stdin_filename: str | None,
) -> None:
    """Format workflow files, and the mermaid blocks of Markdown files, below PATHS (this folder by default).

    The meaning never changes, and comments are kept. Files that can't be parsed are left as they are.
    """
    options = FormatOptions(indent_width, keep_semicolons)
    discovered = discover(paths, stdin_filename)
    problems = discovered.problems
    changed: list[str] = []
    for target in progress(discovered.targets, "Formatting"):
        try:
            source = read(target)
            text = formatted(target, source.text, options)
            if diff:
                print_diff(target.name, source.text, text)
            elif target.path is None and not check:
                write_stdout(SourceText(text, source.bom))
            elif text != source.text and target.path is not None and not check:
                write(target.path, SourceText(text, source.bom))
        except InputError as problem:
            problems.append(str(problem))
            continue
        except RunFailure:
            raise
        except Exception as problem:  # noqa: BLE001 (told, or raised again)
            problems.append(at_file(target, problem))
            continue
        if text != source.text:
            changed.append(target.name)
            if check and not diff:
                echo(f"{target.name} is not formatted.")
    for sentence in problems:
        complain(sentence)
    dry = check or diff
    if changed and (dry or discovered.targets[0].path is not None):
        would = "would be" if dry else "were" if len(changed) > 1 else "was"
        echo(f"{counted(len(changed), 'file')} {would} reformatted.", err=diff)
    elif not changed and not problems and sys.stdout.isatty() and all(target.path for target in discovered.targets):
        echo(f"{style('Nothing to change', fg='green')}: {counted(len(discovered.targets), 'file')}.")
    if problems:
        ctx.exit(MISUSED)
    if changed and dry:
        ctx.exit(NOT_WELL)


def formatted(target: Target, text: str, options: FormatOptions) -> str:
    """The text of ``target`` in house layout; in Markdown, only its mermaid blocks change."""
    if not target.is_markdown:
        return apply_edits(text, format_edits(text, options))
    edits = [
        edit for fence in diagrams(target, text) for edit in fence.edits_to_host(format_edits(fence.text, options))
    ]
    return apply_edits(text, edits)
