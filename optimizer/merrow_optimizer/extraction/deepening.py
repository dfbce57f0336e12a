"""Stage 3: fewer and more general operators, on several paths that know nothing of each other, in some steps each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from merrow_optimizer.extraction.generator import (
    TEXT_OR_NULL,
    TEXT_VALUE,
    Generator,
    instructions,
    list_of,
    object_of,
    object_schema,
    question,
)
from merrow_optimizer.extraction.kinds import OperatorSignature, merged
from merrow_optimizer.extraction.leaks import CaseLeaks
from merrow_optimizer.extraction.naming import Named, takes
from merrow_optimizer.extraction.pooling import Deepened
from merrow_optimizer.extraction.refused import AnswerRefused
from merrow_optimizer.extraction.steps import operator_name, read_prompt, words_of_name
from merrow_runtime.requests import Message

STAGE = 3
AGGREGATE_STAGE = 4
SCHEMA = object_schema(
    "operators",
    operators=list_of(object_of(name=TEXT_VALUE, prompt=TEXT_VALUE)),
    mapping=list_of(object_of(**{"from": TEXT_VALUE, "to": TEXT_OR_NULL, "reason": TEXT_VALUE})),
)
MOST_WORDS = 2
"""Words of an operator's name."""
_LONGEST_SHOWN = 1_000
_LONGEST_REASON = 300
_MOST_TOLD = 8


@dataclass(frozen=True, slots=True)
class Mapped:
    """What became of one operator in a step: ``target`` is None where it was dropped."""

    source: str
    target: str | None
    reason: str

    def to_json(self) -> dict[str, Any]:
        """As reports show it."""
        return {"from": self.source, "to": self.target, "reason": self.reason}


