"""An evaluation made ready, from what people ask for or from what the journal has of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from merrow_analysis.suggest import closest
from merrow_optimizer.evaluation.data import DataError, DataSet
from merrow_optimizer.evaluation.data.names import is_shipped
from merrow_optimizer.evaluation.gates import Gates
from merrow_optimizer.evaluation.late_asker import LateAsker
from merrow_optimizer.evaluation.metrics import FILE_OPTIONS, check_options, check_scoring, metric
from merrow_optimizer.evaluation.metrics.base import BaseMetric
from merrow_optimizer.evaluation.metrics.unscored import Unscored
from merrow_optimizer.evaluation.plan import EvaluationLimits, Plan, forecast, make_plan
from merrow_optimizer.evaluation.variants import with_recipes
from merrow_optimizer.optimization.readings import parts_with
from merrow_optimizer.optimization.rounds import changed_round
from merrow_optimizer.revising.late import LateReviser
from merrow_runtime.models.dialects import DialectStore
from merrow_runtime.models.trust import WorkspaceValue
from merrow_runtime.options import DEFAULT_MODEL, RunOptions
from merrow_runtime.outside.choosing_tools import ToolChoice
from merrow_runtime.provenance import OFFLINE_ORIGIN
from merrow_runtime.running.masking import mask_of, maskable
from merrow_runtime.running.only_model import with_only_model
from merrow_runtime.running.resources import ChosenEndpoint, choose, without_user
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord
from merrow_runtime.store.extractions import ExtractionRecord
from merrow_runtime.store.listed import Listed
from merrow_runtime.store.optimizations import OptimizationRecord
from merrow_runtime.workflow import Workflow, restore
from merrow_server.continuing import ResumeChanges, answered_by_another
from merrow_server.errors import InputError
from merrow_server.evaluations.evaluation_data import origins_of
from merrow_server.evaluations.evaluation_request import EvaluationRequest
from merrow_server.evaluations.known_items import NAME, KnownItems, packed
from merrow_server.evaluations.masking import masking_of
from merrow_server.evaluations.passages import passages_named
from merrow_server.evaluations.scored_fields import (
    JUDGE,
    asks_judge,
    check_whole,
    fields_metric,
    fields_shown,
    with_fields,
)
from merrow_server.evaluations.stand_ins import stand_ins_of, stand_ins_text
from merrow_server.evaluations.updates import tasks_of

OFFLINE = "The embedded offline model answers: it is not a real model, and its scores say nothing of the workflow."
ONE_SUFFICES = (
    "At temperature 0 nothing is asked again, so repeats show the same, unless the endpoint refuses `temperature`."
)
LABELS = "labels"
"""The metric that people's verdicts are."""
Choosing = Callable[[RunOptions, str | None, Sequence[WorkspaceValue], DialectStore | None], ChosenEndpoint]
"""Chooses the endpoint, as `choose` does."""


@dataclass(frozen=True, slots=True)
class PreparedEvaluation:
    """An evaluation that can begin: its plan, its data, and what a resume needs."""

    plan: Plan
    data: DataSet
    metric: BaseMetric
    again: dict[str, Any]

    async def close(self) -> None:
        """End what was opened for it."""
        await self.metric.close()
        await self.plan.chosen.endpoint.close()
        if self.plan.tools is not None:
            await self.plan.tools.close()


async def prepare(
    workflow: Workflow, asked: EvaluationRequest, user: Store, choosing: Choosing = choose, known: str | None = None
) -> PreparedEvaluation:
    """Check everything that can be wrong, and make the evaluation ready. ``user`` is the user's store; ``choosing`` chooses
    and opens the endpoint; ``known`` is what is kept of the items already, None where nothing is.

    Raises `RunFailure`, with every mistake in the data and its place.
    """
    try:
        return await _prepared(workflow, asked, user, choosing, known)
    except DataError as problem:
        raise InputError(str(problem)) from None


