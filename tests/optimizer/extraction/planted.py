"""A model that extracts, scripted: it plants operators and names them otherwise in each case, so that what is recovered can be
compared.

It knows the truth of each step by a mark in what the step ``does``, and answers truthfully where it is asked to choose. It
says nothing of a real model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

KINDS = ("Plan", "Analysis", "Feedback", "Code", "Number", "Json", "Bool", "list[Text]")
_VERBS = ("read", "sort", "weigh", "list", "split", "bind", "trace", "rank", "check", "draw", "match", "sum", "fold")
VERBS = (*_VERBS, "test", "join", "lift", "map", "plan")
NOUNS = ("facts", "terms", "cases", "parts", "goals", "rules", "steps", "data", "units", "marks", "forms", "links")


@dataclass(frozen=True)
class Planted:
    """An operator: what it takes, without the problem, which all take, and what it gives."""

    number: int
    takes: tuple[str, ...]
    gives: str

    @property
    def signature(self) -> tuple[tuple[str, ...], str]:
        return tuple(sorted({"Problem", *self.takes})), self.gives


@dataclass
class World:
    """Operators that are planted, and cases that are solved by them; all of it follows from the seed."""

    seed: int
    operators: int = 4
    cases: int = 40
    weak: float = 0.0
    mistakes: float = 0.0
    """The share of merges at random when the model puts paths together itself."""
    change: Callable[[str, Random, Any], Any] | None = None
    """Makes another answer of one: is given the stage, a source of chance and the answer."""
    planted: list[Planted] = field(init=False)

    def __post_init__(self) -> None:
        chance = Random(f"planted {self.seed}")
        kinds = chance.sample(KINDS, min(len(KINDS), (self.operators + 1) // 2))
        found = [Planted(0, (), kinds[0])]
        for at, kind in enumerate(kinds[1:], 1):
            more = [other for other in kinds[: at - 1] if chance.random() < 0.3]
            found.append(Planted(len(found), tuple(sorted({kinds[at - 1], *more})), kind))
        while len(found) < self.operators - 1:
            at = chance.randrange(len(kinds))
            takes = tuple(sorted(chance.sample(kinds[:at], chance.randint(0, at))))
            one = Planted(len(found), takes, kinds[at])
            if all(one.signature != other.signature for other in found):
                found.append(one)
        found.append(Planted(len(found), (kinds[-1],), "Answer"))
        self.planted = found

    def rows(self) -> list[dict[str, Any]]:
        """The cases as records: each problem has a number of its own, and words that no prompt has."""
        return [
            {
                "id": f"c{number}",
                "problem": f"Problem {number}: pebble quartz {number * 7919} velvet harbour {number} lantern.",
                "solution": f"Walnut comet {number} saffron meadow {number}. The answer is \\boxed{{{1000 + number}}}.",
            }
            for number in range(self.cases)
        ]

    def steps(self, case: int) -> list[dict[str, Any]]:
        """The steps of a case, named and worded otherwise than in other cases. One of the operators is in it in any case, so
        that each is in some.
        """
        chance = Random(f"case {self.seed} {case}")
        wanted = self.planted[case % len(self.planted)]
        steps: list[tuple[Planted, str, list[str]]] = []
        made: dict[str, str] = {}

        def make(operator: Planted) -> str:
            reads = [made.get(kind) or make(self._giver(kind, wanted, chance)) for kind in operator.takes]
            name = f"{chance.choice(VERBS)} {chance.choice(NOUNS)} {len(steps)}"
            steps.append((operator, name, reads))
            made[operator.gives] = name
            return name

        make(self.planted[-1])
        return [self._step(operator, name, reads, chance) for operator, name, reads in steps]

    def _giver(self, kind: str, wanted: Planted, chance: Random) -> Planted:
        """Who gives a kind: the operator that is wanted, else of those that lead to it the first, else any."""
        if wanted.gives == kind:
            return wanted
        givers = [one for one in self.planted if one.gives == kind]
        order = [one.gives for one in self.planted]
        is_after = wanted.gives in order and order.index(kind) > order.index(wanted.gives)
        return givers[0] if is_after else chance.choice(givers)

    def _step(self, operator: Planted, name: str, reads: Sequence[str], chance: Random) -> dict[str, Any]:
        gives = "Text" if operator.gives != "Answer" and chance.random() < self.weak else operator.gives
        verb, noun = chance.choice(VERBS), chance.choice(NOUNS)
        return {
            "name": name,
            "does": f"Does <{operator.number}>.",
            "reads": ["PROBLEM", *reads],
            "gives": gives,
            "prompt": f"Please {verb} all the {noun} that you are given, and write them down in order.",
            "built_in": None,
        }

    # Answers

    def answer(self, body: Mapping[str, Any]) -> str:
        """What the model answers to a request of the OpenAI protocol."""
        messages = body["messages"]
        system = messages[0]["content"]
        shown = shown_parts(messages[1]["content"])
        tries = sum(message["role"] == "assistant" for message in messages)
        chance = Random(f"{self.seed} {json.dumps(body['messages'])} {body.get('temperature')}")
        said: dict[str, Any]
        if "shown one problem with its solution" in system:
            stage, said = "initial", {"steps": self.steps(int(re.findall(r"Problem (\d+)", shown["The problem"])[0]))}
        elif "You are told what kind of problems" in system:
            stage, said = "described", {"steps": self.steps(0)}
        elif "may belong to several groups" in system:
            stage, said = "placing", {"group": self._placed(shown)}
        elif "become one operator" in system:
            stage, said = (
                "groups",
                {"name": f"Op{self._number(shown['Its steps'])}", "prompt": "Do what this kind of step does."},
            )
        elif "put together from steps" in system:
            stage, said = "wording", {"prompt": "Do the work of these steps with what is given, whatever the problem."}
        elif "Several people" in system:
            stage, said = "aggregating", self._aggregated(shown["The operators"], chance)
        elif "drawn from solved problems" in system:
            stage, said = "deepening", self._kept(messages, shown)
        else:
            return self._carried_out(body)
        return self._changed(stage, said, chance, tries)

    def _changed(self, stage: str, said: Any, chance: Random, tries: int) -> str:
        if self.change is not None and not tries:
            said = self.change(stage, chance, said)
        return said if isinstance(said, str) else json.dumps(said)

    def _carried_out(self, body: Mapping[str, Any]) -> str:
        """What a step of a case is answered with."""
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
        values = {"number": 1, "integer": 1, "boolean": True, "array": ["one"], "object": {}, "string": "some"}
        properties = schema.get("properties")
        if properties:
            return json.dumps({name: values.get(one.get("type", "string"), "some") for name, one in properties.items()})
        return f"The answer is \\boxed{{{self._gold(body['messages'])}}}."

    def _gold(self, messages: Sequence[Mapping[str, Any]]) -> int:
        found = re.findall(r"Problem (\d+):", json.dumps(messages))
        return 1000 + int(found[0]) if found else 0

    def _placed(self, shown: Mapping[str, Any]) -> int | None:
        mine = self._number([shown["The step"]])
        for group in shown["The groups"]:
            if (tuple(sorted(group["takes"])), group["gives"]) == self.planted[mine].signature:
                return int(group["number"])
        return None

    def _number(self, steps: Sequence[Mapping[str, str]]) -> int:
        """The operator that most of these steps are."""
        numbers = [int(found[0]) for one in steps if (found := re.findall(r"<(\d+)>", one["does"]))]
        return max(numbers, key=lambda one: (numbers.count(one), -one), default=0)

    def _kept(self, messages: Sequence[Mapping[str, Any]], shown: Mapping[str, Any]) -> dict[str, Any]:
        """Nothing is put together: operators are planted so that each is needed."""
        operators = shown["The operators"]
        for message in messages[2:]:
            if message["role"] == "assistant":
                with suppress(ValueError, RecursionError, AttributeError):  # an answer that could not be used
                    said = json.loads(message["content"]).get("operators")
                    operators = said if said and all(isinstance(one, dict) for one in said) else operators
        return identity([one["name"] for one in operators])

    def _aggregated(self, operators: Sequence[Mapping[str, Any]], chance: Random) -> dict[str, Any]:
        """Operators of equal signatures are put together; with mistakes some join others that give the same kind."""
        targets: dict[str, str] = {}
        first: dict[str, str] = {}
        by_output: dict[str, list[str]] = {}
        for one in operators:
            key = json.dumps([sorted(one["takes"]), one["gives"]])
            if key not in first:
                others = by_output.setdefault(one["gives"], [])
                if others and chance.random() < self.mistakes:
                    first[key] = chance.choice(others)
                else:
                    first[key] = f"Set{len(first)}"
                    others.append(first[key])
            targets[one["name"]] = first[key]
        names = sorted(set(targets.values()))
        return {
            "operators": [{"name": name, "prompt": f"Do the work of {name} for any problem."} for name in names],
            "mapping": [{"from": name, "to": target, "reason": "the same work"} for name, target in targets.items()],
        }


def identity(names: Sequence[str]) -> dict[str, Any]:
    """A step in which nothing changes."""
    return {
        "operators": [{"name": name, "prompt": f"Do the work of {name} for any problem."} for name in names],
        "mapping": [{"from": name, "to": name, "reason": "it is needed"} for name in names],
    }


def shown_parts(text: str) -> dict[str, Any]:
    """The parts that a model is shown, by their names."""
    found = re.findall(r"^(.+):\n<<<([0-9a-f]{20})\n(.*)\n\2>>>", text, re.MULTILINE)
    return {name: json.loads(body) for name, _, body in found}


def recovered(report: Mapping[str, Any], what: str = "groups") -> list[tuple[tuple[str, ...], str]]:
    """The signatures of a report's groups or operators."""
    return sorted((tuple(sorted(one["takes"])), one["gives"]) for one in report[what])
