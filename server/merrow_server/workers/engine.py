"""Has the items of an evaluation answered by the workers of a Dask cluster, in chunks, and reads the scores in the journal."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from merrow_optimizer.evaluation.answering import run_name
from merrow_optimizer.evaluation.endings import Fatal
from merrow_optimizer.evaluation.evaluator import AnswerTask, Tally
from merrow_optimizer.evaluation.keys import score_key
from merrow_optimizer.evaluation.plan import Plan
from merrow_optimizer.evaluation.scores import Status
from merrow_runtime.errors import StoreFailure
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import ScoreRecord
from merrow_runtime.store.names import new_id
from merrow_runtime.usage import NOTHING, Usage
from merrow_server.workers import tasks as in_worker
from merrow_server.workers.allowances import Allowances
from merrow_server.workers.cluster import Cluster
from merrow_server.workers.roster import Notice, Roster
from merrow_server.workers.terms import ChunkEnd, ChunkTerms, items_text

if TYPE_CHECKING:
    from distributed import Future

MOST = 64
"""Items of a chunk at most."""
_SECONDS = 1.0
"""How long a chunk is to last."""
_LOOK = 1.0
"""Seconds between two looks at which workers there are."""
_LOST = 4
"""So many times the workers of a chunk may go away before it is taken to be the reason; Dask's own limit is the same."""
_AHEAD = 1
"""Chunks that wait at a worker beside those that it works on."""


@dataclass(eq=False)
class _Chunk:
    """Items that are answered by one task of Dask. ``alone`` says that nothing else was on its way when it was sent;
    ``suspected`` that workers died with it; ``lost`` counts how often all workers that it was for went away.
    """

    key: str
    tasks: list[AnswerTask]
    alone: bool = False
    suspected: bool = False
    lost: int = 0
    future: Future[str] | None = None
    workers: frozenset[str] | None = None
    ended: asyncio.Task[ChunkEnd] | None = field(default=None, repr=False)


