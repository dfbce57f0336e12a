"""What new nodes are told: roles, with the texts of their prompts, and ids."""

from __future__ import annotations

from textwrap import fill
from typing import NamedTuple

from merrow_analysis.definitions.operators import OperatorSpec
from merrow_analysis.definitions.types import CODE, FEEDBACK, PROBLEM, Type
from merrow_analysis.edits.change import NewNode
from merrow_optimizer.mutations.original import Original

_WIDTH = 100
"""Columns of a prompt's lines in the front matter."""


class Role(NamedTuple):
    """A role, the id of a node that plays it, and its prompt."""

    name: str
    id: str
    prompt: str


ANALYSE = Role(
    "task_analyst",
    "ANALYSE",
    "Read the task. Say in a few short points what is given, what is asked for, and what is easy to overlook. "
    "Then repeat the task word for word. Do not solve it.",
)
IMPROVE = Role(
    "careful_improver",
    "IMPROVE",
    "Check the work you are given step by step. Correct every mistake you find, keep what is right, and answer with "
    "the whole corrected work in the same form, without comments on the changes.",
)
ADVISE = Role(
    "plain_adviser",
    "ADVISE",
    "Turn the findings you are given into a short list of things to change, the most important first. Say for each "
    "where it is and what to do instead.",
)
EXPLAIN = Role(
    "program_reader",
    "EXPLAIN",
    "Read the program you are given. Say what it computes and name every case in which it would be wrong, then answer "
    "with the whole program, corrected.",
)
SOLVE = Role(
    "step_by_step_solver",
    "SOLVE",
    "Solve the task step by step. Check each step before you go on, and end with the answer on a line of its own.",
)
MERGE = Role(
    "careful_merger",
    "MERGE",
    "You are given several pieces of work on the same task. Say where they agree and where they differ, decide each "
    "difference by checking it, and answer with one piece of work that keeps what is right in all of them.",
)
PROGRAM = Role(
    "plain_programmer",
    "WRITE_CODE",
    "Write the program that the task asks for in the plainest way that is right. Keep to the names that the task "
    "gives, handle empty and extreme input, and answer with the program alone.",
)
DIRECT_ANSWER = Role(
    "short_answerer",
    "ANSWER",
    "Reason step by step about what you are given, then give the answer alone: a number, a name or a short phrase.",
)


def role_after(spec: OperatorSpec, given: Type | None, types_fit_problem: bool) -> Role | None:
    """The role of a new node with an operator, by what it is given; None where the operator needs none."""
    if spec.name == "CustomCodeGenerate":
        return PROGRAM
    if spec.name == "AnswerGenerate":
        return DIRECT_ANSWER
    if spec.instruction_key is None or spec.prompt is not None:
        return None
    if given == PROBLEM or types_fit_problem:
        return ANALYSE
    if given == FEEDBACK:
        return ADVISE
    return EXPLAIN if given == CODE else IMPROVE


def described(spec: OperatorSpec, new_id: str, beside: str, role: Role | None, original: Original) -> NewNode:
    """A new node that plays a role. Its prompt goes where the file keeps its prompts: the front matter, where that
    has any, else the node's metadata.
    """
    if role is None:
        return NewNode(new_id, spec, beside)
    prompts = original.analysis.settings.prompts
    if not prompts:
        return NewNode(new_id, spec, beside, role.name, role.prompt)
    if prompts.get(role.name, "").split() == role.prompt.split():
        return NewNode(new_id, spec, beside, role.name)
    taken = original.analysis.prompts.prompts
    name, number = role.name, 1
    while name.casefold() in taken:
        number += 1
        name = f"{role.name}_{number}"
    return NewNode(new_id, spec, beside, name, fill(role.prompt, _WIDTH) + "\n", prompt_name=name)


def node_id(spec: OperatorSpec, role: Role | None, original: Original) -> str:
    """A free id in the case that the file's own ids have."""
    return original.free_name(original.cased(spec.name.upper() if role is None else role.id))
