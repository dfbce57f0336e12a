"""A model that proposes candidates of a search: asked at draws that the history decides, and kept before any of it is used."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from statistics import fmean
from typing import Any

from merrow_optimizer.optimization.costs import Costs
from merrow_optimizer.optimization.plan import SearchPlan
from merrow_optimizer.optimization.questions import ATTEMPTS, EVERY, SearchQuestion, best_question, round_question
from merrow_optimizer.optimization.search_answers import SearchAnswers, WantedAnswer
from merrow_optimizer.search.candidates import CandidateDraft
from merrow_optimizer.search.children import MODEL
from merrow_optimizer.search.engine import Search
from merrow_optimizer.suggestions.candidate_answers import KEY
from merrow_optimizer.suggestions.failures import failure_of
from merrow_optimizer.suggestions.leaks import Leaks
from merrow_optimizer.suggestions.prompt import FailedItem
from merrow_optimizer.suggestions.proposing import ModelProposer, Proposal, Proposals
from merrow_optimizer.suggestions.tallies import REPAIRS, CandidateTally
from merrow_runtime.asking.asker import Asker
from merrow_runtime.asking.purse import Purse
from merrow_runtime.asking.question import QuestionAttempt, Source
from merrow_runtime.errors import AnswerFailure, BudgetFailure, EndpointFailure, UsageFailure
from merrow_runtime.models.budget import NotEnoughLeft
from merrow_runtime.program.workflow_files import whole_path
from merrow_runtime.requests import ModelReply
from merrow_runtime.store.database import Store
from merrow_runtime.store.optimizations import SHOWN
from merrow_runtime.usage import NOTHING, Usage

_LOOKED_AT = 10
"""Shown items that the best workflow answers before a question, for what it gets wrong."""
_LONGEST_TITLE = 200
_FAR = 100_003
"""From the seed of one attempt to that of the next."""


class PaidRows:
    """The rows of a question of a search. Its answers are in the cache alone, but with each one that was paid, ``paid`` keeps
    what the question has used so far, in the same commit: a search that is killed then knows what it has paid.
    """

    def __init__(self, paid: Callable[[], Awaitable[object]]) -> None:
        self._paid = paid

    async def find(self, asked: QuestionAttempt) -> None:
        """See `merrow_runtime.asking.asker.Rows`."""
        del asked

    async def keep(self, asked: QuestionAttempt, reply: ModelReply, source: Source, started: float) -> None:
        """See `merrow_runtime.asking.asker.Rows`."""
        del asked, reply, started
        if source == "endpoint":
            await self._paid()


class Consulting:
    """Puts the questions of one search. What was proposed is in the journal before it is used, with the draw before which it was,
    so that a search that continues asks nothing again.
    """

    def __init__(self, search: str, plan: SearchPlan, answers: SearchAnswers, costs: Costs, user: Store) -> None:
        assert plan.proposing is not None  # noqa: S101 (whoever makes one has looked)
        self._id, self._plan, self._proposing = search, plan, plan.proposing
        self._answers, self._costs, self._user = answers, costs, user
        kept = user.optimizations.proposals(search)
        self._cut = {number: answer for number, answer in kept.items() if answer.get("cut", False)}
        """What was used for questions that the end of a search cut off; they are put again."""
        self._known = {number: answer for number, answer in kept.items() if number not in self._cut}

    def is_due(self, search: Search) -> bool:
        """Whether a question comes before the next draw, which is ready to be made."""
        rounds = self._plan.rounds
        if rounds is not None:
            known = self._known.get(len(search.history.draws) + 1)
            is_open = known is None or (self._proposing.only and known["failure"] is not None)
            is_new = not search.waiting and search.drawn < self._plan.evaluations
            return is_open and is_new and round_question(search, rounds) is not None
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
        answer = self._known.get(number)
        drafts = (
            []
            if answer is None
            else self._usable([Proposal.from_json(proposal) for proposal in answer["proposals"]], search)
        )
        # Of the candidates of a round the one that the judge likes best is scored.
        return drafts if self._plan.rounds is None else drafts[:1]

    def _usable(self, proposals: Sequence[Proposal], search: Search) -> list[CandidateDraft]:
        usable = []
        for proposal in proposals:
            title = " ".join(proposal.title.split())[:_LONGEST_TITLE]
            try:
                draft = self._plan.moves.given(proposal.text, title, proposal.parents, MODEL)
            except UsageFailure:  # Without a call its answer is the problem.
                continue
            if not search.history.has(draft.key) and self._is_affordable(draft):
                judged = None if proposal.scores is None else fmean(proposal.scores.values())
                usable.append(replace(draft, judged=judged, kind=proposal.kind))
        return usable

    def _is_affordable(self, draft: CandidateDraft) -> bool:
        most = self._plan.bounds.max_cost
        cost = None if most is None else self._costs.usd(self._costs.of(draft))
        return most is None or (cost is not None and cost <= most)

    @property
    def failed(self) -> int:
        """How many questions brought nothing."""
        return sum(1 for answer in self._known.values() if answer["failure"] is not None)

    async def ask(self, search: Search) -> str | None:
        """Put a question before the next draw and keep what comes of it: why it brought nothing, or None.

        Where it is cut off, only what it used is kept. Raises `StoreFailure`.
        """
        number = len(search.history.draws) + 1
        known, used = self._known.get(number), NOTHING
        before = known or self._cut.get(number)
        proposals: Proposals | None = None
        failure: str | None = None
        is_off = False
        try:

            def paid() -> Awaitable[bool]:
                record = _cut(known, before, asker.used)
                return self._user.optimizations.asking(self._id, number, record)

            asker = self._asker(PaidRows(paid), is_fresh=known is not None)
            try:
                for attempt in range(ATTEMPTS):
                    question = self._question(search, attempt)
                    failures = await self._failures(question, number)
                    if self._answers.stopped_by is not None or self._answers.is_cut:
                        is_off = True
                        break
                    proposer, taken = (
                        self._proposer(asker, number, attempt),
                        [draft.key for draft in search.history.drafts],
                    )
                    more = await proposer.propose(
                        question.parents, failures, question.tries, question.n, taken, question.round
                    )
                    proposals = more if proposals is None else proposals + more
                    if self._plan.rounds is None or self._usable(proposals.proposals, search):
                        break
            finally:
                asker.close()
                used = asker.used
                self._answers.proposing += used
        except (AnswerFailure, BudgetFailure, EndpointFailure) as problem:
            failure = str(problem)
            if isinstance(problem, NotEnoughLeft) and self._proposing.only:
                self._answers.is_cut = True  # Nothing else makes candidates.
        except asyncio.CancelledError:
            self._keep_cut(number, known, before, used)
            raise
        if is_off:
            self._keep_cut(number, known, before, used)
            return None
        if failure is None and proposals is not None and not self._usable(proposals.proposals, search):
            failure = "Nothing that the model proposed can be used: each candidate was invalid, known or too dear."
        await self._user.until_there()
        self._known[number] = _said(before, proposals, used, failure)
        self._user.optimizations.propose(self._id, number, self._known[number])
        return failure

    def _keep_cut(
        self, number: int, known: Mapping[str, Any] | None, before: Mapping[str, Any] | None, used: Usage
    ) -> None:
        """Keep what a question used that was cut off."""
        if used != NOTHING:
            self._user.optimizations.propose(self._id, number, _cut(known, before, used))

    def _asker(self, rows: PaidRows, *, is_fresh: bool) -> Asker:
        """Asks within the budget of the search. An answer that brought nothing is not taken again."""
        plan = self._plan
        purse = Purse(plan.base.chosen, whole_path(plan.start.name), self._answers.budget)
        return Asker(purse, self._user.cache, KEY, rows, fresh=is_fresh)

    def _question(self, search: Search, attempt: int) -> SearchQuestion:
        """What is asked for before the next draw."""
        rounds = self._plan.rounds
        question = None if rounds is None else round_question(search, rounds, attempt)
        return best_question(search) if question is None else question

    def _proposer(self, asker: Asker, number: int, attempt: int) -> ModelProposer:
        plan, rounds = self._plan, self._plan.rounds
        return ModelProposer(
            plan.start,
            plan.base.options,
            self._proposing.models,
            asker,
            endpoint=plan.base.chosen.endpoint,
            leaks=Leaks([*plan.split.searched, *plan.split.held_out, *plan.split.shown]),
            max_nodes=plan.moves.max_nodes,
            goal=self._proposing.goal,
            seed=plan.seed + number + attempt * _FAR,
            repairs=REPAIRS if rounds is None else rounds.repairs,
        )

    async def _failures(self, question: SearchQuestion, number: int) -> Sequence[FailedItem]:
        """Items of those that score nobody that the first parent gets wrong; it answers them first where it has not."""
        if question.failures == 0:
            return ()
        candidate = question.parents[0].number
        items = {item.id: item for item in self._plan.split.shown[:_LOOKED_AT]}
        await self._answers.all([WantedAnswer(candidate, SHOWN, item, 0) for item in items.values()])
        kept = await self._user.optimizations.off_loop(lambda kept: kept.trials(self._id, outputs=True))
        scores = {
            trial.score.item: trial.score for trial in kept if (trial.candidate, trial.draw) == (candidate, SHOWN)
        }
        failures = [failure_of(item, scores[name]) for name, item in items.items() if name in scores]
        wrong = [item for item in failures if item is not None]
        if question.failures is None or len(wrong) <= question.failures:
            return wrong
        return Random(f"{self._plan.seed} failures {number}").sample(wrong, question.failures)  # noqa: S311 (no secret)


def _cut(known: Mapping[str, Any] | None, before: Mapping[str, Any] | None, used: Usage) -> dict[str, Any]:
    """What a question has used that has not ended; it is put again unless it is ``known`` what came of it."""
    return {**_said(before, None, used, None if known is None else known["failure"]), "cut": known is None}


def _said(
    before: Mapping[str, Any] | None, proposals: Proposals | None, used: Usage, failure: str | None
) -> dict[str, Any]:
    """What came of a question, with what an earlier one at the same draw used, as plain data."""
    tallies: dict[str, CandidateTally] = {} if proposals is None else dict(proposals.tallies.items())
    if before is not None:
        used += Usage.from_json(before["usage"])
        for form, shown in before["tallies"].items():
            tallies[form] = CandidateTally.from_json(shown) + tallies.get(form, CandidateTally())
    return {
        "proposals": [] if proposals is None else [proposal.to_json() for proposal in proposals.proposals],
        "usage": used.to_json(),
        "tallies": {form: tally.to_json() for form, tally in tallies.items()},
        "failure": failure,
    }
