"""From what a person says to a session that can begin: the workflow, the models, the items that it got wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from random import Random

from merrow_optimizer.evaluation.data import DataError, read_items
from merrow_optimizer.evaluation.data.names import data_file
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.plan import EvaluationLimits, figures
from merrow_optimizer.mutations.base import workflow_difference
from merrow_optimizer.mutations.moves import OPERATORS, Proposals
from merrow_optimizer.suggestions.candidate_answers import KEY
from merrow_optimizer.suggestions.describing import effect_text
from merrow_optimizer.suggestions.failures import failure_of
from merrow_optimizer.suggestions.forecasts import SuggestionForecast, first_question, forecast
from merrow_optimizer.suggestions.ground import Ground
from merrow_optimizer.suggestions.leaks import Leaks
from merrow_optimizer.suggestions.node_edits import takes_prompt
from merrow_optimizer.suggestions.prompt import FailedItem, Try, Wish
from merrow_optimizer.suggestions.session import Models, SuggestionOutcome, SuggestionSession
from merrow_runtime.asking.asker import Asker
from merrow_runtime.errors import RunFailure, UsageFailure
from merrow_runtime.models.budget import unpriced_failure
from merrow_runtime.models.prices import price_at
from merrow_runtime.models.user_settings import read_user_settings
from merrow_runtime.options import DEFAULT_MODEL, RunOptions
from merrow_runtime.program.workflow_files import whole_path
from merrow_runtime.provenance import OFFLINE_ORIGIN
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running.only_model import with_only_model
from merrow_runtime.running.resources import ChosenEndpoint, choose
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord
from merrow_runtime.store.jobs import JobRecord
from merrow_runtime.usage import Usage
from merrow_runtime.workflow import Workflow, restore
from merrow_server.asking_jobs import Asking, Choosing, Json, Told, address_kept, allowed_usd
from merrow_server.asking_words import cost_sentence
from merrow_server.continuing import ResumeChanges
from merrow_server.errors import InputError
from merrow_server.suggestions.suggestion_data import report

VALIDATE = "validate"
"""The part of data that a model may be shown."""
_LOOKED_AT = 50
_MOST_TRIES = 5


@dataclass(frozen=True, slots=True)
class SuggestionRequest:
    """What a person says about suggestions, beside the workflow. ``datasets`` are paths: items of them that the last evaluation
    got wrong are shown to the model. ``about`` are nodes that are meant, ``node`` the only one whose prompt may change.
    """

    n: int = 4
    node: str | None = None
    about: tuple[str, ...] = ()
    goal: str = ""
    optimizer_model: str | None = None
    judge_model: str | None = None
    model: str | None = None
    base_url: str | None = None
    datasets: tuple[str, ...] = ()
    seed: int = 42
    fresh: bool = False
    ask_above_usd: float | None = None
    """What may be spent unasked, unless the user's settings allow less; None: as they say."""
    limits: EvaluationLimits = field(default_factory=EvaluationLimits)


@dataclass(slots=True, kw_only=True)
class PreparedSuggestions(Asking[SuggestionOutcome]):
    """Suggestions that can be asked for."""

    kind, key = "suggestion", KEY

    session: SuggestionSession
    bounds: SuggestionForecast

    async def ask(self, asker: Asker, told: Told) -> SuggestionOutcome:
        """See `Asking`."""
        return await self.session.run(asker, told=told)

    def report(self, outcome: SuggestionOutcome, used: Usage, known: int) -> Json:
        """See `Asking`; the text of each suggestion is that of the diagram."""
        del known
        notices = [*self.notices, *outcome.notices]
        return {**report(self.session, outcome, self.chosen.endpoint), "usage": used.to_json(), "notices": notices}

    def forecast(self) -> Json:
        """See `Asking`."""
        return self.bounds.to_json()

    def sentence(self) -> str:
        """See `Asking`."""
        models = self.session.models
        return cost_sentence(self.bounds.to_json(), models.optimizer, models.judge, self.chosen.endpoint.origin)

    def most_usd(self) -> float | None:
        """See `Asking`."""
        return self.bounds.cost_usd.most

    def check_budget(self) -> None:
        """Raise `UsageFailure` where the budget is less than the first question may use."""
        limits, needs = self.limits, first_question(self.session, self.chosen.endpoint)
        for limit, least, unit, option in (
            (limits.usd, needs.cost_usd, "US dollars", "--budget-usd"),
            (limits.tokens, needs.tokens, "tokens", "--budget-tokens"),
        ):
            if limit is not None and least is not None and limit < least:
                raise UsageFailure(
                    f"A budget of {figures(limit)} {unit} is too small: the first question alone may use"
                    f" {figures(least)} ({option})."
                )