async def _prepared(
    workflow: Workflow, asked: EvaluationRequest, user: Store, choosing: Choosing, known: str | None
) -> PreparedEvaluation:
    if asked.recipes is not None:
        workflow = with_recipes(workflow, asked.recipes)
    asked = asked if asked.batch is not None else with_fields(workflow, asked)
    data = asked.read(asked.part)
    name = asked.metric or data.metric_name
    own = data.metric_options if name == data.metric_name else {}
    judging: dict[str, Any] = {}
    asking = None
    if name == JUDGE or asks_judge(asked):
        asking = LateAsker(asked.judge_model or asked.model or workflow.analysis.settings.model or DEFAULT_MODEL)
        judging = {"ask": asking.ask, "model": asking.model}
    elif name == LABELS:
        judging = {"verdict_of": user.labels.get, "edition": user.labels.edition}
    scored_by: BaseMetric
    if asked.batch is not None:
        scored_by = Unscored()
    elif asked.golds is None:
        given = {**own, **asked.metric_options}
        check_options(name, given)
        scored_by = metric(name, **given, **judging)
        check_whole(workflow, asked, data, scored_by)
    else:
        scored_by = fields_metric(workflow, asked, judging)
        asking = asking if scored_by.judges else None
    options = RunOptions(
        model=asked.model,
        override_models=asked.override_models,
        base_url=asked.base_url,
        concurrency=asked.concurrency,
        seed=asked.seed,
        fresh=asked.fresh,
        refine=asked.refine,
        mask=asked.mask,
        mask_only=asked.mask_only,
        mask_every=asked.mask_every,
        person=asked.person,
    )
    if asked.person is not None and not asked.person.strip():
        raise InputError("--person names no model; write the model that answers in the place of people.")
    if mask_of(workflow.graph, options) is not None and not maskable(workflow.graph):
        raise InputError(f"{workflow.name} has no node with an output of a kind of Text, so there is nothing to mask.")
    from_tools = ToolChoice.read(asked.tools, asked.fake_tools)
    chosen = choosing(options, asked.base_url, workflow.machine, user.dialects)
    try:
        chosen = await asyncio.to_thread(with_only_model, chosen, options, workflow.reached())
        plan = make_plan(
            workflow,
            data,
            scored_by,
            chosen,
            options,
            repeats=asked.repeats,
            limits=asked.limits,
            asking=asking,
            reviser=LateReviser(),
            answers=asked.answers,
            tools=from_tools.open(user.cache, chosen.key),
            tools_in_place=from_tools.in_place,
        )
        await check_scoring(data, scored_by)
    except BaseException:
        await scored_by.close()
        await chosen.endpoint.close()
        raise
    again = {
        **_again(workflow, asked, data, known),
        "scored_by": scored_by.identity,
        **masking_of(plan),
        **tasks_of(plan),
        **fields_shown(scored_by, asked),
        **passages_named(plan),
    }
    again |= stand_ins_of(plan)
    Gates(fields_under={name: least for name, least in asked.gates.items() if name}).named(again.get("fields", {}))
    return PreparedEvaluation(plan, data, scored_by, again)


def _again(workflow: Workflow, asked: EvaluationRequest, data: DataSet, known: str | None) -> dict[str, Any]:
    """What a resume needs, as plain data."""
    settings = asdict(asked)
    if not is_shipped(asked.dataset):
        settings["dataset"] = os.path.abspath(asked.dataset)  # noqa: PTH100 (as text)
    if asked.fake_tools is not None:
        settings["fake_tools"] = os.path.abspath(asked.fake_tools)  # noqa: PTH100 (as text)
    if asked.recipes is not None:
        settings["recipes"] = os.path.abspath(asked.recipes)  # noqa: PTH100 (as text)
    if asked.batch is not None:
        settings["batch"] = os.path.abspath(asked.batch)  # noqa: PTH100 (as text)
    settings["base_url"] = None if asked.base_url is None else without_user(asked.base_url)
    settings["items"] = [f"@{os.path.abspath(item[1:])}" if item.startswith("@") else item for item in asked.items]  # noqa: PTH100
    for key, value in asked.metric_options.items():
        if key.rpartition(".")[2] in FILE_OPTIONS and isinstance(value, str):
            settings["metric_options"][key] = os.path.abspath(value)  # noqa: PTH100
    return {
        "snapshot": workflow.snapshot(),
        "asked": settings,
        "part": data.part,
        "reader": data.reader,
        "held_out": data.held_out,
        NAME: known or packed(data.items),
    }


