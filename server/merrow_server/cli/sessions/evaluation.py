"""An evaluation watched from the command line: told what it may cost, begun, shown, stopped by Ctrl-C, and reported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from merrow_optimizer.evaluation.data.names import data_name
from merrow_optimizer.evaluation.evaluator import AnswerEngine
from merrow_optimizer.evaluation.gates import Gates
from merrow_optimizer.evaluation.plan import forecast
from merrow_optimizer.evaluation.sessions import begin, work
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import BATCH, EvaluationRecord, ScoreRecord
from merrow_server.cli import INTERRUPTED, OK
from merrow_server.cli.minutes import minutes
from merrow_server.cli.sessions.watching import watched
from merrow_server.cli.texts.evaluations import forecast_text
from merrow_server.cli.waiting import waiting_column
from merrow_server.evaluations.evaluation_data import comparison, evaluation_report, other_metrics, summary
from merrow_server.evaluations.evaluation_formats import WHOLE, formatted
from merrow_server.evaluations.prepared_evaluation import PreparedEvaluation, remarks
from merrow_server.evaluations.so_far import SoFar
from merrow_server.evaluations.tables import CUT, comparison_lines, report_lines
from merrow_server.rendering.counts import counted
from merrow_server.rendering.terminal import console, echo, emit, style

if TYPE_CHECKING:
    from merrow_server.workers.cluster import Cluster


def begun(user: Store, prepared: PreparedEvaluation) -> EvaluationRecord:
    """Put a new evaluation into the journal, after telling what it may cost and what is remarkable about it."""
    plan, data = prepared.plan, prepared.data
    echo(forecast_text(forecast(plan, user.evaluations.known), data_name(data.file), data.part), err=True)
    for sentence in remarks(user, prepared):
        notice(sentence)
    return begin(user, plan, data.hash, data.part, prepared.again)


def notice(sentence: str) -> None:
    """A sentence to be read before the first call."""
    echo(f"{style('Note:', fg='yellow')} {sentence}", err=True)


async def watch(
    user: Store, record: EvaluationRecord, prepared: PreparedEvaluation, cluster: Cluster | None = None
) -> int:
    """Work on an evaluation to its end, with its progress on a terminal; the exit code without gates. Its items are answered by
    the workers of a ``cluster`` where there is one, else in this process.
    """
    plan = prepared.plan
    engine = None if cluster is None else _engine(cluster, user, record, prepared)
    progress = _progress(user, record, len(plan.items) * plan.repeats)
    code, _ = await watched(prepared, progress, lambda told: work(user, record.id, plan, told, engine))
    again = f"merrow resume {record.id}"
    if code == INTERRUPTED:
        echo(f"{style('Stopped', fg='yellow')}: what is finished is kept; continue it with: {again}", err=True)
    elif code != OK:
        echo(
            f"{style('Stopped', fg='red')} before its end; what is finished is kept. Continue it with: {again}",
            err=True,
        )
    return code


def _engine(cluster: Cluster, user: Store, record: EvaluationRecord, prepared: PreparedEvaluation) -> AnswerEngine:
    from merrow_server.workers.engine import DaskEngine
    from merrow_server.workers.facts import facts_of
    from merrow_server.workers.terms import ChunkTerms

    for sentence in cluster.notices:
        notice(sentence)
    terms = ChunkTerms(facts_of(prepared, user), prepared.plan.options.concurrency)
    return DaskEngine(cluster, record.id, prepared.plan, user, terms, notice)


def report(user: Store, record: EvaluationRecord, gates: Gates, baseline: EvaluationRecord | None, output: str) -> bool:
    """Print how an evaluation came out, failures first; whether it passes the gates."""
    record = user.evaluations.get(record.id)
    compared = None if baseline is None else comparison(user, baseline, record)
    told = evaluation_report(user, record, whole=output in WHOLE, longest=CUT if output == "text" else None)
    if baseline is not None and (why := other_metrics(baseline, record)):
        notice(why)
    gates = gates.named(record.plan.get("fields", {}))
    failed = list(gates.failed(summary(record, user.evaluations.scores(record.id)), compared))
    if output != "text":
        if output == "json":
            told["gates_failed"] = failed
            if baseline is not None and compared is not None:
                told["baseline"] = {"evaluation": baseline.id, **compared.to_json()}
        emit(formatted(told, output, failed))
    else:
        for line in report_lines(told, whole=False, style=style):
            echo(line)
        if baseline is not None and compared is not None:
            for line in comparison_lines(compared, baseline.id, record.id, style):
                echo(line)
        echo(f"Evaluation {record.id}: see all of it with: merrow show {record.id}", err=True)
    for sentence in failed:
        echo(f"{style('Gate failed:', fg='red', bold=True)} {sentence}", err=True)
    return not failed


@contextmanager
def _progress(user: Store, record: EvaluationRecord, total: int) -> Iterator[Callable[[ScoreRecord], None]]:
    """A line that moves on a terminal, else one a minute: score so far, money, and the time that is left."""
    so_far = SoFar(total, user.evaluations.scores(record.id), is_scored=record.metric != BATCH)
    if not sys.stderr.isatty():
        with minutes(lambda: f"{so_far.done:,} of {counted(total, 'answer')}, {so_far.text()}"):
            yield so_far.add
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"), waiting_column())
    bar = Progress(*columns, console=console(err=True), transient=True, redirect_stdout=False, redirect_stderr=False)
    with bar:
        task = bar.add_task("", total=total, completed=so_far.done, told=so_far.text())

        def tell(score: ScoreRecord) -> None:
            so_far.add(score)
            bar.update(task, completed=so_far.done, told=so_far.text())

        yield tell