async def prepare(
    workflow: Workflow,
    asked: SuggestionRequest,
    user: Store,
    *,
    choosing: Choosing = choose,
    operators: Mapping[str, Proposals] = OPERATORS,
) -> PreparedSuggestions:
    """Check everything that can be wrong, and make a session ready. ``user`` is the user's store.

    Raises `RunFailure`, `InputError`.
    """
    settings = read_user_settings()
    options = RunOptions(model=asked.model, default_model=settings.model, base_url=asked.base_url)
    ground = Ground(workflow, options, operators)
    for name in (*asked.about, *((asked.node,) if asked.node is not None else ())):
        if name not in ground.graph.by_id:
            raise InputError(f"{workflow.name} has no node {name}.")
    if asked.node is not None and not takes_prompt(ground.graph.by_id[asked.node]):
        raise InputError(f"Node {asked.node} asks no model, so it has no prompt to improve.")
    items, failures, tries, notices = _evaluated(ground, asked, user)
    chosen = choosing(options, asked.base_url, workflow.machine, user.dialects)
    try:
        chosen = await asyncio.to_thread(with_only_model, chosen, options, [workflow])
        optimizer = asked.optimizer_model or settings.models.optimizer or _executor(workflow, asked, chosen)
        models = Models(optimizer, asked.judge_model or settings.models.judge or optimizer)
        check_models(chosen, models, asked.limits)
        wish = Wish(asked.n, asked.goal, asked.node, asked.about, failures, tries)
        session = await asyncio.to_thread(  # its menu takes half a second, and others use the event loop
            SuggestionSession, ground, wish, models, Leaks(items), endpoint=chosen.endpoint, seed=asked.seed
        )
        bounds = forecast(session, chosen.endpoint)
    except BaseException:
        await chosen.endpoint.close()
        raise
    request = {**asdict(asked), "optimizer_model": models.optimizer, "judge_model": models.judge}
    del request["limits"]
    request["datasets"] = [whole_path(data_file(dataset)) for dataset in asked.datasets]
    return PreparedSuggestions(
        user=user,
        chosen=chosen,
        file=whole_path(workflow.name),
        booked=whole_path(workflow.name),
        again={
            "asked": {**request, "base_url": address_kept(asked.base_url)},
            "snapshot": workflow.snapshot(),
            "first": _hash_of(session),
        },
        shown={"workflow": workflow.name, "model": models.optimizer, "goal": asked.goal},
        notices=(*notices, *chosen.notices),
        limits=asked.limits,
        ask_above_usd=allowed_usd(settings, asked.ask_above_usd),
        fresh=asked.fresh,
        session=session,
        bounds=bounds,
    )


async def prepare_suggestions_again(
    record: JobRecord,
    user: Store,
    changed: ResumeChanges,
    choosing: Choosing = choose,
    operators: Mapping[str, Proposals] = OPERATORS,
) -> PreparedSuggestions:
    """Suggestions of the journal made ready to continue. Raises `RunFailure`, also where the model would be shown something else
    now, such as failures of a later evaluation.
    """
    request = record.plan["asked"]
    given = {
        "about": tuple(request["about"]),
        "datasets": tuple(request["datasets"]),
        "base_url": changed.base_url or request["base_url"],
        "limits": changed.limits_after(EvaluationLimits(**record.plan["limits"])),
    }
    workflow = restore(record.plan["snapshot"])
    prepared = await prepare(
        workflow, SuggestionRequest(**{**request, **given}), user, choosing=choosing, operators=operators
    )
    try:
        if _hash_of(prepared.session) != record.plan["first"]:
            raise InputError(
                f"Suggestion {record.id} can't continue: its data, its evaluations or the workspace's patterns are not the same"
                f" any more. Ask for suggestions again with: merrow suggest {workflow.name}"
            )
        prepared.continues(record, changed)
    except BaseException:
        await prepared.close()
        raise
    return prepared


def _hash_of(session: SuggestionSession) -> str:
    """Identifies all that a session is made of: what the model is asked first, and how often."""
    request = ModelRequest(session.models.optimizer, session.first)
    return f"{request.hash} {session.seed} {session.wish.n}"


def _executor(workflow: Workflow, asked: SuggestionRequest, chosen: ChosenEndpoint) -> str:
    """The model that the workflow itself asks."""
    return asked.model or workflow.analysis.settings.model or chosen.model or DEFAULT_MODEL


