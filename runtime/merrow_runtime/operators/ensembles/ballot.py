"""What the two ensembles share: candidates, the letters they go by, and a vote."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from merrow_analysis.definitions.types import TEXT, item_of
from merrow_runtime.errors import AnswerFailure, NodeFailure
from merrow_runtime.operators.base import Task
from merrow_runtime.operators.formats.shapes import ValueShape, coerce
from merrow_runtime.operators.formats.structured import Field, answer_form, answer_schema, read_fields
from merrow_runtime.operators.prompts.prompting import Section, compose, input_sections
from merrow_runtime.operators.questions import Question, default_port, output_shape
from merrow_runtime.values import Outputs, Value, as_text

_BARE_CHOICE = re.compile(
    r"\W*(?:the\W+)?(?:(?:candidate|solution|option|answer|choice|letter)\W+)?(?:is\W+)?([A-Z]{1,4})\W*", re.IGNORECASE
)
_LONGEST_CHOICE = 80


@dataclass(frozen=True, slots=True)
class BallotCandidate:
    """A solution and how often it was given; equal ones are one candidate."""

    text: str
    value: Value
    times: int


def letter(number: int) -> str:
    """The letters that candidate ``number`` (from 0) goes by: A to Z, then AA, AB, as columns of a spreadsheet."""
    name = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(ord("A") + rest) + name
    return name


def candidates(task: Task) -> list[BallotCandidate]:
    """The different solutions in prompt order; a list that an edge brings counts as its items.

    Raises `NodeFailure` where there is none.
    """
    groups: dict[str, list[Value]] = {}
    for value in _solutions(task):
        groups.setdefault(as_text(value).strip(), []).append(value)
    return [BallotCandidate(text, group[0], len(group)) for text, group in groups.items()]


def agreement(ballot: Sequence[BallotCandidate], winner: BallotCandidate) -> str:
    """Why there is nothing to vote about."""
    total = sum(candidate.times for candidate in ballot)
    if total == 1:
        return "There is only one candidate."
    return (
        f"All {total} candidates are equal." if len(ballot) == 1 else f"{winner.times} of {total} candidates are equal."
    )


def expected(task: Task) -> list[BallotCandidate]:
    """The candidates where values are placeholders: none of them counts as equal to another."""
    return [BallotCandidate(as_text(value).strip(), value, 1) for value in _solutions(task)]


def _solutions(task: Task) -> list[Value]:
    values: list[Value] = []
    for given in task.inputs.get("solutions", ()):
        is_list = item_of(given.type) is not None and isinstance(given.value, list)
        values += given.value if is_list and isinstance(given.value, list) else [given.value]
    if not values:
        raise NodeFailure.of(task.node.id, "no solution arrived to choose from.")
    return values


def vote(task: Task, step: str, prompt: str, ballot: Sequence[BallotCandidate]) -> Question[int]:
    """A question whose answer is the place of one candidate in ``ballot``."""
    letters = {letter(number): number for number in range(len(ballot))}
    fields = [
        Field("thought", ValueShape("text", TEXT), "your reasoning, short", blank=True),
        Field("choice", ValueShape("words", TEXT, tuple(letters)), "the letter of the candidate you choose"),
    ]
    sections = input_sections(task.inputs, ["problem"])
    for name, number in letters.items():
        candidate = ballot[number]
        times = f", given {candidate.times} times" if candidate.times > 1 else ""
        sections.append(Section(f"Candidate {name}{times}", candidate.text, "solutions"))
    messages = compose((prompt, task.node.prompt, answer_form(fields)), sections, task.memory)
    return Question(step, messages, lambda text: _choice(text, fields, letters), answer_schema("vote", fields))


def chosen(task: Task, candidate: BallotCandidate) -> Outputs:
    """The node's outputs: the candidate as it was given, as far as the declared type leaves it so."""
    port = default_port(task.node)
    try:
        return {port: coerce(candidate.value, output_shape(task.node, port))}
    except AnswerFailure as problem:
        wanted = task.node.outputs[port]
        raise NodeFailure.of(task.node.id, f"the chosen solution is not of type {wanted}: {problem}") from None


def _choice(text: str, fields: Sequence[Field], letters: Mapping[str, int]) -> int:
    try:
        choice = str(read_fields(text, fields)["choice"])
    except AnswerFailure:
        last = text.strip().rpartition("\n")[2].strip()
        bare = _BARE_CHOICE.fullmatch(last) if len(last) <= _LONGEST_CHOICE else None
        if bare is None or bare[1].upper() not in letters:
            names = ", ".join(letters)
            raise AnswerFailure(
                "The vote names no candidate.", advice=f"Your `choice` must be one of these letters: {names}."
            ) from None
        choice = bare[1].upper()
    return letters[choice]
