"""Which operator a node has: by its ``op`` metadata, its class, and the first line of its label.

The answer is a pure function of what is written at the node, so that it can be remembered by value (`NodeText`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from merrow_analysis.definitions.metadata import parse_metadata
from merrow_analysis.definitions.operators import INTERFACE_CLASS, OperatorSpec, OperatorTable
from merrow_analysis.definitions.parameters import LabelParts, parse_label
from merrow_analysis.definitions.types import Type, TypeExpressionError, TypeTable

Role = Literal["input", "output", "through"]
"""What an Interface node is to the workflow; ``through`` for one with edges on both sides, which is none."""

NodeKind = Literal["input", "output", "operator", "decision", "unknown"]
Place = Literal["op", "class", "label"]


class NodeText(NamedTuple):
    """What is written at a node, as far as it says which operator it has."""

    role: Role | None
    label: str | None
    is_diamond: bool
    classes: tuple[str, ...]
    metadata: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """One place that names an operator: ``index`` counts the node's metadata blocks or classes; ``spec`` None if
    unknown.
    """

    place: Place
    word: str
    index: int
    spec: OperatorSpec | None
    variant: bool = False


@dataclass(frozen=True, slots=True)
class NodeProblem:
    """What is wrong with what a node says of itself; ``claims`` are the places, ``near`` the operator probably
    meant.
    """

    kind: Literal["disagreement", "unknown", "none", "variant", "wrong-class", "no-class", "bad-type"]
    claims: tuple[Claim, ...] = ()
    near: OperatorSpec | None = None
    key: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a node: ``text`` in a label is always a str. ``block`` counts metadata blocks; None for the
    label.
    """

    value: object
    block: int | None


@dataclass(frozen=True, eq=False)
class Resolution:
    """What a node is. ``spec`` is None for input, output and unknown nodes; unknown nodes are not checked further.

    ``declared`` is the type that ``returns:`` (or ``type:``, at an Interface node) says; ``samples`` that outputs
    are lists.
    ``literals`` are the ports that parameters feed; ``expression`` is a Decision's ``if:``.
    """

    kind: NodeKind
    spec: OperatorSpec | None = None
    claims: tuple[Claim, ...] = ()
    problems: tuple[NodeProblem, ...] = ()
    parameters: dict[str, Parameter] = field(default_factory=dict)
    declared: Type | None = None
    samples: bool = False
    literals: frozenset[str] = frozenset()
    expression: str | None = None
    label_parts: LabelParts | None = None


def resolve(text: NodeText, table: OperatorTable, types: TypeTable) -> Resolution:
    """Say what a node is, from what is written at it. Never raises."""
    claims, is_interface = _written_claims(text, table)
    metadata: dict[str, Parameter] = {}
    for index, body in enumerate(text.metadata):
        for key, value in parse_metadata(body).values.items():
            metadata[str(key)] = Parameter(value, index)
    if text.role is not None:
        return _interface(text, claims, is_interface, metadata, types)
    parts = parse_label(text.label) if text.label is not None else None
    spec, claims, problems = _choose(text, claims, parts, table)
    if spec is not None and spec.is_decision:
        parameters = metadata
    else:
        parameters = {key: Parameter(value.text, None) for key, value in parts.parameters.items()} if parts else {}
        parameters.update(metadata)
    return _with_parameters(spec, claims, problems, parameters, parts, types)


def _written_claims(text: NodeText, table: OperatorTable) -> tuple[list[Claim], bool]:
    """Claims by metadata and classes, in the order in which they count, and whether something says Interface."""
    claims: list[Claim] = []
    is_interface = False
    for index, body in reversed(list(enumerate(text.metadata))):
        value = parse_metadata(body).values.get("op")
        if not isinstance(value, str) or not value.strip():
            continue
        word = value.strip()
        if word.casefold() == INTERFACE_CLASS.casefold():
            is_interface = True
        else:
            found = table.by_op(word)
            claims.append(Claim("op", word, index, found.spec if found else None, found is not None and found.variant))
        break
    for index, word in enumerate(text.classes):
        if word.casefold() == INTERFACE_CLASS.casefold():
            is_interface = True
            continue
        found = table.by_class(word)
        if found is not None:
            claims.append(Claim("class", word, index, found.spec, found.variant))
        elif word.endswith("Op") and len(word) > 2:
            claims.append(Claim("class", word, index, None))
    return claims, is_interface


