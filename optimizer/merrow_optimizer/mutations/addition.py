"""Node addition: a new node on an edge, its side inputs fed from upstream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from merrow_analysis.definitions.operators import OperatorSpec
from merrow_analysis.definitions.types import PROBLEM
from merrow_analysis.edits.change import WantedEdge, as_it_is
from merrow_analysis.graph.measures.siblings import is_voice
from merrow_analysis.graph.nodes import TypedEdge
from merrow_analysis.wiring.wires import has_variable, joined
from merrow_optimizer.mutations.change import Grid, Joined, Mutation, Proposal
from merrow_optimizer.mutations.operator_names import ADDITION
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.roles import described, node_id, role_after
from merrow_optimizer.mutations.wiring import (
    case_label,
    feeders,
    fits,
    names_bulk,
    new_link,
    port_label,
    relabelled,
    source_of,
)


def proposals(original: Original) -> Sequence[Proposal]:
    """An insertion for each operator that has a way through, on each edge that brings a value and in each branch that begins
    with a case alone.
    """
    specs = [spec for spec in original.typed.operators.specs.values() if _can_stand_between(spec)]
    edges = [
        edge
        for edge in original.typed.edges
        if edge.port is not None and edge.target.kind != "unknown" and edge.source.kind != "unknown"
    ]
    branches = [edge for edge in original.typed.edges if edge.order_only and work_before(edge) is not None]
    return Joined(Grid(insert, original, edges, specs), Grid(insert_in_branch, original, branches, specs))


def _can_stand_between(spec: OperatorSpec) -> bool:
    return spec.asks_model and not spec.is_ensemble and bool(spec.inputs) and bool(spec.outputs)


def insert(original: Original, edge: TypedEdge, spec: OperatorSpec) -> Mutation:
    """A new node with an operator on an edge: the edge's value goes in by the through port, the default output out."""
    through = spec.inputs[0]
    given = source_of(edge)
    is_task = given.type is not None and original.typed.types.fits(given.type, PROBLEM)
    role = role_after(spec, given.type, is_task)
    new = described(spec, node_id(spec, role, original), edge.source.id, role, original)
    links: list[WantedEdge] = []
    from_decision = edge.source.kind == "decision"
    if from_decision:
        links.append(WantedEdge(edge.source.id, new.id, case_label(edge, spec, through.name), kept=True))
    else:
        label = port_label(spec, through.name, given.type, named=names_bulk(original), original=original)
        links.append(WantedEdge(edge.source.id, new.id, joined(given.output, label)))
    links += _sides(original, edge, spec, new.id)
    links.append(WantedEdge(new.id, edge.target.id, relabelled(edge, None, original), kept=not from_decision))
    return Mutation(
        original,
        ADDITION,
        f"Insert {spec.name} on {edge.source.id} -> {edge.target.id}",
        edge.flow.range,
        added=(new,),
        edges={edge.flow.index: tuple(links)},
        content=(edge.source.id, edge.output, edge.target.id, edge.port, new.id, new.role, new.prompt),
        doubts=tuple(_doubts(original, edge, spec)),
    )


def work_before(edge: TypedEdge) -> TypedEdge | None:
    """What the first node of a branch works on, where it takes more of that: the first edge into its through port."""
    spec = edge.target.spec
    through = None if spec is None or spec.is_decision or spec.is_ensemble else spec.through
    if through is None or not through.many:
        return None
    return next(
        (
            incoming
            for incoming in edge.target.incoming
            if incoming.port == through.name and incoming.source.kind != "decision"
        ),
        None,
    )


def insert_in_branch(original: Original, edge: TypedEdge, spec: OperatorSpec) -> Mutation:
    """A new node at the beginning of a branch that a case alone leads to: it works on what the first node there works on,
    which reads it as well; both run in this case only.
    """
    before = work_before(edge)
    if before is None:
        raise ValueError(f"{edge.target.id} takes nothing more")
    target, given = edge.target, source_of(before)
    is_task = given.type is not None and original.typed.types.fits(given.type, PROBLEM)
    role = role_after(spec, given.type, is_task)
    new = described(spec, node_id(spec, role, original), edge.source.id, role, original)
    links = [
        as_it_is(edge.flow),
        WantedEdge(edge.source.id, new.id, case_label(edge, spec, None)),
        new_link(given, new.id, spec, spec.inputs[0].name, original),
        *_sides(original, before, spec, new.id),
        WantedEdge(new.id, target.id, _bulk_label(original, before)),
    ]
    return Mutation(
        original,
        ADDITION,
        f"Insert {spec.name} before {target.id} in case {edge.case_label} of {edge.source.id}",
        edge.flow.range,
        added=(new,),
        edges={edge.flow.index: tuple(links)},
        content=("branch", edge.source.id, edge.case_label, target.id, new.id, new.role, new.prompt),
        doubts=tuple(_doubts(original, before, spec)),
    )


def _bulk_label(original: Original, before: TypedEdge) -> str | None:
    return port_label(before.target.spec, before.port or "", None, named=not before.inferred, original=original)


def _sides(original: Original, edge: TypedEdge, spec: OperatorSpec, new: str) -> Iterator[WantedEdge]:
    """Edges into the ports that a new node needs besides its through port, from upstream of the edge's source."""
    for port in spec.inputs[1:]:
        source = next(feeders(original, edge.source, port), None) if port.required else None
        if source is not None:
            yield new_link(source, new, spec, port.name, original)


def _doubts(original: Original, edge: TypedEdge, spec: OperatorSpec) -> Iterator[tuple[str, str]]:
    """What is wrong at first sight: the value doesn't go in, or what comes out isn't wanted."""
    through, output = spec.inputs[0], spec.outputs[0]
    if not fits(original, edge.type, through):
        yield "sides", f"`{through.name}` of {spec.name} takes {through.item}; {edge.source.id} gives {edge.type}."
    port = next((port for port in edge.target.input_ports if port.name == edge.port), None)
    if (
        port is not None
        and not edge.target.placement.findings
        and not has_variable(output.type)
        and not fits(original, output.type, port)
    ):
        yield "types", f"`{port.name}` of {edge.target.id} takes {port.item}; {spec.name} gives {output.type}."
    if edge.source.kind == "input" and is_voice(edge):
        yield "bridge", f"Nothing could take it out again: {edge.source.id} is an input and must not become a voice."
    if through.name == "solution" and edge.source.kind == "input":
        yield "kinds", f"`solution` is for work to look at; {edge.source.id} is an input."
