"""The evaluations of one server: made ready, worked on, listed, reported, rated, compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from merrow_optimizer.evaluation.plan import EvaluationLimits
from merrow_optimizer.evaluation.sessions import begin, work
from merrow_runtime.errors import UsageFailure
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import BATCH, EvaluationRecord, ScoreRecord
from merrow_server.continuing import changed_by
from merrow_server.evaluations.batch_data import batch_object
from merrow_server.evaluations.batch_output import check_output, write_batch
from merrow_server.evaluations.evaluation_data import (
    comparison,
    evaluation_object,
    evaluation_report,
    item_object,
    label_object,
    other_metrics,
    with_inputs,
    with_verdicts,
)
from merrow_server.evaluations.evaluation_request import EvaluationRequest
from merrow_server.evaluations.evaluation_words import cost_sentence, may_cost
from merrow_server.evaluations.known_items import KnownItems
from merrow_server.evaluations.prepared_evaluation import (
    Choosing,
    PreparedEvaluation,
    forecast_json,
    prepare,
    prepare_again,
    remarks,
)
from merrow_server.evaluations.so_far import SoFar
from merrow_server.evaluations.tables import comparison_lines
from merrow_server.jobs.desk import Json, ReadyJob
from merrow_server.jobs.orders import ASKED, EditorWorkflow, EvaluationOrder
from merrow_server.jobs.places import place_of
from merrow_server.jobs.recorded import Check, ProgressReporter, Recorded, Told

_TEXTS, _LONGEST = 1_800_000, 8_000
"""Characters of what was asked in a report, over all items, and of one value: a page has to be read, kept and drawn."""
_OLDER = 5
"""Evaluations of a workflow that are looked at for the newest one with a score."""


class EvaluationJobs(Recorded[EvaluationOrder, EvaluationRecord]):
    """The evaluations of a server."""

    what = "Evaluation"
    cancelled = "The evaluation was cancelled before it began."

    def __init__(self, store: Store, choosing: Choosing, check: Check, here: Callable[[], set[str]]) -> None:
        super().__init__(store, store.evaluations, choosing, check, here)

    async def prepare(self, order: EvaluationOrder, told: Told) -> ReadyJob[Json]:
        """Raises `RunFailure`, with every mistake in the data and its place."""
        record = None
        if order.resume is None:
            assert order.workflow is not None  # noqa: S101 (a new one is of a text)
            asked = EvaluationRequest(**order.asked, limits=EvaluationLimits(**order.budget))
            if asked.batch is not None:
                check_output(asked.batch)
            prepared = await prepare(self._check(order.workflow), asked, self._store, self._choosing)
        else:
            record = self._idle(order.resume)
            prepared = await prepare_again(record, self._store, changed_by(order.asked, order.budget), self._choosing)
        return _ReadyEvaluation(self, self._store, prepared, record, told)

    def report(self, evaluation: str, item: str | None) -> Json:
        """An evaluation with all of its items, failures first; with ``item`` that one alone, with its answers."""
        record = self._store.evaluations.get(evaluation)
        if item is None:
            items = int(record.plan.get("items", 0)) * record.repeats
            whole = evaluation_report(self._store, record, longest=min(_LONGEST, _TEXTS // max(1, items)))
            rows = list(whole["rows"])
            if not self._store.labels.edition:
                rows = with_verdicts(self._store, record, rows, KnownItems.of(record.plan))
            return {**whole, **_place(record), "here": record.id in self._here(), "rows": rows}
        known = KnownItems.of(record.plan)
        if item not in known:
            raise UsageFailure(f"Evaluation {record.id} has no item {item}.")
        scores = [self._store.evaluations.score(record.id, item, repeat) for repeat in range(record.repeats)]
        rows = with_inputs(self._store, [item_object(score, known) for score in scores if score is not None])
        return {**self.object(record), "rows": rows}

    def rate(
        self, evaluation: str, item: str, repeat: int, verdict: Literal["good", "bad"] | None, note: str | None
    ) -> Json:
        """Keep what a person says of an answer, None to take it back with its note; a ``note`` of None leaves the one that is
        there. Raises `UsageFailure` where there is no such answer.
        """
        record = self._store.evaluations.get(evaluation)
        kept = self._store.evaluations.score(record.id, item, repeat)
        key = KnownItems.of(record.plan).hash(item)
        if kept is None or kept.output is None or key is None:
            raise UsageFailure(f"Evaluation {record.id} has no answer to {item} that could be rated.")
        if verdict is None:
            self._store.labels.drop(key, kept.output)
        else:
            self._store.labels.put(key, kept.output, verdict, note=note)
        label = label_object(self._store.labels.label(key, kept.output))
        return {"evaluation": record.id, "item": item, "repeat": repeat, **label}

    def compare(self, first: str, second: str) -> Json:
        """Two evaluations on the items that both scored, and in words as ``text``.

        Raises `UsageFailure` where their data are different.
        """
        before, after = (self._store.evaluations.get(identity) for identity in (first, second))
        if before.dataset != after.dataset:
            raise UsageFailure(
                f"Evaluations {before.id} and {after.id} are of different data, so their items can't be compared."
            )
        compared = comparison(self._store, before, after)
        lines = [*comparison_lines(compared, before.id, after.id), other_metrics(before, after)]
        text = "\n".join(line for line in lines if line is not None)
        return {"before": self.object(before), "after": self.object(after), **compared.to_json(), "text": text}

    def last(self, text: EditorWorkflow) -> Json | None:
        """The newest evaluation of a workflow that has a score, and whether it was made before the ``changed`` text."""
        for record in self._store.evaluations.newest(_OLDER, text.name):
            shown = self.object(record)
            if shown["score"] is not None:
                return {**shown, "changed": self._changed(record, text)}
        return None

    def _read(self, record: EvaluationRecord) -> Json:
        return {**evaluation_object(self._store, record, self._store.evaluations.scores(record.id)), **_place(record)}


class _ReadyEvaluation(ReadyJob[Json]):
    """An evaluation that can begin, or go on where it has a record."""

    def __init__(
        self,
        jobs: EvaluationJobs,
        store: Store,
        prepared: PreparedEvaluation,
        record: EvaluationRecord | None,
        told: Told,
    ) -> None:
        self._jobs, self._store, self._told = jobs, store, told
        self._prepared = prepared
        self._record = record
        forecast = {
            **forecast_json(store, prepared),
            "endpoint": prepared.plan.chosen.endpoint.origin,
            "model": prepared.plan.model,
            "notices": remarks(store, prepared),
        }
        sentence, costs = cost_sentence(forecast), may_cost(forecast)
        self.forecast = {**forecast, "text": sentence, "mayCost": costs}
        self.consent = sentence if costs else None

    def begin(self) -> str:
        prepared = self._prepared
        if self._record is None:
            self._record = begin(self._store, prepared.plan, prepared.data.hash, prepared.data.part, prepared.again)
        return self._record.id

    async def run(self) -> None:
        """``told`` is called with how far it is and the items that were scored since, as `_EvaluationReporter` has it."""
        assert self._record is not None  # noqa: S101 (it has begun)
        plan, record = self._prepared.plan, self._record
        known = self._store.evaluations.scores(record.id)
        so_far = SoFar(len(plan.items) * plan.repeats, known, is_scored=record.metric != BATCH)
        telling = _EvaluationReporter(record, so_far, self._told)
        telling.tell()
        try:
            await work(self._store, record.id, plan, telling.take)
        finally:
            telling.tell()
            if record.metric == BATCH:
                write_batch(self._store, record, self._prepared.data, plan.workflow)

    def ended(self) -> Json:
        assert self._record is not None  # noqa: S101 (it has begun)
        if self._record.metric == BATCH:
            record = self._store.batches.get(self._record.id)
            return {**batch_object(self._store, record), **_place(record)}
        return self._jobs.object(self._store.evaluations.get(self._record.id))

    async def close(self) -> None:
        await self._prepared.close()


class _EvaluationReporter(ProgressReporter):
    """``{evaluation, done, total, text, rows}``, ``rows`` being the answers that were scored since."""

    def __init__(self, record: EvaluationRecord, so_far: SoFar, told: Told) -> None:
        super().__init__(told)
        self._record, self._known = record, KnownItems.of(record.plan)
        self._so_far = so_far
        self._waiting: list[ScoreRecord] = []

    def take(self, score: ScoreRecord) -> None:
        """An answer was scored."""
        self._so_far.add(score)
        self._waiting.append(score)
        self.soon()

    def news(self) -> Json:
        rows = [item_object(replace(score, output=None), self._known) for score in self._waiting]
        self._waiting = []
        so_far = self._so_far
        return {
            "evaluation": self._record.id,
            "done": so_far.done,
            "total": so_far.total,
            "text": so_far.text(),
            "rows": rows,
        }


def _place(record: EvaluationRecord) -> Json:
    return {**place_of(record.workflow), "asked": _asked_again(record)}


def _asked_again(record: EvaluationRecord) -> Json:
    """What ``merrow.evaluate`` takes to evaluate the same again, without the workflow."""
    asked = record.plan["asked"]
    return {key: asked[name] for key, name in ASKED.items() if asked.get(name) not in (None, {}, [], (), "live")}
