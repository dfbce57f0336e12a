"""Stage 2, the model's part: places what fits several groups, then names and words each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from merrow_optimizer.extraction.generator import TEXT_VALUE, Generator, object_schema, question
from merrow_optimizer.extraction.grouping import Grouping, Open, StepGroup, StepReference
from merrow_optimizer.extraction.kinds import OperatorSignature
from merrow_optimizer.extraction.leaks import CaseLeaks
from merrow_optimizer.extraction.refused import AnswerRefused
from merrow_optimizer.extraction.steps import CaseStep, Steps, operator_name, read_name, read_prompt
from merrow_runtime.requests import Message
from merrow_runtime.together import together

STAGE = 2
SCHEMA = object_schema("operator", name=TEXT_VALUE, prompt=TEXT_VALUE)
PLACING = object_schema("placing", group={"type": ["integer", "null"]})
_MOST_SHOWN = 20
_SHOWN_OF_GROUP = 4
_LONGEST_SHOWN = 600


@dataclass(frozen=True, slots=True)
class Named:
    """A group with the name and prompt of its operator."""

    group: StepGroup
    name: str
    prompt: str


def step_of(cases: Mapping[str, Steps], place: StepReference) -> CaseStep:
    """The step at a place."""
    return cases[place.case][place.step]


def shown_members(
    cases: Mapping[str, Steps], members: Sequence[StepReference], most: int = _MOST_SHOWN
) -> list[dict[str, str]]:
    """Some of the steps of a group, evenly spread, each different one once."""
    distinct: dict[tuple[str, str], dict[str, str]] = {}
    for place in members:
        step = step_of(cases, place)
        distinct.setdefault((step.name, step.prompt), _shown(step))
    listed = [distinct[key] for key in sorted(distinct)]
    stride = max(1, -(-len(listed) // most))
    return listed[::stride]


def _shown(step: CaseStep) -> dict[str, str]:
    return {"name": step.name, "does": step.does, "prompt": step.prompt[:_LONGEST_SHOWN]}


def takes(own: OperatorSignature) -> dict[str, Any]:
    """A signature as a model is shown it."""
    return {"takes": [str(port) for port in own.inputs], "gives": own.output}


async def place_all(grouping: Grouping, generator: Generator) -> int:
    """Have the model place what fits several groups, until nothing is left; how many it placed."""
    count = 0
    while waiting := grouping.open():
        members = {group.signature: group.members for group in grouping.groups()}
        signatures = await together([_placed(opening, grouping, members, generator) for opening in waiting])
        grouping.place({opening.place: chosen for opening, chosen in zip(waiting, signatures, strict=True)})
        count += len(waiting)
    return count


async def _placed(
    opening: Open,
    grouping: Grouping,
    members: Mapping[OperatorSignature, Sequence[StepReference]],
    generator: Generator,
) -> OperatorSignature | None:
    cases = grouping.cases
    shown = {
        "The step": _shown(step_of(cases, opening.place)),
        "The groups": [
            {"number": number, **takes(own), "steps": shown_members(cases, members[own], _SHOWN_OF_GROUP)}
            for number, own in enumerate(opening.choices, 1)
        ],
    }

    def read(answer: Mapping[str, Any]) -> OperatorSignature | None:
        number = answer.get("group")
        if number is None:
            return None
        if type(number) is not int or not 1 <= number <= len(opening.choices):
            raise AnswerRefused([f"`group` must be a number from 1 to {len(opening.choices)}, or null."])
        return opening.choices[number - 1]

    return await generator.answer(STAGE, question("placing", shown, PLACING), PLACING, read)


def group_question(cases: Mapping[str, Steps], group: StepGroup) -> tuple[Message, ...]:
    """The question for the name and prompt of a group."""
    shown = {"The operator": takes(group.signature), "Its steps": shown_members(cases, group.members)}
    return question("groups", shown, SCHEMA)


async def name_group(cases: Mapping[str, Steps], group: StepGroup, leaks: CaseLeaks, generator: Generator) -> Named:
    """A group with its name and prompt: those of the model, else of its most frequent step."""
    of_cases = sorted({place.case for place in group.members})

    def read(answer: Mapping[str, Any]) -> Named:
        name, prompt = read_name(answer.get("name")), read_prompt(answer.get("prompt"), "the operator")
        leaks.check(prompt, of_cases)
        return Named(group, name, prompt)

    named = await generator.answer(STAGE, group_question(cases, group), SCHEMA, read)
    return named or as_its_steps(cases, group, leaks)


def as_its_steps(cases: Mapping[str, Steps], group: StepGroup, leaks: CaseLeaks) -> Named:
    """A group named and worded as the step that most of it are, of several the first by name, whose prompt has nothing of a
    case.
    """
    wordings = [(operator_name(step.name), step.prompt) for step in (step_of(cases, place) for place in group.members)]
    of_cases = sorted({place.case for place in group.members})
    ranked = sorted(set(wordings), key=lambda wording: (-wordings.count(wording), wording))
    for name, prompt in ranked:
        try:
            leaks.check(prompt, of_cases)
        except AnswerRefused:
            continue
        return Named(group, name, prompt)
    return Named(group, ranked[0][0], f"From what you are given, work out the {group.signature.output}.")
