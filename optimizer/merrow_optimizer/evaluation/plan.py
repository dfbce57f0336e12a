"""What an evaluation is to do, checked before the first call: a workflow, items, a metric, and how."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, Context
from functools import cached_property
from typing import Any

from merrow_analysis.definitions.settings import Refine
from merrow_optimizer.evaluation.data import DataSet, fitted
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.keys import score_key, semantic_hash, work_key
from merrow_optimizer.evaluation.late_asker import LateAsker
from merrow_optimizer.evaluation.scores import Metric, Status
from merrow_optimizer.evaluation.unattended import check_people, with_answers
from merrow_runtime.calls.tool_servers import ToolServers
from merrow_runtime.errors import InputError, UsageFailure
from merrow_runtime.models.budget import unpriced_failure
from merrow_runtime.models.endpoint import refused_at
from merrow_runtime.models.prices import price_at
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import Steps, make_steps
from merrow_runtime.program.tool_parameters import root_of
from merrow_runtime.provenance import listed
from merrow_runtime.revising.reviser import Reviser, refining
from merrow_runtime.running.forecast import dry_run
from merrow_runtime.running.forecast_embedding import EmbeddingForecast
from merrow_runtime.running.forecast_figures import Bounds, Forecast
from merrow_runtime.running.resources import ChosenEndpoint
from merrow_runtime.running.set_outputs import SetOutputs
from merrow_runtime.running.tool_checks import check_tools
from merrow_runtime.store.evaluations import ScoreRecord
from merrow_runtime.workflow import Workflow

Known = Callable[[bytes], Sequence[ScoreRecord]]


@dataclass(frozen=True, slots=True)
class EvaluationLimits:
    """What an evaluation may use over all of its runs; None is without a limit."""

    usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class EvaluationForecast:
    """What an evaluation may do: for how many items, how often, and bounds of calls, tokens and US dollars over all of them.

    The cost's most is None where a price is not known, that of calls where a workflow is not planned yet. ``judging`` bounds
    the calls that a metric makes, which are among the calls: nobody knows what they ask before there are answers, so tokens and
    cost are without them.
    """

    items: int
    repeats: int
    calls: Bounds
    tokens: Bounds
    cost_usd: Bounds
    judging: Bounds | None = None

    def to_json(self) -> dict[str, Any]:
        """As ``--dry-run --format json`` prints it."""
        return {
            "items": self.items,
            "repeats": self.repeats,
            "calls": self.calls.to_json(),
            "tokens": self.tokens.to_json(),
            "cost_usd": self.cost_usd.to_json(),
            "judging": None if self.judging is None else self.judging.to_json(),
        }


@dataclass(frozen=True, eq=False)
class Plan:
    """An evaluation made ready.

    ``options`` are those of all runs (their budgets are not used: ``limits`` hold for all runs together); ``chosen`` is the
    endpoint that answers. ``inputs`` has for each item what is given to the workflow. Make it with `make_plan`.
    """

    workflow: Workflow
    items: Sequence[Item]
    metric: Metric
    chosen: ChosenEndpoint
    options: RunOptions
    repeats: int
    limits: EvaluationLimits
    inputs: Mapping[str, Mapping[str, Any]] = field(repr=False)
    asking: LateAsker | None = None
    """What the metric asks a model with, where it does."""
    reviser: Reviser | None = None
    """Who changes the workflow while it runs, where that or the options ask for it (`refine`)."""
    answers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    """What people answer, by item and by node, taken from the data."""
    tools: ToolServers | None = None
    """Who calls tools for all items; closed with what the plan was made for."""
    tools_in_place: Mapping[str, Any] | None = None
    """What is called in the place of tools, as plain data, with the ``sha256`` of functions; None where these are called
    themselves, and where there are none.
    """

    @cached_property
    def steps(self) -> Steps:
        """The nodes of the workflow as they run."""
        return make_steps(self.workflow, self.options)

    @cached_property
    def semantic(self) -> str:
        """What the workflow does, as a hash."""
        # Who plays a person is no part of what it does.
        return semantic_hash(self.workflow, make_steps(self.workflow, replace(self.options, person=None)))

    @cached_property
    def model(self) -> str:
        """The models that are asked, by their names; of a workflow that asks none, those that it would ask."""
        steps = [step for reached in self.workflow.reached() for step in self._steps_of(reached).values()]
        asked = set[str]().union(*(step.models for step in steps))
        return ", ".join(sorted(asked or {step.definition.model for step in steps}))

    @cached_property
    def varies(self) -> bool:
        """Whether a repeat may come out otherwise: some node has a temperature above 0, or results are masked."""
        return self.options.mask is not None or any(
            step.definition.temperature > 0
            for reached in self.workflow.reached()
            for step in self._steps_of(reached).values()
        )

    @property
    def repeats_vary(self) -> bool:
        """The same, or the endpoint is known to answer at a temperature of its own."""
        endpoint = self.chosen.endpoint
        return self.varies or any("temperature" in refused_at(endpoint, model) for model in self.model.split(", "))

    def work_key(self, item: str, repeat: int) -> bytes:
        """The key of an answer to an item, by its id."""
        options = self.options
        masked = () if options.mask is None else (options.mask, sorted(options.mask_only), options.mask_every, item)
        how = [
            [name, setting]
            for name, setting in (
                ("refine", options.refine),
                ("mask", masked),
                ("answers", self.answers.get(item)),
                ("person", options.person),
                ("episode", self.metric.of_episode or None),
                ("stores", self.stores),
                ("tools", self.tools_in_place and self.tools_in_place.get("sha256", "replayed")),
            )
            if setting not in (None, ())
        ]
        return work_key(self.semantic, self.chosen.endpoint.origin, options.seed, repeat, self.inputs[item], how)

    @cached_property
    def stores(self) -> tuple[str, ...]:
        """What the documents of its stores are known by. Raises `UsageFailure` where they can't be read."""
        from merrow_runtime.documents.places import stores_used  # few evaluations need them
        from merrow_runtime.documents.run_stores import RunStores

        root = root_of(self.workflow)
        places = list(stores_used(self.workflow, root))
        if not places:
            return ()
        stores = RunStores(root, copies=True)
        try:
            for node, place in places:
                try:
                    stores.check(place)
                except InputError as problem:
                    raise InputError(f"Node {node}: {problem}") from None
            return tuple(stores.version(place) for _, place in places)
        finally:
            stores.close()

    @cached_property
    def refine(self) -> Refine | None:
        """When and how a model revises the runs; None where it does not."""
        return refining(self.workflow.analysis.settings.refine, self.options.refine)

    @property
    def concurrency(self) -> int:
        """How many calls may be made at the same time."""
        return self.chosen.concurrency

    def _steps_of(self, workflow: Workflow) -> Steps:
        return make_steps(workflow, self.options)


