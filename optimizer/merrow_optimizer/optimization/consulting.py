"""A model that proposes candidates of a search: asked at draws that the history decides, and kept before any of it is used."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from merrow_optimizer.optimization.answers import SearchAnswers, WantedAnswer
from merrow_optimizer.optimization.costs import Costs
from merrow_optimizer.optimization.plan import SearchPlan
from merrow_optimizer.search.candidates import START, CandidateDraft
from merrow_optimizer.search.children import MODEL
from merrow_optimizer.search.engine import Search
from merrow_optimizer.suggestions.answers import KEY
from merrow_optimizer.suggestions.failures import failure_of
from merrow_optimizer.suggestions.leaks import Leaks
from merrow_optimizer.suggestions.prompt import FailedItem, Try
from merrow_optimizer.suggestions.proposing import ModelProposer, Parent, Proposal, Proposals
from merrow_optimizer.suggestions.session import CandidateTally
from merrow_runtime.asking.asker import Asker
from merrow_runtime.asking.purse import Purse
from merrow_runtime.errors import AnswerFailure, BudgetFailure, EndpointFailure, UsageFailure
from merrow_runtime.models.budget import NotEnoughLeft
from merrow_runtime.program.files import whole_path
from merrow_runtime.store.database import Store
from merrow_runtime.store.optimizations import SHOWN
from merrow_runtime.usage import NOTHING, Usage

EVERY = 8
"""Draws from one question to the next."""
_WANTED, _PARENTS, _TRIES = 4, 3, 8
"""How many candidates are asked for, of how many workflows, with how many earlier changes."""
_LOOKED_AT = 10
"""Shown items that the best workflow answers before a question, for what it gets wrong."""
_LONGEST_TITLE = 200


class Consulting:
    """Puts the questions of one search. What was proposed is in the journal before it is used, with the draw before which it was,
    so that a search that continues asks nothing again.
    """

    def __init__(self, search: str, plan: SearchPlan, answers: SearchAnswers, costs: Costs, user: Store) -> None:
        assert plan.proposing is not None  # noqa: S101 (whoever makes one has looked)
        self._id, self._plan, self._proposing = search, plan, plan.proposing
        self._answers, self._costs, self._user = answers, costs, user
        kept = user.optimizations.proposals(search)
        self._cut = {number: one for number, one in kept.items() if one.get("cut", False)}
        """What was used for questions that the end of a search cut off; they are put again."""
        self._known = {number: one for number, one in kept.items() if number not in self._cut}

    def is_due(self, search: Search) -> bool:
        """Whether a question comes before the next draw, which is ready to be made."""
        number, history = len(search.history.draws) + 1, search.history
        if (
            number <= search.jobs or search.drawn >= self._plan.evaluations
        ):  # The start has no score yet, or it is over.
            return False
        known = self._known.get(number)
        if known is not None:
            return self._proposing.only and known["failure"] is not None
        is_time = (number - 1 - search.jobs) % EVERY == 0
        if not self._proposing.only:
            return is_time
        has_more = any(history.left(candidate) for candidate in history.scored())
        return not search.waiting and (is_time or not has_more)

    def drafts(self, number: int, search: Search) -> list[CandidateDraft]:
        """What was proposed before the draw with this number, without what is too dear."""
        said = self._known.get(number)
        return [] if said is None else self._usable([Proposal.from_json(one) for one in said["proposals"]], search)

    def _usable(self, proposals: Sequence[Proposal], search: Search) -> list[CandidateDraft]:
        found = []
        for one in proposals:
            title = " ".join(one.title.split())[:_LONGEST_TITLE]
            try:
                draft = self._plan.moves.given(one.text, title, one.parents, MODEL)
            except UsageFailure:  # Without a call its answer is the problem.
                continue
            if not search.history.has(draft.key) and self._is_affordable(draft):
                found.append(draft if one.scores is None else replace(draft, judged=fmean(one.scores.values())))
        return found

    def _is_affordable(self, draft: CandidateDraft) -> bool:
        most = self._plan.bounds.max_cost
        cost = None if most is None else self._costs.usd(self._costs.of(draft))
        return most is None or (cost is not None and cost <= most)

    @property
    def failed(self) -> int:
        """How many questions brought nothing."""
        return sum(1 for one in self._known.values() if one["failure"] is not None)

    async def ask(self, search: Search) -> str | None:
        """Put a question before the next draw and keep what comes of it: why it brought nothing, or None.

        Where it is cut off, only what it used is kept. Raises `StoreFailure`.
        """
        number = len(search.history.draws) + 1
        parents = self._parents(search)
        failures = await self._failures(parents[0].number)
        if self._answers.stopped_by is not None or self._answers.is_cut:
            return None
        known, used = self._known.get(number), NOTHING
        before = known or self._cut.get(number)
        found: Proposals | None = None
        failure: str | None = None
        try:
            asker = self._asker(is_fresh=known is not None)
            try:
                tries, taken = self._tries(search), [draft.key for draft in search.history.drafts]
                found = await self._proposer(asker, number).propose(parents, failures, tries, _WANTED, taken)
            finally:
                asker.close()
                used = asker.used
                self._answers.proposing += used
        except (AnswerFailure, BudgetFailure, EndpointFailure) as problem:
            failure = str(problem)
            if isinstance(problem, NotEnoughLeft) and self._proposing.only:
                self._answers.is_cut = True  # Nothing else makes candidates.
        except asyncio.CancelledError:
            if used != NOTHING:
                said = _said(before, None, used, None if known is None else known["failure"])
                self._user.optimizations.propose(self._id, number, {**said, "cut": known is None})
            raise
        if found is not None and not self._usable(found.proposals, search):
            failure = "Nothing that the model proposed can be used: each candidate was invalid, known or too dear."
        self._known[number] = _said(before, found, used, failure)
        self._user.optimizations.propose(self._id, number, self._known[number])
        return failure

    def _asker(self, *, is_fresh: bool) -> Asker:
        """Asks within the budget of the search. An answer that brought nothing is not taken again."""
        plan = self._plan
        purse = Purse(plan.base.chosen, whole_path(plan.start.name), self._answers.budget)
        return Asker(purse, self._user.cache, KEY, fresh=is_fresh)

    def _proposer(self, asker: Asker, number: int) -> ModelProposer:
        plan = self._plan
        return ModelProposer(
            plan.start,
            plan.base.options,
            self._proposing.models,
            asker,
            endpoint=plan.base.chosen.endpoint,
            leaks=Leaks([*plan.split.searched, *plan.split.held_out, *plan.split.shown]),
            max_nodes=plan.moves.max_nodes,
            goal=self._proposing.goal,
            seed=plan.seed + number,
        )

    def _parents(self, search: Search) -> list[Parent]:
        """The best candidate, and the next ones, each with its estimated score."""
        told = _told(search)
        best = sorted(told, key=lambda one: (one != search.crown, -told[one], one))[:_PARENTS] or [START]
        return [Parent(one, search.history.drafts[one].text, told.get(one)) for one in best]

    def _tries(self, search: Search) -> list[Try]:
        """The newest changes, with the estimated scores before and after each."""
        told, drafts = _told(search), search.history.drafts
        found = [
            Try(drafts[one].title, told[drafts[one].parents[0]], told[one])
            for one in sorted(told)
            if drafts[one].parents and drafts[one].parents[0] in told
        ]
        return found[-_TRIES:]

    async def _failures(self, candidate: int) -> Sequence[FailedItem]:
        """Items of those that score nobody that a candidate gets wrong; it answers them first where it has not."""
        items = {item.id: item for item in self._plan.split.shown[:_LOOKED_AT]}
        await self._answers.all([WantedAnswer(candidate, SHOWN, item, 0) for item in items.values()])
        kept = self._user.optimizations.trials(self._id, outputs=True)
        scores = {one.score.item: one.score for one in kept if (one.candidate, one.draw) == (candidate, SHOWN)}
        failures = [failure_of(item, scores[name]) for name, item in items.items() if name in scores]
        return [one for one in failures if one is not None]


def _said(
    before: Mapping[str, Any] | None, found: Proposals | None, used: Usage, failure: str | None
) -> dict[str, Any]:
    """What came of a question, with what an earlier one at the same draw used, as plain data."""
    tallies: dict[str, CandidateTally] = {} if found is None else dict(found.tallies.items())
    if before is not None:
        used += Usage.from_json(before["usage"])
        for form, shown in before["tallies"].items():
            tallies[form] = CandidateTally.from_json(shown) + tallies.get(form, CandidateTally())
    return {
        "proposals": [] if found is None else [one.to_json() for one in found.proposals],
        "usage": used.to_json(),
        "tallies": {form: tally.to_json() for form, tally in tallies.items()},
        "failure": failure,
    }


def _told(search: Search) -> dict[int, float]:
    """The estimated scores of the candidates that have any, as a model reads them."""
    history = search.history
    return {one: round(search.strategy.told(history, one), 3) for one in history.scored()}
