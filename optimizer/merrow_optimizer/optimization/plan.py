"""What a search is to do, checked before the first call: where it begins, the items that it sees, how far it goes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from merrow_optimizer.evaluation.data import DataSet
from merrow_optimizer.evaluation.data.parts import SEED, in_order
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.evaluation.plan import EvaluationForecast, Plan, figures, forecast_item
from merrow_optimizer.mutations.calls.file_set import Files
from merrow_optimizer.optimization.readings import ASIDE
from merrow_optimizer.search.candidates import CandidateDraft
from merrow_optimizer.search.children import Moves, Nothing, Proposer
from merrow_optimizer.search.constants import CONSTANTS, RoundSettings, check_constants, round_settings_of, settings_of
from merrow_optimizer.search.engine import Strategy
from merrow_optimizer.search.held_out import set_aside
from merrow_optimizer.search.strategies.climbing import Climb, ClimbSettings, RandomWalk
from merrow_optimizer.search.strategies.evolve import Evolve, Mcts
from merrow_optimizer.search.strategies.rounds import BLOCK
from merrow_optimizer.suggestions.session import Models
from merrow_runtime.errors import UsageFailure
from merrow_runtime.running.forecast_figures import Bounds
from merrow_runtime.workflow import RecordingProvider, Workflow, check_workflow

LEAST_ITEMS = 20
"""Items without which a search is refused, unless it is to be small."""
ROUNDS = 20
"""Times all items that a search may ask where no budget is said."""
_REPEATS = {"guided": 3, "climb": 2, "random": 1, "evolve": 5, "mcts": 5}
"""How often a candidate answers an item at most, where it may answer otherwise."""
JUDGED_READ = 20
"""Candidates with which held-out items are read for what a judge is worth, at most."""
_ENDLESS = 10**9
_SHOWN_SHARE = 0.2

Objective = Literal["score", "pareto"]


@dataclass(frozen=True, slots=True)
class Bounded:
    """How far a search goes. ``evaluations`` bounds how many answers are scored, the held-out ones included; ``max_cost`` what a
    candidate may use for an item, in US dollars. ``patience`` ends it after so many draws without another crown. ``held_out`` is
    how many held-out items are read at most. ``small`` searches few items, and claims nothing. ``sure`` is the chance that a
    child as good as the best is dropped early (None: as the strategy does), and ``constants`` are those of a published loop that
    are other than usual, by name. ``judge_items`` held-out items are read with each candidate that a judge scored.
    """

    evaluations: int | None = None
    max_cost: float | None = None
    max_nodes: int | None = None
    patience: int | None = None
    held_out: int = 300
    small: bool = False
    objective: Objective = "score"
    sure: float | None = None
    constants: Mapping[str, float] = field(default_factory=dict)
    judge_items: int = 0


@dataclass(frozen=True, slots=True)
class ItemSplit:
    """The items that are searched with, and those that are held out, of ``part`` (None: none are). Those that are ``shown`` to a
    model that proposes candidates score nobody.
    """

    searched: Sequence[Item]
    held_out: Sequence[Item]
    part: str | None
    shown: Sequence[Item] = ()

    def with_shown(self) -> ItemSplit:
        """The same with a fifth of the items to show, the same in each search, and the others to search with."""
        ordered = in_order(self.searched, SEED)
        shown = ordered[: round(len(ordered) * _SHOWN_SHARE)]
        names = {item.id for item in shown}
        return replace(self, searched=[item for item in self.searched if item.id not in names], shown=shown)


@dataclass(frozen=True, slots=True)
class Proposing:
    """A model that proposes candidates, with the one that judges them, and what should get better in words. ``only`` says that
    nothing else makes candidates.
    """

    models: Models
    goal: str = ""
    only: bool = False


@dataclass(frozen=True, eq=False)
class SearchPlan:
    """A search made ready. ``base`` is an evaluation of the workflow that it begins with, on all of its items, whose ``limits``
    hold for the whole search. ``given`` are texts of workflows to begin with beside it, each with what it is called;
    ``seen`` is how many searches chose these by items that are held out here. ``proposing`` is None where no model proposes.
    """

    base: Plan
    split: ItemSplit
    strategy: str
    proposer: str
    seed: int
    jobs: int
    bounds: Bounded
    given: Sequence[tuple[str, str]] = field(default=(), repr=False)
    seen: int = 0
    proposing: Proposing | None = None

    @property
    def start(self) -> Workflow:
        """The workflow that it begins with."""
        return self.base.workflow

    @property
    def repeats(self) -> int:
        """How often a candidate may answer an item: once where it would answer the same. Where children are dropped, a new best
        answers once more.
        """
        return self._rounds + (self.strategy in CONSTANTS and self.bounds.sure is not None) if self.base.varies else 1

    @property
    def _rounds(self) -> int:
        """How often a candidate answers an item, where it may answer otherwise."""
        usual = _REPEATS[self.strategy]
        return int(self.bounds.constants.get("repeats", usual)) if self.base.varies else 1

    @property
    def rounds(self) -> RoundSettings | None:
        """What a model is asked for in each round of a published loop; None where there are no rounds, or no model proposes."""
        if self.proposing is None or self.strategy not in CONSTANTS:
            return None
        return round_settings_of(self.strategy, self.bounds.constants)

    @property
    def most_rounds(self) -> int | None:
        """How many rounds a published loop has, the start's included; None for other strategies."""
        if self.strategy not in CONSTANTS:
            return None
        return settings_of(self.strategy, self.bounds.constants, self._rounds, self.bounds.sure).most

    @property
    def evaluations(self) -> int:
        """How many answers may be asked of candidates before the held-out items are read."""
        limits = self.base.limits
        if self.bounds.evaluations is not None:
            return self.bounds.evaluations - self.reserved
        if limits.usd is None and limits.tokens is None and limits.seconds is None and self.bounds.patience is None:
            return ROUNDS * len(self.split.searched) if self.most_rounds is None else _ENDLESS
        return _ENDLESS

    @property
    def judge_items(self) -> Sequence[Item]:
        """The held-out items that are read with each candidate that a judge scored."""
        return self.split.held_out[: self.bounds.judge_items]

    @property
    def reserved(self) -> int:
        """The answers to held-out items at the end, at most."""
        return 2 * len(self.split.held_out) + JUDGED_READ * len(self.judge_items)

    @property
    def first(self) -> int:
        """How many answers the start gives before a child is made."""
        items = len(self.split.searched)
        return min(64, items) if self.strategy == "guided" else self._whole

    @property
    def block(self) -> int:
        """How many answers another candidate gives at least."""
        items = len(self.split.searched)
        if self.strategy == "guided":
            return max(1, min(32, items // 2))
        is_raced = self.strategy == "climb" or self.bounds.sure is not None
        return min(BLOCK, items) if is_raced else self._whole

    @property
    def _whole(self) -> int:
        rounds = self._rounds if self.strategy in CONSTANTS else 1
        return rounds * len(self.split.searched)

    @property
    def least(self) -> int:
        """Answers below which nothing can be learnt: of the start, of three children, and of both at the end."""
        return self.first + 3 * self.block + self.reserved

    @cached_property
    def forecast(self) -> EvaluationForecast:
        """What the workflow that it begins with may use for one item."""
        return forecast_item(self.base, self.split.searched[0])

    @cached_property
    def moves(self) -> Moves:
        """Makes candidates without a model. Raises `UsageFailure` where the start can't be changed."""
        return Moves(self.start, self.base.options, files_of(self.start), self.bounds.max_nodes)

    def candidate(self, text: str) -> Plan:
        """The evaluation of a candidate by its text: all but the workflow is that of the search. Raises `UsageFailure`."""
        start = self.start
        workflow = check_workflow(text, name=start.name, path=start.path, provider=_frozen(start), config=start.config)
        return replace(self.base, workflow=workflow)

    def make_strategy(self, proposer: Proposer) -> Strategy:
        """The strategy, for one search. numpy is imported here, by what needs it. Raises `UsageFailure` where it is missing."""
        if self.strategy == "guided":
            from merrow_optimizer.search.strategies.guided import Guided, GuidedSettings

            if self.proposing is not None and self.proposing.only:
                return Guided(Nothing(), GuidedSettings(patience=self.bounds.patience, rivals=_ENDLESS))
            return Guided(proposer, GuidedSettings(patience=self.bounds.patience))
        if self.strategy in CONSTANTS:
            settings = settings_of(self.strategy, self.bounds.constants, self._rounds, self.bounds.sure)
            maker = Nothing() if self.proposing is not None and self.proposing.only else proposer
            return Evolve(maker, settings) if self.strategy == "evolve" else Mcts(maker, settings)
        if self.strategy == "random":
            return RandomWalk(proposer)
        return Climb(proposer, ClimbSettings() if self.bounds.sure is None else ClimbSettings(self.bounds.sure))


def files_of(start: Workflow) -> Files:
    """How candidates are opened: with the files that the start was read with, whatever they say later."""
    return Files(start.path, _frozen(start), start.config)


def _frozen(start: Workflow) -> RecordingProvider:
    frozen = RecordingProvider(None)
    frozen.files = {path: dict(known) for path, known in start.files.items()}
    return frozen


def split_of(data: DataSet, test: Sequence[Item], bounds: Bounded) -> ItemSplit:
    """The items of a search: those of ``data`` are searched with, and those of ``test`` are held out, which is that part of the
    data where it has one; else a third of the items is. Raises `UsageFailure` where they are too few.
    """
    if data.held_out:
        raise UsageFailure(
            "The part test is held out: what is searched with it can't be tested with it. Choose --part validate or all."
        )
    if bounds.small:
        return ItemSplit(data.items, (), None)
    if len(data.items) < LEAST_ITEMS:
        more = ", take them all with --part all" if test else ""
        raise UsageFailure(
            f"{len(data.items)} items are too few to search with and to test with; {LEAST_ITEMS} are the least. Add"
            f" some{more}, or use --small, which claims no test."
        )
    if test:
        return ItemSplit(data.items, in_order(test, SEED)[: bounds.held_out], "test")
    ordered = in_order(data.items, SEED)
    kept, aside = set_aside(len(ordered), SEED)
    wanted = {ordered[place].id for place in kept}
    searched = [item for item in data.items if item.id in wanted]
    return ItemSplit(searched, [ordered[place] for place in aside][: bounds.held_out], ASIDE)


def check(plan: SearchPlan) -> None:
    """Raise `UsageFailure` for what can be seen to be wrong before the first call: a missing package, a workflow that can't be
    changed or grow, a budget that is too small.
    """
    start, moves = plan.start, plan.moves
    check_constants(plan.strategy, plan.bounds.constants, asks=plan.proposing is not None)
    plan.make_strategy(moves)
    if plan.bounds.patience is not None and plan.strategy != "guided":
        raise UsageFailure("--patience goes with the strategy guided; add --strategy guided.")
    if plan.bounds.sure is not None and plan.strategy not in ("climb", "evolve", "mcts"):
        raise UsageFailure("--sure goes with the strategies climb, evolve and mcts.")
    if plan.proposing is not None and plan.proposing.only and plan.strategy not in ("guided", *CONSTANTS):
        raise UsageFailure(
            "--proposer model goes with the strategies guided, evolve and mcts; add --strategy evolve, or choose --proposer both."
        )
    if plan.bounds.judge_items and plan.proposing is None:
        raise UsageFailure("--judge-items goes with a model that proposes; add --proposer model or both.")
    nodes = len(start.graph.nodes)
    if nodes >= moves.max_nodes:
        raise UsageFailure(
            f"{start.name} has {nodes} nodes and may have {moves.max_nodes}, so nothing can be added; raise --max-nodes."
        )
    if not moves.has_moves:
        raise UsageFailure(f"{start.name} has nothing that may be changed: no safe mutation is possible.")
    if plan.bounds.max_cost is not None:
        cost = middle(plan.forecast.cost_usd)
        if cost is None:
            raise UsageFailure(
                "--max-cost-per-item needs the price of the model, which is not known; add it to the user's settings, or leave"
                " the option out."
            )
        if cost > plan.bounds.max_cost:
            raise UsageFailure(
                f"{start.name} itself uses about {cost:.4g} US dollars for an item, more than --max-cost-per-item."
            )
    check_budget(plan)


def check_budget(plan: SearchPlan) -> None:
    """Raise `UsageFailure` where the budget is below one parent, three children and the held-out reading."""
    what = f"{plan.first} answers of the start, {plan.block} of each of three candidates"
    if plan.split.held_out:
        what += f", and {plan.reserved} on held-out items"
    complaint = f"is too small to learn anything: {what} are the least that makes sense"
    wanted, limits, item = plan.bounds.evaluations, plan.base.limits, plan.forecast
    if wanted is not None and wanted < plan.least:
        raise UsageFailure(
            f"A budget of {wanted:,} answers {complaint}, which is {plan.least:,} (--budget-evaluations)."
        )
    for limit, bounds, unit, option in (
        (limits.usd, item.cost_usd, "US dollars", "--budget-usd"),
        (limits.tokens, item.tokens, "tokens", "--budget-tokens"),
    ):
        # A call begins only where all that it may use is left, in the search and again at the end.
        call = (bounds.most or 0.0) / (item.calls.most or 1.0)
        least = bounds.least * plan.least + 2 * call
        least = least if option == "--budget-usd" else math.ceil(least)
        if limit is not None and limit < least:
            raise UsageFailure(
                f"A budget of {figures(limit)} {unit} {complaint}, which is about {figures(least)} ({option})."
            )


def affords(plan: SearchPlan) -> tuple[int, int | None] | None:
    """How many candidates the budget pays for beside the start and the held-out reading: at least, and at most (None: as many as
    are found). None where no budget bounds them.
    """
    fixed = plan.first + plan.reserved
    affordable: list[tuple[float, float | None]] = []
    if plan.evaluations < _ENDLESS:
        many = (plan.evaluations - plan.first) / plan.block
        affordable.append((many, many))
    if plan.most_rounds is not None:
        affordable.append((plan.most_rounds - 1, plan.most_rounds - 1))
    limits, item = plan.base.limits, plan.forecast
    for limit, bounds in ((limits.usd, item.cost_usd), (limits.tokens, item.tokens)):
        if limit is not None and bounds.most != 0:
            least = 0.0 if bounds.most is None else max(0.0, limit / bounds.most - fixed) / plan.block
            affordable.append((least, max(0.0, limit / bounds.least - fixed) / plan.block if bounds.least else None))
    if not affordable:
        return None
    mosts = [most for _, most in affordable if most is not None]
    return int(min(least for least, _ in affordable)), int(min(mosts)) if mosts else None


def middle(bounds: Bounds) -> float | None:
    """Half way between the least and the most; None where the most is not known."""
    return None if bounds.most is None else (bounds.least + bounds.most) / 2


Told = Callable[[Mapping[str, Any]], None]
"""Is told what happens in a search, as plain data: ``event`` says what."""


def drafts_of(plan: SearchPlan) -> list[CandidateDraft]:
    """The workflows that are given, as candidates of the start; without those that do the same. Raises `UsageFailure`."""
    start = plan.moves.start()
    drafts: dict[str, CandidateDraft] = {start.key: start}
    for text, title in plan.given:
        draft = plan.moves.given(text, title)
        drafts.setdefault(draft.key, draft)
    return list(drafts.values())[1:]
