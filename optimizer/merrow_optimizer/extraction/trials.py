"""Runs of cases: each a run of the runtime, scored by the metric of the data, and in the journal of the extraction before it
counts.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from merrow_optimizer.evaluation.answering import Answering, ignore_failure, run_name
from merrow_optimizer.evaluation.scores import Status
from merrow_optimizer.extraction.case_workflow import TypedSteps, analysed
from merrow_optimizer.extraction.operators import ExtractedOperator
from merrow_optimizer.extraction.plan import ExtractionPlan
from merrow_optimizer.extraction.rewriting import swapped
from merrow_optimizer.extraction.solved_cases import SolvedCase
from merrow_runtime.errors import StoreFailure, UsageFailure
from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import ScoreRecord
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.workflow import Workflow, check_workflow

_DIGITS = 12


class Stopped(Exception):  # noqa: N818 (a reason, kept and shown)
    """No other run can be made now; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Trial:
    """How a case was answered by one of its workflows. ``value`` is its score from 0 to 1, 0 where nothing could be scored;
    ``semantic`` says what the workflow does, ``run`` is the id of the run.
    """

    status: str
    value: float
    semantic: str
    run: str


class Trials:
    """Makes the runs of one extraction. ``own`` is its journal of runs, ``booked`` what its judges' calls
    are booked under, ``known`` what it has come by; ``used`` is what all
    runs used.
    """

    def __init__(
        self,
        extraction: str,
        plan: ExtractionPlan,
        user: Store,
        own: Store,
        endpoint: Endpoint,
        booked: str,
        known: Mapping[str, Any],
    ) -> None:
        self.count = 0
        self._runs: dict[str, asyncio.Future[Mapping[str, Any]]] = {}
        self._id, self._plan, self._user, self._own = extraction, plan, user, own
        self._endpoint, self._known = endpoint, known
        base = plan.base
        if base.asking is not None:
            chosen = replace(base.chosen, endpoint=endpoint)
            base.asking.begin(chosen, booked, user.cache)
        self._gate = asyncio.Semaphore(base.concurrency + base.concurrency // 4)
        # So that a file is still known from being checked when it is run.
        self._swapping = asyncio.Semaphore(2 * base.concurrency)
        self._is_resumed = own.has_runs

    async def score(self, case: SolvedCase, text: str, what: str) -> Trial:
        """How the workflow with this text, which the checker finds nothing wrong with, answers its case. ``what`` says what the
        run is for. Questions that another run of the case has put are not asked again. Raises `Stopped`, `StoreFailure`.
        """
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
        key = f"score {what} {digest} {case.id}"
        if key not in self._runs:  # Several swaps of a case may come to the same file: one run answers all of them.
            self._runs[key] = asyncio.ensure_future(self._kept(key, case, text, f"{what}_{digest}"))
            self.count += 1
        try:
            known = await self._runs[key]
        except asyncio.CancelledError:
            self._runs[key].cancel()
            raise
        return Trial(known["status"], known["value"], known["semantic"], known["run"])

    async def _kept(self, key: str, case: SolvedCase, text: str, name: str) -> Mapping[str, Any]:
        """What is known of a run by its key, else the run, which is kept."""
        known: Mapping[str, Any] | None = self._known.get(key)
        if known is not None and known["status"] != Status.UNANSWERED:
            return known
        async with self._gate:
            workflow = check_workflow(text, name=f"case {case.id}", analysis=analysed(text))
            result, why = await self._run(key, case, workflow, name, again=known is not None)
        if (
            result["status"] != Status.UNANSWERED or result["usage"]["calls"]
        ):  # what is paid is counted whatever came of it
            await self._user.extractions.keep(self._id, key, result)
        if why is not None:
            raise Stopped(why)
        return result

    async def swap(
        self, case: SolvedCase, typed: TypedSteps, mapped: Mapping[str, ExtractedOperator], own: Trial, *, is_run: bool
    ) -> bool:
        """Whether steps of a case can have these operators: the file has no error, and where it ``is_run``, the case is
        answered no worse than by its own workflow.
        """
        async with self._swapping:
            text = swapped(typed, mapped)
            if text is None or not is_run:
                return text is not None
            return (await self.score(case, text, "swap")).value >= own.value

    async def _run(
        self, key: str, case: SolvedCase, workflow: Workflow, name: str, *, again: bool
    ) -> tuple[dict[str, Any], str | None]:
        """What a run came to, and why there can be no other."""
        base = self._plan.base
        given = base.inputs[case.id]
        inputs = {node.id: given[node.id] for node in workflow.graph.inputs}
        plan = replace(base, workflow=workflow, items=[case.item], inputs={case.id: inputs})
        beginning = f"{self._id}/{name}"
        answering = Answering(beginning, plan, self._endpoint, self._user, self._own, is_resumed=self._is_resumed)
        try:
            record, fatal = await answering.answer(case.item, 0, again=again)
        except UsageFailure as problem:
            return _said(
                Status.FAILED, 0.0, plan.semantic, run_name(beginning, case.id, 0), NOTHING, str(problem)
            ), None
        except asyncio.CancelledError:
            with suppress(StoreFailure):
                cut = answering.unfinished(case.item, 0)
                if cut is not None:
                    written = self._user.extractions.keep(self._id, key, _said_of(cut, plan.semantic))
                    written.add_done_callback(ignore_failure)
            raise
        return _said_of(record, plan.semantic), None if fatal is None else record.reason


def _said_of(record: ScoreRecord, semantic: str) -> dict[str, Any]:
    return _said(record.status, record.value or 0.0, semantic, record.run, record.usage, record.reason)


def _said(status: str, value: float, semantic: str, run: str, usage: Usage, reason: str) -> dict[str, Any]:
    return {
        "status": str(status),
        "value": value,
        "semantic": semantic,
        "run": run,
        "usage": usage.to_json(),
        "reason": reason,
    }
