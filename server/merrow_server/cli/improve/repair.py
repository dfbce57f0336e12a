"""``merrow repair``: the smallest edits that make workflow files valid, shown as a difference or applied."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from merrow_analysis.diagnostics import Severity
from merrow_analysis.text import split_lines
from merrow_optimizer.repair.search import TIME_LIMIT, given_up
from merrow_server.changes.repairing import RepairedFile, repair_file
from merrow_server.checking import Checker
from merrow_server.cli import MISUSED, NOT_WELL, Command
from merrow_server.cli.options.common import INPUT_OPTIONS, format_option, paths_argument, with_options
from merrow_server.errors import InputError, RunFailure
from merrow_server.faults import at_file
from merrow_server.files import SourceText, Target, discover, no_workflows, read, write, write_stdout
from merrow_server.positions import wire_range
from merrow_server.rendering.counts import counted
from merrow_server.rendering.json import diagnostic_object
from merrow_server.rendering.output import complain, print_diff
from merrow_server.rendering.terminal import echo, emit, style
from merrow_server.rendering.text import render_file
from merrow_server.settings import Settings


@click.command(
    "repair",
    cls=Command,
    epilog="""
    merrow repair flow.mmd                  the smallest repair, as a difference
    merrow repair --apply flow.mmd          write it
    merrow repair README.md#2               the second mermaid block of a Markdown file
    merrow repair --time 10 flow.mmd        search longer
    cat flow.mmd | merrow repair --apply - > repaired.mmd
    merrow repair --format json flow.mmd | jq '.[0].repairs'
    """,
)
@paths_argument
@click.option("--apply", "applying", is_flag=True, help="Write the repaired files.")
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(min=0, max=3600),
    default=TIME_LIMIT,
    show_default=True,
    metavar="SECONDS",
    help="How long to search in each diagram.",
)
@format_option("How to print the repairs.")
@with_options(INPUT_OPTIONS)
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[str, ...],
    applying: bool,
    seconds: float,
    output: str,
    stdin_filename: str | None,
    config: str | None,
    no_config: bool,
) -> None:
    """Search for the smallest edits that make workflows below PATHS valid, and print them as a difference.

    A repair leaves no errors and adds no warnings. It may change what a workflow does, so look at it before
    you apply it. Changing a label or port counts less than changing an edge, and an edge less than a node.

    The exit code is 0 when all files are valid after their repair, 1 when errors are left, 2 when a file could not be read.
    """
    settings = Settings(config, use_files=not no_config)
    run = _RepairRun(Checker(settings), seconds, applying=applying, as_json=output == "json")
    run.repair(paths, stdin_filename)
    for problem in (*run.problems, *settings.problems):
        complain(problem)
    if run.as_json:
        emit(json.dumps(run.objects, indent=2), err=run.wrote_to_stdout)
    if run.problems or settings.problems:
        ctx.exit(MISUSED)
    if run.has_errors:
        ctx.exit(NOT_WELL)


class _RepairRun:
    """One run over all targets. ``objects`` has each file as JSON; ``has_errors`` says whether any is left."""

    def __init__(self, checker: Checker, seconds: float, *, applying: bool, as_json: bool) -> None:
        self._checker, self._seconds, self._applying = checker, seconds, applying
        self.as_json = as_json
        self.problems: list[str] = []
        self.objects: list[dict[str, Any]] = []
        self.has_errors = False
        self.wrote_to_stdout = False

    def repair(self, paths: Sequence[str], stdin_name: str | None) -> None:
        discovered = discover(paths, stdin_name)
        self.problems += discovered.problems
        barren = {target.folder for target in discovered.targets if target.folder is not None}
        for target in discovered.targets:
            try:
                if self._repair(target):
                    barren.discard(target.folder or "")
            except InputError as problem:
                self.problems.append(str(problem))
                barren.discard(target.folder or "")
            except RunFailure:
                raise
            except Exception as problem:  # noqa: BLE001 (told, or raised again)
                self.problems.append(at_file(target, problem))
                barren.discard(target.folder or "")
        self.problems += map(no_workflows, sorted(barren))

    def _repair(self, target: Target) -> bool:
        """Repair ``target``; whether it has a diagram at all. Raises `InputError`."""
        source = read(target)
        done = repair_file(self._checker, target, source.text, self._seconds)
        if not done.diagrams:
            return False
        self.has_errors |= any(finding.severity is Severity.ERROR for finding in done.left)
        if self.as_json:
            self.objects.append(self._object(target, source.text, done))
        elif not self._applying:
            print_diff(target.name, source.text, done.text)
        if self._applying:
            if target.path is None:
                self.wrote_to_stdout = True
                write_stdout(SourceText(done.text, source.bom))
            elif done.edits:
                write(target.path, SourceText(done.text, source.bom))
        if not self.as_json:
            self._tell(target, done)
        return True

    def _tell(self, target: Target, done: RepairedFile) -> None:
        """What was repaired and what is left, in words, beside the difference."""
        name = style(target.name, bold=True)
        warning = given_up(done.steps)
        if warning is not None:
            echo(f"{name}: {warning}", err=True)
        if done.steps:
            verb = "Made" if self._applying else "Would make"
            smallest = ", the smallest there is" if done.is_smallest and done.is_valid else ""
            echo(f"{name}: {verb} {counted(len(done.steps), 'change')} (weight {done.weight}{smallest}).", err=True)
            for step in done.steps:
                echo(f"  {step.title} ({', '.join(step.codes)})" if step.codes else f"  {step.title}", err=True)
        if done.left:
            echo(f"{name}: {counted(len(done.left), 'finding')} left; no repair was found within the limit.", err=True)
            echo(render_file(self._checker.report(target, done.text, done.left)), err=True)
        elif not done.steps:
            echo(f"{name}: There is nothing to repair.", err=True)

    def _object(self, target: Target, text: str, done: RepairedFile) -> dict[str, Any]:
        lines = split_lines(text)
        report = self._checker.report(target, done.text, done.left)
        return {
            "file": target.name,
            "valid": done.is_valid,
            "smallest": done.is_smallest,
            "weight": done.weight,
            "repairs": [{"title": step.title, "weight": step.weight, "codes": list(step.codes)} for step in done.steps],
            "edits": [{"range": wire_range(lines, edit.range), "newText": edit.new_text} for edit in done.edits],
            "left": [diagnostic_object(report, finding) for finding in done.left],
        }
