"""An evaluation watched from the command line: told what it may cost, begun, shown, stopped by Ctrl-C, and reported."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from merrow_optimizer.evaluation.gates import Gates
from merrow_optimizer.evaluation.plan import forecast
from merrow_optimizer.evaluation.scores import Status
from merrow_optimizer.evaluation.sessions import begin, work
from merrow_optimizer.evaluation.summary import COUNTED
from merrow_runtime.provenance import OFFLINE_ORIGIN
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord, ScoreRecord
from merrow_runtime.usage import NOTHING
from merrow_server.cli import INTERRUPTED, NOT_WELL, OK
from merrow_server.cli.evaluation_text import comparison_lines, forecast_text, report_lines
from merrow_server.cli.output import complain
from merrow_server.cli.run_session import ending_signals
from merrow_server.cli.runs import duration
from merrow_server.evaluations.preparing import Prepared
from merrow_server.evaluations.report import comparison, evaluation_report, summary
from merrow_server.rendering.evaluation_formats import WHOLE, formatted
from merrow_server.rendering.terminal import console, echo, emit, style
from merrow_server.run_report import cost_text

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

OFFLINE = "The embedded offline model answers: it is not a real model, and its scores say nothing of the workflow."
ONE_SUFFICES = "At temperature 0 nothing is asked again, so that repeats only show the same again."


def begun(user: Store, prepared: Prepared) -> EvaluationRecord:
    """Put a new evaluation into the journal, after telling what it may cost and what is remarkable about it."""
    plan, data = prepared.plan, prepared.data
    echo(forecast_text(forecast(plan, user.evaluations.known), str(data.file), data.part), err=True)
    if plan.chosen.endpoint.origin == OFFLINE_ORIGIN:
        notice(OFFLINE)
    if plan.repeats > 1 and not plan.varies:
        notice(ONE_SUFFICES)
    for sentence in (*plan.workflow.how_read, *plan.chosen.notices):
        notice(sentence)
    if data.held_out:
        before = user.evaluations.readings(data.hash, data.part)
        times = "once" if before == 1 else f"{before} times"
        said = f"it was read {times} before." if before else "this is its first reading."
        notice(f"The part {data.part} is held out, for final figures only; {said}")
    return begin(user, plan, data.hash, data.part, prepared.again)


def notice(sentence: str) -> None:
    """A sentence to be read before the first call."""
    echo(f"{style('Note:', fg='yellow')} {sentence}", err=True)


async def watch(user: Store, record: EvaluationRecord, prepared: Prepared) -> int:
    """Work on an evaluation to its end, with its progress on a terminal; the exit code without gates.

    Ctrl-C, SIGTERM and SIGHUP stop it: calls in flight are cancelled, what is finished is kept.
    """
    loop, own = asyncio.get_running_loop(), asyncio.current_task()
    assert own is not None  # noqa: S101 (this is a coroutine of a task)
    for number in ending_signals():
        with contextlib.suppress(NotImplementedError, ValueError):  # Windows has no handlers in event loops.
            loop.add_signal_handler(number, own.cancel)
    plan = prepared.plan
    try:
        with _progress(user, record, len(plan.items) * plan.repeats) as told:
            evaluator = await work(user, record.id, plan, told)
    except asyncio.CancelledError:
        echo(
            f"{style('Stopped', fg='yellow')}: what is finished is kept; continue it with: merrow resume {record.id}",
            err=True,
        )
        return INTERRUPTED
    finally:
        for number in ending_signals():
            with contextlib.suppress(NotImplementedError, ValueError):
                loop.remove_signal_handler(number)
        await prepared.close()
    if evaluator.stopped_by is not None:
        complain(evaluator.stopped_by)
        echo(
            f"{style('Stopped', fg='red')} before its end; what is finished is kept. Continue it with: merrow resume {record.id}",
            err=True,
        )
        return NOT_WELL
    return OK


def report(user: Store, record: EvaluationRecord, gates: Gates, baseline: EvaluationRecord | None, output: str) -> bool:
    """Print how an evaluation came out, failures first; whether it passes the gates."""
    record = user.evaluations.get(record.id)
    found = None if baseline is None else comparison(user, baseline, record)
    told = evaluation_report(user, record, whole=output in WHOLE)
    failed = list(gates.failed(summary(record, user.evaluations.scores(record.id)), found))
    if output != "text":
        if output == "json":
            told["gates_failed"] = failed
            if baseline is not None and found is not None:
                told["baseline"] = {"evaluation": baseline.id, **found.to_json()}
        emit(formatted(told, output, failed))
    else:
        for line in report_lines(told, whole=False):
            echo(line)
        if baseline is not None and found is not None:
            for line in comparison_lines(found, baseline.id, record.id):
                echo(line)
        echo(f"Evaluation {record.id}: see all of it with: merrow show {record.id}", err=True)
    for sentence in failed:
        echo(f"{style('Gate failed:', fg='red', bold=True)} {sentence}", err=True)
    return not failed


@contextmanager
def _progress(user: Store, record: EvaluationRecord, total: int) -> Iterator[Callable[[ScoreRecord], None]]:
    """A line that moves on a terminal: score so far, money, and the time that is left."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"))
    bar = Progress(*columns, console=console(err=True), transient=True, redirect_stdout=False, redirect_stderr=False)
    so_far = _SoFar(total)
    for score in user.evaluations.scores(record.id):
        if score.status != Status.UNANSWERED:
            so_far.add(score)
    so_far.begin()
    with bar:
        task = bar.add_task("", total=total, completed=so_far.done, told=so_far.text())
        yield lambda score: so_far.tell(bar, task, score)


class _SoFar:
    """What there is to tell while an evaluation goes on, over the answers that there are."""

    def __init__(self, total: int) -> None:
        self.done = 0
        self._total = total
        self._values, self._counted, self._usage = 0.0, 0, NOTHING
        self._before, self._started = 0, time.monotonic()

    def begin(self) -> None:
        """From here on the time that is left is measured."""
        self._before, self._started = self.done, time.monotonic()

    def add(self, score: ScoreRecord) -> None:
        """Count an answer."""
        self.done += 1
        self._usage += score.usage
        if score.status in COUNTED:
            self._counted += 1
            self._values += score.value or 0.0

    def text(self) -> str:
        """The score so far, money and rest."""
        parts = [f"score {self._values / self._counted:.3f}"] if self._counted else []
        parts.append(cost_text(self._usage.to_json()))
        if self.done > self._before:
            each = (time.monotonic() - self._started) / (self.done - self._before)
            parts.append(f"{duration(each * (self._total - self.done))} left")
        return ", ".join(parts)

    def tell(self, bar: Progress, task: TaskID, score: ScoreRecord) -> None:
        """Count an answer and show it."""
        self.add(score)
        bar.update(task, completed=self.done, told=self.text())


def forecast_json(user: Store, prepared: Prepared) -> dict[str, Any]:
    """What an evaluation may use, for programs."""
    data = prepared.data
    return {
        "dataset": str(data.file),
        "part": data.part,
        "metric": prepared.metric.name,
        **forecast(prepared.plan, user.evaluations.known).to_json(),
    }