def make_plan(
    workflow: Workflow,
    data: DataSet,
    metric: Metric,
    chosen: ChosenEndpoint,
    options: RunOptions,
    *,
    repeats: int = 1,
    limits: EvaluationLimits | None = None,
    asking: LateAsker | None = None,
    reviser: Reviser | None = None,
    answers: Mapping[str, str] | None = None,
    tools: ToolServers,
    tools_in_place: Mapping[str, Any] | None = None,
) -> Plan:
    """A plan, with everything checked that can be wrong with it before the first call. ``answers`` are by nodes that ask people
    the fields of the data that have their answers. ``tools`` and ``tools_in_place`` as in `Plan`.

    Raises `UsageFailure`; `DataError` where the data does not fit the inputs of the workflow.
    """
    if not workflow.graph.outputs:
        raise UsageFailure(f"{workflow.name} has no output node, so there is no answer to score.")
    answers = answers or {}
    if not check_tools(workflow, options, tools, unattended=True):
        tools_in_place = None
    if not check_people(workflow, options, answers):
        options = replace(options, person=None)
    inputs = fitted(data, workflow.graph)
    if options.default_model is None:
        options = replace(options, default_model=chosen.model)
    given_answers = _answers(workflow, data, answers)
    plan = Plan(
        workflow,
        data.items,
        metric,
        chosen,
        options,
        repeats,
        limits or EvaluationLimits(),
        inputs,
        asking,
        reviser,
        given_answers,
        tools,
        tools_in_place,
    )
    _check_budget(plan)
    _ = plan.stores
    return plan


