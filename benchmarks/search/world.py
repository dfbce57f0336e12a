"""A simulated world: how likely a workflow answers each item right, by rules that this file publishes.

The workflows are real ones, and so are the moves between them; only the answers are simulated. The rules are calibrated on
nothing. They have what makes a search hard: items differ in difficulty, prompts in quality by topic, votes pay by the
binomial law and fall for wrong answers that agree, checking pays with diminishing returns, and every answer has noise.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from benchmarks.search.shapes import Shape, Step, shape_of
from merrow_optimizer.search.candidates import CandidateDraft, ItemRepeat

Chances = NDArray[np.float64]
"""For each item the chance of a right answer."""

HELD_OUT = 600
TOPICS = 4

WORDED = "\n%% wordings: "
"""What the numbers of other wordings of prompts are written behind, at the end of a text."""

INVALID = "invalid"
"""What made a candidate that can't run; all its answers are wrong."""

START = """---
workflow:
  prompts:
    quick: Answer in one sentence.
    steps: Solve the problem step by step and end with the answer.
    units: Write down each quantity with its unit, then solve the problem.
    equations: Set up the equations first, then solve them.
    backwards: Say what an answer must satisfy, then work towards it.
    estimate: Estimate the answer first, then solve the problem exactly.
---
flowchart TD
    PROBLEM([Problem]):::Interface
    SOLVE["Custom<br/>(role: quick)"]
    RETURN([Answer]):::Interface
    PROBLEM -->|input| SOLVE
    SOLVE --> RETURN
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2
"""


@dataclass(frozen=True, slots=True)
class Rules:
    """The parameters of a world.

    | rule | is |
    |---|---|
    | items | how many items the search has |
    | effect | scales what structure does |
    | prompts | standard deviation of a prompt's quality, in log odds, in all and by topic |
    | luck | standard deviation of a candidate's own part, in log odds; the start has none |
    | heavy_tails | the own part is that times Student's t with 2 degrees of freedom |
    | agree | share of the wrong answers that are the same wrong answer |
    | vote | whether a vote helps |
    | repeat_noise | share of answers that are drawn again in a repeat |
    | judge | correlation of the judge's order with the truth |
    | proposer | chance that a child is the better one of two |
    | start | the score of the start |
    | interactions | standard deviation of what a set of operators, and a prompt after others' work, have beyond their parts |
    | wordings | how many wordings there are of a prompt; half the children of a proposer have another one |
    | mislabelled | share of items, in all parts, that nearly nobody gets right |
    | shared | share of answers whose luck is that of the item and repeat, as where calls are answered from the cache |
    | compressed | what is left of each difference to the start, in log odds |
    | max_nodes | how far a workflow may grow; None for what a search allows by default |
    """

    items: int = 119
    effect: float = 1.0
    prompts: float = 0.45
    luck: float = 0.1
    heavy_tails: bool = False
    agree: float = 0.35
    vote: bool = True
    repeat_noise: float = 1.0
    judge: float = 0.3
    proposer: float = 0.0
    start: float = 0.45
    interactions: float = 0.0
    wordings: int = 0
    mislabelled: float = 0.0
    shared: float = 0.0
    compressed: float = 1.0
    max_nodes: int | None = None


@dataclass(frozen=True, slots=True)
class _State:
    """What comes out of a node: its chances, of how many answers, whether it is a plan alone, whether it has its final form."""

    chances: Chances
    answers: int = 1
    is_plan: bool = False
    has_form: bool = False


