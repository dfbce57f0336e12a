"""What is said between the nodes of a typed graph: what a node gives, what an edge brings, and what is wrong with
that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from merrow_analysis.definitions.operators import OperatorSpec
from merrow_analysis.definitions.types import TEXT, Type
from merrow_analysis.graph.decisions import DecidedBy
from merrow_analysis.graph.placing.notation import EdgeLabel
from merrow_analysis.graph.resolve import NodeKind


class PassedValue(NamedTuple):
    """What an asking Decision passes on as one: a value as it arrived, or, where many arrived, ``several`` of one type; None: not
    known.
    """

    type: Type | None
    several: bool = False


MOST_PASSED_ALONE = 16
"""Values that an asking Decision passes on each by itself. Where diamonds follow one another each way to one brings a value, so
that their number doubles with every few of them."""


def passed_as_one(types: Sequence[Type | None], *, newest: bool = False) -> list[list[int]]:
    """The numbers of what arrives at an asking Decision, as it passes it on: each alone, or, where they are many, those of one
    type together; all together where it passes on the ``newest`` alone.
    """
    if newest:
        return [list(range(len(types)))] if types else []
    if len(types) <= MOST_PASSED_ALONE:
        return [[number] for number in range(len(types))]
    by_type: dict[Type | None, list[int]] = {}
    for number, type_ in enumerate(types):
        by_type.setdefault(type_, []).append(number)
    return list(by_type.values())


class NodeSignature(NamedTuple):
    """What a node gives: outputs with their types (None: not known), default first; or, for a Decision, its value.

    ``passes`` is what an asking Decision passes on; None for all other nodes.
    ``plain`` says that no operator is written at the node. The last ``fields`` of the outputs are the fields of a record that
    the first one is. ``kinds`` are those of the union that a Decision decides on and passes on: by casefolded name, what the
    case of that name carries. ``apart`` is what the node gives before an edge with ``each`` takes it apart; None on any other
    edge.
    """

    outputs: tuple[tuple[str, Type | None], ...] = ()
    decision: bool = False
    has_value: bool = False
    value: Type | None = None
    known: bool = True
    passes: tuple[PassedValue, ...] | None = None
    plain: bool = False
    fields: int = 0
    kinds: tuple[tuple[str, Type], ...] = ()
    apart: NodeSignature | None = None

    def kind_of(self, case: str | None) -> Type | None:
        """The kind that a case carries; None where it carries the value as it is."""
        key = (case or "").strip().casefold()
        return next((kind for name, kind in self.kinds if name == key), None)

    def carried(self, case: str | None) -> Type | None:
        """The type of what a case of a Decision carries."""
        return self.kind_of(case) or self.value


UNKNOWN = NodeSignature(known=False)
"""What isn't known of a node; nothing is reported against its edges."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class NumberedSignature:
    """A signature; equal ones of one `Language` are the same object, and have a number that no other one ever has."""

    number: int
    signature: NodeSignature


class Facts(NamedTuple):
    """What `place` needs to know of a node itself. ``wanted`` is the type of an output node's port.

    ``plain`` and ``asks`` are those of `Resolution`, ``ways`` the labels of the ways out of a plain diamond, ``by`` what a Select
    orders by. ``newest`` says that a Decision that asks passes on the newest value that arrived, not all;
    ``words`` that a label which names no port only tells people something.
    """

    kind: NodeKind
    spec: OperatorSpec | None = None
    declared: Type | None = None
    declared_badly: bool = False
    samples: bool = False
    literals: frozenset[str] = frozenset()
    expression: str | None = None
    default_type: Type = TEXT
    plain: bool = False
    asks: bool = False
    ways: tuple[str | None, ...] = ()
    by: str | None = None
    newest: bool = False
    words: bool = False


class PortFeed(NamedTuple):
    """One value on an edge: from an output (None for a Decision's value) into a port; the type is None if not known.

    ``output`` may be a field of a record, ``advice``, or one in an output or a field, ``place.city``.
    ``passed`` is its number in `NodeSignature.passes`, where an asking Decision passes it on.
    """

    output: str | None
    port: str
    type: Type | None
    passed: int | None = None


class PlacedEdge(NamedTuple):
    """What an edge brings: nothing at all (order only), one value, two into a Decision, or what an asking one passes on."""

    feeds: tuple[PortFeed, ...]
    inferred: bool
    label: EdgeLabel


FindingKind = Literal[
    "unknown-port",
    "unknown-output",
    "missing-label",
    "ambiguous",
    "mismatch",
    "port-variant",
    "no-value",
    "odd-result",
    "missing-input",
    "unknown-name",
    "bad-expression",
    "given-twice",
    "unused-input",
    "hidden-field",
    "no-order",
]


class PlacementFinding(NamedTuple):
    """Something to say about a node or its incoming edge number ``edge``; which of the rest is set depends on
    ``kind``.
    """

    kind: FindingKind
    edge: int | None
    port: str | None = None
    given: Type | None = None
    wanted: Type | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Placement:
    """The answer of `place`. ``crowded`` are ports for one value with several edges; whether that is wrong liveness
    says.

    ``required`` are the ports that must have a live source, ``fed`` those that an edge feeds. Equal signatures have equal
    ``number`` where one `Language` made them, which ``numbered`` keeps for as long as it is known. ``worded`` says that the label
    of an edge has a word of composites in the place of an output or a port, although it may be none.
    """

    edges: tuple[PlacedEdge, ...]
    signature: NodeSignature
    findings: tuple[PlacementFinding, ...]
    crowded: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    decided_by: DecidedBy = "unknown"
    when: Type | None = None
    fed: frozenset[str] = frozenset()
    number: int = 0
    numbered: NumberedSignature | None = None
    worded: bool = False


NOT_PLACED = Placement((), UNKNOWN, ())
