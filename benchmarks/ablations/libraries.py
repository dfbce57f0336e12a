"""The workflows that simulated searches begin with: a single Executor with the operators that each ablation leaves.

The operators are declared as an extraction declares them, and real safe moves draw on them. What each stage does to the set is a
rule of this file, not a measurement:

- Of a task there are four skills, each with an operator. *All* has these four, drawn from most cases.
- Without *initial* operators a skill is named from the description of the data alone: three of five are found, less general.
- Without *clustering* each skill has an operator for each topic, named by one case: general within its topic alone.
- Without *deep* extraction each skill has two operators, one for each signature that cases had, half as general.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random

from merrow_optimizer.extraction.executor import executor

TOPICS = 3


@dataclass(frozen=True, slots=True)
class Skill:
    """What a task takes: an operator for it reads the result of the skill before it, and gives a kind of its own."""

    name: str
    reads: tuple[str, str] | None
    gives: tuple[str, str]


SKILLS = (
    Skill("Understand", None, ("analysis", "Analysis")),
    Skill("Devise", ("analysis", "Analysis"), ("plan", "Plan")),
    Skill("CarryOut", ("plan", "Plan"), ("draft", "Text")),
    Skill("Conclude", ("draft", "Text"), ("answer", "Answer")),
)


@dataclass(frozen=True, slots=True)
class Extracted:
    """An operator of a library: for which skill, how general it is (0 to 1), and for which topic alone, if any."""

    skill: int
    general: float
    topic: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A row of Table 3: what the paper has for MATH, whether operators are extracted, which stage is left out, the memory."""

    name: str
    paper: float | None
    has_operators: bool = True
    without: str | None = None
    memory: str = "all"


ROWS = (
    Row("neither operators nor memory", 56.2, has_operators=False, memory="none"),
    Row("operators by hand, with memory", None, has_operators=False),
    Row("operators without memory", 53.9, memory="none"),
    Row("all", 58.5),
    Row("without initial", 49.6, without="initial"),
    Row("without clustering", 54.5, without="clustering"),
    Row("without deep", 51.6, without="deep"),
)
ALL = ROWS[3]


def library(row: Row, seed: int) -> dict[str, Extracted]:
    """The operators of a row by name."""
    if not row.has_operators:
        return {}
    if row.without == "initial":
        chance = Random(f"{seed} described")  # noqa: S311 (no secret)
        return {skill.name: Extracted(n, 0.6) for n, skill in enumerate(SKILLS) if chance.random() < 0.6}
    if row.without == "clustering":
        every = [(number, skill, topic) for number, skill in enumerate(SKILLS) for topic in range(TOPICS)]
        return {f"{skill.name}{topic + 1}": Extracted(number, 0.9, topic) for number, skill, topic in every}
    if row.without == "deep":
        return {f"{skill.name}{form}": Extracted(number, 0.45) for number, skill in enumerate(SKILLS) for form in "AB"}
    return {skill.name: Extracted(number, 0.9) for number, skill in enumerate(SKILLS)}


def start(row: Row, seed: int) -> str:
    """The single Executor with the operators of a row, and its memory."""
    operators = {name: _declared(name, SKILLS[one.skill]) for name, one in library(row, seed).items()}
    said = {"workflow": {"memory": row.memory, **({"operators": operators} if operators else {})}}
    text = executor(["PROBLEM"])
    assert text is not None  # noqa: S101 (PROBLEM alone is read by one step)
    return f"---\n{json.dumps(said, indent=1)}\n---\n{text}"


def _declared(name: str, skill: Skill) -> dict[str, object]:
    optional = {} if skill.reads is None else {f"{skill.reads[0]}?": skill.reads[1]}
    return {
        "inputs": {"problem": "Problem", **optional},
        "outputs": dict([skill.gives]),
        "prompt": f"{name}: do this part of the work for any problem.",
    }
