"""A run watched from the command line: begun, shown, stopped by Ctrl-C, and told how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from merrow_runtime.values import as_text
from merrow_server.cli import INTERRUPTED, MISUSED, NOT_WELL, OK
from merrow_server.cli.output import complain
from merrow_server.cli.run_display import display_for
from merrow_server.cli.runs import duration
from merrow_server.run_report import cost_text

if TYPE_CHECKING:
    from merrow_runtime.running import Run, RunResult


def watch(begin: Callable[[], Run], *, as_json: bool, verbose: bool, kept: bool = True) -> int:
    """Begin a run, show it to its end, print its outputs; the exit code. ``kept`` says that the journal outlives it.

    Ctrl-C and SIGTERM stop it: calls in flight are cancelled, what is finished is kept.
    """
    return asyncio.run(_watch(begin, as_json=as_json, verbose=verbose, kept=kept))


async def _watch(begin: Callable[[], Run], *, as_json: bool, verbose: bool, kept: bool) -> int:
    run = begin()
    gc.freeze()
    stopped: list[int] = []

    def stop(number: int) -> None:
        stopped.append(number)
        run.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError, ValueError):  # Windows has neither.
            loop.add_signal_handler(number, stop, number)
    try:
        with display_for(run, as_json=as_json, verbose=verbose) as display:
            async for event in run.events():
                display.show(event)
    except asyncio.CancelledError:
        run.cancel()
        stopped.append(signal.SIGINT)
    except BaseException:
        # Whoever read our output has gone: the run must not go on unseen.
        run.cancel()
        await run.result()
        raise
    result = await run.result()
    if not as_json:
        _print_outputs(result)
        _print_end(result, kept=kept)
    return _code(result, stopped)


def _code(result: RunResult, stopped: list[int]) -> int:
    from merrow_runtime.errors import UsageFailure

    if result.status == "finished":
        return OK
    if result.status == "cancelled" and stopped:
        return INTERRUPTED
    return MISUSED if isinstance(result.failure, UsageFailure) else NOT_WELL


def _print_outputs(result: RunResult) -> None:
    several = len(result.outputs) > 1
    for name, value in result.outputs.items():
        if several:
            click.echo(click.style(name, bold=True), err=True)
        click.echo(as_text(value))
    sys.stdout.flush()


def _print_end(result: RunResult, *, kept: bool) -> None:
    usage = result.usage
    tokens = f"{usage.tokens:,} tokens"
    calls = "1 call" if usage.calls == 1 else f"{usage.calls} calls"
    summary = f"{calls}, {tokens}, {cost_text(usage.to_json())}, {duration(result.seconds)}"
    if result.status == "finished":
        look = f"Look at it with: merrow show {result.run}" if kept else "Nothing of it is kept, as --no-store says."
        click.echo(f"{click.style('Finished', fg='green')}: {summary}. {look}", err=True)
        return
    if result.error:
        complain(result.error)
    word = "Stopped" if result.status == "cancelled" else "Failed"
    colour = "yellow" if result.status == "cancelled" else "red"
    go_on = f"What is finished is kept; go on with: merrow resume {result.run}"
    told = go_on if kept else "Nothing of it is kept, as --no-store says."
    click.echo(f"{click.style(word, fg=colour)}: {summary}. {told}", err=True)
