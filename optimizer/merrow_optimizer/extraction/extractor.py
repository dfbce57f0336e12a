"""Carries out an extraction: stage after stage, a function of its plan, the answers and the scores, so that it continues
anywhere.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from merrow_optimizer.extraction import deepening
from merrow_optimizer.extraction.case_workflow import TypedSteps, case_text
from merrow_optimizer.extraction.choosing import CoverCandidate, SetCover, choose
from merrow_optimizer.extraction.deepening import Path, PathStart, deepen, ground_of
from merrow_optimizer.extraction.generator import Generator, SentBackIfEmpty
from merrow_optimizer.extraction.grouping import Grouping, StepGroup, StepReference
from merrow_optimizer.extraction.initial import described_steps, steps_of
from merrow_optimizer.extraction.naming import Named, as_its_steps, name_group, place_all, step_of
from merrow_optimizer.extraction.operators import ExtractedOperator, own_operator
from merrow_optimizer.extraction.plan import ExtractionPlan
from merrow_optimizer.extraction.pooling import PooledOperator, pooled
from merrow_optimizer.extraction.rewriting import RewrittenCase, fitting, rewritten, swapped
from merrow_optimizer.extraction.solved_cases import SolvedCase
from merrow_optimizer.extraction.steps import Steps, kinds_of
from merrow_optimizer.extraction.trials import Stopped, Trial, Trials
from merrow_optimizer.extraction.wording import word
from merrow_optimizer.suggestions.candidate_answers import KEY
from merrow_runtime.asking.asker import Asker
from merrow_runtime.asking.bounded import bounded
from merrow_runtime.asking.purse import Purse
from merrow_runtime.asking.rows import JobRows, paid_in
from merrow_runtime.errors import BudgetFailure, EndpointFailure
from merrow_runtime.jobs.clock import Clock
from merrow_runtime.models.budget import Budget
from merrow_runtime.models.tokens import estimate_tokens
from merrow_runtime.provenance import OFFLINE_ORIGIN, REPLAY_ORIGIN
from merrow_runtime.store.database import Store
from merrow_runtime.store.extractions import ExtractionRecord
from merrow_runtime.together import together
from merrow_runtime.usage import Usage

NOTHING_USEFUL = (
    "The embedded offline model names nothing useful: it is not a real model. Set OPENAI_API_KEY or OPENAI_BASE_URL, or answer"
    " from a recording with --replay."
)
Told = Callable[[str, int, int], None]
"""Is told what goes on, how much of it is done, and of how much."""


@dataclass(frozen=True, slots=True)
class Proved:
    """A case with the operators of the set: its file, how its own workflow answered, and how this one did (None: it was not
    run, since a step has no operator).
    """

    case: SolvedCase
    rewritten: RewrittenCase
    own: Trial
    trial: Trial | None

    @property
    def is_covered(self) -> bool:
        """Whether every step has an operator of the set, and the case is answered no worse than by its own workflow."""
        return self.trial is not None and self.trial.value >= self.own.value


@dataclass(slots=True)
class ExtractionOutcome:
    """All that an extraction came to. ``why_nothing`` says why there are no operators, where there are none."""

    steps: dict[str, Steps] = field(default_factory=dict)
    unusable: list[str] = field(default_factory=list)
    named: list[Named] = field(default_factory=list)
    placed: int = 0
    paths: list[Path] = field(default_factory=list)
    pool: list[PooledOperator] = field(default_factory=list)
    choice: SetCover | None = None
    operators: list[ExtractedOperator] = field(default_factory=list)
    chosen: list[PooledOperator] = field(default_factory=list)
    proved: dict[str, Proved] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    why_nothing: str | None = None


class Extractor:
    """One extraction at work. ``user`` is the user's store, ``own`` the journal of its runs; ``stopped_by`` says why it
    stopped before its end. ``outcome`` is whole once it ended.
    """

    def __init__(self, record: ExtractionRecord, plan: ExtractionPlan, user: Store, own: Store) -> None:
        self.id, self.plan, self.dataset = record.id, plan, record.dataset
        self.stopped_by: str | None = None
        self.outcome = ExtractionOutcome()
        self._clock = Clock(plan.base.limits.seconds, record.seconds)
        self._user, self._own, self._cases_file = user, own, record.cases
        self._known = user.extractions.kept(record.id)
        self._cases = {case.id: case for case in plan.split.all}
        self._extracted = {case.id for case in plan.split.extracted}
        self._told: Told = lambda _what, _done, _of: None

    @property
    def spent(self) -> Usage:
        """What the extraction has used, by the journal."""
        return paid_in(self._user.extractions.kept(self.id))

    async def run(self, told: Told = lambda _what, _done, _of: None) -> None:
        """Go on from what the journal has to the end; early where `stopped_by` says why. Cancelling ends what is in flight;
        what is finished is kept. Raises `StoreFailure`.
        """
        self._told = told
        plan = self.plan
        chosen = plan.base.chosen
        if chosen.endpoint.origin == OFFLINE_ORIGIN:
            self.outcome.why_nothing = NOTHING_USEFUL
            return
        limits = plan.base.limits
        budget = Budget(limits.usd, limits.tokens, spent=self.spent)
        endpoint = bounded(chosen.endpoint, budget)
        is_replay = endpoint.origin == REPLAY_ORIGIN
        purse = Purse(replace(chosen, endpoint=SentBackIfEmpty(chosen.endpoint)), self._cases_file, budget)
        self.rows = JobRows(self.id, self._user.extractions, self._known)
        asker = Asker(purse, self._user.cache, KEY, self.rows, fresh=is_replay)
        self.generator = Generator(plan.generator, asker)
        self.trials = Trials(self.id, plan, self._user, self._own, endpoint, self._cases_file, self._known)
        try:
            async with asyncio.timeout(self._clock.left):
                await self._stages()
        except TimeoutError:
            self.stopped_by = f"{self._clock.is_over}."
        except (Stopped, EndpointFailure, BudgetFailure) as why:
            self.stopped_by = str(why)
        finally:
            asker.close()
            if plan.base.asking is not None:
                plan.base.asking.close()

    async def _stages(self) -> None:
        outcome, without = self.outcome, self.plan.settings.without
        await self._initial()
        steps = {name: outcome.steps[name] for name in sorted(self._extracted & outcome.steps.keys())}
        if not any(step.built_in is None for own in steps.values() for step in own):
            outcome.why_nothing = (
                "The model named no operator of its own: every step is a built-in one."
                if steps
                else "The model named nothing useful: no case has steps that can be used."
            )
            return
        grouping = Grouping(steps, self.plan.task.answer)
        if "clustering" in without:
            outcome.named = _each_step(grouping, self.plan)
        else:
            outcome.placed = await place_all(grouping, self.generator)
            groups = grouping.groups()
            self._told("naming groups", 0, len(groups))
            outcome.named = await together(
                [name_group(steps, group, self.plan.leaks, self.generator) for group in groups]
            )
        if len(outcome.named) == 1:
            outcome.notes.append("All steps take and give the same kinds, so that there is one group.")
        ground = ground_of(outcome.named, self.plan.leaks)
        typed = self._typed(grouping)
        own = await self._own_runs(typed)
        if "deep" in without:
            outcome.pool = [
                PooledOperator(operator.name, operator.prompt, operator.signature, operator.sources, 1)
                for operator in ground.operators
            ]
            able = {name: _by_group(name, steps[name], outcome.named) for name in steps}
            chosen = list(range(len(outcome.pool)))
        else:
            await self._deepen(ground)
            by_model = self.plan.settings.aggregate == "model" and await self._aggregate(ground)
            if not by_model:
                outcome.pool = pooled([path.operators for path in outcome.paths], ground.signatures)
            able = await self._swaps(typed, own, is_run=not by_model)
            chosen = list(range(len(outcome.pool))) if by_model else list(self._choose(able).chosen)
        await self._word(chosen)
        await self._prove(typed, own, able, chosen)

    # Stage 1

    async def _initial(self) -> None:
        outcome, task = self.outcome, self.plan.task
        cases = self.plan.split.all
        self._told("asking for the steps of cases", 0, len(cases))
        if "initial" in self.plan.settings.without:
            steps = await described_steps(task, self.generator)
            outcome.steps = {} if steps is None else {case.id: steps for case in cases}
            return
        done = 0

        async def steps_of_case(case: SolvedCase) -> Steps | None:
            nonlocal done
            case_steps = await steps_of(case, task, self.plan.leaks, self.generator)
            done += 1
            self._told("asking for the steps of cases", done, len(cases))
            return case_steps

        for case, steps in zip(cases, await together([steps_of_case(case) for case in cases]), strict=True):
            if steps is None:
                outcome.unusable.append(case.id)
            else:
                outcome.steps[case.id] = steps

    def _typed(self, grouping: Grouping) -> dict[str, TypedSteps]:
        """The cases with what their steps give: worked out for those that are extracted from, each for itself in the probe."""
        inputs = self.plan.task.inputs
        typed_cases: dict[str, TypedSteps] = {}
        for name, steps in sorted(self.outcome.steps.items()):
            alone = TypedSteps(steps, kinds_of(steps, self.plan.task.answer), inputs)
            typed = TypedSteps(steps, grouping.kinds(name), inputs) if name in grouping.cases else alone
            # A kind that was worked out may not fit a built-in reader: then the case stays as it was.
            typed_cases[name] = typed if swapped(typed, {}) is not None else alone
        return typed_cases

    async def _own_runs(self, typed: Mapping[str, TypedSteps]) -> dict[str, Trial]:
        texts = {name: case_text(steps, {}) or "" for name, steps in typed.items()}
        trials = await self._run_all("running cases", [(name, text, "own") for name, text in texts.items()])
        return dict(zip(texts, trials, strict=True))

    async def _run_all(self, what: str, wanted: Sequence[tuple[str, str, str]]) -> list[Trial]:
        done = 0
        self._told(what, 0, len(wanted))

        async def run_case(name: str, text: str, purpose: str) -> Trial:
            nonlocal done
            trial = await self.trials.score(self._cases[name], text, purpose)
            done += 1
            self._told(what, done, len(wanted))
            return trial

        return await together([run_case(*each) for each in wanted])

    # Stages 3 and 4

    async def _deepen(self, ground: PathStart) -> None:
        settings = self.plan.settings
        self._told("making operators more general", 0, settings.paths)
        self.outcome.paths = await together(
            [deepen(ground, self.generator, number, settings.paths, settings.steps) for number in range(settings.paths)]
        )

    async def _aggregate(self, ground: PathStart) -> bool:
        """Have the model put the paths together; whether it did."""
        aggregated = await deepening.aggregate(ground, self.outcome.paths, self.generator)
        if aggregated is None:
            self.outcome.notes.append(
                "The model's own set could not be used, so that the set was chosen by what it covers."
            )
            return False
        paths = self.outcome.paths
        self.outcome.pool = [
            PooledOperator(
                operator.name,
                operator.prompt,
                operator.signature,
                operator.sources,
                sum(any(operator.sources & other.sources for other in path.operators) for path in paths),
            )
            for operator in aggregated.operators
        ]
        return True

    async def _swaps(
        self, typed: Mapping[str, TypedSteps], own: Mapping[str, Trial], *, is_run: bool
    ) -> dict[str, dict[str, int]]:
        """For each case of those that are extracted from, and each of its steps by name, the candidates that can take its place,
        as bits: the file has no error then, and the case is answered no worse.
        """
        outcome = self.outcome
        operators = _operators(outcome.pool, outcome.named)
        able: dict[str, dict[str, int]] = {}
        wanted: list[tuple[str, int, list[str]]] = []
        for name in sorted(self._extracted & typed.keys()):
            case = typed[name]
            able[name] = {step.name: 0 for step in case.steps if step.built_in is None}
            groups = _groups_of(name, outcome.named)
            for number, candidate in enumerate(outcome.pool):
                steps = [case.steps[at].name for at, group in groups.items() if group in candidate.sources]
                if steps:
                    wanted.append((name, number, steps))
        done = 0

        async def try_one(name: str, number: int, steps: Sequence[str]) -> bool:
            nonlocal done
            mapped = dict.fromkeys(steps, operators[number])
            value = await self.trials.swap(self._cases[name], typed[name], mapped, own[name], is_run=is_run)
            done += 1
            self._told("trying operators in cases", done, len(wanted))
            return value

        does = await together([try_one(*each) for each in wanted])
        for (name, number, steps), can in zip(wanted, does, strict=True):
            for step in steps:
                able[name][step] |= can << number
        return able

    def _choose(self, able: Mapping[str, Mapping[str, int]]) -> SetCover:
        outcome = self.outcome
        offers = [
            CoverCandidate(operator.name, operator.support, estimate_tokens(operator.prompt))
            for operator in outcome.pool
        ]
        cases = [list(able[name].values()) for name in sorted(able)]
        outcome.choice = choose(offers, cases, self.plan.settings.coverage)
        return outcome.choice

    async def _word(self, chosen: Sequence[int]) -> None:
        """Word the chosen operators; in the ablation without stage 3 they are worded by stage 2."""
        outcome, steps = self.outcome, self.outcome.steps
        picked = [outcome.pool[number] for number in chosen]
        if "deep" not in self.plan.settings.without:
            self._told("wording operators", 0, len(picked))
            members = [
                sorted(place for source in operator.sources for place in outcome.named[source].group.members)
                for operator in picked
            ]
            picked = await together(
                [
                    word(operator, places, steps, self.plan.leaks, self.generator)
                    for operator, places in zip(picked, members, strict=True)
                ]
            )
        outcome.chosen = picked
        outcome.operators = _operators(picked, outcome.named)

    # Stage 5

    async def _prove(
        self,
        typed: Mapping[str, TypedSteps],
        own: Mapping[str, Trial],
        able: Mapping[str, Mapping[str, int]],
        chosen: Sequence[int],
    ) -> None:
        outcome = self.outcome
        made: dict[str, RewrittenCase] = {}
        for name, case in sorted(typed.items()):
            if name in able:
                offers: Mapping[str, Sequence[ExtractedOperator]] = {
                    step: [
                        operator
                        for number, operator in zip(chosen, outcome.operators, strict=True)
                        if bits >> number & 1
                    ]
                    for step, bits in able[name].items()
                }
            else:
                offers = fitting(case, outcome.operators)
            new = rewritten(case, offers)
            if new is not None:
                made[name] = new
        whole = [name for name, rewriting in made.items() if rewriting.is_whole]
        trials = await self._run_all("proving the set", [(name, made[name].text, "final") for name in whole])
        by_name = dict(zip(whole, trials, strict=True))
        outcome.proved = {
            name: Proved(self._cases[name], rewriting, own[name], by_name.get(name)) for name, rewriting in made.items()
        }


def _groups_of(case: str, named: Sequence[Named]) -> dict[int, int]:
    """The group of each step of a case, by their numbers."""
    return {
        place.step: number
        for number, operator in enumerate(named)
        for place in operator.group.members
        if place.case == case
    }


def _operators(candidates: Sequence[PooledOperator], named: Sequence[Named]) -> list[ExtractedOperator]:
    """Candidates as operators, each with a name of its own."""
    names = deepening.distinct([candidate.name for candidate in candidates])
    return [
        ExtractedOperator(
            name,
            candidate.signature,
            candidate.prompt,
            frozenset(kind for source in candidate.sources for kind in named[source].group.many)
            & candidate.signature.kinds,
        )
        for name, candidate in zip(names, candidates, strict=True)
    ]


def _by_group(case: str, steps: Steps, named: Sequence[Named]) -> dict[str, int]:
    """For each step of a case, by its name, the group that it is of, as a bit."""
    groups = _groups_of(case, named)
    return {step.name: 1 << groups[at] for at, step in enumerate(steps) if step.built_in is None}


def _each_step(grouping: Grouping, plan: ExtractionPlan) -> list[Named]:
    """Every step as a group of its own, those that are said in the same words as one: the ablation without clustering."""
    members: dict[tuple[Any, str, str], list[StepReference]] = {}
    for group in grouping.groups():
        for place in group.members:
            step = step_of(grouping.cases, place)
            members.setdefault((group.signature, step.name, step.prompt), []).append(place)
    named: list[Named] = []
    for key in sorted(members):
        many = frozenset(
            kind
            for place in members[key]
            for kind in own_operator(step_of(grouping.cases, place), grouping.kinds(place.case)).many
        )
        group = StepGroup(key[0], tuple(sorted(members[key])), many & key[0].kinds)
        named.append(as_its_steps(grouping.cases, group, plan.leaks))
    return named


def shapes(outcome: ExtractionOutcome) -> list[tuple[Proved, int]]:
    """The shapes of cases that are whole with the set, equal up to renaming, the commonest first: of each the first case, and
    how many have it.
    """
    whole = [proved for _, proved in sorted(outcome.proved.items()) if proved.trial is not None]
    counted = Counter(proved.trial.semantic for proved in whole if proved.trial is not None)
    first: dict[str, Proved] = {}
    for case in whole:
        if case.trial is not None:
            first.setdefault(case.trial.semantic, case)
    return [
        (first[semantic], count) for semantic, count in sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))
    ]
