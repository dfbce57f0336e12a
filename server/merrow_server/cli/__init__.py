"""The program ``merrow``: one file for each command, loaded when it is called."""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

import click

from merrow_server.errors import RunFailure
from merrow_server.rendering.terminal import colour, echo, guard, style

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMPLETION = "_MERROW_COMPLETE"
"""The environment variable by which a shell asks for what could come next on its command line."""
_INSECURE = "--insecure-store"
OK, NOT_WELL, MISUSED, WAITS, INTERRUPTED = 0, 1, 2, 3, 130

GROUPS: dict[str, dict[str, str]] = {
    "Check": {
        "check": "Find mistakes in workflow files, and repair what is safe.",
        "fmt": "Format workflow files.",
        "explain": "Show the page of a rule: what, why, and how to fix it.",
        "rules": "List all rules.",
    },
    "Run": {
        "run": "Run a workflow.",
        "runs": "List the runs in the journal.",
        "show": "Show one run of the journal, or an evaluation, a search, a plan, ...",
        "view": "Show a workflow, a run, an evaluation, ... in a browser, while it changes.",
        "share": "Write a run, an evaluation, a search, ... as one page to pass on.",
        "resume": "Continue a run, an evaluation, a search, a plan, ... that stopped before it finished.",
        "answer": "Answer a question that a run asks people, and continue the run.",
        "revise": "Change the workflow of a run and continue it, keeping the results that are still valid.",
        "diff": "Show which results a run would keep with another version of its workflow.",
        "cancel": "Stop a run, an evaluation, a search, a plan, ... in another process.",
        "up": "Serve a workflow on this machine, over HTTP and as a tool of the Model Context Protocol.",
        "costs": "Show what calls to models cost, by day, workflow or model.",
    },
    "Improve": {
        "optimize": "Search for a better workflow, and test the best one on held-out items.",
        "optimizations": "List the searches in the journal.",
        "extract": "Extract a library of tested operators from solved cases.",
        "mutate": "List, apply or draw safe mutations, which keep a workflow valid.",
        "crossover": "Combine two workflows into valid children.",
        "suggest": "Ask a model for improvements, which are checked and judged.",
        "repair": "Find the smallest edits that make a workflow valid, and show or apply them.",
    },
    "Evaluate": {
        "test": "Run the test cases of workflows.",
        "evaluate": "Score a workflow on a data set, with confidence intervals.",
        "batch": "Run a workflow on every row of a data set, and write the answers into a file.",
        "evaluations": "List the evaluations in the journal.",
        "datasets": "List the data sets that are known by name: form, source, licence, hash.",
        "reproduce": "Reproduce the experiments of a paper, its table beside ours.",
        "rate": "Rate the answers of an evaluation, or compare or rank those of several.",
    },
    "Look inside": {
        "graph": "Print the typed graph of a workflow.",
        "metrics": "Measure a workflow: parallelism, dependencies, expected completion.",
        "render": "Draw a flowchart as SVG or PNG.",
        "parse": "Parse flowcharts as Mermaid does, many in one process.",
    },
    "Set up": {
        "new": "Create a workflow file from a known pattern.",
        "plan": "Plan a workflow for a task in words: several plans, ranked and judged.",
        "import": "Convert a LangGraph drawing, any flowchart or a Flow task graph to a workflow.",
        "compile": "Compile a workflow to a Python program that runs without Merrow.",
        "models": "List the models that are served, and where; choose the one to use.",
        "tools": "Add, pin, list and trust servers of tools (Model Context Protocol), and write your own.",
        "stores": "List, show, add, forget and export the texts that workflows have kept.",
        "env": "List the environments that workflows can act in, or serve one (ALFWorld).",
        "doctor": "Show what is installed, which endpoint is used and what the sandbox can do.",
        "journal": "Show where the journal is, check it, or copy it to another place.",
        "completion": "Print a script that makes a shell complete commands, files, nodes and runs.",
        "serve": "Run the language server: diagnostics, completion, hover and more in an editor.",
    },
}
"""The commands by what people do with them, each with a sentence. A group has a room of its name, with a file a command."""

