"""A job that asks models watched from the command line: told what it may cost, agreed to, begun, shown, stopped, reported."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from merrow_runtime.store.jobs import JobRecord
from merrow_server.asking_jobs import Asking, EndedJob, Told
from merrow_server.asking_words import ALL_KNOWN, usage_sentence
from merrow_server.cli import INTERRUPTED, NOT_WELL
from merrow_server.cli.sessions.evaluation import notice
from merrow_server.cli.sessions.watching import worked
from merrow_server.cli.status_line import status_line
from merrow_server.errors import InputError
from merrow_server.rendering.output import complain
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, style

O = TypeVar("O")  # noqa: E741 (the outcome)
Finish = Callable[[EndedJob[O], dict[str, Any]], int]
"""Prints or writes what came of one, with its report for programs; the exit code."""


def run(work: Coroutine[Any, Any, int]) -> int:
    """The exit code of what is done here; also where Ctrl-C comes before it begins."""
    try:
        return asyncio.run(work)
    except (asyncio.CancelledError, KeyboardInterrupt):
        return _stopped(None)


async def carry_out(asking: Asking[O], finish: Finish[O], *, agreed: bool, as_json: bool) -> int:
    """Have models asked, after telling what that may cost and asking who has not ``agreed``; nothing where all is known. The exit
    code. It is closed at the end.
    """
    try:
        known = await asking.known()
        if known is not None:
            echo(ALL_KNOWN, err=True)
            return _finished(asking, known, finish)
        for sentence in asking.notices:
            notice(visible(sentence))
        echo(asking.sentence(), err=True)
        if asking.may_cost and not agreed:
            _agree(asking)
        return await watch(asking, asking.begin(), finish, as_json=as_json)
    finally:
        await asking.close()


async def watch(asking: Asking[O], record: JobRecord, finish: Finish[O], *, as_json: bool) -> int:
    """Work on one to its end, with its progress shown, and report it; the exit code."""
    ended = await worked(_progress(), lambda told: asking.work(record, told))
    if ended is not None and ended.outcome is not None:
        code = _finished(asking, ended, finish)
        named = f"{asking.kind.capitalize()} {record.id}"
        if ended.can_continue:
            echo(f"{named}: ask for what is missing with: merrow resume {record.id}", err=True)
        elif not as_json:  # that has the id
            echo(f"{named}: see it again with: merrow show {record.id}", err=True)
        return code
    if asking.used.calls:  # What was paid is said whatever ended it.
        echo(usage_sentence(asking.used.to_json()), err=True)
    if ended is None:
        return _stopped(record.id)
    complain(str(ended.failure))
    if ended.can_continue:
        echo(f"What was answered is kept; continue it with: merrow resume {record.id}", err=True)
    return NOT_WELL


def _finished(asking: Asking[O], ended: EndedJob[O], finish: Finish[O]) -> int:
    return finish(ended, {asking.kind: ended.identity, **(ended.report or {})})


def _stopped(identity: str | None) -> int:
    again = "" if identity is None else f" Continue it with: merrow resume {identity}"
    echo(f"{style('Stopped', fg='yellow')}: answers that came are kept and not paid again.{again}", err=True)
    return INTERRUPTED


def _agree(asking: Asking[Any]) -> None:
    """Ask a person to agree to the cost. Raises `InputError` where nobody can be asked, or doesn't agree."""
    limit = f"${asking.ask_above_usd:g}"
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


@contextmanager
def _progress() -> Iterator[Told]:
    """What goes on, in one line on a terminal."""
    with status_line() as say:
        yield lambda what, done, most: say(
            None if what == "done" else f"{what} ({min(done + 1, most)} of at most {most} steps)"
        )