class DaskEngine:
    """See `AnswerEngine`. ``terms`` are those of all chunks; ``notice`` is called with sentences for the user."""

    def __init__(
        self, cluster: Cluster, evaluation: str, plan: Plan, user: Store, terms: ChunkTerms, notice: Notice
    ) -> None:
        self._cluster, self._evaluation, self._plan, self._user = cluster, evaluation, plan, user
        self._terms = terms
        self._roster = Roster(cluster, evaluation, terms, notice)
        spent = NOTHING
        self._counted: dict[tuple[str, int], Usage] = {}
        """What answers have used that will be asked for again."""
        for score in user.evaluations.scores(evaluation):
            spent += score.usage
            if score.status == Status.UNANSWERED or plan.options.reuse == "same":
                self._counted[score.item, score.repeat] = score.usage
        self._allowances = Allowances(plan.limits, spent)
        self._tasks: Iterator[AnswerTask] = iter(())
        self._left: deque[AnswerTask] = deque()
        self._suspects: deque[AnswerTask] = deque()
        self._on_their_way: set[_Chunk] = set()
        self._size = min(MOST, max(1, plan.concurrency))
        self._stopping = False
        # Keys of two coordinators never meet in one scheduler.
        self._keys = f"merrow-{evaluation}-{new_id()}"
        self._sent = 0

    async def answer(self, tasks: Iterable[AnswerTask], tally: Tally) -> None:
        """See `AnswerEngine`."""
        self._tasks = iter(tasks)
        self._fill()
        looking: asyncio.Task[None] | None = None
        try:
            while (self._left or self._suspects or self._on_their_way) and not self._has_stopped():
                if looking is None:
                    looking = asyncio.ensure_future(self._look())
                if self._roster.accepted:
                    self._send()
                waiting = {looking, *(chunk.ended for chunk in self._on_their_way if chunk.ended is not None)}
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if looking.done():
                    looking.result()
                    looking = None
                    if (why := self._roster.all_are_refused) is not None:
                        tally.end(why)
                        return
                    self._reissue()
                for chunk in [one for one in self._on_their_way if one.ended is not None and one.ended.done()]:
                    await self._take(chunk, tally)
        except OSError:
            tally.end(self._gone)
        finally:
            await self._cancel(looking)

    def close(self) -> None:
        """See `AnswerEngine`."""

    @property
    def _gone(self) -> str:
        return f"The Dask scheduler at {self._cluster.address} is gone."

    def _has_stopped(self) -> bool:
        """Whether nothing is to be sent any more, and nothing is on its way."""
        return self._stopping and not self._on_their_way

    async def _look(self) -> None:
        if self._roster.accepted:
            await asyncio.sleep(_LOOK)
        await self._roster.refresh()
        if not self._roster.accepted and not self._roster.refused:
            await asyncio.sleep(_LOOK)

    def _send(self) -> None:
        """Send as many chunks as the workers are busy with, and one more for each."""
        if self._stopping:
            return
        slots = sum(threads + _AHEAD for threads in self._roster.accepted.values())
        if self._allowances.is_tight:
            slots = 1
        while self._left and len(self._on_their_way) < slots:
            tasks: list[AnswerTask] = []
            while self._left and len(tasks) < (self._cluster.chunk or self._size):
                tasks.append(self._left.popleft())
                self._fill()
            self._submit(tasks, others=slots - len(self._on_their_way) - 1)
        if self._suspects and not self._on_their_way:
            # Whoever was at a worker that died is suspected. Alone, it is the reason, or isn't.
            self._submit([self._suspects.popleft()], others=0, suspected=True)

    def _fill(self) -> None:
        """Have a task at hand as long as there is one: all of them, with their items, would fill the memory."""
        if not self._left:
            self._left.extend(islice(self._tasks, 1))

    def _submit(self, tasks: list[AnswerTask], *, others: int, suspected: bool = False) -> None:
        self._sent += 1
        chunk = _Chunk(f"{self._keys}-{self._sent}", tasks, not self._on_their_way and others == 0, suspected)
        self._begin(chunk, others)

    def _begin(self, chunk: _Chunk, others: int) -> None:
        terms = ChunkTerms(self._terms.facts, self._terms.concurrency, self._allowances.grant(chunk.key, others))
        # Where all workers are alike, Dask has any of them to choose from, also one that joins later, which checks itself.
        chunk.workers = frozenset(self._roster.accepted) if self._roster.refused else None
        chunk.future = self._cluster.client.submit(
            in_worker.answer,
            self._evaluation,
            items_text(chunk.tasks),
            terms.to_text(),
            key=chunk.key,
            workers=None if chunk.workers is None else sorted(chunk.workers),
            allow_other_workers=False,
            pure=False,
        )
        chunk.ended = asyncio.ensure_future(_end_of(chunk.future))
        self._on_their_way.add(chunk)

    def _reissue(self) -> None:
        """Send chunks again that wait for workers which are all gone, while others are there."""
        there = self._roster.accepted.keys()
        for chunk in list(self._on_their_way):
            if chunk.workers is None or chunk.workers & there or not there:
                continue
            self._drop(chunk)
            chunk.lost += 1
            if chunk.lost >= _LOST:
                chunk.ended = asyncio.ensure_future(_killed())
                self._on_their_way.add(chunk)
            else:
                chunk.key = f"{chunk.key}-{chunk.lost}"
                self._begin(chunk, others=len(self._on_their_way))

    def _drop(self, chunk: _Chunk) -> None:
        """Want a chunk no more."""
        self._on_their_way.discard(chunk)
        self._allowances.settle(chunk.key)
        if chunk.ended is not None:
            chunk.ended.cancel()
        if chunk.future is not None:
            chunk.future.release()  # type: ignore[no-untyped-call]

    async def _take(self, chunk: _Chunk, tally: Tally) -> None:
        """Read what a chunk that has ended came to."""
        assert chunk.ended is not None  # noqa: S101 (it has)
        self._drop(chunk)
        try:
            end = chunk.ended.result()
        except asyncio.CancelledError:
            tally.end(self._gone)
            self._stopping = True
            return
        except WorkersDied:
            await self._suspect(chunk, tally)
            return
        except TaskFailed as problem:
            await self._look_for_the_reason(chunk, problem, tally)
            return
        if end.failed:
            raise StoreFailure(end.failed)
        if end.refused:
            self._left.extendleft(reversed(chunk.tasks))
            await self._roster.recheck()
            return
        self._learn(len(end.done), end.seconds)
        done = set(end.done)
        back = [task for place, task in enumerate(chunk.tasks) if place not in done]
        tight = end.fatal is Fatal.BUDGET and not chunk.alone
        wanted = [(chunk.tasks[place].item.id, chunk.tasks[place].repeat) for place in end.done]
        scores = await self._user.evaluations.off_loop(lambda kept: kept.some(self._evaluation, wanted))
        for place, record in zip(end.done, scores, strict=True):
            task = chunk.tasks[place]
            if record is None:
                back.append(task)
                continue
            self._count(record)
            if tight and record.status == Status.UNANSWERED:
                # What it lacked others have, and may give back.
                back.append(task)
            elif tally.ended(task, record, end.fatal if place == end.fatal_at and not tight else None):
                self._stopping = True
        self._allowances.is_tight = self._allowances.is_tight or tight
        if not self._stopping:
            self._left.extendleft(sorted(back, key=lambda task: -task.place))

    def _count(self, record: ScoreRecord) -> None:
        key = record.item, record.repeat
        self._allowances.count(record.usage, self._counted.pop(key, None))
        if record.status == Status.UNANSWERED:
            self._counted[key] = record.usage

    def _learn(self, items: int, seconds: float) -> None:
        """Have the next chunks last about a second; not so few items that calls would wait for each other."""
        if items and seconds > 0:
            fits = int(items * _SECONDS / seconds)
            self._size = max(1, min(MOST, max(self._plan.concurrency, (self._size + fits) // 2)))

    async def _suspect(self, chunk: _Chunk, tally: Tally) -> None:
        """After workers died with a chunk: what is answered counts, what had not begun is sent again, the rest one by one; an
        item that was alone with them has failed.
        """
        suspects: list[AnswerTask] = []
        with self._user.looking_into(self._evaluation) as own:
            for task in chunk.tasks:
                record = self._user.evaluations.score(self._evaluation, task.item.id, task.repeat)
                status = None if own is None else own.status(run_name(self._evaluation, task.item.id, task.repeat))
                if record is not None and record.status != Status.UNANSWERED and not task.again:
                    self._count(record)
                    tally.ended(task, record)
                elif chunk.suspected:
                    await self._fail(task, None if own is None or status is None else own, tally)
                elif status is None:
                    self._left.append(task)
                else:
                    suspects.append(task)
        self._suspects.extend(suspects)

    async def _fail(self, task: AnswerTask, own: Store | None, tally: Tally) -> None:
        name = run_name(self._evaluation, task.item.id, task.repeat)
        work = self._plan.work_key(task.item.id, task.repeat)
        usage = NOTHING if own is None else own.run(name).usage
        record = ScoreRecord(
            task.item.id,
            task.repeat,
            Status.FAILED,
            0.0,
            "",
            "Each worker that worked on it died: it may need more memory than they have.",
            usage,
            0.0,
            "" if own is None else name,
            work,
            score_key(work, task.item, self._plan.metric),
        )
        await self._user.evaluations.keep(self._evaluation, record)
        self._count(record)
        tally.ended(task, record)

    async def _look_for_the_reason(self, chunk: _Chunk, problem: TaskFailed, tally: Tally) -> None:
        """A task can't be begun, or failed with what is no failure of ours: its worker may not be the one that was checked."""
        before = len(self._roster.refused)
        await self._roster.recheck()
        if len(self._roster.refused) > before:
            self._left.extendleft(reversed(chunk.tasks))
        else:
            tally.end(f"A task failed at its worker: {problem}.")
            self._stopping = True

    async def _cancel(self, looking: asyncio.Task[None] | None) -> None:
        """Want nothing more: what waits is never begun, what is in flight ends within a second."""
        if looking is not None:
            looking.cancel()
        wanted = [chunk.future for chunk in self._on_their_way if chunk.future is not None]
        for chunk in self._on_their_way:
            if chunk.ended is not None:
                chunk.ended.cancel()
        if wanted:
            with suppress(OSError, asyncio.TimeoutError):
                async with asyncio.timeout(_LOOK):
                    client: Any = self._cluster.client
                    await client.cancel(wanted, force=True)
            await asyncio.sleep(_LOOK)  # they note what they have paid
        self._on_their_way.clear()


class WorkersDied(Exception):  # noqa: N818 (it says what happened)
    """The workers that worked on a chunk died, one after another."""


class TaskFailed(Exception):  # noqa: N818 (it says what happened)
    """A task ended with an exception, which it never does."""


async def _end_of(future: Any) -> ChunkEnd:
    from distributed import KilledWorker

    try:
        text = await future
    except asyncio.CancelledError:
        raise
    except KilledWorker:
        raise WorkersDied from None
    except Exception as problem:  # noqa: BLE001 (whatever a worker has)
        if type(problem).__name__ == "FutureCancelledError":
            raise asyncio.CancelledError from None
        raise TaskFailed(f"{type(problem).__name__}: {str(problem)[:300]}") from None
    try:
        return ChunkEnd.of_text(text)
    except (ValueError, TypeError, KeyError) as problem:
        raise TaskFailed(f"it gave something else than the end of a chunk ({type(problem).__name__})") from None


async def _killed() -> ChunkEnd:
    raise WorkersDied
