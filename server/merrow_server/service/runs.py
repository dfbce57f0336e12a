"""The runs of a served workflow: begun once for each request, within the limits, and brought to an end."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from merrow_optimizer.revising.late import LateReviser
from merrow_runtime.calls.tool_servers import ToolServers
from merrow_runtime.errors import RunFailure, StoreFailure, UsageFailure
from merrow_runtime.options import RunOptions
from merrow_runtime.people.answering import (
    NotAskedError,
    QuestionClosedError,
    answer,
    is_open,
    open_questions,
)
from merrow_runtime.program.inputs import MissingInputs, read_inputs
from merrow_runtime.running.api import resume, start
from merrow_runtime.running.resources import ChosenEndpoint
from merrow_runtime.running.run import Run, RunResult
from merrow_runtime.store.contract import AskRecord, RunRecord, exhausted_of
from merrow_runtime.store.database import Store
from merrow_runtime.values import Value, canonical
from merrow_runtime.workflow import Workflow
from merrow_server.service.questions import SentAnswer, shown_question

LONGEST_KEY = 200
"""Characters of a key by which a request is known again."""
_REMEMBERED = 200
"""Runs that ended and of which events are still told."""
_MOST_LISTED = 100
"""Runs that wait for people and are listed."""
_LOOK = 0.1
"""Seconds between looks at a run that another process works on."""
_SOONEST = 0.05
_LATEST = 3_600.0
"""Seconds after which a deadline is looked at, at the earliest and at the latest: clocks may be set, and machines sleep."""
_AGAIN = 5.0
"""Seconds after which a run that could not be continued is tried again."""

Follow = Callable[[Run], Awaitable[object]]


class RequestRefusedError(Exception):
    """A request is not carried out: the sentence, and ``status``, the code by which HTTP says so. ``by`` is who has answered a
    question before.
    """

    def __init__(self, status: int, sentence: str, by: str | None = None) -> None:
        super().__init__(sentence)
        self.status, self.by = status, by


class ServedRuns:
    """The runs of one workflow. Belongs to the thread and event loop that opened ``store``; that, the endpoint of ``chosen``, and
    the servers of ``tools`` stay the caller's.

    ``most`` runs go on at the same time. Once the runs have cost ``usd`` US dollars, no further one begins.
    """

    def __init__(
        self,
        workflow: Workflow,
        options: RunOptions,
        chosen: ChosenEndpoint,
        store: Store,
        tools: ToolServers,
        *,
        most: int,
        usd: float,
    ) -> None:
        self.workflow = workflow
        self._options = replace(
            options, concurrency=chosen.concurrency, default_model=options.default_model or chosen.model, stream=True
        )
        self._chosen, self._store, self._tools = chosen, store, tools
        self._most, self._usd = most, usd
        self._spent = 0.0
        self._going: dict[str, tuple[Run, asyncio.Task[None]]] = {}
        self._ended: OrderedDict[str, Run] = OrderedDict()
        self._continuing: set[asyncio.Task[dict[str, Any]]] = set()
        self._deadlines: dict[str, asyncio.TimerHandle] = {}
        self._closed = False

    @property
    def going(self) -> list[str]:
        """The ids of the runs that go on."""
        return list(self._going)

    def begin(self, given: Mapping[str, Value], key: str | None = None) -> Run:
        """A run with these inputs. With a ``key`` that came before, the run that it began then: joined, told again, or continued
        where it stopped before its end. Raises `RequestRefusedError`.
        """
        try:
            inputs = read_inputs(self.workflow.graph, given)
        except MissingInputs as problem:
            first = problem.missing[0]
            raise RequestRefusedError(422, f"The input {first.id} has no value; it is of type {first.type}.") from None
        except UsageFailure as problem:
            raise RequestRefusedError(422, str(problem)) from None
        name = None if key is None else self._name_of(key)
        try:
            earlier = None if name is None or self._store.status(name) is None else self._store.run(name)
            if earlier is not None and canonical(dict(earlier.snapshot.get("inputs", {}))) != canonical(inputs):
                raise RequestRefusedError(409, "This Idempotency-Key was used for other inputs; use a new one.")
            if name is not None and name in self._going:
                return self._going[name][0]
            if earlier is None or earlier.status != "finished":
                self._check_free()
            before = 0.0 if earlier is None else earlier.usage.cost_usd or 0.0
            return self._watched(self._begun(name, inputs, is_known=earlier is not None), before)
        except StoreFailure as problem:
            raise RequestRefusedError(409 if name is not None else 500, str(problem)) from None
        except UsageFailure as problem:
            raise RequestRefusedError(409, str(problem)) from None
        except RunFailure as problem:  # the user's own limits of this day or month
            raise RequestRefusedError(402, str(problem)) from None

    def _begun(self, name: str | None, inputs: Mapping[str, Value], *, is_known: bool) -> Run:
        endpoint, store = self._chosen.endpoint, self._store
        if name is not None and is_known:
            return resume(
                name,
                options=self._options,
                endpoint=endpoint,
                store=store,
                reviser=LateReviser(),
                tools=self._tools,
            )
        return start(
            self.workflow,
            inputs,
            options=self._options,
            endpoint=endpoint,
            store=store,
            run_id=name,
            reviser=LateReviser(),
            tools=self._tools,
        )

    def _check_free(self) -> None:
        if self._closed:
            raise RequestRefusedError(503, "The service is being stopped; ask again when it is up.")
        if self._spent >= self._usd:
            raise RequestRefusedError(
                402,
                f"The runs of this service have cost ${self._spent:.4f}, and it may spend ${self._usd:g}: start it again,"
                " with a higher --total-usd if need be.",
            )
        if len(self._going) >= self._most:
            some = "A run is under way" if self._most == 1 else f"{self._most} runs are under way"
            raise RequestRefusedError(429, f"{some}; ask again when {'it' if self._most == 1 else 'one'} has ended.")

    def _name_of(self, key: str) -> str:
        """The id of the run of a key: another one for another workflow, or another version of it."""
        if not 0 < len(key) <= LONGEST_KEY:
            raise RequestRefusedError(400, f"An Idempotency-Key has 1 to {LONGEST_KEY} characters.")
        identity = canonical([self.workflow.name, self.workflow.snapshot(), key])
        return "up-" + hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _watched(self, run: Run, before: float) -> Run:
        self._ended.pop(run.id, None)
        self._going[run.id] = run, asyncio.create_task(self._settled(run, before))
        return run

    async def _settled(self, run: Run, before: float) -> None:
        """Count what a run has cost, at its end; ``before`` is what an earlier part of it did."""
        try:
            result = await run.result()
        except Exception:  # noqa: BLE001, S110 (whoever waits for the result is told)
            pass
        else:
            self._spent += max(0.0, (result.usage.cost_usd or 0.0) - before)
            if result.status == "waiting":
                self._look_at_deadline(run.id)
        finally:
            del self._going[run.id]
            self._ended[run.id] = run
            while len(self._ended) > _REMEMBERED:
                self._ended.popitem(last=False)

    def told(self, id_: str) -> Run:
        """A run that began since the service is up, for its events. Raises `RequestRefusedError`."""
        going = self._going.get(id_)
        run = self._ended.get(id_) if going is None else going[0]
        if run is None:
            raise RequestRefusedError(
                404, f"The service has begun no run {id_} since it is up; see it with: merrow show {id_}"
            )
        return run

    def record(self, id_: str) -> dict[str, Any]:
        """A run of this workflow as the journal has it now. Raises `RequestRefusedError`."""
        try:
            record = self._store.run(id_) if self._store.status(id_) is not None else None
            loops = self._store.ended(id_)[1]
        except (StoreFailure, UsageFailure) as problem:
            raise RequestRefusedError(500, str(problem)) from None
        if record is None or record.workflow != self.workflow.name:
            raise RequestRefusedError(404, f"There is no run {id_} of this workflow.")
        return recorded(record, exhausted_of(loops), self.questions(id_))

    def waiting(self) -> list[dict[str, Any]]:
        """The runs of this workflow that have open questions, the newest first, with these. Raises `RequestRefusedError`."""
        try:
            now = self._store.now()
            runs = self._store.waiting(_MOST_LISTED, self.workflow.name)
        except StoreFailure as problem:
            raise RequestRefusedError(500, str(problem)) from None
        found = ((run.id, [shown_question(ask) for ask in run.asks if is_open(ask, now)]) for run in runs)
        return [{"run": id_, "asks": asks} for id_, asks in found if asks]

    def questions(self, id_: str) -> list[AskRecord]:
        """The open questions of a run, the first one that was asked first. Raises `RequestRefusedError`."""
        try:
            return open_questions(self._store, id_)
        except (StoreFailure, UsageFailure) as problem:
            raise RequestRefusedError(500, str(problem)) from None

    def answer(self, id_: str, sent: SentAnswer) -> None:
        """Answer a question of a run of this workflow, or decline to. `continued` takes the run on from there.

        Raises `RequestRefusedError` with the reason where that can't be; then nothing is answered.
        """
        self.record(id_)
        try:
            if id_ not in self._going and not self._store.is_worked_on(id_):
                self._check_free()
            answer(self._store, id_, sent.visit(self._store.asks(id_)), sent.given)
        except NotAskedError as problem:
            raise RequestRefusedError(404, str(problem)) from None
        except QuestionClosedError as problem:
            raise RequestRefusedError(410 if problem.by is None else 409, str(problem), problem.by) from None
        except UsageFailure as problem:
            raise RequestRefusedError(422, str(problem)) from None
        except StoreFailure as problem:
            raise RequestRefusedError(500, str(problem)) from None

    def continued(self, id_: str, follow: Follow | None = None) -> asyncio.Task[dict[str, Any]]:
        """Take a run on with the answers that it has, as far as they lead; the task's result is how it stands then, as clients
        are told. Each part of it that begins here is given to ``follow``. Whoever waits for the task may be cancelled, and
        the run still continues.

        Where it can't continue within the limits, ``error`` of the result says so, and the answers are kept.
        """
        task = asyncio.create_task(self._continued(id_, follow))
        self._continuing.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[dict[str, Any]]) -> None:
        self._continuing.discard(task)
        if not task.cancelled():
            task.exception()  # Whoever waits for the run is told; nobody may.

    async def _continued(self, id_: str, follow: Follow | None) -> dict[str, Any]:
        try:
            while (run := await self._next_part(id_)) is not None:
                if follow is not None:
                    await follow(run)
                result = await run.result()
                settling = self._going.get(id_)
                if settling is not None and settling[0] is run:
                    await asyncio.shield(settling[1])
                if result.status != "waiting":
                    return of_result(result)
            return self.record(id_)
        except RequestRefusedError as problem:
            sentence = f"The answer is kept, but the run could not be continued: {problem}"
            return {**self.record(id_), "error": sentence}

    async def _next_part(self, id_: str) -> Run | None:
        """The run as it goes on; None where there is nothing to go on with. Raises `RequestRefusedError`."""
        try:
            while True:
                if id_ in self._going:
                    run = self._going[id_][0]
                    run.look()
                    return run
                if not self._store.is_worked_on(id_):
                    break
                await asyncio.sleep(_LOOK)  # Another process has it, and sees what is answered.
            status = self._store.status(id_)
            if status != "running" and not (status == "waiting" and id_ in self._store.ready()):
                return None
            self._check_free()
            before = self._store.run(id_).usage.cost_usd or 0.0
            return self._watched(self._begun(id_, {}, is_known=True), before)
        except (StoreFailure, UsageFailure) as problem:
            raise RequestRefusedError(409, str(problem)) from None
        except RunFailure as problem:
            raise RequestRefusedError(402, str(problem)) from None

    def _look_at_deadline(self, id_: str, soonest: float = _SOONEST) -> None:
        """See to it that a run goes on when the first deadline of its questions has passed."""
        with contextlib.suppress(StoreFailure):
            dues = [ask.due for ask in self._store.asks(id_) if ask.state == "asked" and ask.due is not None]
            if dues and not self._closed:
                seconds = min(max(min(dues) - self._store.now(), soonest), _LATEST)
                earlier = self._deadlines.pop(id_, None)
                if earlier is not None:
                    earlier.cancel()
                loop = asyncio.get_running_loop()
                self._deadlines[id_] = loop.call_later(seconds, self._deadline_came, id_)

    def _deadline_came(self, id_: str) -> None:
        del self._deadlines[id_]

        def again(task: asyncio.Task[dict[str, Any]]) -> None:
            if not task.cancelled() and task.exception() is None and task.result()["status"] == "waiting":
                self._look_at_deadline(id_, _AGAIN)

        if id_ not in self._going:
            self.continued(id_).add_done_callback(again)

    async def stop(self, id_: str) -> dict[str, Any]:
        """Stop a run; how it ended. Raises `RequestRefusedError`."""
        shown = self.record(id_)
        if id_ in self._going:
            run = self._going[id_][0]
            run.cancel()
            return of_result(await run.result())
        if shown["status"] == "waiting":
            try:
                self._store.request_cancel(id_)
            except (StoreFailure, UsageFailure) as problem:
                raise RequestRefusedError(500, str(problem)) from None
        return self.record(id_)

    def close(self) -> None:
        """Begin no further run."""
        self._closed = True
        while self._deadlines:
            self._deadlines.popitem()[1].cancel()

    def cancel(self) -> None:
        """Stop all runs that go on; what they have finished is kept."""
        for run, _ in self._going.values():
            run.cancel()

    async def ended(self) -> None:
        """Wait until no run goes on."""
        while self._going:
            with contextlib.suppress(Exception):
                await asyncio.gather(*(task for _, task in self._going.values()))


def of_result(result: RunResult) -> dict[str, Any]:
    """How a run ended, as a client is told."""
    shown = {"run": result.run, "status": result.status, **result.to_json()}
    return {**shown, "asks": list(map(shown_question, result.asks))} if result.status == "waiting" else shown


def recorded(run: RunRecord, exhausted: list[str], asks: Sequence[AskRecord] = ()) -> dict[str, Any]:
    """A run of the journal, as a client is told; ``exhausted`` as in `RunResult`, ``asks`` are its open questions."""
    shown: dict[str, Any] = {
        "run": run.id,
        "status": run.status,
        "outputs": dict(run.outputs or {}),
        "usage": run.usage.to_json(),
        "seconds": run.seconds,
        "exhausted": exhausted,
    }
    if asks or run.status == "waiting":
        shown["asks"] = list(map(shown_question, asks))
    if run.error is not None:
        shown["error"] = run.error
    return shown if run.failure is None else {**shown, **run.failure.to_json()}