class World:
    """One world. ``items`` are the search's, followed by `HELD_OUT` others that say what is true."""

    def __init__(self, rules: Rules, seed: int) -> None:
        self.rules, self.seed = rules, seed
        chance = np.random.default_rng([seed, 17])
        count = rules.items + HELD_OUT
        self._difficulty = chance.normal(0, 1.3, count)
        self._topic = chance.integers(0, TOPICS, count)
        self._computes = chance.normal(0.3, 0.7, TOPICS)
        self._mislabelled = np.random.default_rng([seed, 23]).random(count) < rules.mislabelled
        self._known: dict[str, Chances] = {}
        self._qualities: dict[str, Chances] = {}
        self._level = 0.0
        self._start_odds: Chances | None = None
        low, high = -6.0, 6.0
        start = CandidateDraft(START, (), "", "", "start", (), 1, 3)
        for _ in range(30):
            self._level = (low + high) / 2
            self._known.clear()
            self._start_odds = None
            low, high = (self._level, high) if self.truth(start) < rules.start else (low, self._level)

    def truth(self, draft: CandidateDraft) -> float:
        """The expected score on other items than the search's."""
        return float(self.chances(draft)[self.rules.items :].mean())

    def answer(self, draft: CandidateDraft, place: ItemRepeat) -> float:
        """The score of one answer, the same whenever it is asked for."""
        repeat = place.repeat
        if repeat and self._luck(f"same {draft.key} {place}").random() >= self.rules.repeat_noise:
            repeat = 0
        is_shared = self.rules.shared and self._luck(f"shared {place.item} {repeat}").random() < self.rules.shared
        luck = self._luck(f"answer {'' if is_shared else draft.key} {place.item} {repeat}").random()
        return float(luck < self.chances(draft)[place.item])

    def held_out(self, draft: CandidateDraft, count: int) -> list[float]:
        """Scores of one answer to each of ``count`` items that no search saw."""
        return [self.answer(draft, ItemRepeat(self.rules.items + number, 0)) for number in range(count)]

    def judged(self, draft: CandidateDraft) -> float:
        """A judge's mark of a workflow that has not run."""
        share = self.rules.judge
        noise = self._luck(f"judge {draft.key}").gauss()
        return share * (self.truth(draft) - 0.6) / 0.1 + math.sqrt(1 - share * share) * noise

    def chances(self, draft: CandidateDraft) -> Chances:
        """For each item the chance that the workflow answers it right."""
        known = self._known.get(draft.key)
        if known is None:
            known = self._known[draft.key] = self._chances_of(draft)
        return known

    def _chances_of(self, draft: CandidateDraft) -> Chances:
        rules = self.rules
        if draft.operator == INVALID:
            return np.zeros_like(self._difficulty)
        chance = self._luck(f"own {draft.key}")
        own = chance.gauss() * rules.luck
        if rules.heavy_tails:
            own = max(-1.5, min(1.5, own / math.sqrt(chance.expovariate(1.0))))
        odds = _odds(self._run(draft.text)) + (0.0 if draft.text == START else own)
        if rules.compressed != 1.0:
            if self._start_odds is None:
                self._start_odds = _odds(self._run(START))
            odds = self._start_odds + rules.compressed * (odds - self._start_odds)
        return np.where(self._mislabelled, 0.02, _share(odds))

    def _luck(self, what: str) -> Random:
        return Random(f"{self.seed} {what}")  # noqa: S311 (no secret)

    def _run(self, text: str) -> Chances:
        base, _, said = text.partition(WORDED)
        wordings: dict[str, int] = json.loads(said) if said else {}
        shape = shape_of(base)
        states: dict[int, _State] = {}
        for step in shape.steps:
            states[step.handle] = self._step(step, _read(step.reads, states), wordings)
        final = _final(shape, states, len(self._difficulty))
        if self.rules.interactions:
            operators = " ".join(sorted({step.operator for step in shape.steps}))
            final = _share(_odds(final) + self._luck(f"together {operators}").gauss() * self.rules.interactions)
        return final

    def _step(self, step: Step, read: list[_State], wordings: dict[str, int]) -> _State:
        works = [state for state in read if not state.is_plan]
        planned = len(works) < len(read)
        has_form = bool(works) and all(state.has_form for state in works)
        before = _mean(works)
        operator = step.operator
        prompt = step.prompt or ""
        if prompt in wordings:
            prompt = f"{prompt} {wordings[prompt]}"
        if step.is_ensemble:
            return _State(self._joined(operator, works), has_form=has_form)
        if operator == "Format":
            return _State(before if works else self._solved(prompt, planned), has_form=True)
        if operator == "Programmer":
            solved = _share(self._level + self._skill(0.4) + self._computes[self._topic] - self._difficulty)
        elif operator in ("Revise", "Test", "Review"):
            gain = {"Revise": 0.35, "Test": 0.3, "Review": 0.0}[operator] * self.rules.effect
            if not works:
                return _State(self._solved(prompt, planned))
            looked = self._solved(prompt, planned, is_later=True)
            return _State(before * 0.985 + (1 - before) * gain * looked, has_form=has_form)
        elif step.prompt is None or operator in ("Pass", "Select", "Call"):
            return _State(before, max([state.answers for state in works], default=1), has_form=has_form)
        else:
            if "Do not solve" in prompt and not works:
                return _State(np.zeros_like(self._difficulty), is_plan=True)
            solved = self._solved(prompt, planned, is_later=bool(works))
        if works:
            # Who reads earlier work keeps most of what is right in it, and corrects some of what is not.
            solved = before * 0.96 + (1 - before) * 0.45 * self.rules.effect * solved
        return _State(solved, step.samples)

    def _solved(self, prompt: str, planned: bool, is_later: bool = False) -> Chances:
        """The chances of an answer by a prompt, after a plan, and by one who reads earlier work."""
        quality = self._qualities.get(prompt)
        if quality is None:
            luck = np.random.default_rng([self.seed, *prompt.encode()])
            quality = self._qualities[prompt] = luck.normal(0, self.rules.prompts, TOPICS + 1)
        if self.rules.interactions:
            quality = quality + self._luck(f"{planned} {is_later} {prompt}").gauss() * self.rules.interactions
        planning = self._skill(0.5) if planned else 0.0
        return _share(self._level + quality[-1] + quality[self._topic] + planning - self._difficulty)

    def _skill(self, amount: float) -> float:
        return amount * self.rules.effect

    def _joined(self, operator: str, works: list[_State]) -> Chances:
        count = sum(state.answers for state in works)
        mean = sum((state.chances * state.answers for state in works), np.zeros_like(self._difficulty)) / max(1, count)
        if not self.rules.vote or count < 2:
            return mean
        voted = _vote(mean, min(count, 9), self.rules.agree)
        return voted if operator == "ScEnsemble" else (voted + mean) / 2


