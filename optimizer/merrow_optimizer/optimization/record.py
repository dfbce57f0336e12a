"""A whole search as the journal has it, for whoever shows it. Nothing is worked out again, and numpy is not needed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from merrow_optimizer.evaluation.statistics.ranks import RankCorrelation, rank_correlation
from merrow_optimizer.search.candidates import CERTAIN, START
from merrow_optimizer.search.children import MODEL
from merrow_optimizer.search.held_out import HeldOutResult
from merrow_optimizer.suggestions.tallies import CandidateTally
from merrow_runtime.jobs.life import State, state_of
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import ScoreRecord
from merrow_runtime.store.optimizations import HELD_OUT, CandidateRecord, OptimizationRecord
from merrow_runtime.usage import NOTHING, Usage


@dataclass(frozen=True, slots=True)
class RecordedCandidate:
    """A candidate with what it came to. Candidate 0 is the workflow that the search began with.

    ``parents`` are numbers of candidates, ``operator`` names what made it and ``title`` describes the change. ``calls`` is how
    many model calls or programs its nodes have for one item, ``cost`` what it uses for one item by a dry run, in US dollars (None
    where a price is not known). ``told`` is what the search estimates its score to be, None before its first score.
    ``scores`` are those that the search has applied, in the order of its draws; ``paid`` is what the search really paid for
    them, which is little where another candidate had asked the same. Of what a model proposed, ``reason`` is why, ``kind`` is the
    operator that describes its change, and ``criteria`` are what a judge gave it, from 1 to 10 each (empty where none did).
    ``exhausted`` are its answers that come from Loops that still wanted another turn when their turns or their budget ran out.
    """

    number: int
    parents: Sequence[int]
    operator: str
    title: str
    key: str
    text: str = field(repr=False)
    nodes: int
    calls: int
    cost: float | None
    told: float | None
    scores: Sequence[float] = field(repr=False)
    paid: Usage
    reason: str = ""
    kind: str = ""
    criteria: Mapping[str, float] = field(default_factory=dict)
    exhausted: int = 0

    @property
    def judged(self) -> float | None:
        """The mean of what a judge gave it; None where none did."""
        return fmean(self.criteria.values()) if self.criteria else None

    @property
    def made_by(self) -> str:
        """What made it, in words."""
        return f"{self.operator} ({self.kind})" if self.kind else self.operator

    @property
    def file(self) -> str:
        """The name of its file in the folder of the search."""
        return f"round_{self.number:03d}.mmd"

    @property
    def mean(self) -> float | None:
        """The plain mean of its scores; None without any."""
        return math.fsum(self.scores) / len(self.scores) if self.scores else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation of one score; None below two."""
        mean = self.mean
        if mean is None or len(self.scores) < 2:
            return None
        return math.sqrt(math.fsum((score - mean) ** 2 for score in self.scores) / (len(self.scores) - 1))

    @property
    def error(self) -> float | None:
        """The standard error of ``mean``; None below two scores."""
        return None if self.deviation is None else self.deviation / math.sqrt(len(self.scores))


@dataclass(frozen=True, slots=True)
class RecordedDraw:
    """One batch of answers: ``candidate`` was asked for ``places`` (id of the item, repeat), in this order. ``answers`` has what
    each came to, None where it has not ended. ``outcome`` are the scores that counted (None for one that says nothing), None
    before all had ended. ``crown`` is the number of the best candidate once this outcome was applied, ``told`` its estimated
    score; None before.
    """

    number: int
    candidate: int
    places: Sequence[tuple[str, int]]
    answers: Sequence[ScoreRecord | None] = field(repr=False)
    outcome: Sequence[float | None] | None
    crown: int | None
    told: float | None


@dataclass(frozen=True, slots=True)
class RecordedProposals:
    """What a model proposed in all: how many ``questions`` it was asked, how many of them ``failed`` to bring a candidate, how
    many candidates were valid when, by their form, and what that used.
    """

    questions: int
    failed: int
    tallies: Mapping[str, CandidateTally]
    usage: Usage


