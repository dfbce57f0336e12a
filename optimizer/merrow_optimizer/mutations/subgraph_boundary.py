"""What a pattern and a workflow have in common at their boundary: holes filled, nodes named, edges labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from merrow_analysis.definitions.operators import OperatorSpec
from merrow_analysis.definitions.types import TEXT, Type, is_variable, item_of
from merrow_analysis.edits.change import NewNode, WantedEdge
from merrow_analysis.graph.instructions import role_of
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.wiring.wires import joined
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.patterns import Pattern, PatternEdge, PatternNode
from merrow_optimizer.mutations.roles import Role, described
from merrow_optimizer.mutations.wiring import names_bulk, port_label, relabelled


@dataclass(slots=True)
class Filled:
    """A pattern's holes and nodes in a workflow: ``ids`` by the pattern's names, ``specs`` and ``types`` as edges need
    them, ``outputs`` of what fills a hole where that is not a default output.
    """

    ids: dict[str, str] = field(default_factory=dict)
    specs: dict[str, OperatorSpec] = field(default_factory=dict)
    types: dict[str, Type | None] = field(default_factory=dict)
    outputs: dict[str, str | None] = field(default_factory=dict)


def sides(original: Original, pattern: Pattern) -> dict[str, TypedNode] | None:
    """The workflow's input for each of the pattern's side holes; None where it lacks one."""
    givers: dict[str, TypedNode] = {}
    for name, type_ in pattern.sides.items():
        giver = next((node for node in original.typed.inputs if next(iter(node.outputs.values()), None) == type_), None)
        if giver is None:
            return None
        givers[name] = giver
    return givers


def suits(original: Original, pattern: Pattern) -> bool:
    """Whether the workflow has the inputs that a pattern reads, and its operators with the same ports."""
    if sides(original, pattern) is None:
        return False
    for node in pattern.nodes:
        known = original.typed.operators.named(node.spec.name)
        if known is not node.spec and (
            known is None or known.inputs != node.spec.inputs or known.outputs != node.spec.outputs
        ):
            return False
    return True


def readers(node: TypedNode) -> list[TypedEdge]:
    """The edges that take a node's default output on, each into one port."""
    default = next(iter(node.outputs), None)
    return [edge for edge in node.outgoing if edge.output == default and len(edge.feeds) == 1]


def has_odd_readers(node: TypedNode) -> bool:
    """Whether some edge takes more than one value from a node at once, as into a Decision."""
    return any(len(edge.feeds) != 1 for edge in node.outgoing)


def fill(
    original: Original, pattern: Pattern, givers: Mapping[str, TypedNode], beside: str, core: TypedNode | None = None
) -> tuple[Filled, list[NewNode]]:
    """Name a pattern's nodes in a workflow and describe them; ``givers`` fill its side holes."""
    filled = Filled()
    for hole, giver in givers.items():
        filled.ids[hole] = giver.id
        filled.types[hole] = next(iter(giver.outputs.values()), None)
    if core is not None and pattern.core is not None and core.spec is not None:
        filled.ids[pattern.core] = core.id
        filled.specs[pattern.core] = core.spec
        filled.types[pattern.core] = next(iter(core.outputs.values()), None)
    new: list[NewNode] = []
    taken: list[str] = []
    for copy in pattern.copies:
        if core is not None and core.spec is not None:
            name = original.free_name(core.id, taken)
            taken.append(name)
            filled.ids[copy.id], filled.specs[copy.id] = name, core.spec
            filled.types[copy.id] = next(iter(core.outputs.values()), None)
            new.append(_copied(original, copy, core, name, beside))
    for node in pattern.nodes:
        name = original.free_name(original.cased(node.id), taken)
        taken.append(name)
        spec = original.typed.operators.named(node.spec.name) or node.spec
        filled.ids[node.id], filled.specs[node.id] = name, spec
        new.append(_described(original, node, spec, name, beside))
    return filled, new


def _described(original: Original, node: PatternNode, spec: OperatorSpec, name: str, beside: str) -> NewNode:
    role = None if node.role is None or node.prompt is None else Role(node.role, name, node.prompt.strip())
    made = described(spec, name, beside, role, original)
    parameters = tuple((key, value) for key, value in node.parameters.items())
    return NewNode(made.id, made.spec, made.beside, made.role, made.prompt, parameters, made.prompt_name)


def _copied(original: Original, copy: PatternNode, core: TypedNode, name: str, beside: str) -> NewNode:
    """A further sample of the core: what it says, but for what the copy says otherwise."""
    assert core.spec is not None  # noqa: S101 - for the type checker; the caller has looked
    own = dict(copy.parameters)
    values = {
        key: parameter.value
        for key, parameter in core.resolution.parameters.items()
        if key in core.spec.allowed_parameters() and key not in ("op", "label")
    }
    if copy.role is not None and copy.prompt is not None:
        values = {key: value for key, value in values.items() if key not in ("role", "instruction", "prompt")}
        made = described(core.spec, name, beside, Role(copy.role, name, copy.prompt.strip()), original)
    else:
        named_role = role_of(core)
        key = core.spec.instruction_key or "role"
        role = named_role[1] if named_role is not None and named_role[0] == key else None
        prompt = values.pop("prompt", None)
        if role is not None:
            values.pop(key, None)
        made = NewNode(name, core.spec, beside, role, str(prompt) if prompt is not None else None)
    values.update(own)
    return NewNode(made.id, made.spec, made.beside, made.role, made.prompt, tuple(values.items()), made.prompt_name)


def link(original: Original, filled: Filled, edge: PatternEdge, port: str | None = None) -> WantedEdge:
    """An edge of a pattern in the workflow; ``port`` where the target calls it otherwise."""
    spec = filled.specs[edge.target]
    given = filled.types.get(edge.source) if edge.source in filled.types else _given(filled, edge)
    label = port_label(spec, port or edge.port, given, named=names_bulk(original), original=original)
    output = edge.output if edge.output is not None else filled.outputs.get(edge.source)
    return WantedEdge(filled.ids[edge.source], filled.ids[edge.target], joined(output, label))


def _given(filled: Filled, edge: PatternEdge) -> Type:
    """What an own node gives, as far as its operator says it; never a Problem, which ensembles take for the task."""
    spec = filled.specs[edge.source]
    output = spec.default_output if edge.output is None else spec.output(edge.output)
    inner = TEXT if output is None else output.type
    while (item := item_of(inner)) is not None:
        inner = item
    return TEXT if output is None or is_variable(inner) else output.type


def read_on(original: Original, edge: TypedEdge, source: str, output: str | None) -> WantedEdge:
    """A reader's edge that starts at another node now, in the same place."""
    return WantedEdge(source, edge.target.id, relabelled(edge, output, original), kept=True)


def listed(names: Sequence[str]) -> str:
    """Names in a title: ``A``, ``A and B``, ``A, B and C``."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
