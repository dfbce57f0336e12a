"""A simulated world: how likely a workflow answers each item right, by rules that this file publishes.

The workflows are real ones, and so are the moves between them; only the answers are simulated. The rules are calibrated on
nothing. They have what makes a search hard: items differ in difficulty, prompts in quality by topic, votes pay by the
binomial law and fall for wrong answers that agree, checking pays with diminishing returns, and every answer has noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from merrow_analysis.check import analyse
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_optimizer.search.candidates import Draft, Place
from merrow_runtime import RunOptions
from merrow_runtime.program.definitions import Steps, make_steps
from merrow_runtime.workflow import Workflow, check_workflow

Chances = NDArray[np.float64]
"""For each item the chance of a right answer."""

HELD_OUT = 600
TOPICS = 4

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
    """The parameters of a world. ``effect`` scales what structure does, ``luck`` is the standard deviation of a candidate's own
    part (in log odds), ``agree`` the share of wrong answers that are the same wrong answer, ``repeat_noise`` the share of answers
    that are drawn again in a repeat, ``judge`` the correlation of the judge's order with the truth, ``start`` the start's score.
    """

    items: int = 119
    effect: float = 1.0
    prompts: float = 0.45
    luck: float = 0.1
    agree: float = 0.35
    vote: bool = True
    repeat_noise: float = 1.0
    judge: float = 0.3
    start: float = 0.45


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
        self._known: dict[str, Chances] = {}
        self._level = 0.0
        low, high = -6.0, 6.0
        start = Draft(START, (), "", "", "start", (), 1, 3)
        for _ in range(30):
            self._level = (low + high) / 2
            self._known.clear()
            low, high = (self._level, high) if self.truth(start) < rules.start else (low, self._level)

    def truth(self, draft: Draft) -> float:
        """The expected score on other items than the search's."""
        return float(self.chances(draft)[self.rules.items :].mean())

    def answer(self, draft: Draft, place: Place) -> float:
        """The score of one answer, the same whenever it is asked for."""
        repeat = place.repeat
        if repeat and self._luck(f"same {draft.key} {place}").random() >= self.rules.repeat_noise:
            repeat = 0
        luck = self._luck(f"answer {draft.key} {place.item} {repeat}").random()
        return float(luck < self.chances(draft)[place.item])

    def held_out(self, draft: Draft, count: int) -> list[float]:
        """Scores of one answer to each of ``count`` items that no search saw."""
        return [self.answer(draft, Place(self.rules.items + number, 0)) for number in range(count)]

    def judged(self, draft: Draft) -> float:
        """A judge's mark of a workflow that has not run."""
        share = self.rules.judge
        noise = self._luck(f"judge {draft.key}").gauss()
        return share * (self.truth(draft) - 0.6) / 0.1 + math.sqrt(1 - share * share) * noise

    def chances(self, draft: Draft) -> Chances:
        """For each item the chance that the workflow answers it right."""
        known = self._known.get(draft.key)
        if known is None:
            own = self._luck(f"own {draft.key}").gauss() * self.rules.luck
            odds = _odds(self._run(draft.text)) + own
            known = self._known[draft.key] = _share(odds)
        return known

    def _luck(self, what: str) -> Random:
        return Random(f"{self.seed} {what}")  # noqa: S311 (no secret)

    def _run(self, text: str) -> Chances:
        workflow = check_workflow(text, analysis=analyse(text))
        graph = workflow.graph
        steps = make_steps(workflow, RunOptions(default_model="m"))
        states: dict[int, _State] = {}
        for handle in graph.order:
            node = graph.node(handle)
            read = _read(node, states)
            if node.kind == "input":
                continue
            states[handle] = self._node(node, read, steps)
        return _final(graph, states, len(self._difficulty))

    def _node(self, node: TypedNode, read: list[_State], steps: Steps) -> _State:
        step = steps.get(node.index)
        samples = 1 if step is None else step.samples or 1
        works = [state for state in read if not state.is_plan]
        planned = len(works) < len(read)
        has_form = bool(works) and all(state.has_form for state in works)
        before = _mean(works)
        operator = node.operator or ""
        prompt = "" if step is None else step.definition.prompt or ""
        if node.spec is not None and node.spec.is_ensemble:
            return _State(self._joined(operator, works), has_form=has_form)
        if operator == "Format":
            return _State(before if works else self._solved(prompt, planned), has_form=True)
        if operator == "Programmer":
            solved = _share(self._level + self._skill(0.4) + self._computes[self._topic] - self._difficulty)
        elif operator in ("Revise", "Test", "Review"):
            gain = {"Revise": 0.35, "Test": 0.3, "Review": 0.0}[operator] * self.rules.effect
            if not works:
                return _State(self._solved(prompt, planned))
            return _State(before * 0.985 + (1 - before) * gain * self._solved(prompt, planned), has_form=has_form)
        elif step is None or operator in ("Pass", "Select", "Call"):
            return _State(before, max([state.answers for state in works], default=1), has_form=has_form)
        else:
            if "Do not solve" in prompt and not works:
                return _State(np.zeros_like(self._difficulty), is_plan=True)
            solved = self._solved(prompt, planned)
        if works:
            # Who reads earlier work keeps most of what is right in it, and corrects some of what is not.
            solved = before * 0.96 + (1 - before) * 0.45 * self.rules.effect * solved
        return _State(solved, samples)

    def _solved(self, prompt: str, planned: bool) -> Chances:
        quality = np.random.default_rng([self.seed, *prompt.encode()]).normal(0, self.rules.prompts, TOPICS + 1)
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


def _read(node: TypedNode, states: dict[int, _State]) -> list[_State]:
    sources = {edge.source.index for edge in node.incoming}
    return [states[source] for source in sorted(sources) if source in states]


def _final(graph: TypedGraph, states: dict[int, _State], items: int) -> Chances:
    ends = [state for node in graph.outputs for state in _read(node, states)]
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


def start_workflow() -> Workflow:
    """The workflow that each search begins with."""
    return check_workflow(START)
