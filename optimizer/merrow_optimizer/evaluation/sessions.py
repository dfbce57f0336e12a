"""Evaluations and searches from their beginning to their end: begun, gone on with, and looked at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from merrow_optimizer.evaluation.evaluator import Evaluator, OnScore
from merrow_optimizer.evaluation.plan import Plan
from merrow_runtime.errors import StoreFailure
from merrow_runtime.program.files import whole_path
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord
from merrow_runtime.store.extractions import ExtractionRecord
from merrow_runtime.store.listed import Listed
from merrow_runtime.store.names import new_id
from merrow_runtime.store.optimizations import OptimizationRecord

FOLDER = "evaluations"
"""Where journals of evaluations and searches are, in the user's state folder."""

_LOOK = 0.5
"""Seconds between two looks at whether it was cancelled."""

J = TypeVar("J", bound="Job")

State = Literal["running", "finished", "stopped", "cancelled", "interrupted"]


def journal_of(user: Store, identity: str) -> Path:
    """The file with the runs of an evaluation or a search."""
    assert user.path is not None  # noqa: S101 (the user's store is a file)
    return user.path.parent / FOLDER / f"{identity}.sqlite"


def begin(user: Store, plan: Plan, dataset: str, part: str, again: Mapping[str, Any]) -> EvaluationRecord:
    """Put a new evaluation into the user's store. ``dataset`` is the hash of its items; ``again`` what a resume needs to make
    the plan again, as plain data. Raises `StoreFailure`.
    """
    record = EvaluationRecord(
        new_id(),
        whole_path(plan.workflow.name),
        "running",
        time.time(),
        dataset,
        part,
        plan.metric.name,
        plan.model,
        plan.options.seed,
        plan.repeats,
        {**again, "semantic": plan.semantic, "origin": plan.chosen.endpoint.origin, "items": len(plan.items)},
    )
    user.evaluations.begin(record)
    return record


class Job(Protocol):
    """Works on an evaluation or a search; ``stopped_by`` says why it stopped before its end."""

    stopped_by: str | None


async def work(user: Store, evaluation: str, plan: Plan, told: OnScore = lambda _: None) -> Evaluator:
    """Work on an evaluation to its end, whatever that is, and keep how it ended.

    Cancelling ends it: what is finished is kept. Raises `StoreFailure` where it can't begin: another process works on it.
    """

    def make(own: Store) -> Evaluator:
        return Evaluator(evaluation, plan, user, own, user.evaluations.get(evaluation).seconds)

    return await carry_out(user, user.evaluations, evaluation, make, lambda evaluator: evaluator.run(told))


async def carry_out(
    user: Store,
    kept: Listed[Any],
    identity: str,
    make: Callable[[Store], J],
    run: Callable[[J], Coroutine[Any, Any, None]],
) -> J:
    """Make and run the job of one of ``kept``, evaluations or searches of the user's store, with a journal of its own, and keep
    how it ended. Cancelling ends it. Raises `StoreFailure` where it can't begin: another process works on it.
    """
    started = time.monotonic()
    try:
        own = Store.open(journal_of(user, identity), answers=user, alone=True)
    except StoreFailure as problem:
        raise StoreFailure(f"{kept.word.capitalize()} {identity} can't continue. {problem}") from None
    with closing(own):
        job = make(own)
        kept.update(identity, "running")
        working = asyncio.current_task()
        assert working is not None  # noqa: S101 (this is a coroutine of a task)
        watching = asyncio.ensure_future(_watch_for_cancel(kept, identity, working))
        try:
            await run(job)
        except asyncio.CancelledError:
            kept.update(identity, "cancelled", None, time.time(), time.monotonic() - started)
            raise
        except StoreFailure as problem:
            job.stopped_by = str(problem)
            # A disk that is full may have room for this, which is little; where it has not, the process is over for others, too.
            with suppress(StoreFailure):
                kept.update(identity, "stopped", job.stopped_by, time.time(), time.monotonic() - started)
            return job
        finally:
            watching.cancel()
        status: Literal["finished", "stopped"] = "finished" if job.stopped_by is None else "stopped"
        kept.update(identity, status, job.stopped_by, time.time(), time.monotonic() - started)
    return job


async def _watch_for_cancel(kept: Listed[Any], identity: str, working: asyncio.Task[Any]) -> None:
    """Cancel the task that works on an evaluation or a search once somebody wrote down that it is cancelled, or deleted it."""
    while True:
        await asyncio.sleep(_LOOK)
        with suppress(StoreFailure):  # the next write reports it, to a caller that can act on it
            if kept.status(identity) != "running":
                working.cancel()
                return


def request_cancel(user: Store, kept: Listed[Any], said: str) -> bool:
    """Ask the process that works on one of ``kept``, evaluations or searches of the user's store, to end it; False where none
    does. Raises `StoreFailure`.
    """
    record = kept.get(said)
    if state_of(user, record) != "running":
        return False
    kept.update(record.id, "cancelled")
    return True


def delete(user: Store, kept: Listed[Any], said: str) -> None:
    """Delete an evaluation or a search with its scores and the journal of its runs. Raises `StoreFailure` while a process works
    on it.
    """
    identity = kept.id_of(said)
    if is_open(user, identity):
        raise StoreFailure(
            f"{kept.word.capitalize()} {identity} is still going on; stop it first with: merrow cancel {identity}"
        )
    kept.delete(identity)
    path = journal_of(user, identity)
    for suffix in ("", "-wal", "-shm", ".ballast"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def is_open(user: Store, identity: str) -> bool:
    """Whether a living process works on an evaluation or a search."""
    path = journal_of(user, identity)
    if not path.exists():
        return False
    with closing(Store.open(path, reading=True)) as own:
        return own.is_open_elsewhere


def last_seen(user: Store, record: EvaluationRecord | OptimizationRecord | ExtractionRecord) -> float:
    """When an evaluation, a search or an extraction was last known to be worked on, in seconds since 1970."""
    path = journal_of(user, record.id)
    if record.ended is not None or not path.exists():
        return record.ended or record.started
    with closing(Store.open(path, spare=False)) as own:
        return max(record.started, own.last_seen() or 0.0)


def state_of(user: Store, record: EvaluationRecord | OptimizationRecord | ExtractionRecord) -> State:
    """How it is now: one that no living process works on is not running, whatever was written down last."""
    if record.status != "running":
        return record.status
    return "running" if is_open(user, record.id) else "interrupted"
