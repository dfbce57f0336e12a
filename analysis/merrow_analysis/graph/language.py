"""What one workflow's nodes are and how their edges are placed, remembered by value.

Both are pure functions of what is written there (`resolve`, `place`). So versions of a graph share the answers, and so may graphs
of several files whose front matter declares the same types and operators.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Protocol

from merrow_analysis.definitions.declared_operators import declare_operators
from merrow_analysis.definitions.declared_types import declare_types
from merrow_analysis.definitions.environments import EnvironmentSettings
from merrow_analysis.definitions.operators import BUILT_IN_TABLE, TABLE_WITHOUT_DOCUMENTS, OperatorTable
from merrow_analysis.definitions.stores import StoreSettings, knows_documents, with_documents
from merrow_analysis.definitions.types import TEXT, DefinitionProblem, Type, TypeTable
from merrow_analysis.definitions.validators import Validator
from merrow_analysis.graph.boxes.edge_words import word_in
from merrow_analysis.graph.outside import Outside
from merrow_analysis.graph.placing.placement import UNKNOWN, Facts, NodeSignature, NumberedSignature, Placement
from merrow_analysis.graph.placing.ports import place
from merrow_analysis.graph.resolve import NodeText, OperatorChoice, Resolution, Words, resolve
from merrow_analysis.shared_values import RecentValues, SharedValues
from merrow_analysis.tools.pinned_tools import with_types_of

_FACTS = "facts"
_FEW = 1_000
"""Choices of an operator: few nodes have words of their own."""


class GraphSettings(Protocol):
    """What a graph reads of a workflow's settings; `WorkflowSettings` is one."""

    declared: bool
    opted_out: bool
    types: dict[str, Any]
    operators: dict[str, Any]
    inputs: list[str] | None
    outputs: list[str] | None
    drawn: bool
    tools: tuple[str, ...]
    environments: dict[str, EnvironmentSettings]
    stores: dict[str, StoreSettings]
    validators: dict[str, Validator]


Given = tuple[tuple[str | None, NodeSignature], ...]
"""The label on each edge into a node, and what its source gives."""


class Language:
    """The types and operators that a front matter declares, with answers about nodes.

    Attributes:
        types: those built in, those declared, and those of the tools that the workflow may use.
        operators: likewise.
        problems: what is wrong with the declarations.
        outside: finds the files that nodes call; None where no file can be read.
    """

    def __init__(self, settings: GraphSettings, outside: Outside | None = None) -> None:
        self.outside = outside
        self._declared = _declared(settings)
        self.types: TypeTable
        self.operators: OperatorTable
        self.types, type_problems = declare_types(settings.types)
        if outside is not None and settings.tools:
            self.types = with_types_of(map(outside.tools.find, settings.tools), self.types)
        if settings.stores:
            self.types = with_documents(self.types)
        base = BUILT_IN_TABLE if knows_documents(self.types) else TABLE_WITHOUT_DOCUMENTS
        self.operators, operator_problems = declare_operators(settings.operators, self.types, base=base)
        self.problems: tuple[DefinitionProblem, ...] = (*type_problems, *operator_problems)
        self._resolutions: SharedValues[NodeText, Resolution] = SharedValues()
        self._choices: RecentValues[Words, OperatorChoice] = RecentValues(_FEW)
        self._facts: SharedValues[Facts, NumberedFacts] = SharedValues()
        self._signatures: SharedValues[NodeSignature, NumberedSignature] = SharedValues()
        self._placements: SharedValues[tuple[object, ...], Placement] = SharedValues()
        # Numbers are never given twice, not even where answers were forgotten: graphs that are still there have them.
        self._numbers = count(1)
        self._unknown = self._numbered(UNKNOWN)
        self.unknown = self._unknown.number
        self.placed = self._placements.get
        """What `place` answered for a key; None where it was not asked, or nobody has the answer any more."""

    def serves(self, settings: GraphSettings, outside: Outside | None = None) -> bool:
        """Whether it is the language of a workflow with these settings, which calls these files."""
        return self.outside is outside and self._declared == _declared(settings)

    def resolution(self, text: NodeText) -> tuple[Resolution, NumberedFacts]:
        """What a node is by what is written at it, and what placing its edges needs of that."""
        known = self._resolutions.get(text)
        if known is None:
            known = resolve(text, self.operators, self.types, self._choices, self.outside)
            known.answers[_FACTS] = self.facts(facts_of(known))
            self._resolutions.keep(text, known)
        return known, known.answers[_FACTS]

    def facts(self, facts: Facts) -> NumberedFacts:
        """Facts with their number."""
        known = self._facts.get(facts)
        return known or self._facts.keep(facts, NumberedFacts(next(self._numbers), facts))

    def place(self, facts: NumberedFacts, key: tuple[object, ...], given: Callable[[], Given]) -> Placement:
        """Where the edges of a node go.

        ``key`` has the number of its facts, then for each edge into it the label and the number of what its source gives;
        ``given`` is asked for the same in full where no such node was placed before.
        """
        known = self._placements.get(key)
        if known is None:
            made = place(facts.facts, given(), self.types)
            worded = any(word_in(edge.label.output or edge.label.port or "") for edge in made.edges)
            numbered = self._numbered(made.signature)
            known = replace(
                made, signature=numbered.signature, number=numbered.number, numbered=numbered, worded=worded
            )
            self._placements.keep(key, known)
        return known

    def _numbered(self, signature: NodeSignature) -> NumberedSignature:
        known = self._signatures.get(signature)
        return known or self._signatures.keep(signature, NumberedSignature(next(self._numbers), signature))


def _declared(settings: GraphSettings) -> tuple[object, ...]:
    return settings.types, settings.operators, settings.tools, bool(settings.stores)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class NumberedFacts:
    """Facts of a node; equal ones of one `Language` are the same object, and have a number that no other ones ever have."""

    number: int
    facts: Facts


def facts_of(resolution: Resolution, default_type: Type | None = None) -> Facts:
    """What placing its edges needs to know of a node; ``default_type`` is what an input gives that says none."""
    badly = any(problem.kind == "bad-type" for problem in resolution.problems)
    return Facts(
        resolution.kind,
        resolution.spec,
        resolution.declared,
        badly or (resolution.kind == "input" and default_type is None and resolution.declared is None),
        resolution.samples,
        resolution.literals,
        resolution.expression,
        default_type or TEXT,
        resolution.plain is not None,
        resolution.ask is not None,
        resolution.ways,
        resolution.by,
    )
