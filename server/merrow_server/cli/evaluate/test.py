"""``merrow test``: the cases beside workflows, from their recordings or by an endpoint."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import INTERRUPTED, MISUSED, NOT_WELL, OK, Command
from merrow_server.cli.given import shell_completion
from merrow_server.cli.options.common import format_option, with_options
from merrow_server.cli.options.data import TOOL_OPTIONS
from merrow_server.cli.sessions.signals import cancelled_by_signals
from merrow_server.errors import InputError
from merrow_server.rendering.output import complain
from merrow_server.rendering.terminal import echo, emit

if TYPE_CHECKING:
    from merrow_analysis.cases.cases_reader import Case
    from merrow_optimizer.evaluation.cases.results import CaseResult
    from merrow_runtime.store.database import Store
    from merrow_server.cases.suites import Suite, SuiteRequest


OFTEN = {
    "Cases": ("-k", "--tag", "-x", "--last-failed", "--save"),
    "Recordings": ("--record", "--fresh", "--allow-stale"),
    "Output": ("--junit", "--format"),
}
"""The options that people use, by what they are for."""


@click.command(
    "test",
    cls=Command,
    often=OFTEN,
    epilog="""
    merrow test                                 the cases of all workflows below this folder
    merrow test examples/letters.cases.yaml     those of one file; its workflow names it as well
    merrow test letters.mmd::late-letter        one case
    merrow test -k late --tag smoke -x          by words of the id and by tag, up to the first failure
    merrow test --last-failed                   those that failed when they were last tested
    merrow test --record                        ask for what the recordings do not have, and record it
    merrow test --record --fresh                record everything again, as after a change of the model
    merrow test --junit report.xml              also a report that CI servers read
    merrow test --save 4f2a letters.cases.yaml  make a case of a run in the journal
    """,
)
@click.argument("paths", nargs=-1, metavar="[PATH[::ID]]...", shell_complete=shell_completion.files)
@click.option("-k", "text", metavar="TEXT", help="Only cases whose id contains TEXT, in upper or lower case.")
@click.option("--tag", "tags", multiple=True, metavar="T", help="Only cases with this tag.")
@click.option("-x", "stop_at_first", is_flag=True, help="Stop after the first case that does not pass.")
@click.option("--last-failed", is_flag=True, help="Only cases that did not pass when they were last tested.")
@click.option("--record", is_flag=True, help="Ask the endpoint for what the recording lacks, and record it.")
@click.option(
    "--fresh", is_flag=True, help="Ask the endpoint again even for known answers; with --record, replace them."
)
@click.option("--allow-stale", is_flag=True, help="Don't fail because of stale cases.")
@click.option("--junit", metavar="F", type=click.Path(dir_okay=False), help="Also write the results to F as JUnit XML.")
@click.option(
    "--save", metavar="RUN", shell_complete=shell_completion.runs, help="Make a case of this run, and test nothing."
)
@with_options(TOOL_OPTIONS)
@click.option("--model", metavar="MODEL", help="Use this model instead of the workflow's, where an endpoint answers.")
@click.option("--base-url", metavar="URL", help="The endpoint to use; `offline` is the embedded model.")
@click.option("--concurrency", type=click.IntRange(min=1), help="How many calls to make at the same time.")
@format_option()
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], save: str | None, **given: Any) -> None:
    """Test workflows by their cases: NAME.cases.yaml beside NAME.mmd, in files and folders (this folder by default).

    Cases are answered from the recording NAME.replay.jsonl if it exists, otherwise by your endpoint; without
    either they are skipped. A case is stale when its recording lacks something that the workflow now asks.

    The exit code is 0 when all cases pass, 1 when a case failed or is stale, 2 when no case was found or a
    file is invalid.
    """
    if save is not None:
        echo(_saved(save, paths))
        return
    from merrow_server.cases.collecting import collect, select

    collected = collect(paths or (".",))
    chosen = select(collected, given["text"], given["tags"], last_failed=given["last_failed"])
    for problem in collected.problems:
        complain(problem)
    for report in collected.reports:
        from merrow_server.rendering.text import render_file

        echo(render_file(report), err=True)
    broken = bool(collected.problems or collected.reports)
    if not any(cases for _, cases in chosen):
        if given["last_failed"] and collected.suites and not broken:
            echo("No case failed when it was last tested.", err=True)
            return
        there = sum(len(suite.file.cases) for suite, _ in collected.suites.values())
        if there and not broken:
            complain(f"No case was found: of {there}, none has what -k and --tag ask for.")
        elif not broken:
            complain(
                "No case was found. Write cases in NAME.cases.yaml beside NAME.mmd (docs/testing.md), or make one of a run:"
                " merrow test --save RUN"
            )
        ctx.exit(MISUSED)
    from merrow_runtime.store.database import Store

    with closing(Store.open()) as user:
        ended = asyncio.run(_tested(chosen, given, user))
    ended.report(given, is_broken=broken)
    if ended.interrupted:
        ctx.exit(INTERRUPTED)
    ctx.exit(MISUSED if broken or ended.problems else OK if ended.is_good(given["allow_stale"]) else NOT_WELL)


def _saved(run: str, paths: tuple[str, ...]) -> str:
    from merrow_runtime.store.database import Store
    from merrow_server.cases.saving import file_for, save_run
    from merrow_server.cli.given.run_names import run_meant
    from merrow_server.evaluations.journals import journal_with

    if len(paths) > 1:
        raise InputError("--save writes one cases file; name one PATH, or none.")
    with closing(Store.open(reading=True)) as user, journal_with(user, run) as store:
        record = store.run(run_meant(store, run))
    return save_run(record, file_for(record, Path(paths[0].partition("::")[0]) if paths else None)).sentence


@dataclass
class _Ended:
    """What a test came to."""

    results: list[tuple[Suite, CaseResult]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: bool = False

    def is_good(self, allow_stale: bool) -> bool:
        from merrow_optimizer.evaluation.cases.results import CaseStatus

        return all(result.is_good or (allow_stale and result.status is CaseStatus.STALE) for _, result in self.results)

    def report(self, given: dict[str, Any], *, is_broken: bool) -> None:
        from merrow_server.cases.reports import junit, plain
        from merrow_server.cli.texts.cases import summary_lines
        from merrow_server.files import write_bytes

        for problem in self.problems:
            complain(problem)
        if given["junit"] is not None:
            write_bytes(Path(given["junit"]), junit(self.results, self.seconds).encode())
        if given["output"] == "json":
            is_well = self.is_good(given["allow_stale"]) and not self.problems and not is_broken
            shown = plain(self.results, self.seconds, ok=is_well)
            emit(json.dumps(shown, indent=2))
            return
        if self.problems and not self.results:
            return
        for line in summary_lines(self.results, self.seconds, allow_stale=given["allow_stale"]):
            echo(line)


async def _tested(chosen: Sequence[tuple[Suite, Sequence[Case]]], given: dict[str, Any], user: Store) -> _Ended:
    from merrow_runtime.errors import UsageFailure
    from merrow_runtime.outside.choosing_tools import ToolChoice
    from merrow_server.cases.collecting import remember
    from merrow_server.cases.suites import SuiteRequest, carry_out

    named = ("record", "model", "base_url", "concurrency", "stop_at_first", "fresh")
    tools = ToolChoice.read(given["tools"], given["fake_tools"])
    asked = SuiteRequest(**{name: given[name] for name in named}, tools=tools)
    ended, started = _Ended(), time.monotonic()
    try:
        with cancelled_by_signals():
            for suite, cases in chosen:
                if not cases:
                    continue
                told = _teller(suite, ended, quiet=given["output"] != "text")
                try:
                    whole = await carry_out(suite, cases, asked, _opener(asked, user), user, told)
                except UsageFailure as problem:
                    ended.problems.append(str(problem))
                    continue
                if not whole:
                    break
    except asyncio.CancelledError:
        ended.interrupted = True
        echo("Stopped; what was answered is kept.", err=True)
    finally:
        remember(ended.results)
        ended.seconds = time.monotonic() - started
    return ended


def _teller(suite: Suite, ended: _Ended, *, quiet: bool) -> Callable[[Case, CaseResult | None], None]:
    from merrow_server.cli.texts.cases import case_line

    def told(case: Case, result: CaseResult | None) -> None:  # noqa: ARG001
        if result is not None:
            ended.results.append((suite, result))
            if not quiet:
                echo(case_line(suite, result))

    return told


def _opener(asked: SuiteRequest, user: Store) -> Callable[[str | None, Sequence[Any]], Any]:
    from merrow_runtime.options import RunOptions
    from merrow_runtime.running.resources import ChosenEndpoint, choose

    def opens(base_url: str | None, machine: Sequence[Any]) -> ChosenEndpoint:
        options = RunOptions(model=asked.model, base_url=base_url, concurrency=asked.concurrency)
        return choose(options, base_url, machine, user.dialects)

    return opens