def _read(reads: Iterable[int], states: dict[int, _State]) -> list[_State]:
    return [states[source] for source in reads if source in states]


def _final(shape: Shape, states: dict[int, _State], items: int) -> Chances:
    ends = [state for reads in shape.ends for state in _read(reads, states)]
    if not ends:  # The problem itself is the answer.
        return np.zeros(items)
    # An answer without its final form is now and then not found in the text.
    return _mean([_State(end.chances * (1.0 if end.has_form else 0.93)) for end in ends])


def _mean(states: list[_State]) -> Chances:
    return sum((state.chances for state in states), np.zeros(1)) / max(1, len(states))


def _vote(right: Chances, count: int, agree: float) -> Chances:
    """The chance that right answers win a vote: more of them than of those that agree on the same wrong answer; ties by lot."""
    total = np.zeros_like(right)
    for rights in range(count + 1):
        chance = math.comb(count, rights) * right**rights * (1 - right) ** (count - rights)
        wrong = count - rights
        won = 0.0
        for same in range(wrong + 1):
            share = math.comb(wrong, same) * agree**same * (1 - agree) ** (wrong - same)
            rival = max(same, 1 if wrong else 0)
            won += share * (1.0 if rights > rival else 0.5 if rights == rival else 0.0)
        total += chance * (won if rights else 0.0)
    return total


def _share(odds: Chances) -> Chances:
    shares: Chances = 1 / (1 + np.exp(-odds))
    return shares


def _odds(chances: Chances) -> Chances:
    kept = np.clip(chances, 1e-3, 1 - 1e-3)
    odds: Chances = np.log(kept / (1 - kept))
    return odds
