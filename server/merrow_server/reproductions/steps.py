"""The kinds of jobs of rows, as `merrow extract`, `optimize`, `plan` and `evaluate` begin them, with ids below the row's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from merrow_optimizer.evaluation import sessions as evaluation_sessions
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.plan import EvaluationLimits
from merrow_optimizer.evaluation.variants import with_memory, with_temperature
from merrow_optimizer.extraction import sessions as extraction_sessions
from merrow_optimizer.extraction.extraction_report import files, library
from merrow_optimizer.extraction.plan import ExtractionSettings
from merrow_optimizer.optimization import sessions as search_sessions
from merrow_optimizer.optimization.plan import Bounded, SearchPlan, check
from merrow_optimizer.optimization.record import load as load_search
from merrow_optimizer.reproducing.papers import Row, workflow_file
from merrow_runtime.asking.rows import paid_in
from merrow_runtime.errors import UsageFailure
from merrow_runtime.program.loading import load as load_workflow
from merrow_runtime.usage import NOTHING, Usage
from merrow_runtime.workflow import Workflow, check_workflow
from merrow_server.evaluations.prepared_evaluation import PreparedEvaluation, prepare, prepare_again
from merrow_server.extractions.files import write_files
from merrow_server.extractions.prepared_extraction import (
    ExtractionAsked,
    PreparedExtraction,
    prepare_extraction,
    prepare_extraction_again,
)
from merrow_server.optimizations.pages import write_report
from merrow_server.optimizations.prepared_search import (
    PreparedSearch,
    SearchAsked,
    prepare_search,
    prepare_search_again,
)
from merrow_server.optimizations.starts import BUILT_IN, extracted_from, start_of
from merrow_server.plans.prepared_plan import PlanRequest, PreparedPlan, prepare_plans_again
from merrow_server.plans.prepared_plan import prepare as prepare_plans
from merrow_server.reproductions import estimates
from merrow_server.reproductions.bench import Bench, RowStep, StepStopped
from merrow_server.reproductions.estimates import Estimate

_LIBRARY = "operators.yaml"
_NEVER = 1_000_000
"""Equal rounds in a row after which a search has converged, where it should not end early."""
_LOOK_PLANS = 3
"""Plans that are asked for where only a look is wanted."""


class ExtractStep(RowStep):
    """Operators from the solved cases of the part validate."""

    @property
    def used(self) -> Usage:
        return paid_in(self.user.extractions.kept(self.id)) if self.is_begun else NOTHING

    @property
    def library(self) -> Path:
        """The file of its operators."""
        return self.bench.folder(self.row) / _LIBRARY

    async def estimate(self) -> Estimate:
        if self.is_done:
            return Estimate()
        prepared = await self._prepared(EvaluationLimits())
        await prepared.close()
        return estimates.of_extraction(prepared.plan)

    async def work(self, left: EvaluationLimits) -> None:
        user = self.user
        self.library.parent.mkdir(parents=True, exist_ok=True)
        if self.is_begun:
            record = user.extractions.get(self.id)
            changed = self.bench.rest(left, self.used, record.seconds)
            prepared = await prepare_extraction_again(record, user, changed, self.bench.choosing)
        else:
            prepared = await self._prepared(left)
            data = prepared.data
            record = extraction_sessions.begin(
                user, prepared.plan, str(data.file), data.hash, data.part, prepared.again, self.id
            )
        try:
            done = await extraction_sessions.work(user, record, prepared.plan, lambda *_: None)
        finally:
            await prepared.close()
        _check_ended(done.stopped_by)
        report = user.extractions.kept(self.id)[extraction_sessions.REPORT]
        if report["why_nothing"] is not None:
            raise UsageFailure(f"No operators were extracted: {report['why_nothing']}")
        write_files(self.library, library(done), files(done), report)

    async def _prepared(self, left: EvaluationLimits) -> PreparedExtraction:
        said = self.row.extract
        assert said is not None  # noqa: S101 (it is of a row that extracts)
        data, read = self._data("validate")
        wanted = ExtractionAsked(
            self._asked(data, **read, limits=left),
            ExtractionSettings(without=said.without),
            self.model("generator"),
            str(self.library),
        )
        return await prepare_extraction(wanted, self.user, self.bench.choosing)


class SearchStep(RowStep):
    """A search on the part validate, with the operators of an extraction where the row has one."""

    def __init__(self, bench: Bench, row: Row, id_: str, operators: ExtractStep | None) -> None:
        super().__init__(bench, row, id_)
        self._operators = operators

    @property
    def used(self) -> Usage:
        return load_search(self.user, self.id).usage if self.is_begun else NOTHING

    async def estimate(self) -> Estimate:
        if self.is_done:
            return Estimate()
        prepared = await self._prepared(EvaluationLimits(), has_operators=self._has_operators)
        await prepared.close()
        return estimates.of_search(prepared.plan, self._rounds)

    async def work(self, left: EvaluationLimits) -> None:
        user = self.user
        if self.is_begun:
            record = user.optimizations.get(self.id)
            changed = self.bench.rest(left, self.used, record.seconds)
            prepared = await prepare_search_again(record, user, changed, self.bench.choosing)
        else:
            prepared = await self._prepared(left, has_operators=self._operators is not None)
            data, out = prepared.data, str(self.bench.folder(self.row) / "search")
            record = search_sessions.begin(user, prepared.plan, data.hash, data.part, prepared.again, out, self.id)
        try:
            done = await search_sessions.work(user, record, prepared.plan, lambda _: None)
        finally:
            await prepared.close()
        _check_ended(done.stopped_by)
        write_report(load_search(user, self.id))

    def best(self, place: int) -> Workflow:
        """The workflow in this place, from 1, by its estimated score."""
        found = load_search(self.user, self.id)
        ordered = sorted(
            (one for one in found.candidates if one.told is not None),
            key=lambda one: (one.number != found.crown, -(one.told or 0.0), one.number),
        )
        if len(ordered) < place:
            raise UsageFailure(
                f"The search {self.id} scored only {len(ordered)} workflows, so none is in place {place}."
            )
        one = ordered[place - 1]
        return self._warm(check_workflow(one.text, name=str(self.bench.folder(self.row) / "search" / one.file)))

    def _warm(self, workflow: Workflow) -> Workflow:
        """A workflow at the temperature of the row: the shapes of solved cases say none."""
        return workflow if self.row.temperature is None else with_temperature(workflow, self.row.temperature)

    def _constants(self, said: Mapping[str, float]) -> dict[str, float]:
        """Those of the loop. In a look it has all of its rounds: the scores of few items are soon equal."""
        return {**said, **({"rounds": _NEVER} if self.bench.request.is_look else {})}

    @property
    def _rounds(self) -> int:
        assert self.row.search is not None  # noqa: S101 (it is of a row that searches)
        return self.row.search.rounds

    @property
    def _has_operators(self) -> bool:
        return self._operators is not None and self._operators.library.exists()

    async def _prepared(self, left: EvaluationLimits, *, has_operators: bool) -> PreparedSearch:
        row, said = self.row, self.row.search
        assert said is not None and row.workflow is not None  # noqa: S101, PT018 (as above)
        operators = str(self._operators.library) if has_operators and self._operators is not None else BUILT_IN
        start, shapes = start_of(str(workflow_file(row.workflow)), operators, row.memory)
        shapes = tuple((self._warm(check_workflow(text, name=title)).text, title) for text, title in shapes)
        data, read = self._data("validate")
        is_moves = self.bench.request.simulate
        wanted = SearchAsked(
            self._asked(data, **read, judge_model=None if is_moves else self.model("judge"), limits=left),
            said.strategy,
            "moves" if is_moves else said.proposer,
            bounds=Bounded(small=True, constants=self._constants(said.constants)),
            optimizer_model=None if is_moves else self.model("optimizer"),
            shapes=shapes,
            extracted_from=extracted_from(operators),
        )
        prepared = await prepare_search(start, wanted, self.user, self.bench.choosing)
        try:
            return _bounded(prepared, said.rounds)
        except BaseException:
            await prepared.close()
            raise


def _bounded(prepared: PreparedSearch, rounds: int) -> PreparedSearch:
    """The same search, of so many rounds: how many answers those are is known once its items are."""
    plan: SearchPlan = prepared.plan
    bounds = replace(plan.bounds, evaluations=rounds * plan.first)
    bounded = replace(plan, bounds=bounds)
    check(bounded)
    settings = {**prepared.again["settings"], "evaluations": bounds.evaluations}
    return replace(prepared, plan=bounded, again={**prepared.again, "settings": settings})


class PlanStep(RowStep):
    """A workflow that is planned for a task."""

    def __init__(self, bench: Bench, row: Row, id_: str, item: Item) -> None:
        super().__init__(bench, row, id_)
        self._task = str(item.inputs["problem"])

    @property
    def used(self) -> Usage:
        return paid_in(self.user.jobs["plan"].kept(self.id)) if self.is_begun else NOTHING

    async def estimate(self) -> Estimate:
        if self.is_done:
            return Estimate()
        prepared = self._prepared(EvaluationLimits())
        await prepared.close()
        bounds = prepared.bounds
        cost = None if bounds.cost_usd is None else bounds.cost_usd[0]
        return Estimate(bounds.calls[0], bounds.tokens[0], cost)

    async def work(self, left: EvaluationLimits) -> None:
        if self.is_begun:
            record = self.user.jobs["plan"].get(self.id)
            changed = self.bench.rest(left, self.used, record.seconds)
            prepared = prepare_plans_again(record, self.user, changed, self.bench.choosing)
        else:
            prepared = self._prepared(left)
            record = prepared.begin(self.id)
        try:
            ended = await prepared.work(record)
        finally:
            await prepared.close()
        if ended.failure is not None and ended.can_continue:
            raise StepStopped(str(ended.failure))
        self._first()

    @property
    def has_failed(self) -> bool:
        """Whether it has ended without a plan that can be used."""
        return self.is_done and not self._plans()

    def best(self, temperature: float | None) -> Workflow:
        """The plan that is ranked first, at this temperature. Raises `UsageFailure` where none can be used."""
        workflow = check_workflow(
            self._first()["text"], name=str(self.bench.folder(self.row) / f"{self.id.rpartition('/')[2]}.mmd")
        )
        return workflow if temperature is None else with_temperature(workflow, temperature)

    def _candidates(self, wanted: int) -> int:
        """How many plans are asked for: few for a look, and one of the embedded model, which has no other."""
        request = self.bench.request
        return 1 if request.simulate else min(wanted, _LOOK_PLANS) if request.is_look else wanted

    def _first(self) -> Mapping[str, Any]:
        plans = self._plans()
        if not plans:
            raise UsageFailure(f"No plan could be used. See why with: merrow show {self.id}")
        return plans[0]

    def _plans(self) -> Sequence[Mapping[str, Any]]:
        report = self.user.jobs["plan"].kept(self.id).get("end", {}).get("report")
        return [] if report is None else report["plans"]

    def _prepared(self, left: EvaluationLimits) -> PreparedPlan:
        said = self.row.plan
        assert said is not None  # noqa: S101 (it is of a row that plans)
        asked = PlanRequest(
            self._task,
            n=self._candidates(said.candidates),
            rank=said.rank,  # type: ignore[arg-type] # a rule by its name
            judge=False,
            optimizer_model=self.model("optimizer"),
            base_url=self.bench.base_url,
            limits=left,
        )
        return prepare_plans(asked, self.user, choosing=self.bench.choosing)


class EvaluateStep(RowStep):
    """An evaluation of a row: of one item where each has a workflow of its own."""

    def __init__(
        self, bench: Bench, row: Row, id_: str, source: SearchStep | PlanStep | None, item: str | None = None
    ) -> None:
        super().__init__(bench, row, id_)
        self._source, self._item = source, item

    @property
    def used(self) -> Usage:
        if not self.is_begun:
            return NOTHING
        return sum((one.usage for one in self.user.evaluations.scores(self.id)), NOTHING)

    async def estimate(self) -> Estimate:
        if self.is_done:
            return Estimate()
        known = self.user.evaluations.known
        source = self._source
        if isinstance(source, PlanStep) and not source.is_done:
            chosen = self.bench.chosen()
            await chosen.endpoint.close()
            is_revised = bool((self.row.refine or {}).get("max", 1))
            reviser = self.model("optimizer") if is_revised else None
            return estimates.of_planned(chosen, self.model("exec"), reviser, self.bench.request.repeats(self.row))
        if isinstance(source, PlanStep) and source.has_failed:
            return Estimate()
        is_found = source is None or source.is_done
        prepared = await self._prepared(EvaluationLimits(), self._workflow() if is_found else self._start())
        await prepared.close()
        return (estimates.of_evaluation if is_found else estimates.of_found)(prepared.plan, known)

    async def work(self, left: EvaluationLimits) -> None:
        user = self.user
        if self.is_begun:
            record = user.evaluations.get(self.id)
            changed = self.bench.rest(left, self.used, record.seconds)
            prepared = await prepare_again(record, user, changed, self.bench.choosing)
        else:
            prepared = await self._prepared(left, self._workflow())
            data = prepared.data
            evaluation_sessions.begin(user, prepared.plan, data.hash, data.part, prepared.again, self.id)
        try:
            done = await evaluation_sessions.work(user, self.id, prepared.plan)
        finally:
            await prepared.close()
        _check_ended(done.stopped_by)

    def _workflow(self) -> Workflow:
        if isinstance(self._source, PlanStep):
            return self._source.best(self.row.temperature)
        if isinstance(self._source, SearchStep):
            assert self.row.search is not None  # noqa: S101 (it has a search)
            return self._source.best(self.row.search.best)
        return self._start()

    def _start(self) -> Workflow:
        assert self.row.workflow is not None  # noqa: S101 (only a planned one has none)
        workflow = load_workflow(str(workflow_file(self.row.workflow)))
        return workflow if self.row.memory is None else with_memory(workflow, self.row.memory)

    async def _prepared(self, left: EvaluationLimits, workflow: Workflow) -> PreparedEvaluation:
        row = self.row
        if self._item is None:
            data, read = self._data(row.part)
            items: tuple[str, ...] = ()
        else:
            data, read, items = row.data, {}, (self._item,)
        refine = None
        if row.refine is not None:
            refine = {**row.refine, **({"model": self.model("optimizer")} if row.refine.get("max") else {})}
        asked = self._asked(
            data,
            **read,
            items=items,
            repeats=self.bench.request.repeats(row),
            refine=refine,
            mask=row.mask,
            fresh=row.measure == "seconds",  # a known answer takes no time
            limits=left,
        )
        return await prepare(workflow, asked, self.user, self.bench.choosing)


def _check_ended(stopped_by: str | None) -> None:
    if stopped_by is not None:
        raise StepStopped(stopped_by)
