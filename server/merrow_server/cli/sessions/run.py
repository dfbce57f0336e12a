"""A run watched from the command line: begun, shown, stopped by Ctrl-C, and told how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import shlex
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from merrow_runtime.loop_sentences import exhausted_sentences
from merrow_runtime.provenance import PERSON_ORIGIN, REPLAY_ORIGIN, answered_by
from merrow_runtime.running.run import open_question
from merrow_runtime.store.sql import Interruption
from merrow_runtime.values import as_text
from merrow_server.cli import INTERRUPTED, NOT_WELL, OK, WAITS
from merrow_server.cli.given.inputs import can_ask
from merrow_server.cli.sessions.agreeing import decide
from merrow_server.cli.sessions.run_display import display_for
from merrow_server.cli.sessions.signals import ended_by_signals, ending_signals
from merrow_server.cli.texts.questions import question_lines
from merrow_server.rendering.counts import counted, interrupted_text
from merrow_server.rendering.output import complain
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, emit, style
from merrow_server.reports.run_report import cost_text
from merrow_server.times import duration

if TYPE_CHECKING:
    from merrow_runtime.errors import RunFailure
    from merrow_runtime.outside.consent import ConsentFailure
    from merrow_runtime.provenance import ForeignResults, Reuse
    from merrow_runtime.running.run import Run, RunResult
    from merrow_runtime.store.database import Store


Begin = Callable[["Reuse | None"], "Run"]
"""Begins a run; what it is called with says what is to be done about results of other endpoints, where that was asked."""
GoOn = Callable[[str, "Reuse | None"], "Run"]
"""The same for a run, by its id, that waited for a person."""


def watch(
    begin: Begin,
    *,
    as_json: bool,
    verbose: bool,
    kept: bool = True,
    folder: Path | None = None,
    fail_on_exhausted: bool = False,
    go_on: GoOn | None = None,
    store: Store | None = None,
) -> int:
    """Begin a run, show it to its end, print its outputs, or write them into ``folder``; the exit code. ``kept`` says that the
    journal outlives it, ``fail_on_exhausted`` that a Loop whose turns or budget ran out makes the exit code that of a failure.
    Where the run waits for a person, the one at the terminal is asked, and then it continues by ``go_on``; its questions are in
    ``store``, by default the user's.

    Ctrl-C, SIGTERM and SIGHUP stop it: calls in flight are cancelled, what is finished is kept. Once it is over they end the
    process, also where nobody reads what it writes. On a terminal the user is asked about results of other endpoints.
    """
    from merrow_runtime.outside.user_servers import NotAgreedFailure, NotStartedFailure
    from merrow_runtime.provenance import ForeignResults

    shown = partial(
        _watch, as_json=as_json, verbose=verbose, kept=kept, folder=folder, fail_on_exhausted=fail_on_exhausted
    )
    reuse: Reuse | None = None
    while True:
        try:
            code, result = asyncio.run(shown(begin, reuse))
            break
        except ForeignResults as foreign:
            if as_json or not can_ask():
                raise
            reuse = _ask(foreign)
        except (NotAgreedFailure, NotStartedFailure) as tools:
            if as_json or not can_ask() or not _agrees(tools):
                raise
            tools.agree()
    while result.status == "waiting" and go_on is not None and not as_json and can_ask():
        if not _ask_person(result.run, store):
            break
        code, result = asyncio.run(shown(partial(go_on, result.run), reuse))
    return code


def _ask_person(run: str, store: Store | None) -> bool:
    """Ask the person at the terminal what a run asks; whether it can go on."""
    from merrow_runtime.store.database import Store
    from merrow_server.cli.sessions.people import ask_all

    if store is not None:
        return ask_all(store, run)
    with contextlib.closing(Store.open()) as users:
        return ask_all(users, run)


def _tell_refused(failure: RunFailure) -> None:
    """Tell a program that reads events why there is no run."""
    from merrow_runtime.events import Event
    from merrow_runtime.running.run import broken

    emit(json.dumps(Event("run_failed", None, data=broken(failure)).to_json()))


def _agrees(tools: ConsentFailure) -> bool:
    echo(visible(tools.situation), err=True)
    return click.confirm(tools.question, err=True)


def _ask(foreign: ForeignResults) -> Reuse:
    echo(visible(foreign.situation), err=True)
    answers = click.Choice(["run", "keep"])
    answer = click.prompt("Run them again, or keep their results?", type=answers, err=True)
    return "same" if answer == "run" else "any"


async def _watch(
    begin: Begin,
    reuse: Reuse | None,
    *,
    as_json: bool,
    verbose: bool,
    kept: bool,
    folder: Path | None,
    fail_on_exhausted: bool,
) -> tuple[int, RunResult]:
    from merrow_runtime.errors import RunFailure

    try:
        run = begin(reuse)
    except RunFailure as failure:
        if as_json:
            _tell_refused(failure)
        raise
    gc.freeze()
    stopped: list[int] = []

    def stop(number: int) -> None:
        stopped.append(number)
        run.cancel()

    loop = asyncio.get_running_loop()
    signals = contextlib.ExitStack()
    signals.enter_context(ended_by_signals(stop))
    over = loop.create_task(_leave_to_signals(run, signals))
    questions: list[asyncio.Task[None]] = []
    try:
        with display_for(run, as_json=as_json, verbose=verbose) as display:
            async for event in run.events():
                await display.show(event)
                if event.event == "revision_waiting":
                    questions.append(loop.create_task(decide(run, event, asks=can_ask() and not as_json)))
    except asyncio.CancelledError:
        run.cancel()
        stopped.append(signal.SIGINT)
    except BaseException:
        # Whoever read our output has gone: the run must not go on unseen.
        run.cancel()
        await run.result()
        raise
    finally:
        for question in questions:
            question.cancel()
    result = await run.result()
    if not as_json:
        if folder is None:
            _print_outputs(result)
        _print_end(result, kept=kept)
    if folder is not None and result.status == "finished":
        _write_outputs(result, folder, as_json=as_json)
    over.cancel()
    if fail_on_exhausted and result.status == "finished" and result.exhausted:
        complain(
            "The exit code is 1, as --fail-on-exhausted says: a Loop stopped because its turns or its budget ran out."
        )
        return NOT_WELL, result
    return _code(result, stopped), result


async def _leave_to_signals(run: Run, handled: contextlib.ExitStack) -> None:
    """Once the run is over nothing is left to keep: whatever is being written then, a signal ends the process at once."""
    with contextlib.suppress(Exception):  # Whoever shows the run is told.
        await run.result()
    with handled:
        for number in ending_signals():
            with contextlib.suppress(ValueError):  # only the main thread may
                signal.signal(number, signal.SIG_DFL)
        await asyncio.Event().wait()


def _code(result: RunResult, stopped: list[int]) -> int:
    if result.status == "finished":
        return OK
    if result.status == "waiting":
        return WAITS
    # A run whose end can't be written, because its journal is away, has failed; it ended because somebody wanted it to.
    if stopped and (result.status == "cancelled" or Interruption.away is not None):
        return INTERRUPTED
    return NOT_WELL


def _print_outputs(result: RunResult) -> None:
    several = len(result.outputs) > 1
    for name, value in result.outputs.items():
        if several:
            echo(style(name, bold=True), err=True)
        emit(as_text(value))
    sys.stdout.flush()


def _write_outputs(result: RunResult, folder: Path, *, as_json: bool) -> None:
    from merrow_server.output_files import write_outputs

    for path in write_outputs(folder, result.outputs):
        if not as_json:
            emit(f"{path} is written.")
    sys.stdout.flush()


def _print_end(result: RunResult, *, kept: bool) -> None:
    from merrow_runtime.errors import UnansweredFailure

    usage = result.usage
    tokens = f"{usage.tokens:,} tokens"
    calls = counted(usage.calls, "call")
    if not usage.calls and any(source.endpoint not in (REPLAY_ORIGIN, PERSON_ORIGIN) for source in result.sources):
        calls += " (earlier answers were used)"
    by = visible(answered_by(result.sources))
    answered = f", answered by {by}" if by else ""
    summary = f"{calls}, {tokens}, {cost_text(usage.to_json())}, {duration(result.seconds)}{answered}"
    if result.interrupted:
        echo(f"{style('Note:', fg='yellow')} {interrupted_text(result.interrupted)}", err=True)
    loops = [loop.to_json() for loop in result.loops]
    for sentence in exhausted_sentences(loops, result.exhausted):
        echo(f"{style('Note:', fg='yellow')} {visible(sentence)}", err=True)
    if result.finished_before:
        echo(
            f"{style('Finished before', fg='green')}; nothing was called. When it ran: {summary}."
            f" See it with: merrow show {result.run}",
            err=True,
        )
        return
    for name in result.not_valid:
        echo(f"{style('Note:', fg='yellow')} the result of {visible(name)} is used although it is not valid.", err=True)
    if result.status == "finished":
        look = f"See it with: merrow show {result.run}" if kept else "Nothing of it is kept, as --no-store says."
        echo(f"{style('Finished', fg='green')}: {summary}. {look}", err=True)
        return
    if result.status == "waiting":
        echo(f"{style('Waiting', fg='cyan')}: {summary}.", err=True)
        for line in question_lines([open_question(ask) for ask in result.asks]):
            echo(line, err=True)
        if kept and result.asks:
            node = visible(shlex.quote(result.asks[0].visit.name))
            echo(f"Answer with: merrow answer {result.run} {node}", err=True)
        return
    if result.error:
        complain(result.error)
    word = "Stopped" if result.status == "cancelled" else "Failed"
    colour = "yellow" if result.status == "cancelled" else "red"
    go_on = f"What is finished is kept; continue it with: merrow resume {result.run}"
    if isinstance(result.failure, UnansweredFailure):
        go_on = f"What is finished is kept; to ask again, begin a run with it: merrow run FILE --run {result.run}"
    told = go_on if kept else "Nothing of it is kept, as --no-store says."
    echo(f"{style(word, fg=colour)}: {summary}. {told}", err=True)
