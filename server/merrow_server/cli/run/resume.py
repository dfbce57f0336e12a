"""``merrow resume``: a run that ended early goes on."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import NOT_WELL, OK, Command
from merrow_server.cli.given import words
from merrow_server.cli.given.run_names import evaluation_meant, extraction_meant, run_meant, search_meant
from merrow_server.cli.options.common import with_options
from merrow_server.cli.options.gates import GATE_OPTIONS, any_gate, check_gates, gates_of
from merrow_server.cli.options.running import RUN_OPTIONS, process_options
from merrow_server.errors import InputError
from merrow_server.rendering.terminal import echo
from merrow_server.reports.run_report import workflow_text

if TYPE_CHECKING:
    from merrow_optimizer.evaluation.plan import Limits
    from merrow_optimizer.optimization.record import SearchRecord
    from merrow_runtime import Run, Store
    from merrow_runtime.provenance import Reuse


@click.command(
    "resume",
    cls=Command,
    epilog="""
    merrow resume                             what was left unfinished last, of whatever kind
    merrow resume flow.mmd                    the latest run of a workflow
    merrow resume 4f2a                        a run by the beginning of its id
    merrow resume 4f2a --budget-usd 0.50      with more money, where it had run out
    merrow resume 9c1d                        an evaluation: the items that are left
    merrow resume 7e0b                        a search: what it would have drawn anyhow
    merrow resume 5c2d                        an extraction: the questions and cases that are left
    """,
)
@click.argument("run", required=False, shell_complete=words.unfinished)
@click.option("--verbose", is_flag=True, help="Show answers as they arrive.")
@click.option("--jobs", type=click.IntRange(min=1, max=64), help="For a search: the number of jobs that it began with.")
@with_options(RUN_OPTIONS)
@with_options(GATE_OPTIONS)
@click.pass_context
def command(ctx: click.Context, /, run: str | None, **given: Any) -> None:
    """Continue the run RUN where it ended: an id, the beginning of one, or a workflow file for its latest run.
    Without RUN, what was left before its end last: a run, an evaluation, a search or an extraction.

    It runs what is in the journal (text, prompts, settings, inputs), even if the files have changed since. No
    finished call is made again, and what was spent counts towards the budget. A finished run is only shown
    again. RUN may also be an evaluation, a search or an
    extraction.
    """
    from merrow_optimizer.revising.late import LateReviser
    from merrow_runtime import RunOptions, Store, resume
    from merrow_server.cli.sessions.run import watch
    from merrow_server.kept_work import left_last

    options = RunOptions(stream=given["verbose"] or given["as_json"], **process_options(given))

    with closing(Store.open()) as store:
        if run is None and (left := left_last(store)) is not None:
            kept, run = left
            if not given["as_json"]:
                echo(f"{'Run' if kept is None else kept.word.capitalize()} {run}:", err=True)
        evaluation = evaluation_meant(store, run)
        if evaluation is not None:
            ctx.exit(_resume_evaluation(store, evaluation, given))
        search = search_meant(store, run)
        if search is not None:
            ctx.exit(_resume_search(store, search, given))
        extraction = extraction_meant(store, run)
        if extraction is not None:
            ctx.exit(_resume_extraction(store, extraction, given))
        identity = run_meant(store, run)
    if given["jobs"] is not None:
        raise InputError(f"--jobs goes with a search; {identity} is a run.")
    if any_gate(given):
        raise InputError(f"Gates such as --fail-under go with an evaluation; {identity} is a run.")
    if identity != run and not given["as_json"]:
        echo(f"Run {identity}:", err=True)

    def begin(reuse: Reuse | None) -> Run:
        return resume(identity, options=replace(options, reuse=reuse or options.reuse), reviser=LateReviser())

    ctx.exit(watch(begin, as_json=given["as_json"], verbose=given["verbose"]))


_OF_RUNS = ("verbose", "record", "replay", "sandbox", "allow_unsafe_code", "as_json")


def _refuse(given: dict[str, Any], names: Iterable[str], whose: str, what: str) -> None:
    """Raise `InputError` for options that go with something else than what is continued."""
    for name in names:
        if given[name]:
            option = "json" if name == "as_json" else name.replace("_", "-")
            raise InputError(f"--{option} goes with a {whose}; {what}.")


def _resume_evaluation(user: Store, evaluation: str, given: dict[str, Any]) -> int:
    """Go on with an evaluation; the exit code."""
    from merrow_optimizer.evaluation.plan import Limits
    from merrow_server.cli.sessions.evaluation import report, watch
    from merrow_server.evaluations.preparing import prepare_again

    _refuse(given, _OF_RUNS, "run", f"{evaluation} is an evaluation")
    _refuse(given, ["jobs"], "search", f"{evaluation} is an evaluation")
    check_gates(given)
    record = user.evaluations.get(evaluation)
    baseline = None if given["baseline"] is None else user.evaluations.get(given["baseline"])
    limits = Limits(given["budget_usd"], given["budget_tokens"], given["budget_seconds"])

    async def work() -> int:
        prepared = await prepare_again(
            record,
            user,
            limits=limits,
            base_url=given["base_url"],
            concurrency=given["concurrency"],
            reuse=given["reuse"],
        )
        return await watch(user, record, prepared)

    code = asyncio.run(work())
    passes = report(user, record, gates_of(given), baseline, "text")
    return code if code != OK or passes else NOT_WELL


def _check_used(found: SearchRecord, limits: Limits) -> None:
    """Raise `InputError` where less may be used than a search has used already."""
    usage, seconds = found.usage, found.search.seconds
    for option, limit, used, said in (
        ("usd", limits.usd, usage.cost_usd or 0.0, f"{usage.cost_usd or 0.0:.4f} US dollars"),
        ("tokens", limits.tokens, usage.tokens, f"{usage.tokens:,} tokens"),
        ("seconds", limits.seconds, seconds, f"{seconds:.1f} seconds"),
    ):
        if limit is not None and limit < used:
            raise InputError(f"Search {found.id} has used {said} already; give a greater --budget-{option}.")


def _resume_search(user: Store, search: str, given: dict[str, Any]) -> int:
    """Go on with a search; the exit code."""
    from merrow_optimizer.evaluation.plan import Limits
    from merrow_optimizer.optimization.record import load
    from merrow_server.cli.sessions.evaluation import notice
    from merrow_server.cli.sessions.search import report, watch
    from merrow_server.optimizations.preparing import prepare_search_again

    as_json = given["as_json"]
    _refuse(given, [name for name in _OF_RUNS if name != "as_json"], "run", f"{search} is a search")
    if any_gate(given):
        raise InputError(f"Gates such as --fail-under go with an evaluation; {search} is a search.")
    record = user.optimizations.get(search)
    if given["jobs"] not in (None, record.jobs):
        raise InputError(
            f"Search {search} was begun with --jobs {record.jobs}: what it draws depends on that, so it continues with no other."
        )
    limits = Limits(given["budget_usd"], given["budget_tokens"], given["budget_seconds"])
    _check_used(load(user, search), limits)
    if record.status == "finished":
        if limits != Limits():
            again = f"merrow optimize {shlex.quote(workflow_text(record.workflow))} --from {search} ..."
            notice(f"Search {search} is over, so that no budget continues it. Begin another one with its best: {again}")
        report(user, search, as_json=as_json)
        return OK

    async def work() -> int:
        prepared = await prepare_search_again(
            record,
            user,
            limits=limits,
            base_url=given["base_url"],
            concurrency=given["concurrency"],
            reuse=given["reuse"],
        )
        return await watch(user, user.optimizations.get(search), prepared, as_json=as_json)

    return asyncio.run(work())


def _resume_extraction(user: Store, extraction: str, given: dict[str, Any]) -> int:
    """Go on with an extraction; the exit code. One that has ended writes its files again."""
    from merrow_optimizer.evaluation.plan import Limits
    from merrow_server.cli.sessions.extraction import watch
    from merrow_server.extractions.preparing import prepare_extraction_again

    _refuse(given, [name for name in _OF_RUNS if name != "as_json"], "run", f"{extraction} is an extraction")
    _refuse(given, ["jobs"], "search", f"{extraction} is an extraction")
    if any_gate(given):
        raise InputError(f"Gates such as --fail-under go with an evaluation; {extraction} is an extraction.")
    record = user.extractions.get(extraction)

    async def work() -> int:
        prepared = await prepare_extraction_again(
            record,
            user,
            limits=Limits(given["budget_usd"], given["budget_tokens"], given["budget_seconds"]),
            base_url=given["base_url"],
            concurrency=given["concurrency"],
            reuse=given["reuse"],
        )
        return await watch(user, user.extractions.get(extraction), prepared, as_json=given["as_json"])

    return asyncio.run(work())
