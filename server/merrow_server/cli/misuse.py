"""What is said to a command line that can't be read: what was probably meant, and what to type."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Collection, Mapping
from inspect import cleandoc
from pathlib import Path

import click

MEANT: Mapping[str, str] = {
    "benchmark": "evaluate",
    "build": "compile",
    "continue": "resume",
    "convert": "import",
    "create": "new",
    "draw": "render",
    "eval": "evaluate",
    "exec": "run",
    "execute": "run",
    "export": "render",
    "fix": "check --fix",
    "format": "fmt",
    "generate": "plan",
    "help": "--help",
    "history": "runs",
    "init": "new",
    "kill": "cancel",
    "lint": "check",
    "list": "runs",
    "log": "show",
    "logs": "show",
    "ls": "runs",
    "lsp": "serve",
    "open": "render",
    "replay": "run --replay",
    "search": "optimize",
    "server": "serve",
    "start": "run",
    "stats": "metrics",
    "status": "runs",
    "stop": "cancel",
    "templates": "new --list",
    "validate": "check",
    "verify": "check",
    "version": "--version",
}
"""What other programs call a thing, and what to type after ``merrow`` for it."""

_WORKFLOWS = (".mmd", ".mermaid", ".md")

_ALSO: Mapping[str, str] = {
    "run": "An input is given with --input, such as --input problem='What is 6 times 7?'.",
    "plan": "Put the task into quotation marks.",
    "evaluate": "Data is given with --dataset.",
    "rules": "The page of a rule is shown by: merrow explain CODE.",
}
"""What is said besides where a command gets too many words."""


_MOST_OFFERED = 3
_NO_NUMBER = re.compile(r"is not a valid (integer|float)(?: range)?")


def unknown_command(name: str, rest: Collection[str], commands: Collection[str]) -> str:
    """What to type in place of ``merrow NAME REST``, where ``name`` is not one of the ``commands``."""
    wrong = f"There is no command {name}."
    if name == "help" and (named := next((word for word in rest if word in commands), None)):
        return f"{wrong} Did you mean merrow {named} --help?"
    if name.partition("#")[0].endswith(_WORKFLOWS) or Path(name).is_file():
        file = shlex.quote(name)
        return f"{wrong} Run a file with: merrow run {file}, or check it with: merrow check {file}."
    from merrow_analysis.suggest import closest

    near = MEANT.get(name.casefold()) or closest(name, commands)
    return f"{wrong} Did you mean merrow {near}?" if near else wrong


def unknown_option(problem: click.NoSuchOption) -> str:
    """What a single letter, or a mistyped option, may stand for."""
    name = problem.option_name
    near = list(problem.possibilities or ())
    if not near and problem.ctx is not None and len(name) == len("-x"):
        options = [option for parameter in problem.ctx.command.get_params(problem.ctx) for option in parameter.opts]
        near = sorted(option for option in options if option.startswith(f"-{name}"))
    hint = f" Did you mean {' or '.join(near)}?" if 0 < len(near) <= _MOST_OFFERED else ""
    return f"There is no option {name}.{hint}"


def missing(problem: click.MissingParameter) -> str:
    """How to give what a command can't do without: by its first example, with a file of this folder where it wants one."""
    wanted, ctx = problem.param, problem.ctx
    if wanted is None or ctx is None:
        return problem.format_message()
    name = wanted.make_metavar(ctx) if isinstance(wanted, click.Argument) else wanted.opts[-1]
    if wanted.name == "file":
        file = _some_file()
        if file is None:
            return f"{name} is missing, and this folder has no workflow. Begin one with: merrow new flow.mmd"
        example = f"{ctx.command_path} {shlex.quote(file)}"
    else:
        example = next(iter(cleandoc(ctx.command.epilog or "").splitlines()), "").partition("   ")[0]
    return f"{name} is missing. Example: {example}" if example else problem.format_message()


def _some_file() -> str | None:
    """A workflow of this folder; None where it has none, or can't be read."""
    with contextlib.suppress(OSError):
        return min(
            (path.name for path in Path().iterdir() if path.suffix in _WORKFLOWS[:2] and path.is_file()), default=None
        )
    return None


def ill_formed(problem: click.BadParameter) -> str:
    """What is wrong with a value, in the words of people."""
    return _NO_NUMBER.sub(
        lambda match: f"is not a {'whole ' if match[1] == 'integer' else ''}number", problem.format_message()
    )


def too_many(ctx: click.Context) -> str:
    """What is said where words are left that the command has no use for."""
    left = shlex.join(ctx.args)
    takes = " ".join(
        parameter.make_metavar(ctx) for parameter in ctx.command.params if isinstance(parameter, click.Argument)
    )
    wrong = f"{ctx.command_path} takes {takes or 'no arguments'}, but got {left}{' as well' if takes else ''}."
    return " ".join([wrong, *filter(None, [_ALSO.get(ctx.info_name or "")])])
