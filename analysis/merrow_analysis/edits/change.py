"""A change of a workflow's graph, in ids, operators, values and labels: what goes, what comes, what takes whose place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from merrow_analysis.definitions.operators import OperatorSpec
from merrow_analysis.definitions.settings import Memory
from merrow_analysis.graph.flow import FlowEdge
from merrow_analysis.graph.records import EdgeRecord


@dataclass(frozen=True, slots=True)
class NewNode:
    """A node to write. ``prompt`` is its text, ``role`` the name that its prompt goes by; ``parameters`` are further
    keys with their values. ``beside`` is the node that its lines are placed after.

    ``prompt_name``, set where the front matter keeps prompts, is the name under which the prompt is added there.
    """

    id: str
    spec: OperatorSpec
    beside: str
    role: str | None = None
    prompt: str | None = None
    parameters: tuple[tuple[str, object], ...] = ()
    prompt_name: str | None = None

    @property
    def role_named(self) -> str | None:
        """The name of the prompt that it asks for, casefolded, whichever way its values say it."""
        values = self.values()
        named = [values.get(key) for key in (self.spec.instruction_key or "role", "role")]
        return next((name.strip().casefold() for name in named if isinstance(name, str) and name.strip()), None)

    def values(self) -> dict[str, object]:
        """Its keys and values as metadata would say them, the operator first."""
        values: dict[str, object] = {"op": self.spec.name}
        if self.role is not None:
            key = self.spec.instruction_key or "role"
            values[key] = self.role
        if self.prompt is not None and self.prompt_name is None:
            values["prompt"] = self.prompt
        values.update(self.parameters)
        return values


class WantedEdge(NamedTuple):
    """An edge as a change wants it: ``label`` as the file writes it, None for none.

    ``kept`` says that it is the edge whose place it takes, with another end or label: its arrow stays.
    """

    source: str
    target: str
    label: str | None = None
    kept: bool = False


class Wrapping(NamedTuple):
    """A Loop or a Map to draw around a node and the new nodes that are written beside it: its title, and that node."""

    title: str
    around: str


@dataclass(frozen=True, eq=False, kw_only=True)
class GraphChange:
    """What becomes of a flowchart. ``edges`` maps the index of an edge to what takes its place, in order; an empty
    tuple drops it. Edges of removed nodes must be mapped, too. ``substituted`` has the new content of nodes that stay.
    ``turns`` are new numbers of turns of Loops, ``unwrapped`` the Loops that become mere groups; their edges with words must be
    mapped. ``memories`` are what nodes will remember. ``wrapped`` are new boxes by id.
    """

    added: tuple[NewNode, ...] = ()
    removed: frozenset[str] = frozenset()
    substituted: Mapping[str, NewNode] = field(default_factory=lambda: MappingProxyType({}))
    edges: Mapping[int, tuple[WantedEdge, ...]] = field(default_factory=lambda: MappingProxyType({}))
    turns: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    unwrapped: frozenset[str] = frozenset()
    memories: Mapping[str, Memory] = field(default_factory=lambda: MappingProxyType({}))
    wrapped: Mapping[str, Wrapping] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def written(self) -> tuple[NewNode, ...]:
        """The nodes that are described again: those that come, then those that are substituted."""
        return (*self.added, *self.substituted.values())

    @property
    def gained_prompts(self) -> tuple[tuple[str, str], ...]:
        """The prompts that the front matter gains, each by its name."""
        return tuple((new.prompt_name, new.prompt or "") for new in self.written if new.prompt_name is not None)


def label_of(edge: FlowEdge | EdgeRecord) -> str | None:
    """What an edge says, as it is written."""
    return None if edge.arrow.label is None else edge.arrow.label.text


def as_it_is(edge: FlowEdge) -> WantedEdge:
    """An edge that stays."""
    return WantedEdge(edge.source.id, edge.target.id, label_of(edge), kept=True)