@dataclass(frozen=True, slots=True)
class SearchRecord:
    """A search: what it was asked for (``search``; its ``plan`` has the rest), how it is now (``state``), its candidates by
    number, its draws in order, and what the held-out items say (None before they were read, or where they never are).

    ``held_out_answers`` has the answers to the held-out items of the start and of the crown, by the number of the candidate.
    ``proposals`` is None where no model proposes.
    """

    search: OptimizationRecord = field(repr=False)
    state: State
    candidates: Sequence[RecordedCandidate]
    draws: Sequence[RecordedDraw]
    held_out: HeldOutResult | None
    held_out_answers: Mapping[int, Sequence[ScoreRecord]] = field(repr=False)
    proposals: RecordedProposals | None = None

    @property
    def id(self) -> str:
        """Its id."""
        return self.search.id

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the search was told, as plain data: objective, bounds of budget, nodes and cost, patience, items."""
        settings: Mapping[str, Any] = self.search.plan["settings"]
        return settings

    @property
    def usage(self) -> Usage:
        """All that was paid, the held-out reading and questions to a model that proposes included."""
        proposed = NOTHING if self.proposals is None else self.proposals.usage
        searched = sum((candidate.paid for candidate in self.candidates), proposed)
        return sum((score.usage for several in self.held_out_answers.values() for score in several), searched)

    @property
    def answers(self) -> int:
        """How many answers the search has scored or given up."""
        return sum(1 for draw in self.draws for answer in draw.answers if answer is not None)

    @property
    def exhausted(self) -> int:
        """How many answers, the held-out reading included, come from Loops whose turns or budget ran out."""
        held_out = (score for several in self.held_out_answers.values() for score in several)
        return sum(candidate.exhausted for candidate in self.candidates) + sum(
            1 for score in held_out if score.exhausted
        )

    @property
    def crown(self) -> int:
        """The number of the best candidate as far as is known; that of the start before the first outcome."""
        return next((draw.crown for draw in reversed(self.draws) if draw.crown is not None), START)

    @property
    def told(self) -> float | None:
        """The estimated score of the crown: what chose it never certifies it."""
        return self.candidates[self.crown].told if self.candidates else None

    @property
    def is_complete(self) -> bool:
        """Whether it came to its end, with everything that was to be read."""
        return self.search.status == "finished"

    @property
    def judge_searched(self) -> RankCorrelation:
        """What a judge gave candidates against their mean scores on the items that were searched with. A judge sees none of
        them, and gave its scores before any was answered.
        """
        return rank_correlation(
            [
                (candidate.judged, candidate.mean)
                for candidate in self.candidates
                if candidate.judged is not None and candidate.mean is not None
            ]
        )

    @property
    def judge_held_out(self) -> RankCorrelation:
        """The same against their mean scores on held-out items, of those that answered some."""
        pairs = []
        for candidate in self.candidates:
            values = [
                score.value for score in self.held_out_answers.get(candidate.number, ()) if score.value is not None
            ]
            if candidate.judged is not None and values:
                pairs.append((candidate.judged, fmean(values)))
        return rank_correlation(pairs)

    def line_of(self, number: int) -> list[RecordedCandidate]:
        """The candidates from the start to this one; of two parents the first is followed."""
        line = [self.candidates[number]]
        while line[-1].parents:
            line.append(self.candidates[line[-1].parents[0]])
        return line[::-1]

    @property
    def is_priced(self) -> bool:
        """Whether the candidates that have a score have prices, and not all for nothing."""
        costs = [candidate.cost for candidate in self.candidates if candidate.told is not None]
        return None not in costs and any(costs)

    def effort(self, candidate: RecordedCandidate) -> float:
        """What a candidate uses for an item: US dollars where that is known, else calls."""
        return candidate.cost if self.is_priced and candidate.cost is not None else float(candidate.calls)

    def comparable(self) -> list[RecordedCandidate]:
        """The scored candidates that were asked for enough to be the best, and the start: of others the estimate may be luck."""
        items = len(self.search.plan["items"])
        least = min(items // 2, CERTAIN) if self.search.strategy == "guided" else items
        asked: Counter[int] = Counter()
        for draw in self.draws:
            asked[draw.candidate] += len(draw.places)
        known = [candidate for candidate in self.candidates if candidate.told is not None]
        return [
            candidate
            for candidate in known
            if candidate.number in (START, self.crown) or asked[candidate.number] >= least
        ]

    def front(self) -> list[RecordedCandidate]:
        """Those of `comparable` that no other beats in estimated score and `effort` at once, the cheapest first."""
        scored = self.comparable()
        front: list[RecordedCandidate] = []
        for candidate in sorted(scored, key=lambda other: (self.effort(other), -(other.told or 0.0), other.number)):
            if not front or (candidate.told or 0.0) > (front[-1].told or 0.0):
                front.append(candidate)
        return front

    def thrifty(self) -> RecordedCandidate | None:
        """The cheapest candidate whose estimated score is within one standard error of the crown's; None before any score, and
        where none of them uses less than the crown.
        """
        if self.told is None:
            return None
        best = self.candidates[self.crown]
        least = self.told - (best.error or 0.0)
        cheapest = next((candidate for candidate in self.front() if (candidate.told or 0.0) >= least), best)
        return cheapest if self.effort(cheapest) < self.effort(best) else None


def candidate_facts(candidate: CandidateRecord | RecordedCandidate) -> Mapping[str, Any]:
    """What is known of a candidate once it is drawn, as plain data, without its text."""
    return {
        "candidate": candidate.number,
        "parents": list(candidate.parents),
        "operator": candidate.operator,
        "title": candidate.title,
        "key": candidate.key,
        "calls": candidate.calls,
        "nodes": candidate.nodes,
        "cost": candidate.cost,
    }


def _proposals(record: OptimizationRecord, records: Collection[Mapping[str, Any]]) -> RecordedProposals | None:
    if record.plan.get("proposing") is None:
        return None
    paid = sum((Usage.from_json(entry["usage"]) for entry in records), NOTHING)
    questions = [entry for entry in records if not entry.get("cut", False)]
    tallies: dict[str, CandidateTally] = {"moves": CandidateTally(), "graph": CandidateTally()}
    for question in questions:
        for form, shown in question["tallies"].items():
            tallies[form] += CandidateTally.from_json(shown)
    failed = sum(1 for entry in questions if entry["failure"] is not None)
    return RecordedProposals(len(questions), failed, tallies, paid)


def load(user: Store, search: str) -> SearchRecord:
    """The search with this id, or with the only id that begins with it. Raises `StoreFailure`, `UsageFailure`."""
    kept = user.optimizations
    record = kept.get(search)
    items: Sequence[str] = record.plan["items"]
    by_place: dict[tuple[int, str, int], ScoreRecord] = {}
    held_out: dict[int, list[ScoreRecord]] = {}
    paid: dict[int, Usage] = {}
    for trial in kept.trials(record.id):
        if trial.draw == HELD_OUT:
            held_out.setdefault(trial.candidate, []).append(trial.score)
        else:
            by_place[trial.candidate, trial.score.item, trial.score.repeat] = trial.score
            paid[trial.candidate] = paid.get(trial.candidate, NOTHING) + trial.score.usage
    order = {item: place for place, item in enumerate(record.plan["held_out"]["items"])}
    for several in held_out.values():
        several.sort(key=lambda score: order.get(score.item, 0))
    questions = kept.proposals(record.id)
    proposed = {proposal["text"]: proposal for question in questions.values() for proposal in question["proposals"]}
    draws: list[RecordedDraw] = []
    scores: dict[int, list[float]] = {}
    exhausted: Counter[int] = Counter()
    for draw in kept.draws(record.id):
        places = [(items[item], repeat) for item, repeat in draw.places]
        answers = [by_place.get((draw.candidate, *place)) for place in places]
        draws.append(RecordedDraw(draw.number, draw.candidate, places, answers, draw.outcome, draw.crown, draw.told))
        exhausted[draw.candidate] += sum(1 for answer in answers if answer is not None and answer.exhausted)
        scores.setdefault(draw.candidate, []).extend(score for score in draw.outcome or () if score is not None)
    return SearchRecord(
        record,
        state_of(user, record),
        [
            RecordedCandidate(
                candidate.number,
                candidate.parents,
                candidate.operator,
                candidate.title,
                candidate.key,
                candidate.text,
                candidate.nodes,
                candidate.calls,
                candidate.cost,
                candidate.told,
                scores.get(candidate.number, []),
                paid.get(candidate.number, NOTHING),
                *_judged(proposed.get(candidate.text) if candidate.operator == MODEL else None),
                exhausted=exhausted[candidate.number],
            )
            for candidate in kept.candidates(record.id)
        ],
        draws,
        None if record.held_out is None else HeldOutResult.from_json(record.held_out),
        held_out,
        _proposals(record, questions.values()),
    )


def _judged(proposal: Mapping[str, Any] | None) -> tuple[str, str, Mapping[str, float]]:
    """The reason of a proposal, its operator, and what its judge gave it by criterion; nothing where there is none."""
    if proposal is None:
        return "", "", {}
    return proposal["reason"], proposal.get("kind", ""), proposal["scores"] or {}
