"""Answers one item: with what is known by its keys, else by a run; scored, and with what that used."""

from __future__ import annotations

import asyncio
import hashlib
import re
from dataclasses import replace
from typing import Any

from merrow_optimizer.evaluation.asking import SCORING, Scoring
from merrow_optimizer.evaluation.endings import Fatal, Outcome, ending_of
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.keys import score_key
from merrow_optimizer.evaluation.plan import Plan
from merrow_optimizer.evaluation.scores import InvalidItemError, Status
from merrow_optimizer.evaluation.unattended import unattended
from merrow_runtime.errors import BudgetFailure, EndpointFailure
from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.options import RunOptions
from merrow_runtime.running.api import finish, resume, start
from merrow_runtime.running.run import RunResult
from merrow_runtime.store.contract import NodeRecord
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import ScoreRecord, output_of, output_text
from merrow_runtime.usage import NOTHING, Usage

METRIC_SECONDS = 300.0
"""Seconds after which a metric that has not scored an answer makes its item invalid."""

_OWN_NAME = re.compile(r"[\w.@+=-]{1,80}")
_DIGEST = re.compile(r"x[0-9a-f]{24}")


def run_name(beginning: str, item: str, repeat: int) -> str:
    """The id of the run that answers an item: begins with the id of the evaluation (of a search, with the candidate's number
    after it), and has the item's where a name can have it.
    """
    name = item
    if _OWN_NAME.fullmatch(item) is None or _DIGEST.fullmatch(item):
        name = "x" + hashlib.sha256(item.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return f"{beginning}/{name}" + (f"/{repeat}" if repeat else "")


class Answering:
    """Answers the items of a plan by an endpoint. ``user`` is the user's store, with answers and scores; ``own`` the journal of
    the runs, whose names begin with ``beginning``. ``is_resumed`` says that there may be runs already.
    """

    def __init__(
        self, beginning: str, plan: Plan, endpoint: Endpoint, user: Store, own: Store, *, is_resumed: bool
    ) -> None:
        self.plan = plan
        self._beginning = beginning
        self._endpoint = endpoint
        self._user = user
        self._own = own
        self._is_resumed = is_resumed
        self._outputs = [node.id for node in plan.workflow.graph.outputs]
        options = unattended(plan.workflow, plan.options)
        self._options = replace(options, concurrency=plan.chosen.concurrency)
        self._by_repeat: dict[int, RunOptions] = {}

    async def answer(self, item: Item, repeat: int, *, again: bool) -> tuple[ScoreRecord, Fatal | None]:
        """The score of an item: as it is known, of an answer that is known, or of a run. And whether no other can be had now.
        ``again`` says that an earlier score of it does not stay. Raises `StoreFailure`.
        """
        plan = self.plan
        work = plan.work_key(item.id, repeat)
        scored = score_key(work, item, plan.metric)
        if not plan.options.fresh:
            for known in self._user.evaluations.known(work):
                record = await self._known(item, repeat, known, scored)
                if record is not None:
                    return record, None
        name = run_name(self._beginning, item.id, repeat)
        result = await self._run(name, item, repeat, again=again)
        ending = ending_of(result, self._outputs)
        outcome, used = ending.scored, NOTHING
        if ending.status is None:
            outcome, used = await self._scored(item, repeat, ending.output)
        output = output_text(ending.output) if ending.status is None else None
        record = ScoreRecord(item.id, repeat, *outcome, result.usage + used, result.seconds, name, work, scored, output)
        return record, ending.fatal

    async def _known(self, item: Item, repeat: int, known: ScoreRecord, scored: bytes) -> ScoreRecord | None:
        """A score made of an earlier one for the same work, which costs nothing now; None where nothing of it can be used."""
        same = known.scored == scored and known.status in (Status.RIGHT, Status.WRONG)
        outcome, used = Outcome(Status(known.status), known.value, known.read, known.reason), NOTHING
        if not same and known.status != Status.FAILED:
            if known.output is None:
                return None
            outcome, used = await self._scored(item, repeat, output_of(known.output))
        return ScoreRecord(item.id, repeat, *outcome, used, known.seconds, known.run, known.work, scored, known.output)

    async def _run(self, name: str, item: Item, repeat: int, *, again: bool) -> RunResult:
        """The run that answers a task, begun or gone on with, at its end."""
        status = self._own.status(name) if self._is_resumed else None
        if status == "finished" and (again or self._went_without(name)):
            # It went on without an answer that an endpoint owed it, or another endpoint answered; what this one answered is in
            # the cache.
            self._own.delete(name)
            status = None
        if status is None:
            options = self._by_repeat.get(repeat)
            if options is None:
                options = self._by_repeat[repeat] = replace(self._options, repeat=repeat)
            if options.mask is not None:
                options = replace(options, mask_key=item.id)
            begun = start(
                self.plan.workflow,
                self.plan.inputs[item.id],
                options=options,
                endpoint=self._endpoint,
                store=self._own,
                run_id=name,
                reviser=self.plan.reviser,
                limits=self.plan.chosen.limits,
            )
            return await finish(begun)
        return await finish(
            resume(
                name,
                options=self._options,
                endpoint=self._endpoint,
                store=self._own,
                reviser=self.plan.reviser,
                limits=self.plan.chosen.limits,
            )
        )

    def _went_without(self, run: str) -> bool:
        """Whether a finished run, whose process died before its score was kept, went on without an answer of an endpoint."""
        nodes = (one for one in self._own.told(run) if isinstance(one, NodeRecord))
        return any(one.failed is not None and one.failed.code == EndpointFailure.code for one in nodes)

    async def _scored(self, item: Item, repeat: int, output: Any) -> tuple[Outcome, Usage]:
        """What the metric says of an answer, and what it used for that."""
        scoring = Scoring(run_name(self._beginning, item.id, repeat), [])
        SCORING.set(scoring)
        return await self._judged(item, output), sum(scoring.used, NOTHING)

    async def _judged(self, item: Item, output: Any) -> Outcome:
        """What the metric says of an answer. Whatever goes wrong in there makes the item invalid, with the reason."""
        metric = self.plan.metric
        try:
            async with asyncio.timeout(METRIC_SECONDS):
                score = await metric.score(item, output)
        except InvalidItemError as problem:
            return Outcome(Status.INVALID, None, "", str(problem))
        except (EndpointFailure, BudgetFailure) as failure:  # of a metric that asks a model
            return Outcome(Status.UNANSWERED, None, "", failure.sentence)
        except TimeoutError:
            return Outcome(Status.INVALID, None, "", f"The metric {metric.name} took more than {METRIC_SECONDS:g} s.")
        except Exception as problem:  # noqa: BLE001 (a metric may be a user's own)
            reason = f"The metric {metric.name} failed: {type(problem).__name__}: {problem}"
            return Outcome(Status.INVALID, None, "", reason)
        if not 0 <= score.value <= 1:
            reason = f"The metric {metric.name} gave {score.value}, which is not from 0 to 1."
            return Outcome(Status.INVALID, None, score.read, reason)
        return Outcome(Status.RIGHT if score.value == 1 else Status.WRONG, float(score.value), score.read, score.reason)
