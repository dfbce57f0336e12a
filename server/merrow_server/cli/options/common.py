"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from merrow_server.cli.given import shell_completion

_Function = TypeVar("_Function", bound=Callable[..., Any])

paths_argument = click.argument(
    "paths",
    nargs=-1,
    metavar="[PATHS]...",
    callback=lambda _c, _p, value: value or (".",),
    shell_complete=shell_completion.files,
)
"""Files, folders, ``FILE.md#2``, or ``-``; this folder where there are none."""

diagram_argument = click.argument("file", metavar="FILE", shell_complete=shell_completion.files)
"""One diagram: a file, ``FILE.md#2``, or ``-`` for standard input."""

CONFIG_OPTIONS = (
    click.option(
        "--config",
        metavar="FILE",
        shell_complete=shell_completion.files,
        help="Read settings from this file instead of the nearest merrow.toml.",
    ),
    click.option("--no-config", is_flag=True, help="Ignore all settings files."),
)
stdin_filename_option = click.option(
    "--stdin-filename", metavar="NAME", help="The file name to use for standard input (-)."
)
INPUT_OPTIONS = (stdin_filename_option, *CONFIG_OPTIONS)


def format_option(
    what: str = "How to print.", forms: Sequence[str] = ("text", "json")
) -> Callable[[_Function], _Function]:
    """``--format``, as ``output``, with ``what`` as its help; the first of the ``forms`` is the default."""
    return click.option("--format", "output", type=click.Choice(forms), default=forms[0], show_default=True, help=what)


def with_options(options: Sequence[Callable[[_Function], _Function]]) -> Callable[[_Function], _Function]:
    """Several options as one decorator, listed by ``--help`` in the order given."""

    def decorate(function: _Function) -> _Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate
