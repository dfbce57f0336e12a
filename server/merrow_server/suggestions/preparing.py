"""From what a person says to a session that can begin: the workflow, the models, the items that it got wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from merrow_optimizer.evaluation.data import DataError, read_items
from merrow_optimizer.evaluation.data.names import data_file
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.plan import Limits, figures
from merrow_optimizer.mutations.base import workflow_difference
from merrow_optimizer.mutations.moves import OPERATORS, Proposals
from merrow_optimizer.suggestions.answers import KEY
from merrow_optimizer.suggestions.describing import effect_text
from merrow_optimizer.suggestions.failures import failure_of
from merrow_optimizer.suggestions.forecasts import SuggestionForecast, first_question, forecast
from merrow_optimizer.suggestions.ground import Ground
from merrow_optimizer.suggestions.leaks import Leaks
from merrow_optimizer.suggestions.prompt import FailedItem, Try, Wish
from merrow_optimizer.suggestions.session import Models, SuggestionOutcome, SuggestionSession, Told
from merrow_optimizer.suggestions.writing import takes_prompt
from merrow_runtime.asking.asker import Asker, UnknownAnswerError
from merrow_runtime.asking.purse import Purse
from merrow_runtime.errors import RunFailure, UsageFailure
from merrow_runtime.models.budget import Budget, unpriced_failure
from merrow_runtime.models.dialects import DialectStore
from merrow_runtime.models.prices import price_at
from merrow_runtime.models.trust import WorkspaceValue
from merrow_runtime.models.user_settings import ASK_ABOVE_USD, read_user_settings
from merrow_runtime.options import DEFAULT_MODEL, RunOptions
from merrow_runtime.program.files import whole_path
from merrow_runtime.provenance import OFFLINE_ORIGIN
from merrow_runtime.running.only_model import with_only_model
from merrow_runtime.running.resources import ChosenEndpoint, choose
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord
from merrow_runtime.usage import Usage
from merrow_runtime.workflow import Workflow, restore
from merrow_server.errors import InputError

VALIDATE = "validate"
"""The part of data that a model may be shown."""
_LOOKED_AT = 50
_MOST_TRIES = 5
Choosing = Callable[[RunOptions, str | None, Sequence[WorkspaceValue], DialectStore | None], ChosenEndpoint]
"""Chooses the endpoint, as `choose` does."""


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
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class PreparedSuggestions:
    """A session that can begin, with what it may cost. Close it in the end."""

    session: SuggestionSession
    chosen: ChosenEndpoint
    forecast: SuggestionForecast
    ask_above_usd: float
    notices: tuple[str, ...]
    _user: Store
    _asked: SuggestionRequest
    _told: Told

    async def known(self) -> SuggestionOutcome | None:
        """The outcome, where every answer is known already; None where a model has to be asked. Nobody is told."""
        if self._asked.fresh:
            return None
        try:
            return await self.session.run(self._asker(only_known=True))
        except (UnknownAnswerError, RunFailure):
            return None

    async def run(self, used: Callable[[Usage], None]) -> SuggestionOutcome:
        """Ask the models; what came of it. ``used`` is told in the end what it used, also where it was cancelled. Raises
        `RunFailure`.
        """
        limits = self._asked.limits
        self._check_budget(limits)
        bounds = (limits.usd, limits.tokens, limits.seconds)
        asker = self._asker(None if bounds == (None, None, None) else Budget(*bounds, strict=True))
        try:
            return await self.session.run(asker, told=self._told)
        finally:
            asker.close()
            used(asker.used)

    def _asker(self, budget: Budget | None = None, *, only_known: bool = False) -> Asker:
        purse = Purse(self.chosen, whole_path(self.session.ground.workflow.name), budget)
        return Asker(purse, self._user.cache, KEY, fresh=self._asked.fresh, only_known=only_known)

    def _check_budget(self, limits: Limits) -> None:
        """Raise `UsageFailure` where the budget is less than the first question may use."""
        needs = first_question(self.session, self.chosen.endpoint)
        for limit, least, unit, option in (
            (limits.usd, needs.cost_usd, "US dollars", "--budget-usd"),
            (limits.tokens, needs.tokens, "tokens", "--budget-tokens"),
        ):
            if limit is not None and least is not None and limit < least:
                raise UsageFailure(
                    f"A budget of {figures(limit)} {unit} is too small: the first question alone may use"
                    f" {figures(least)} ({option})."
                )

    @property
    def may_cost(self) -> bool:
        """Whether the session may cost more than the user wants to spend unasked."""
        most = self.forecast.cost_usd.most
        limit = self._asked.limits.usd
        bounded = most if limit is None or most is None else min(most, limit)
        return bounded is None or bounded > self.ask_above_usd

    async def close(self) -> None:
        """Let the endpoint go."""
        await self.chosen.endpoint.close()


async def prepare(
    workflow: Workflow,
    asked: SuggestionRequest,
    user: Store,
    *,
    choosing: Choosing = choose,
    operators: Mapping[str, Proposals] = OPERATORS,
    told: Told = lambda _, __, ___: None,
) -> PreparedSuggestions:
    """Check everything that can be wrong, and make a session ready. ``user`` is the user's store; ``told`` hears what goes on
    while models are asked.

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
        found = forecast(session, chosen.endpoint)
    except BaseException:
        await chosen.endpoint.close()
        raise
    said = (*notices, *chosen.notices)
    allowed = [usd for usd in (settings.suggest_ask_above_usd, asked.ask_above_usd) if usd is not None]
    return PreparedSuggestions(session, chosen, found, min(allowed, default=ASK_ABOVE_USD), said, user, asked, told)


def _executor(workflow: Workflow, asked: SuggestionRequest, chosen: ChosenEndpoint) -> str:
    """The model that the workflow itself asks."""
    return asked.model or workflow.analysis.settings.model or chosen.model or DEFAULT_MODEL


def check_models(chosen: ChosenEndpoint, models: Models, limits: Limits) -> None:
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
        there = [one for one in user.evaluations.newest(_LOOKED_AT, name) if one.plan["asked"]["dataset"] == place]
        known = [one for one in there if not one.plan["held_out"]]
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
    said = record.plan["asked"]
    try:
        return list(
            read_items(
                data_file(dataset),
                reader=said["reader"],
                mapping=said["mapping"],
                gold=said["gold"],
                part=part or record.part,
                seed=said["seed"],
            ).items
        )
    except DataError as problem:
        raise InputError(str(problem)) from None


def _failures(user: Store, record: EvaluationRecord, shown: Sequence[Item], seed: int) -> list[FailedItem]:
    """Items of those that may be shown that an evaluation got wrong, in the seed's order."""
    by_id = {item.id: item for item in shown}
    found: dict[str, FailedItem] = {}
    for score in user.evaluations.scores(record.id, outputs=True):
        item = by_id.get(score.item)
        failure = None if item is None else failure_of(item, score)
        if failure is not None:
            found.setdefault(score.item, failure)
    order = sorted(found)
    Random(f"{seed} shown").shuffle(order)  # noqa: S311 (no secret)
    return [found[name] for name in order]


def _tries(ground: Ground, user: Store, known: Sequence[EvaluationRecord]) -> list[Try]:
    """What became of changes that were made before: earlier versions of the workflow, with the scores of both."""
    now = next((one for one in known if one.plan["semantic"] == ground.own_key), None)
    after = None if now is None else _score(user, now)
    found: list[Try] = []
    seen = {ground.own_key}
    for one in known:
        before = _score(user, one)
        if after is None or before is None or one.plan["semantic"] in seen:
            continue
        seen.add(one.plan["semantic"])
        try:
            old = restore(one.plan["snapshot"]).analysis
        except RunFailure:
            continue
        title = effect_text(old, ground.analysis, workflow_difference(old, ground.analysis))
        found.append(Try(title, before, after))
    return found


def _score(user: Store, record: EvaluationRecord) -> float | None:
    from merrow_server.evaluations.report import summary

    score: float | None = summary(record, user.evaluations.scores(record.id)).to_json()["score"]
    return score