def _interface(
    text: NodeText, claims: list[Claim], is_interface: bool, metadata: dict[str, Parameter], types: TypeTable
) -> Resolution:
    problems: list[NodeProblem] = []
    if claims:
        problems.append(NodeProblem("wrong-class", tuple(claims)))
    elif text.role == "through":
        problems.append(NodeProblem("wrong-class"))
    elif not is_interface:
        problems.append(NodeProblem("no-class"))
    declared = _read_type("type", metadata, types, problems)
    kind: NodeKind = "unknown" if text.role == "through" or text.role is None else text.role
    return Resolution(kind, None, tuple(claims), tuple(problems), metadata, declared)


def _choose(
    text: NodeText, claims: list[Claim], parts: LabelParts | None, table: OperatorTable
) -> tuple[OperatorSpec | None, list[Claim], list[NodeProblem]]:
    word = parts.operator_word.strip() if parts is not None else ""
    known = [claim for claim in claims if claim.spec is not None]
    unknown = [claim for claim in claims if claim.spec is None]
    problems: list[NodeProblem] = []
    says_decision = any(claim.spec is not None and claim.spec.is_decision for claim in known)
    label = None if says_decision or not word else _label_claim(word, claims, table)
    said = [*known, label] if label is not None and label.spec is not None else known
    problems += [NodeProblem("variant", (claim,)) for claim in said if claim.variant]
    if unknown:
        meant = label.spec if label is not None else None
        for claim in unknown:
            problems.append(NodeProblem("unknown", (claim,), meant or table.nearest(claim.word)))
        return None, [*claims, *([label] if label else [])], problems
    if len({claim.spec.name for claim in said if claim.spec is not None}) > 1:
        problems.append(NodeProblem("disagreement", tuple(said)))
        return None, said, problems
    if said:
        return said[0].spec, said, problems
    if not word:
        problems.append(NodeProblem("none"))
        return None, [], problems
    claim = Claim("label", word, 0, None)
    decision = table.named("Decision") if text.is_diamond else None
    problems.append(NodeProblem("unknown", (claim,), table.nearest(word) or decision))
    return None, [claim], problems


def _label_claim(word: str, others: list[Claim], table: OperatorTable) -> Claim | None:
    """What the label's first line says: an operator, nearly one beside other claims, or a published variant alone."""
    spec = table.named(word)
    if spec is not None:
        return Claim("label", word, 0, spec)
    if not others:
        found = table.by_op(word)
        return Claim("label", word, 0, found.spec, variant=True) if found is not None else None
    near = table.nearest(word)
    if near is not None and len(word) >= _SHORTEST_NEARLY and _one_slip(word.casefold(), near.name.casefold()):
        return Claim("label", word, 0, near)
    return None


_SHORTEST_NEARLY = 6
"""Shorter words than this are taken for what they say: "Text" is no slip of "Test"."""


def _one_slip(first: str, second: str) -> bool:
    """Whether one letter too many, too few, wrong, or two swapped make the difference."""
    if abs(len(first) - len(second)) > 1 or first == second:
        return first == second
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    a, b = first[start:], second[start:]
    swapped = len(a) >= 2 and len(b) >= 2 and a[:2] == b[1::-1] and a[2:] == b[2:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or swapped


def _with_parameters(
    spec: OperatorSpec | None,
    claims: list[Claim],
    problems: list[NodeProblem],
    parameters: dict[str, Parameter],
    parts: LabelParts | None,
    types: TypeTable,
) -> Resolution:
    if spec is None:
        return Resolution("unknown", None, tuple(claims), tuple(problems), parameters, label_parts=parts)
    if spec.is_decision:
        condition = parameters.get("if")
        expression = str(condition.value) if condition is not None and condition.value is not None else None
        return Resolution(
            "decision", spec, tuple(claims), tuple(problems), parameters, expression=expression, label_parts=parts
        )
    declared = _read_type("returns", parameters, types, problems)
    samples = parameters.get("samples")
    return Resolution(
        "operator",
        spec,
        tuple(claims),
        tuple(problems),
        parameters,
        declared,
        samples is not None and samples.value is not None,
        frozenset(spec.literals & parameters.keys()),
        label_parts=parts,
    )


def _read_type(
    key: str, parameters: dict[str, Parameter], types: TypeTable, problems: list[NodeProblem]
) -> Type | None:
    parameter = parameters.get(key)
    if parameter is None or not isinstance(parameter.value, str):
        return None
    try:
        return types.parse(parameter.value)
    except TypeExpressionError as error:
        problems.append(NodeProblem("bad-type", key=key, message=str(error)))
        return None
