"""``merrow suggest``: checked and judged improvements of a workflow by a model."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from merrow_server.cli import INTERRUPTED, NOT_WELL, OK, Command
from merrow_server.cli.given import words
from merrow_server.cli.output import complain, print_diff
from merrow_server.cli.status_line import status_line
from merrow_server.errors import InputError
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, emit, style

if TYPE_CHECKING:
    from merrow_optimizer.suggestions.session import SuggestionOutcome, Told
    from merrow_runtime.store.database import Store
    from merrow_runtime.usage import Usage
    from merrow_server.opening import Opened
    from merrow_server.suggestions.preparing import PreparedSuggestions


@click.command(
    "suggest",
    cls=Command,
    epilog="""
    merrow suggest flow.mmd                             four improvements, checked, judged, as differences
    merrow suggest flow.mmd --apply 2                   write the second one; what is known is not paid again
    merrow suggest flow.mmd --node SOLVE                only new prompts of one node
    merrow suggest flow.mmd --goal "shorter answers"
    merrow suggest flow.mmd --dataset own.jsonl         the model sees what the last evaluation got wrong
    merrow suggest flow.mmd --dry-run                   what it would cost
    """,
)
@click.argument("file", metavar="FILE", shell_complete=words.files)
@click.option("--n", "count", type=click.IntRange(1, 16), default=4, show_default=True, help="How many candidates.")
@click.option("--node", metavar="NODE", help="Improve only the prompt of this node.")
@click.option("--goal", default="", metavar="TEXT", help="What should improve.")
@click.option("--apply", "chosen", type=click.IntRange(min=1), metavar="K", help="Write the K-th suggestion into FILE.")
@click.option(
    "--optimizer-model", metavar="MODEL", help="The model that suggests; by default, the one in your settings."
)
@click.option("--judge-model", metavar="MODEL", help="The model that judges; by default, the one that suggests.")
@click.option("--model", metavar="MODEL", help="The model that the workflow uses, to estimate what a run costs.")
@click.option("--base-url", metavar="URL", help="The endpoint.")
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    metavar="F",
    shell_complete=words.files,
    help="Show the model what the last evaluation on this data got wrong (part validate only).",
)
@click.option(
    "--seed", type=int, default=42, show_default=True, help="Random seed for the choice of mutations and for orders."
)
@click.option("--fresh", is_flag=True, help="Ask again even for known answers.")
@click.option(
    "--budget-usd", type=click.FloatRange(min=0), metavar="USD", help="Begin no call that may cost more than is left."
)
@click.option(
    "--budget-tokens", type=click.IntRange(min=0), metavar="N", help="Begin no call that may use more than is left."
)
@click.option("--budget-seconds", type=click.FloatRange(min=0), metavar="S", help="Stop after this many seconds.")
@click.option("--yes", is_flag=True, help="Accept the cost without being asked.")
@click.option("--dry-run", is_flag=True, help="Show how many calls it would make and what they may cost; make no call.")
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", help="How to print.")
@click.pass_context
def command(ctx: click.Context, /, file: str, **given: Any) -> None:
    """Ask a model for improvements of the workflow in FILE.

    Only suggestions that pass every check are shown: they are valid, and change only nodes, edges, prompts,
    `samples` and `temperature`. A model scores the suggestions in two orders; its scores are advice. Nothing
    is written without --apply.

    The exit code is 1 if no suggestion passed.
    """
    from merrow_runtime.errors import AnswerFailure, EndpointFailure
    from merrow_runtime.store.database import Store

    with closing(Store.open()) as user:
        try:
            ctx.exit(asyncio.run(_suggest(user, file, given)))
        except (AnswerFailure, EndpointFailure) as failure:
            complain(str(failure))
            ctx.exit(NOT_WELL)
        except (asyncio.CancelledError, KeyboardInterrupt):
            echo(f"{style('Stopped', fg='yellow')}: answers that came are kept and not paid again.", err=True)
            ctx.exit(INTERRUPTED)


async def _suggest(user: Store, file: str, given: dict[str, Any]) -> int:
    from merrow_runtime.program.loading import load
    from merrow_server.changes.patterns import operators_of
    from merrow_server.opening import open_diagram
    from merrow_server.settings import Settings
    from merrow_server.suggestions.preparing import prepare

    workflow = load(file)
    opened = open_diagram(file, None, use_files=True)
    settings = Settings(None)
    operators, problems = operators_of(
        opened.target.base, settings.surroundings, settings.config(opened.target).patterns
    )
    for problem in problems:
        complain(f"{problem.message} ({problem.path})")
    with _status() as told:
        prepared = await prepare(workflow, _asked(given), user, operators=operators, told=told)
        try:
            if given["dry_run"]:
                _print_forecast(prepared, given["output"])
                return OK
            outcome, usage = await _outcome(prepared, given)
        finally:
            await prepared.close()
    return _finish(opened, prepared, outcome, usage, given)


def _asked(given: dict[str, Any]) -> Any:
    from merrow_optimizer.evaluation.plan import Limits
    from merrow_server.suggestions.preparing import SuggestionRequest

    same = ("node", "goal", "optimizer_model", "judge_model", "model", "base_url", "datasets", "seed", "fresh")
    return SuggestionRequest(
        given["count"],
        **{name: given[name] for name in same},
        limits=Limits(given["budget_usd"], given["budget_tokens"], given["budget_seconds"]),
    )


def _sentence(prepared: PreparedSuggestions) -> str:
    from merrow_server.suggestions.words import cost_sentence

    models = prepared.session.models
    return cost_sentence(prepared.forecast.to_json(), models.optimizer, models.judge, prepared.chosen.endpoint.origin)


def _print_forecast(prepared: PreparedSuggestions, output: str) -> None:
    if output == "json":
        emit(json.dumps(prepared.forecast.to_json(), indent=2))
        return
    echo(_sentence(prepared))
    echo("No call was made.")


async def _outcome(prepared: PreparedSuggestions, given: dict[str, Any]) -> tuple[SuggestionOutcome, Usage]:
    """What came of the session: from what is known, or asked for, after the user agreed where that is needed."""
    from merrow_runtime.usage import NOTHING
    from merrow_server.cli.sessions.signals import cancelled_by_signals
    from merrow_server.suggestions.words import usage_sentence

    known = await prepared.known()
    if known is not None:
        echo("All answers are known already; no call was made.", err=True)
        return known, NOTHING
    echo(_sentence(prepared), err=True)
    for notice in prepared.notices:
        echo(f"{style('Note:', fg='yellow')} {visible(notice)}", err=True)
    if prepared.may_cost and not given["yes"]:
        _agree(prepared)
    used = NOTHING

    def told(usage: Usage) -> None:
        nonlocal used
        used = usage

    try:
        with cancelled_by_signals():
            return await prepared.run(told), used
    except BaseException:  # What was paid is said whatever ended it.
        if used.calls:
            echo(usage_sentence(used.to_json()), err=True)
        raise


def _agree(prepared: PreparedSuggestions) -> None:
    """Ask a person to agree to the cost. Raises `InputError` where nobody can be asked, or doesn't agree."""
    limit = f"${prepared.ask_above_usd:g}"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(
            f"This may cost more than {limit}, which your settings allow unasked (`suggest_ask_above_usd`): agree with --yes,"
            " or bound it with --budget-usd."
        )
    # The event loop would have Ctrl-C wait until the question is answered.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        agrees = click.confirm(f"This may cost more than {limit}. Go on?", err=True)
    finally:
        signal.signal(signal.SIGINT, before)
    if not agrees:
        raise InputError("Nothing was asked.")