def check_models(chosen: ChosenEndpoint, models: Models, limits: EvaluationLimits) -> None:
    """Raise `UsageFailure` where these can't suggest within limits: the embedded model, one without a price."""
    if chosen.endpoint.origin == OFFLINE_ORIGIN:
        raise UsageFailure(
            "Suggestions need a model, and the embedded one can't make any: set OPENAI_API_KEY or OPENAI_BASE_URL, or name an"
            " endpoint with --base-url."
        )
    if limits.usd is not None:
        for model in (models.optimizer, models.judge):
            if model is not None and price_at(chosen.endpoint, model) is None:
                raise UsageFailure(str(unpriced_failure(model, chosen.endpoint.origin)))


def _evaluated(
    ground: Ground, asked: SuggestionRequest, user: Store
) -> tuple[list[Item], tuple[FailedItem, ...], tuple[Try, ...], list[str]]:
    """The items of the data, those that the last evaluation got wrong, what earlier versions of the workflow scored, and what is
    to be said of that.
    """
    items: list[Item] = []
    failures: list[FailedItem] = []
    tries: list[Try] = []
    notices: list[str] = []
    name = whole_path(ground.workflow.name)
    for dataset in asked.datasets:
        place = whole_path(data_file(dataset))
        there = [
            record for record in user.evaluations.newest(_LOOKED_AT, name) if record.plan["asked"]["dataset"] == place
        ]
        known = [record for record in there if not record.plan["held_out"]]
        if not known:
            what = "was evaluated on the part test" if there else "was not evaluated"
            how = " alone, which is never shown" if there else " yet"
            raise InputError(
                f"{ground.workflow.name} {what} {'of' if there else 'on'} {dataset}{how}: merrow evaluate"
                f" {ground.workflow.name} --dataset {dataset} finds out what it gets wrong."
            )
        whole, shown = _read(known[0], dataset, None), _read(known[0], dataset, VALIDATE)
        items += whole
        failures += _failures(user, known[0], shown, asked.seed)
        tries += _tries(ground, user, known)
        if known[0].plan["semantic"] != ground.own_key and not failures:
            notices.append(f"The last evaluation on {dataset} was before this change of the workflow.")
    return items, tuple(failures), tuple(tries[:_MOST_TRIES]), notices


def _read(record: EvaluationRecord, dataset: str, part: str | None) -> list[Item]:
    """The items of the data as an evaluation read them; of one part of it where that is given."""
    request = record.plan["asked"]
    try:
        return list(
            read_items(
                data_file(dataset),
                reader=request["reader"],
                mapping=request["mapping"],
                gold=request["gold"],
                golds=request.get("golds"),
                part=part or record.part,
                seed=request["seed"],
            ).items
        )
    except DataError as problem:
        raise InputError(str(problem)) from None


def _failures(user: Store, record: EvaluationRecord, shown: Sequence[Item], seed: int) -> list[FailedItem]:
    """Items of those that may be shown that an evaluation got wrong, in the seed's order."""
    by_id = {item.id: item for item in shown}
    failures: dict[str, FailedItem] = {}
    for score in user.evaluations.scores(record.id, outputs=True):
        item = by_id.get(score.item)
        failure = None if item is None else failure_of(item, score)
        if failure is not None:
            failures.setdefault(score.item, failure)
    order = sorted(failures)
    Random(f"{seed} shown").shuffle(order)  # noqa: S311 (no secret)
    return [failures[name] for name in order]


def _tries(ground: Ground, user: Store, known: Sequence[EvaluationRecord]) -> list[Try]:
    """What became of changes that were made before: earlier versions of the workflow, with the scores of both."""
    now = next((known_record for known_record in known if known_record.plan["semantic"] == ground.own_key), None)
    after = None if now is None else _score(user, now)
    tries: list[Try] = []
    seen = {ground.own_key}
    for record in known:
        before = _score(user, record)
        if after is None or before is None or record.plan["semantic"] in seen:
            continue
        seen.add(record.plan["semantic"])
        try:
            old = restore(record.plan["snapshot"]).analysis
        except RunFailure:
            continue
        title = effect_text(old, ground.analysis, workflow_difference(old, ground.analysis))
        tries.append(Try(title, before, after))
    return tries


def _score(user: Store, record: EvaluationRecord) -> float | None:
    from merrow_server.evaluations.evaluation_data import summary

    score: float | None = summary(record, user.evaluations.scores(record.id)).to_json()["score"]
    return score
