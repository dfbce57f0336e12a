"""``merrow check``: what is wrong in workflow files, and its repair."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from merrow_analysis import faults
from merrow_analysis.diagnostics import Applicability, Severity
from merrow_runtime.program.workflow_files import diagrams
from merrow_server.cli import MISUSED, NOT_WELL, Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import INPUT_OPTIONS, format_option, paths_argument, with_options
from merrow_server.errors import InputError, RunFailure
from merrow_server.files import CHECKED_ENDINGS, SourceText, Target, discover, no_workflows, read, write, write_stdout
from merrow_server.rendering.counts import counted
from merrow_server.rendering.output import complain, print_diff, progress
from merrow_server.rendering.terminal import echo, emit, style
from merrow_server.rendering.text import render_file, summary
from merrow_server.reports.findings_report import FileReport, Report

if TYPE_CHECKING:
    from merrow_server.checking import Checker


@click.command(
    "check",
    cls=Command,
    epilog="""
    merrow check flow.mmd                       one file
    merrow check .                              all workflow files below this folder
    merrow check README.md#2                    the second mermaid block of a Markdown file
    merrow check --diff flow.mmd                what --fix would change
    merrow check --fix --ignore MW4 flow.mmd    repair, without hints about style
    cat flow.mmd | merrow check - --stdin-filename flow.mmd
    merrow check --format sarif . > merrow.sarif
    """,
)
@paths_argument
@format_option("How to print the findings.", ("text", "json", "sarif", "github"))
@click.option(
    "--select",
    multiple=True,
    metavar="RULES",
    shell_complete=shell_completion.rules,
    help="Only these rules: codes, names or MW1 for a group.",
)
@click.option(
    "--ignore", multiple=True, metavar="RULES", shell_complete=shell_completion.rules, help="Skip these rules."
)
@click.option("--fix", is_flag=True, help="Repair what is safe to repair, and print what is left.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: also repairs that may change the meaning.")
@click.option("--diff", is_flag=True, help="Print what --fix would change, and change nothing.")
@click.option(
    "--as-workflow", is_flag=True, help="Read every flowchart as a workflow, even one that names no operators."
)
@with_options(INPUT_OPTIONS)
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[str, ...],
    output: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    as_workflow: bool,
    stdin_filename: str | None,
    config: str | None,
    no_config: bool,
) -> None:
    """Check workflow files, and the mermaid blocks of Markdown files, below PATHS (this folder by default).

    The exit code is 0 when there are no errors, 1 when there are errors, 2 when a file could not be read. Where
    Merrow itself fails at a file or at a rule, that is the finding MW590.
    """
    if unsafe_fixes and not (fix or diff):
        raise click.UsageError("--unsafe-fixes needs --fix to write the repairs or --diff to look at them.", ctx)
    if diff and output != "text":
        raise click.UsageError(f"--diff prints a diff; leave out --format {output}.", ctx)
    from merrow_server.checking import Checker  # here, since a shell that completes this command needs none of it
    from merrow_server.settings import Settings

    least = Applicability.UNSAFE if unsafe_fixes else Applicability.SAFE
    written = least if fix and not diff else None
    settings = Settings(config, use_files=not no_config, select=select, ignore=ignore, least=written)
    checker, shows = Checker(settings, as_workflow=as_workflow), output == "text" and not diff
    run = _CheckRun(checker, least if fix or diff else None, diff=diff, shows=shows)
    report = run.check(paths, stdin_filename)
    report.problems += settings.problems
    report.files += settings.reports
    run.shown += [render_file(file) for file in settings.reports if file.diagnostics]
    run.applied.update(sum(settings.repaired, Counter()))
    run.repaired_files += len(settings.repaired)
    for problem in report.problems:
        complain(problem)
    if diff:
        _say_what_a_fix_would_do(run)
    else:
        _print(report, output, run)
    if report.problems:
        ctx.exit(MISUSED)
    if report.count()[Severity.ERROR]:
        ctx.exit(NOT_WELL)


class _CheckRun:
    """One run over all targets. ``least`` is None unless fixes are wanted; ``diff`` says not to write them.

    With ``shows``, the findings are written for people (``shown``) while what is known of their file is still at hand.
    """

    def __init__(self, checker: Checker, least: Applicability | None, *, diff: bool, shows: bool) -> None:
        self._checker = checker
        self._least = least
        self._diff = diff
        self._shows = shows
        self.shown: list[str] = []
        self.report = Report()
        self.applied: Counter[str] = Counter()
        self.repaired_files = 0
        self.wrote_to_stdout = False

    def check(self, paths: Sequence[str], stdin_name: str | None) -> Report:
        discovered = discover(paths, stdin_name, CHECKED_ENDINGS)
        self.report.problems += discovered.problems
        # A folder in which nothing was there to check is a mistake of whoever named it.
        barren = {target.folder for target in discovered.targets if target.folder is not None}
        # A difference is printed as soon as it is found: there is nothing to wait for, and a bar would be in its way.
        for target in discovered.targets if self._diff else progress(discovered.targets, "Checking"):
            try:
                if self._check(target):
                    barren.discard(target.folder or "")
            except InputError as problem:
                self.report.problems.append(str(problem))
                barren.discard(target.folder or "")
            except RunFailure:
                raise
            except Exception as problem:
                if faults.are_raised() or isinstance(problem, OSError):
                    raise
                fault = faults.finding("this file could not be checked, all others were", problem)
                self.report.files.append(FileReport(target.name, (), [fault]))
                barren.discard(target.folder or "")
        self.report.problems += map(no_workflows, sorted(barren))
        return self.report

    def _check(self, target: Target) -> bool:
        """Check ``target``; whether it has a diagram at all. Raises `InputError`."""
        from merrow_server.changes.fixing import repair

        source = read(target)
        text = source.text
        if target.is_markdown and not diagrams(target, text):
            return False
        if self._least is None:
            diagnostics = self._checker.diagnose(target, text)
        else:
            result = repair(text, lambda edited: self._checker.diagnose(target, edited), self._least)
            diagnostics = list(result.diagnostics)
            if self._diff:
                diagnostics = list(result.before)
                print_diff(target.name, text, result.text)
            else:
                text = result.text
                self._write(target, SourceText(text, source.bom), changed=bool(result.applied))
            self.applied += result.applied
            self.repaired_files += bool(result.applied)
        file = self._checker.report(target, text, diagnostics)
        self.report.files.append(file)
        if self._shows and file.diagnostics:
            self.shown.append(render_file(file))
        return True

    def _write(self, target: Target, source: SourceText, *, changed: bool) -> None:
        if target.path is None:
            self.wrote_to_stdout = True
            write_stdout(source)
        elif changed:
            write(target.path, source)


def _print(report: Report, output: str, run: _CheckRun) -> None:
    # A repaired text on standard output has it for itself.
    aside = run.wrote_to_stdout
    if run.applied:
        echo(_repaired(run, "Repaired"), err=aside or output != "text")
    if output == "text":
        for file in run.shown:
            echo(file, err=aside)
        line = summary(report)
        if line:
            echo(line, err=aside)
        elif sys.stdout.isatty() and not report.problems and not aside:
            echo(style("All checks passed", fg="green") + f": {counted(len(report.files), 'file')}.")
        return
    if output == "json":
        from merrow_server.rendering.json import render
    elif output == "sarif":
        from merrow_server.rendering.sarif import render
    else:
        from merrow_server.rendering.github import render
    rendered = render(report)
    if rendered:
        emit(rendered, err=aside)


def _say_what_a_fix_would_do(run: _CheckRun) -> None:
    if run.applied:
        echo(_repaired(run, "Would repair"), err=True)
    elif not run.report.problems:
        echo("There is nothing to repair.", err=True)


def _repaired(run: _CheckRun, verb: str) -> str:
    """A line such as: Repaired 3 findings in 2 files: 2 x MW103, MW204."""
    each = ", ".join(code if number == 1 else f"{number} x {code}" for code, number in sorted(run.applied.items()))
    return f"{verb} {counted(run.applied.total(), 'finding')} in {counted(run.repaired_files, 'file')}: {each}."