async def prepare_again(
    record: EvaluationRecord | OptimizationRecord | ExtractionRecord,
    user: Store,
    changed: ResumeChanges,
    choosing: Choosing = choose,
) -> PreparedEvaluation:
    """An evaluation of the journal made ready to go on, or what a search evaluates: the workflow, options and metric that it has,
    with the data of its file.

    Who answered is kept where another endpoint answers than before. Raises `RunFailure`, also where the data are not the same any
    more, or another endpoint would answer and ``changed`` does not say what becomes of the answers.
    """
    kept: Listed[Any] = user.evaluations
    if isinstance(record, OptimizationRecord):
        kept = user.optimizations
    elif isinstance(record, ExtractionRecord):
        kept = user.extractions
    settings = dict(record.plan["asked"])
    before = EvaluationLimits(**settings.pop("limits"))
    settings["items"] = tuple(settings["items"])
    settings["base_url"] = changed.base_url or settings["base_url"]
    settings["concurrency"] = changed.concurrency or settings["concurrency"]
    asked = EvaluationRequest(**settings, limits=changed.limits_after(before))
    prepared = await prepare(restore(record.plan["snapshot"]), asked, user, choosing, record.plan.get(NAME))
    why = None
    origin = prepared.plan.chosen.endpoint.origin
    if prepared.data.hash != record.dataset or list(KnownItems.of(record.plan)) != list(prepared.plan.inputs):
        why = (
            f"The data of {kept.word} {record.id}, {settings['dataset']}, are not the same any more; {kept.damaged}, and"
            " items that did not change cost nothing."
        )
    elif prepared.metric.name != LABELS and record.plan.get("scored_by") not in (None, prepared.metric.identity):
        why = (
            f"The metric {prepared.metric.name} of {kept.word} {record.id} is not the same any more; {kept.damaged}, and answers"
            " that are known cost nothing."
        )
    elif dict(prepared.plan.tools_in_place or {}) != record.plan.get("tools", {}):
        why = (
            f"The functions in {settings['fake_tools']} of {kept.word} {record.id} are not the same any more; {kept.damaged}, and"
            " items that did not change cost nothing."
        )
    elif origin != record.plan["origin"] and changed.reuse is None:
        why = answered_by_another(kept, record.id, record.plan["origin"], origin)
    if why is not None:
        await prepared.close()
        raise InputError(why)
    reuse = changed.reuse or record.plan.get("reuse")
    plan = replace(prepared.plan, options=replace(prepared.plan.options, reuse=reuse))
    if origin != record.plan["origin"]:
        before_it = () if reuse == "same" else origins_of(record)
        now = {"asked": {**record.plan["asked"], "base_url": settings["base_url"]}, "origin": origin, "reuse": reuse}
        kept.replan(record.id, {**record.plan, **now, "origins": [*before_it, origin]})
    return replace(prepared, plan=plan)


def forecast_json(user: Store, prepared: PreparedEvaluation) -> dict[str, Any]:
    """What an evaluation may use, for programs."""
    data = prepared.data
    return {
        "dataset": str(data.file),
        "part": data.part,
        "metric": prepared.metric.name,
        **stand_ins_of(prepared.plan),
        **forecast(prepared.plan, user.evaluations.known).to_json(),
    }


def remarks(user: Store, prepared: PreparedEvaluation) -> list[str]:
    """What is remarkable about an evaluation, in sentences to be read before its first call."""
    plan, data, asked = prepared.plan, prepared.data, prepared.again["asked"]
    lines = [OFFLINE] if plan.chosen.endpoint.origin == OFFLINE_ORIGIN else []
    if plan.repeats > 1 and not plan.repeats_vary:
        lines.append(ONE_SUFFICES)
    fed = {node.id.casefold() for node in plan.workflow.graph.inputs}
    for name, field_ in asked["mapping"].items():
        if name.casefold() not in fed:
            near = closest(name, [node.id for node in plan.workflow.graph.inputs])
            hint = f"; did you mean {near}?" if near else "."
            lines.append(f"{plan.workflow.name} has no input {name}, so that the field {field_} feeds nothing{hint}")
    lines += filter(None, [stand_ins_text(stand_ins_of(plan))])
    lines += [*plan.workflow.how_read, *plan.chosen.notices, *prepared.metric.remarks(data.items)]
    if plan.tools_in_place is None and not (asked["tools"] == "live" and asked["fake_tools"] is None):
        lines.append(f"No node of {plan.workflow.name} calls a tool, so --tools and --fake-tools change nothing.")
    if asked["person"] is not None and plan.options.person is None:
        lines.append(
            f"No node of {plan.workflow.name} asks a person without an answer from the data, so --person asks nobody."
        )
    changed = changed_round(user, plan.workflow, plan.semantic)
    if changed is not None:
        lines.append(changed)
    if data.held_out:
        before = user.evaluations.readings(data.hash, parts_with(data.part))
        times = "once" if before == 1 else f"{before} times"
        known = f"it was read {times} before." if before else "this is its first reading."
        lines.append(f"The part {data.part} is held out, for final figures only; {known}")
    return lines
