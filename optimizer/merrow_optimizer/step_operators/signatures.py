"""What a Custom node takes and gives, and which of its edges feeds which port of an operator."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from merrow_analysis.definitions.operators import OperatorSpec
from merrow_analysis.definitions.prompts import Prompt
from merrow_analysis.definitions.templates import PromptTemplate
from merrow_analysis.definitions.types import TEXT, Type, innermost, is_variable
from merrow_analysis.graph.instructions import prompt_of, role_of
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_optimizer.extraction.kinds import port_of, unifies
from merrow_optimizer.extraction.kinds import signature as signature_of
from merrow_optimizer.mutations.original import Original

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class OwnStep:
    """A Custom node: the edges that bring it values with the kind of each, the kind that it gives, its prompt, and the name by
    which its prompt goes, where that has one.
    """

    node: TypedNode
    edges: tuple[TypedEdge, ...]
    taken: tuple[Type, ...]
    given: Type
    prompt: str
    role: str | None


def own_step(original: Original, node: TypedNode) -> OwnStep | None:
    """What can become an operator of its own; None for other nodes, for those whose prompt has variables or whose edges have the
    words of a Loop or a Map, and where a kind is not known.
    """
    spec = node.spec
    if spec is None or not spec.built_in or spec.name != "Custom" or node.id in original.closed:
        return None
    prompt, role = prompt_of(node, original.analysis.prompts), role_of(node)
    text = prompt.text if isinstance(prompt, Prompt) else prompt
    edges = [edge for edge in node.incoming if not edge.order_only]
    if text is None or isinstance(text, PromptTemplate) or not text.strip() or not edges:
        return None
    if node.again_in or node.again_out or any(edge.implied or edge.word is not None for edge in edges):
        return None
    taken = [edge.type for edge in edges]
    given = node.resolution.declared or TEXT
    known = [kind for kind in (*taken, given) if kind is not None and _can_be_port(kind)]
    if len(known) <= len(taken):
        return None
    return OwnStep(node, tuple(edges), tuple(known[:-1]), given, str(text), None if role is None else role[1])


def _can_be_port(kind: Type) -> bool:
    return _NAME.fullmatch(port_of(kind)) is not None and not is_variable(innermost(kind))


def fed(step: OwnStep, spec: OperatorSpec) -> dict[int, str] | None:
    """For each edge into a step, by its index, the port of an operator that takes it; None where the signatures don't unify: a
    port is left that must be fed, or an edge that has none.
    """
    wanted = signature_of((port.type for port in spec.inputs if port.required), _output(spec))
    optional = [port.type for port in spec.inputs if not port.required]
    needed = [kind for kind in step.taken if kind not in optional]
    if not unifies(needed, step.given, wanted):
        return None
    ports: dict[int, str] = {}
    for exactly in (True, False):  # Who has a port of just its kind comes before who takes what is left.
        for edge, kind in zip(step.edges, step.taken, strict=True):
            if edge.flow.index in ports or (not exactly and kind != TEXT):
                continue
            fits = [port for port in spec.inputs if not exactly or port.type == kind]
            free = [port for port in fits if port.many or port.name not in ports.values()]
            port = min(
                free, key=lambda candidate: (candidate.name in ports.values(), not candidate.required), default=None
            )
            if port is not None:
                ports[edge.flow.index] = port.name
    whole = len(ports) == len(step.edges) and all(port.name in ports.values() for port in spec.inputs if port.required)
    return ports if whole else None


def _output(spec: OperatorSpec) -> Type:
    return spec.outputs[0].type if spec.outputs else TEXT


def ports_of_kinds(steps: Sequence[OwnStep]) -> dict[Type, bool]:
    """The kinds that steps take, in sorted order, each with whether one of them takes several values of it."""
    return {
        kind: any(step.taken.count(kind) > 1 for step in steps)
        for kind in sorted({kind for step in steps for kind in step.taken})
    }