def _finish(
    opened: Opened, prepared: PreparedSuggestions, outcome: SuggestionOutcome, usage: Usage, given: dict[str, Any]
) -> int:
    from merrow_analysis.text import apply_edits
    from merrow_optimizer.suggestions.session import price_of
    from merrow_server.suggestions.report import report

    ground = prepared.session.ground
    texts = [
        apply_edits(opened.text, list(one.edits) if opened.fence is None else opened.fence.edits_to_host(one.edits))
        for one in outcome.suggestions
    ]
    shown = [{**one.to_json(), "text": text} for one, text in zip(outcome.suggestions, texts, strict=True)]
    now = price_of(ground, ground.text, prepared.chosen.endpoint)
    told = report(prepared, outcome, usage, now, shown)
    chosen = given["chosen"]
    if chosen is not None and chosen > len(texts):
        there = "None passed" if not texts else f"Suggestions that passed: {len(texts)}"
        complain(f"{there}, so number {chosen} can't be applied.")
    elif chosen is not None:
        _write(opened, texts[chosen - 1])
    if given["output"] == "json":
        emit(json.dumps(told, indent=2))
    elif chosen is None:
        _print(opened, told)
    return OK if texts and (chosen is None or chosen <= len(texts)) else NOT_WELL


def _write(opened: Opened, text: str) -> None:
    from dataclasses import replace

    from merrow_server.files import read, write

    assert opened.target.path is not None  # noqa: S101 (it was loaded from there)
    source = read(opened.target)
    if source.text != opened.text:
        raise InputError(f"{opened.target.name} changed meanwhile, so nothing was written; ask again.")
    write(opened.target.path, replace(source, text=text))
    echo(f"{opened.target.name} is written.", err=True)


def _print(opened: Opened, told: dict[str, Any]) -> None:
    from merrow_server.suggestions.words import run_text, score_text, usage_sentence, valid_lines

    for number, one in enumerate(told["suggestions"], 1):
        echo(style(f"{number}  {visible(one['title'])}  ({score_text(one['scores'])})", bold=True))
        echo(f"   {visible(one['reason'])}")
        echo(f"   {visible(one['effect'])}. A run: {run_text(one['run'])}; now {run_text(told['run'])}.")
        if one["scores"] is not None:
            echo(f"   The judge: {visible(one['scores']['reason'])}")
        print_diff(opened.target.name, opened.text, one["text"])
        echo("")
    for one in told["refused"]:
        echo(f"{style('Refused:', fg='yellow')} {visible(one['title'])}: {visible(one['why'])}", err=True)
    for line in valid_lines(told["valid"]):
        echo(line, err=True)
    for notice in told["notices"]:
        echo(f"{style('Note:', fg='yellow')} {visible(notice)}", err=True)
    if told["usage"]["calls"]:
        echo(usage_sentence(told["usage"]), err=True)
    if told["suggestions"]:
        echo(
            f"Write one with: merrow suggest {visible(opened.target.name)} --apply K (and the same options).", err=True
        )


@contextlib.contextmanager
def _status() -> Iterator[Told]:
    """What goes on, in one line on a terminal, from the first time that it is told something."""
    with status_line() as say:

        def told(what: str, done: int, most: int) -> None:
            say(None if what == "done" else f"{what} ({done + 1} of at most {most} steps)")

        yield told
