"""Kinds of values and signatures: what steps take and give, which signatures are equal, unify, or can be one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from merrow_analysis.definitions.types import (
    ANALYSIS,
    ANSWER,
    BOOL,
    CODE,
    ENTRY_POINT,
    FEEDBACK,
    JSON,
    NUMBER,
    PLAN,
    PROBLEM,
    TEXT,
    Type,
    innermost,
)

GIVEN = (ANALYSIS, ANSWER, BOOL, CODE, FEEDBACK, JSON, NUMBER, PLAN, PROBLEM, TEXT)
"""The kinds that a step may give; a list of one of them may be given, too."""
INPUTS = {"PROBLEM": PROBLEM, "ENTRY_POINT": ENTRY_POINT, "TESTS": "list[Text]"}
"""The inputs of cases, by the ids of their nodes, with their kinds."""


def port_of(kind: Type) -> str:
    """The port for values of a kind: its name in small letters."""
    inner = innermost(kind)
    name = "entry_point" if inner == ENTRY_POINT else inner.lower()
    return name + "_list" * kind.count("list[")


@dataclass(frozen=True, order=True, slots=True)
class Input:
    """A kind that is taken; optional where not every step of an operator has it."""

    kind: Type
    is_optional: bool = False

    def __str__(self) -> str:
        return self.kind + "?" * self.is_optional


@dataclass(frozen=True, order=True, slots=True)
class OperatorSignature:
    """What is taken, by kind in sorted order, each once, and what is given."""

    inputs: tuple[Input, ...]
    output: Type

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.inputs)) or 'nothing'} -> {self.output}"

    @property
    def is_weak(self) -> bool:
        """Whether some kind in it says nothing but that it is a text."""
        return self.output == TEXT or any(port.kind == TEXT for port in self.inputs)

    @property
    def kinds(self) -> frozenset[Type]:
        """The kinds that are taken."""
        return frozenset(port.kind for port in self.inputs)


def signature(taken: Iterable[Type], given: Type) -> OperatorSignature:
    """The signature of a step that takes values of these kinds, all of them needed."""
    return OperatorSignature(tuple(Input(kind) for kind in sorted(set(taken))), given)


def unifies(taken: Iterable[Type], given: Type, strong: OperatorSignature) -> bool:
    """Whether a step that takes and gives these kinds can have this signature: a Text stands for any kind."""
    if given not in (TEXT, strong.output):
        return False
    counted = Counter(taken)
    texts = counted.pop(TEXT, 0)
    missing = strong.kinds - counted.keys()
    return counted.keys() <= strong.kinds and len(missing) <= texts and (texts == 0 or bool(strong.inputs))


def merged(signatures: Iterable[OperatorSignature]) -> OperatorSignature | None:
    """The signature of one operator for all that has these: what only some take is optional. None where their results are of
    different kinds, so that the operator's would be wider than each.
    """
    listed = list(signatures)
    outputs = {each.output for each in listed}
    if len(outputs) > 1:
        outputs.discard(TEXT)  # A weak one gives what the others give.
    if len(outputs) != 1:
        return None
    counted = Counter(kind for each in listed for kind in each.kinds)
    optional = {port.kind for each in listed for port in each.inputs if port.is_optional}
    inputs = tuple(Input(kind, counted[kind] < len(listed) or kind in optional) for kind in sorted(counted))
    return OperatorSignature(inputs, outputs.pop())