@dataclass(slots=True)
class Path:
    """One path: the operators at its end, what became of which in each step, and the number of operators before and after
    each.
    """

    operators: list[Deepened]
    steps: list[list[Mapped]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PathStart:
    """What all paths begin with: the groups as operators, their signatures by number, and the cases of each."""

    operators: Sequence[Deepened]
    signatures: Mapping[int, OperatorSignature]
    cases: Mapping[int, Sequence[str]]
    leaks: CaseLeaks


def ground_of(named: Sequence[Named], leaks: CaseLeaks) -> PathStart:
    """The groups, each an operator with a name of its own."""
    names = distinct([operator.name for operator in named])
    operators = [
        Deepened(name, operator.prompt, operator.group.signature, frozenset({number}))
        for number, (name, operator) in enumerate(zip(names, named, strict=True))
    ]
    cases = {number: sorted({place.case for place in operator.group.members}) for number, operator in enumerate(named)}
    return PathStart(
        operators, {number: operator.group.signature for number, operator in enumerate(named)}, cases, leaks
    )


def distinct(names: Sequence[str]) -> list[str]:
    """The names, each with a number behind it where an earlier one is the same but for case."""
    taken: set[str] = set()
    unique: list[str] = []
    for name in names:
        number, wanted = 1, name
        while wanted.casefold() in taken:
            number += 1
            wanted = f"{name}{number}"
        taken.add(wanted.casefold())
        unique.append(wanted)
    return unique


def shown_operators(operators: Sequence[Deepened]) -> list[dict[str, Any]]:
    """Operators as the model is shown them."""
    return [
        {"name": operator.name, **takes(operator.signature), "prompt": operator.prompt[:_LONGEST_SHOWN]}
        for operator in operators
    ]


async def deepen(ground: PathStart, generator: Generator, number: int, of: int, steps: int) -> Path:
    """One of ``of`` paths, by its number from 0: at most so many steps, fewer where a step changes nothing or has no valid
    answer. Its number decides how the model is asked (the temperature).
    """
    path = Path(list(ground.operators), counts=[len(ground.operators)])
    first = question("deepening", {"The operators": shown_operators(path.operators)}, SCHEMA)
    messages: tuple[Message, ...] = first
    temperature = round(number / max(1, of - 1), 2)
    for _ in range(steps):
        read = partial(read_step, before=path.operators, ground=ground)
        answer = await generator.answer(STAGE, messages, SCHEMA, read, temperature)
        if answer is None:
            break
        path.operators, mapping = answer
        path.steps.append(mapping)
        path.counts.append(len(path.operators))
        if all(mapped.source == mapped.target for mapped in mapping):
            break
        messages = (*messages, *_further(path.operators))
    return path


def _further(operators: Sequence[Deepened]) -> tuple[Message, ...]:
    """What follows a step: its outcome, and the question for the next one."""
    now = json.dumps({"operators": shown_operators(operators)}, ensure_ascii=False)
    return Message("assistant", now), Message("user", instructions("deepening_again"))


async def aggregate(ground: PathStart, paths: Sequence[Path], generator: Generator) -> Path | None:
    """One set of the operators of all paths, put together by the model; None where no answer could be used."""
    everything = [operator for path in paths for operator in path.operators]
    names = distinct([operator.name for operator in everything])
    listed = [
        Deepened(name, operator.prompt, operator.signature, operator.sources)
        for name, operator in zip(names, everything, strict=True)
    ]
    messages = question("aggregating", {"The operators": shown_operators(listed)}, SCHEMA)
    answer = await generator.answer(AGGREGATE_STAGE, messages, SCHEMA, lambda reply: read_step(reply, listed, ground))
    return None if answer is None else Path(answer[0], [answer[1]], [len(listed), len(answer[0])])


def read_step(
    answer: Mapping[str, Any], before: Sequence[Deepened], ground: PathStart
) -> tuple[list[Deepened], list[Mapped]]:
    """The operators of an answer, and what became of those before. Raises `AnswerRefused` for a mapping that is not total,
    makes a result wider or invents an operator, and for more operators than before.
    """
    prompts = _prompts(answer.get("operators"))
    mapping = _mapping(answer.get("mapping"), [earlier.name for earlier in before])
    problems: list[str] = []
    known = {name.casefold(): name for name in prompts}
    targets: dict[str, list[Deepened]] = {name: [] for name in prompts}
    mapped: list[Mapped] = []
    for operator in before:
        entry = mapping[operator.name.casefold()]
        target = None if entry.target is None else known.get(entry.target.casefold())
        if entry.target is not None and target is None:
            problems.append(f"{operator.name} is mapped to {entry.target[:60]!r}, which is not among `operators`.")
        elif target is not None:
            targets[target].append(operator)
        elif not entry.reason:
            problems.append(f"{operator.name} is dropped without a reason.")
        mapped.append(Mapped(operator.name, target, entry.reason))
    if len(prompts) > len(before):
        problems.append(f"There were {len(before)} operators and there are {len(prompts)} now; never add one.")
    deepened: list[Deepened] = []
    for name, members in targets.items():
        if not members:
            problems.append(f"Nothing is mapped to {name}: each operator takes the place of at least one.")
            continue
        sources = frozenset(source for member in members for source in member.sources)
        own = merged(member.signature for member in members)
        if own is None:
            kinds = ", ".join(sorted({member.signature.output for member in members}))
            problems.append(
                f"{name} takes the place of operators that give {kinds}; put together only what gives the same."
            )
            continue
        try:
            ground.leaks.check(prompts[name], sorted({case for source in sources for case in ground.cases[source]}))
        except AnswerRefused as why:
            if not problems:
                raise AnswerRefused([f"{name}: {sentence}" for sentence in why.sentences], is_leak=True) from None
        deepened.append(Deepened(name, prompts[name], own, sources))
    if problems:
        raise AnswerRefused(problems[:_MOST_TOLD])
    return deepened, mapped


def _prompts(listed: object) -> dict[str, str]:
    """The prompts of operators by their names."""
    if not isinstance(listed, list) or not listed or not all(isinstance(item, dict) for item in listed):
        raise AnswerRefused(["`operators` must be a list of objects with `name` and `prompt`, at least one."])
    prompts: dict[str, str] = {}
    for entry in listed:
        name = entry.get("name")
        if not isinstance(name, str) or not name.strip():
            raise AnswerRefused(["Each operator needs a `name`."])
        own = operator_name(name)
        if not 1 <= words_of_name(name.replace(" ", "_")) <= MOST_WORDS:
            raise AnswerRefused([f"The name {name[:60]!r} is not one of one or two words."])
        if own.casefold() in {known.casefold() for known in prompts}:
            raise AnswerRefused([f"Two operators are called {own}; each has a name of its own."])
        prompts[own] = read_prompt(entry.get("prompt"), f"operator {own}")
    return prompts


def _mapping(listed: object, names: Sequence[str]) -> dict[str, Mapped]:
    """What the answer maps, by the name before in small letters."""
    wanted = {name.casefold(): name for name in names}
    mapping: dict[str, Mapped] = {}
    problems: list[str] = []
    for entry in listed if isinstance(listed, list) else []:
        source = entry.get("from") if isinstance(entry, dict) else None
        if not isinstance(source, str) or (
            operator_name(source).casefold() not in wanted and source.casefold() not in wanted
        ):
            problems.append(f"`mapping` names {str(source)[:60]!r}, which was not among the operators.")
            continue
        key = source.casefold() if source.casefold() in wanted else operator_name(source).casefold()
        if key in mapping:
            problems.append(f"{wanted[key]} is mapped twice; say once what becomes of it.")
            continue
        target, reason = entry.get("to"), entry.get("reason")
        mapping[key] = Mapped(
            wanted[key],
            operator_name(target) if isinstance(target, str) and target.strip() else None,
            " ".join(reason.split())[:_LONGEST_REASON] if isinstance(reason, str) else "",
        )
    missing = [name for key, name in wanted.items() if key not in mapping]
    if missing:
        problems.append(f"`mapping` does not say what becomes of {', '.join(missing[:_MOST_TOLD])}.")
    if problems:
        raise AnswerRefused(problems[:_MOST_TOLD])
    return mapping
