"""How likely a workflow answers each item right, by rules that this file publishes. They are calibrated on nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from benchmarks.ablations.libraries import SKILLS, TOPICS, Extracted
from merrow_analysis.check import analyse
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.graph.remembering import remembered
from merrow_optimizer.search.candidates import CandidateDraft, ItemRepeat

HELD_OUT = 400


@dataclass(frozen=True, slots=True)
class Rules:
    """The parameters, in log odds.

    | rule | is |
    |---|---|
    | level | how able the model is, where nothing helps it |
    | skill | what the operator of a skill is worth, times how general it is |
    | uninformed | the share of that which is left where the result of the skill before is not seen, by an edge or memory |
    | by_hand | what a built-in operator is worth, by name, the first time; a third of that the second time |
    | informed | what each earlier result is worth to the step that gives the answer |
    | distraction | what each remembered result beyond the third takes away, at each step |
    | luck | standard deviation of a workflow's own part |
    """

    level: float = -0.35
    skill: float = 0.42
    uninformed: float = 0.35
    informed: float = 0.08
    distraction: float = 0.06
    luck: float = 0.1

    @property
    def by_hand(self) -> Mapping[str, float]:
        return {
            "Programmer": 0.45, "ScEnsemble": 0.25, "MdEnsemble": 0.15, "Revise": 0.3, "Custom": 0.15, "AnswerGenerate": 0.2,
            "Review": 0.1, "Format": 0.12, "Assemble": 0.05,
        }  # fmt: skip


class World:
    """One world: ``items`` of a search, then `HELD_OUT` others that say what is true."""

    def __init__(self, rules: Rules, library: Mapping[str, Extracted], seed: int, items: int) -> None:
        self._rules, self._library, self._seed, self.items = rules, library, seed, items
        chance = Random(f"{seed} items")  # noqa: S311 (no secret)
        self._difficulty = [chance.gauss(0, 1.2) for _ in range(items + HELD_OUT)]
        self._topic = [chance.randrange(TOPICS) for _ in range(items + HELD_OUT)]
        self._known: dict[str, list[float]] = {}

    def truth(self, draft: CandidateDraft) -> float:
        """The expected score on items that no search saw."""
        return sum(self._chances(draft)[self.items :]) / HELD_OUT

    def answer(self, draft: CandidateDraft, place: ItemRepeat) -> float:
        """The score of one answer, the same whenever it is asked for."""
        return float(self._luck(f"answer {draft.key} {place}").random() < self._chances(draft)[place.item])

    def _luck(self, what: str) -> Random:
        return Random(f"{self._seed} {what}")  # noqa: S311 (no secret)

    def _chances(self, draft: CandidateDraft) -> list[float]:
        known = self._known.get(draft.key)
        if known is None:
            analysis = analyse(draft.text)
            assert analysis.typed is not None  # noqa: S101 (candidates are valid)
            own = self._luck(f"own {draft.key}").gauss() * self._rules.luck
            seen = {node.id: self._seen(analysis.typed, node, draft) for node in analysis.typed.nodes}
            worth = [own + self._worth(analysis.typed, seen, topic) for topic in range(TOPICS)]
            known = self._known[draft.key] = [
                1 / (1 + math.exp(hard - self._rules.level - worth[topic]))
                for hard, topic in zip(self._difficulty, self._topic, strict=True)
            ]
        return known

    def _seen(self, graph: TypedGraph, node: TypedNode, draft: CandidateDraft) -> tuple[set[str], int]:
        """The operators whose results a step sees, by edges and memory; and how many results it remembers."""
        _, givers = remembered(graph, node, analyse(draft.text).settings)
        direct = {edge.source.operator or "" for edge in node.incoming if edge.feeds}
        return direct | {giver.operator or "" for giver in givers}, len(givers)

    def _worth(self, graph: TypedGraph, seen: Mapping[str, tuple[set[str], int]], topic: int) -> float:
        """What all steps together add for items of a topic."""
        rules, times, best = self._rules, dict[str, int](), [0.0] * len(SKILLS)
        total = 0.0
        for node in graph.nodes:
            if node.kind != "operator":
                continue
            operators, count = seen[node.id]
            total -= rules.distraction * max(0, count - 3)
            extracted = self._library.get(node.operator or "")
            if extracted is None:
                before = times[node.operator or ""] = times.get(node.operator or "", 0) + 1
                total += rules.by_hand.get(node.operator or "", 0.0) / 3 ** (before - 1)
                continue
            is_own = extracted.topic in (None, topic)
            skills = {one.skill for name in operators if (one := self._library.get(name)) is not None}
            is_informed = extracted.skill == 0 or extracted.skill - 1 in skills
            worth = rules.skill * (extracted.general if is_own else 0.25)
            best[extracted.skill] = max(best[extracted.skill], worth * (1.0 if is_informed else rules.uninformed))
        lasts = {edge.source.id for node in graph.outputs for edge in node.incoming}
        total += rules.informed * max((len(seen[name][0]) for name in lasts if name in seen), default=0)
        return total + sum(best)
