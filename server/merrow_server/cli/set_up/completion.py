"""``merrow completion``: what makes a shell complete the words of a command line."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from merrow_server.cli import COMPLETION, NOT_WELL, OK, Command, program
from merrow_server.rendering.terminal import emit

_PROGRAM = "merrow"


class _Bash(BashComplete):
    """Bash, which would put a space behind ``problem=`` and ``NODE.``, where the value is still to come."""

    source_template = BashComplete.source_template.replace(
        "COMPREPLY+=($value)", 'COMPREPLY+=("$value"); [[ $value == *[=.] ]] && compopt -o nospace'
    )


_SHELLS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": ZshComplete, "fish": FishComplete}


@click.command(
    "completion",
    cls=Command,
    epilog="""
    eval "$(merrow completion bash)"                                   in ~/.bashrc
    eval "$(merrow completion zsh)"                                    in ~/.zshrc, below compinit
    merrow completion fish > ~/.config/fish/completions/merrow.fish    once
    """,
)
@click.argument("shell", metavar="SHELL", type=click.Choice(list(_SHELLS)))
def command(shell: str) -> None:
    """Print a script that makes SHELL (bash, zsh or fish) complete commands, options, files, nodes, inputs, runs, rules and
    patterns.

    Bash must be version 4.4 or newer.
    """
    emit(_SHELLS[shell](program, {}, _PROGRAM, COMPLETION).source())


def answer(asked: str) -> int:
    """Answer what a shell asks: ``bash_complete`` and so on, with the command line in the environment; the exit code.

    A person is in the middle of a line there, so whatever goes wrong, nothing is written and nothing is completed.
    """
    shell = _SHELLS.get(asked.removesuffix("_complete"))
    if shell is None:
        return NOT_WELL
    try:
        found = shell(program, {}, _PROGRAM, COMPLETION).complete()
    except Exception:  # noqa: BLE001 (a traceback would be drawn over the line that is being typed)
        return NOT_WELL
    emit(found)
    return OK