def _answers(workflow: Workflow, data: DataSet, answers: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """What people answer for each item, by its id and the node that asks. Raises `UsageFailure`."""
    given: dict[str, dict[str, Any]] = {}
    for item in data.items if answers else ():
        own = given[item.id] = {}
        for node, name in answers.items():
            if item.inputs.get(name) is None:
                known = listed(list(item.inputs))
                raise UsageFailure(
                    f"Item {item.id} has no field {name} with the answer to {node}. Its fields are {known}."
                )
            own[node] = item.inputs[name]
        try:
            SetOutputs(workflow, with_answers(workflow, RunOptions(), own).set_outputs)
        except UsageFailure as problem:
            raise UsageFailure(f"The answers of item {item.id} do not fit. {problem}") from None
    return given


_UP = Context(prec=4, rounding=ROUND_CEILING)


class TooSmall(UsageFailure):
    """The money or the tokens are not enough for one item."""


def _check_budget(plan: Plan) -> None:
    """Raise `UsageFailure` where the budget can't be kept, or is not enough for one item."""
    limits = plan.limits
    if limits.usd is not None:
        for reached in plan.workflow.reached():
            for step in make_steps(reached, plan.options).values():
                for model in () if step.called is not None else sorted(step.models):
                    if price_at(plan.chosen.endpoint, model) is None:
                        raise UsageFailure(str(unpriced_failure(model, plan.chosen.endpoint.origin)))
    if limits.seconds is not None and limits.seconds <= 0:
        raise UsageFailure("A budget of 0 seconds is not enough for one item.")
    if limits.usd is None and limits.tokens is None:
        return
    first = forecast_item(plan, plan.items[0])
    for limit, bounds, unit in ((limits.usd, first.cost_usd, "US dollars"), (limits.tokens, first.tokens, "tokens")):
        if limit is not None and (limit < bounds.least or limit == 0):
            least = math.ceil(bounds.least) if unit == "tokens" else bounds.least
            raise TooSmall(
                f"The budget of {figures(limit)} {unit} is not enough for one item, which uses about"
                f" {figures(least)} at least."
            )


def figures(amount: float) -> str:
    """An amount without an exponent: a whole number as it is, another with four digits, rounded up, so that it is enough."""
    if amount == int(amount):
        return f"{int(amount):,}"
    return f"{_UP.create_decimal(repr(amount)):,f}"


def forecast_item(plan: Plan, item: Item) -> EvaluationForecast:
    """What one answer to an item may use."""
    planned = _dry_run(plan, item)
    return EvaluationForecast(1, 1, planned.calls, planned.tokens, planned.cost_usd)


def _dry_run(plan: Plan, item: Item, embedding: EmbeddingForecast | None = None) -> Forecast:
    options = with_answers(plan.workflow, plan.options, plan.answers.get(item.id, {}))
    endpoint = plan.chosen.endpoint
    return dry_run(plan.workflow, plan.inputs[item.id], options=options, endpoint=endpoint, embedding=embedding)


_SAMPLE = 20
"""Items that are unfolded for a forecast; the others are taken to be like these."""


JUDGED_MOST = 2
"""Calls at most of a metric that asks a model, for an answer; one at least."""


def forecast(plan: Plan, known: Known) -> EvaluationForecast:
    """What the evaluation may use beyond what is ``known``, which gives the scores for the key of an answer. Tokens and cost are
    estimates, without those of a metric that asks a model.
    """
    left = array("Q")
    judged = 0
    every = ((place, item, repeat) for repeat in range(plan.repeats) for place, item in enumerate(plan.items))
    for place, item, repeat in every:
        work = plan.work_key(item.id, repeat)
        scores = [] if plan.options.fresh else [score for score in known(work) if _is_known(score)]
        if not scores and (repeat == 0 or plan.repeats_vary):
            # Where nothing varies, a repeat is answered like the first time.
            left.append(place)
        scored = score_key(work, item, plan.metric)
        judged += not any(score.scored == scored or score.status == Status.FAILED for score in scores)
    step = max(1, len(left) // _SAMPLE)
    embedding = EmbeddingForecast(plan.chosen.endpoint, root_of(plan.workflow), plan.options)
    some = [_dry_run(plan, plan.items[place], embedding) for place in left[::step]]
    times = len(left) / max(1, len(some))

    def total(bounds: Sequence[Bounds], once: Sequence[Bounds], more: Bounds | None = None) -> Bounds:
        mosts = [bound.most for bound in bounds]
        most = None if None in mosts else sum(figure for figure in mosts if figure is not None) * times
        # What one item uses for all of them is in the forecast of each.
        shared = [bound.most or 0.0 for bound in once]
        most = None if most is None else most - sum(shared) * times + max(shared, default=0.0)
        least = sum(bound.least for bound in bounds) * times
        if more is None:
            return Bounds(least, most)
        return Bounds(least + more.least, None if most is None or more.most is None else most + more.most)

    judges = 0 if plan.asking is None else judged * plan.metric.judges
    judging = None if plan.asking is None else Bounds(judges, JUDGED_MOST * judges)
    return EvaluationForecast(
        len(plan.items),
        plan.repeats,
        total([each.calls for each in some], [each.once.bounds[0] for each in some], judging),
        total([each.tokens for each in some], [each.once.bounds[1] for each in some]),
        total([each.cost_usd for each in some], [each.once.bounds[2] for each in some]),
        judging,
    )


def _is_known(score: ScoreRecord) -> bool:
    """Whether an earlier score saves the run."""
    return score.output is not None or score.status == Status.FAILED
