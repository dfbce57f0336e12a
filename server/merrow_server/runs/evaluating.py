"""The evaluations of one server, in the thread of its runs: made ready, worked on, cancelled, listed, taken out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from merrow_optimizer.evaluation.plan import Limits
from merrow_optimizer.evaluation.sessions import begin, delete, work
from merrow_runtime.errors import UsageFailure
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord, ScoreRecord
from merrow_server.evaluations.preparing import (
    Asked,
    Choosing,
    Prepared,
    forecast_json,
    prepare,
    prepare_again,
    remarks,
)
from merrow_server.evaluations.report import (
    comparison,
    evaluation_object,
    evaluation_report,
    item_object,
    label_object,
    other_metrics,
    with_inputs,
    with_verdicts,
)
from merrow_server.evaluations.so_far import SoFar
from merrow_server.evaluations.tables import comparison_lines
from merrow_server.runs.journalled import Check, Journalled
from merrow_server.runs.orders import ASKED, EvaluationOrder, WorkflowText
from merrow_server.runs.places import place_of
from merrow_server.runs.ticket import Ticket
from merrow_server.runs.tickets import Json

_PAUSE = 0.1
"""Seconds between two tellings of how far an evaluation is."""
_TEXTS, _LONGEST = 1_800_000, 8_000
"""Characters of what was asked in a report, over all items, and of one value: a page has to be read, kept and drawn."""
_OLDER = 5
"""Evaluations of a workflow that are looked at for the newest one with a score."""


@dataclass(frozen=True, slots=True)
class _Ready:
    """An evaluation that can begin, or go on where it has a record."""

    prepared: Prepared
    record: EvaluationRecord | None

    async def close(self) -> None:
        """End what was opened for it."""
        await self.prepared.close()


class Evaluations(Journalled[_Ready, EvaluationRecord]):
    """Evaluations that are ready or worked on, by their tickets."""

    what = "Evaluation"
    cancelled = "The evaluation was cancelled before it began."

    def __init__(self, store: Store, choosing: Choosing, check: Check) -> None:
        super().__init__(store, choosing, check)
        self._known: dict[tuple[Any, ...], Json] = {}

    async def prepare(self, order: EvaluationOrder) -> Json:
        """Make an evaluation ready, to be worked on or dropped: what it may cost. Nothing is called.

        Raises `RunFailure`, with every mistake in the data and its place.
        """
        return await self._make_ready(order.ticket, self._prepared(order))

    async def _prepared(self, order: EvaluationOrder) -> tuple[_Ready, Json]:
        limits = Limits(**order.budget)
        record = None
        if order.resume is None:
            assert order.workflow is not None  # noqa: S101 (a new one is of a text)
            asked = Asked(**order.asked, limits=limits)
            prepared = await prepare(self._check(order.workflow), asked, self._store, self._choosing)
        else:
            record = self._store.evaluations.get(order.resume)
            self._check_idle(record.id)
            prepared = await prepare_again(
                record,
                self._store,
                limits=limits,
                base_url=order.asked.get("base_url"),
                concurrency=order.asked.get("concurrency"),
                choosing=self._choosing,
            )
        found = {
            **forecast_json(self._store, prepared),
            "endpoint": prepared.plan.chosen.endpoint.origin,
            "model": prepared.plan.model,
            "notices": remarks(self._store, prepared),
        }
        return _Ready(prepared, record), found

    async def carry_out(self, ticket: Ticket, told: Callable[[Json], None]) -> Json:
        """Work on an evaluation that is ready to its end, whatever that is; how it ended. ``told`` is called with how far it is
        and the items that were scored since, as `_Telling` has it. Raises `StoreFailure`.
        """
        async with self._taken(ticket) as ready:
            prepared, record = ready.prepared, ready.record
            plan = prepared.plan
            if record is None:
                record = begin(self._store, plan, prepared.data.hash, prepared.data.part, prepared.again)
            known = self._store.evaluations.scores(record.id)
            telling = _Telling(record, SoFar(len(plan.items) * plan.repeats, known), told)
            await self._work(ticket, record.id, work(self._store, record.id, plan, telling.take), telling.tell)
            return self._object(self._store.evaluations.get(record.id))

    def list(self, workflow: str | None, limit: int) -> list[Json]:
        """The newest evaluations, newest first, of one workflow where its name is given."""
        return [self._object(record) for record in self._store.evaluations.newest(limit, workflow)]

    def report(self, evaluation: str, item: str | None) -> Json:
        """An evaluation with all of its items, failures first; with ``item`` that one alone, with its answers."""
        record = self._store.evaluations.get(evaluation)
        if item is None:
            items = int(record.plan.get("items", 0)) * record.repeats
            found = evaluation_report(self._store, record, longest=min(_LONGEST, _TEXTS // max(1, items)))
            rows = found["rows"] if self._store.labels.edition else with_verdicts(self._store, record, found["rows"])
            return {**found, **self._place(record), "rows": rows}
        golds = record.plan["golds"]
        if item not in golds:
            raise UsageFailure(f"Evaluation {record.id} has no item {item}.")
        scores = [self._store.evaluations.score(record.id, item, repeat) for repeat in range(record.repeats)]
        rows = with_inputs(self._store, [item_object(one, golds[item]) for one in scores if one is not None])
        return {**self._object(record), "rows": rows}

    def rate(
        self, evaluation: str, item: str, repeat: int, verdict: Literal["good", "bad"] | None, note: str | None
    ) -> Json:
        """Keep what a person says of an answer, None to take it back with its note; a ``note`` of None leaves the one that is
        there. Raises `UsageFailure` where there is no such answer.
        """
        record = self._store.evaluations.get(evaluation)
        kept = self._store.evaluations.score(record.id, item, repeat)
        key = record.plan.get("hashes", {}).get(item)
        if kept is None or kept.output is None or key is None:
            raise UsageFailure(f"Evaluation {record.id} has no answer to {item} that could be rated.")
        if verdict is None:
            self._store.labels.drop(key, kept.output)
        else:
            self._store.labels.put(key, kept.output, verdict, note=note)
        said = label_object(self._store.labels.label(key, kept.output))
        return {"evaluation": record.id, "item": item, "repeat": repeat, **said}

    def compare(self, first: str, second: str) -> Json:
        """Two evaluations on the items that both scored, and in words as ``text``.

        Raises `UsageFailure` where their data are different.
        """
        before, after = (self._store.evaluations.get(one) for one in (first, second))
        if before.dataset != after.dataset:
            raise UsageFailure(
                f"Evaluations {before.id} and {after.id} are of different data, so their items can't be compared."
            )
        found = comparison(self._store, before, after)
        lines = [*comparison_lines(found, before.id, after.id), other_metrics(before, after)]
        text = "\n".join(line for line in lines if line is not None)
        return {"before": self._object(before), "after": self._object(after), **found.to_json(), "text": text}

    def delete(self, evaluation: str) -> str:
        """Take an evaluation out; its id. Raises `StoreFailure` while a process works on it."""
        identity = self._store.evaluations.id_of(evaluation)
        delete(self._store, self._store.evaluations, identity)
        return identity

    def last(self, text: WorkflowText) -> Json | None:
        """The newest evaluation of a workflow that has a score, and whether it was made before the ``changed`` text."""
        for record in self._store.evaluations.newest(_OLDER, text.name):
            found = self._object(record)
            if found["score"] is not None:
                return {**found, "changed": self._changed(record, text)}
        return None

    def _object(self, record: EvaluationRecord) -> Json:
        """An evaluation in a list; what has ended stays as it is, so its scores are read once."""
        key = record.id, record.status, record.ended
        if key not in self._known or record.status == "running":
            scores = self._store.evaluations.scores(record.id)
            self._known[key] = {**evaluation_object(self._store, record, scores), **self._place(record)}
        return self._known[key]

    def _place(self, record: EvaluationRecord) -> Json:
        return {**place_of(record.workflow), "here": record.id in self.running, "asked": _asked_again(record)}


class _Telling:
    """Tells how far an evaluation is, a few times a second at most:
    ``{evaluation, done, total, text, rows}``, ``rows`` being the answers that were scored since.
    """

    def __init__(self, record: EvaluationRecord, so_far: SoFar, told: Callable[[Json], None]) -> None:
        self._record = record
        self._so_far = so_far
        self._told = told
        self._waiting: list[ScoreRecord] = []
        self._timer: asyncio.Handle | None = None

    def take(self, score: ScoreRecord) -> None:
        """An answer was scored."""
        self._so_far.add(score)
        self._waiting.append(score)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, self.tell)

    def tell(self) -> None:
        """Tell what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        golds = self._record.plan["golds"]
        rows = [item_object(replace(one, output=None), golds.get(one.item, "")) for one in self._waiting]
        self._waiting = []
        so_far = self._so_far
        self._told(
            {
                "evaluation": self._record.id,
                "done": so_far.done,
                "total": so_far.total,
                "text": so_far.text(),
                "rows": rows,
            }
        )


def _asked_again(record: EvaluationRecord) -> Json:
    """What ``merrow.evaluate`` takes to evaluate the same again, without the workflow."""
    said = record.plan["asked"]
    return {key: said[name] for key, name in ASKED.items() if said.get(name) not in (None, {}, [], ())}