COMMANDS = {name: help_ for group in GROUPS.values() for name, help_ in group.items()}

FIRST = ["new", "check", "fmt", "run", "show", "runs", "resume", "evaluate", "mutate", "optimize", "serve", "doctor"]
"""The commands that `merrow` lists first, in the order in which people meet them."""

_ROOMS = {name: title.lower().replace(" ", "_") for title, group in GROUPS.items() for name in group}
_MODULES = {"import": "import_drawing"}
"""The modules of commands whose names Python keeps for itself."""


class Command(click.Command):
    """A command whose ``epilog`` is its examples, printed as they are written.

    ``often`` has the options that people use, by what they are for; ``--help`` shows these, and
    ``--help-all`` all of them. Without it ``--help`` shows all.
    """

    allow_extra_args = True
    """They are refused below, in better words."""

    def __init__(self, *given: Any, often: Mapping[str, Sequence[str]] | None = None, **named: Any) -> None:
        super().__init__(*given, **named)
        self._often = often or {}
        if self._often:
            self.params.append(
                click.Option(
                    ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_help_all,
                    help="Show all options and exit.",
                )
            )  # fmt: skip

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options by what they are for, those that few need only where all are asked for."""
        if not self._often:
            super().format_options(ctx, formatter)
            return
        records = {
            max(option.opts, key=len): record
            for option in self.get_params(ctx)
            if isinstance(option, click.Option) and (record := option.get_help_record(ctx)) is not None
        }
        for title, names in self._often.items():
            with formatter.section(title):
                formatter.write_dl([records.pop(name) for name in names])
        ends = [records.pop(name) for name in ("--help", "--help-all")]
        if ctx.meta.get(_ALL):
            with formatter.section("More options"):
                formatter.write_dl(list(records.values()))
        with formatter.section("Help"):
            formatter.write_dl(ends)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            rest = super().parse_args(ctx, args)
        except click.UsageError as problem:
            problem.ctx = problem.ctx or ctx
            raise
        if rest and not ctx.resilient_parsing:
            from merrow_server.cli.misuse import too_many

            raise click.UsageError(too_many(ctx), ctx)
        return rest

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        write_examples(self.epilog, formatter)


_ALL = "merrow.help_all"


def _help_all(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        echo(ctx.get_help())
        ctx.exit()


def write_examples(examples: str | None, formatter: click.HelpFormatter) -> None:
    """Write ``examples`` line by line below a heading."""
    if examples:
        with formatter.section("Examples"):
            for line in cleandoc(examples).splitlines():
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


class CommandGroup(click.Group):
    """A group that knows its commands by name and imports a command's module only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        # What a command works out it keeps to its end: the collector would only walk over it, again and again.
        gc.set_threshold(200_000, 20, 100)
        module = f"{__name__}.{_ROOMS[cmd_name]}.{_MODULES.get(cmd_name, cmd_name)}"
        command = importlib.import_module(module).command
        assert isinstance(command, click.Command)  # noqa: S101 - for the type checker
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from merrow_server.cli.misuse import unknown_command

            raise click.UsageError(unknown_command(name, args[1:], COMMANDS), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        width = max(map(len, COMMANDS))
        rest = [name for name in COMMANDS if name not in FIRST]
        for title, names in (("Commands", FIRST), ("More commands", rest)):
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", COMMANDS[name]) for name in names])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Commands with their sentences, without importing any, and the options of the program itself."""
        from click.shell_completion import CompletionItem

        items = [CompletionItem(name, help=help_) for name, help_ in COMMANDS.items() if name.startswith(incomplete)]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        write_examples(self.epilog, formatter)


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version

        echo(f"merrow {version('merrow')}")
        ctx.exit()


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    epilog="""
    merrow check flow.mmd        what is wrong, where and why
    merrow check --fix .         repair what is safe to repair
    merrow explain MW105         what a rule means
    """,
)
@click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks; every command takes this option.")
@click.option(
    _INSECURE,
    is_flag=True,
    expose_value=False,
    help="Reach a journal on another machine without TLS; every command takes this option.",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
def program() -> None:
    """Merrow: agentic workflows written as Mermaid flowcharts."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program with ``arguments``, those of the process by default, and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = given[: given.index("--")] if "--" in given else given
    debug = "--debug" in options
    if (asked := os.environ.get(COMPLETION)) is not None:
        from merrow_server.cli.set_up.completion import answer

        return answer(asked)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # It was closed before the program began. Its number must not go to a file that is opened later.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 (until the end of the process)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A name or a message may hold what the terminal's encoding can't carry.
            stream.reconfigure(errors="backslashreplace")
    guard()
    try:
        with _raising() if debug else nullcontext():
            if _INSECURE in options:
                from merrow_runtime.store.address import INSECURE_VARIABLE

                os.environ[INSECURE_VARIABLE] = "1"
            code = _run([*(word for word in options if word not in ("--debug", _INSECURE)), *given[len(options) :]])
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough; what Python still holds goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOT_WELL
    except KeyboardInterrupt:
        return _interrupted()
    except Exception as problem:
        if debug:
            raise
        return _complain(_failed(problem))
    return code


def _raising() -> AbstractContextManager[None]:
    """Faults of Merrow are shown where they happen, not told as findings."""
    from merrow_analysis import faults

    return faults.raising()


def _failed(problem: Exception) -> str:
    """What went wrong that nothing foresaw: of a file that the system refuses, such as one with too long a name, the reason."""
    if isinstance(problem, OSError) and isinstance(problem.filename, str):
        from merrow_runtime.program.workflow_files import reason_of

        return f"{problem.filename} can't be used: {reason_of(problem)}."
    if isinstance(problem, OSError) and problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return "The output can't be written: the disk is full. Free some space, then run the command again."
    return f"Merrow failed: {type(problem).__name__}: {problem}. Run it with --debug to see where."


def _run(arguments: list[str]) -> int:
    try:
        with program.make_context("merrow", arguments, color=colour()) as context:
            program.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as problem:
        echo(problem.format_message())
        return MISUSED
    except click.UsageError as problem:
        path = problem.ctx.command_path if problem.ctx else "merrow"
        return _complain(f"{_sentence(_misuse(problem))} See {path} --help.")
    except click.ClickException as problem:
        return _complain(_sentence(problem.format_message()))
    except click.Abort:
        return _interrupted()
    except RunFailure as problem:
        from merrow_runtime.store.sql import Interruption

        code = _complain(str(problem))
        return INTERRUPTED if Interruption.is_wanted else code
    return OK


def _interrupted() -> int:
    """What Ctrl-C ends with: the shell's next line begins at the left."""
    if sys.stderr.isatty():
        echo("", err=True)
    return INTERRUPTED


def _misuse(problem: click.UsageError) -> str:
    """What is wrong with a command line, and what to type."""
    from merrow_server.cli import misuse

    if isinstance(problem, click.NoSuchOption):
        return misuse.unknown_option(problem)
    if isinstance(problem, click.MissingParameter):
        return misuse.missing(problem)
    if isinstance(problem, click.BadParameter):
        return misuse.ill_formed(problem)
    return problem.format_message()


def _sentence(text: str) -> str:
    """``text`` on one line, with its full stop."""
    line = " ".join(text.split())
    return line if line.endswith((".", "?", "!")) else line + "."


def _complain(sentence: str) -> int:
    echo(f"{style('merrow:', fg='red', bold=True)} {sentence}", err=True)
    return MISUSED
