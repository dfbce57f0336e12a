"""Node substitution: another operator for a node, its edges led to the ports that stand for the old ones; or another role, or
another memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from merrow_analysis.definitions.operators import InputPort, OperatorSpec
from merrow_analysis.edits.change import NewNode, WantedEdge, as_it_is
from merrow_analysis.edits.yaml_write import word
from merrow_analysis.graph.instructions import role_of
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.graph.placing.notation import read_label
from merrow_analysis.wiring.wires import NodeOutput, has_variable, joined
from merrow_optimizer.mutations.change import Grid, Joined, Mutation, Proposal
from merrow_optimizer.mutations.memories import remembering
from merrow_optimizer.mutations.operator_names import SUBSTITUTION
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.roles import IMPROVE, MERGE, SOLVE, described, role_after
from merrow_optimizer.mutations.wiring import case_label, feeders, fits, names_bulk, new_link, port_label, source_of

_PLAIN = re.compile(r"[^\W\d][\w-]*")


def proposals(original: Original) -> Sequence[Proposal]:
    """Every other operator for each node that has one, every other role that the file has for it, and what else it may remember;
    operators that ask no model take nobody's place.
    """
    table = original.typed.operators.specs.values()
    specs = [spec for spec in table if spec.asks_model and spec.inputs and spec.outputs]
    nodes = [node for node in original.typed.nodes if node.kind == "operator" and node.id not in original.closed]
    number = {spec: index for index, spec in enumerate(specs)}
    known = [node for node in nodes if node.spec in number]
    # Nor does an operator without inputs or outputs; but another may take its.
    others = [node for node in nodes if node.spec not in number]
    return Joined(
        Grid(substitute, original, known, specs, [number[node.spec] for node in known if node.spec is not None]),
        Grid(substitute, original, others, specs),
        *_roles(original, nodes),
        remembering(original),
    )


def _roles(original: Original, nodes: Sequence[TypedNode]) -> Iterator[Sequence[Proposal]]:
    """For the nodes of each operator that name a role, every other one that they may have: no node has it, or one with the same
    operator. The prompts are those that the file has already, so that whoever writes several has them all tried.
    """
    book = original.analysis.prompts
    users: dict[str, set[str | None]] = {}
    named: dict[str | None, list[tuple[TypedNode, str]]] = {}
    for node in nodes:
        named_role = role_of(node)
        if named_role is None:
            continue
        role = named_role[1].casefold()
        users.setdefault(role, set()).add(node.operator)
        if role in book.prompts and "prompt" not in node.resolution.parameters:
            named.setdefault(node.operator, []).append((node, role))
    writable = [name for name, prompt in sorted(book.prompts.items()) if _is_plain(prompt.name)]
    for operator, having in named.items():
        roles = [name for name in writable if operator in users.get(name, {operator})]
        number = {name: index for index, name in enumerate(roles)}
        rows = [(node, role) for node, role in having if role in number]
        names = [book.prompts[name].name for name in roles]
        if rows:
            yield Grid(give_role, original, [node for node, _ in rows], names, own=[number[role] for _, role in rows])


def _is_plain(name: str) -> bool:
    """Whether a name can be written in a label and in metadata, with and without quotes."""
    return _PLAIN.fullmatch(name) is not None and word(name) == name


def give_role(original: Original, node: TypedNode, role: str) -> Mutation:
    """Give a node another of the file's prompts. A prompt of the front matter that only this node had goes."""
    assert node.spec is not None  # noqa: S101 (it names a role)
    return Mutation(
        original,
        SUBSTITUTION,
        f"Give {node.id} the role {role}",
        node.flow.range,
        substituted={node.id: NewNode(node.id, node.spec, node.id, role)},
        content=(node.id, "role", role),
    )


def substitute(
    original: Original, node: TypedNode, spec: OperatorSpec, ports: Mapping[int, str] | None = None
) -> Mutation:
    """Put another operator in a node's place. Side inputs that it has no port for are dropped, ports that it needs are
    fed from upstream. ``ports`` says which of its ports each edge feeds, by the edge's index, where that is known.
    """
    old = node.spec
    ports = _port_map(original, node, spec) if ports is None else ports
    edges: dict[int, tuple[WantedEdge, ...]] = {}
    fed: set[str] = set()
    last: TypedEdge | None = None
    for edge in node.incoming:
        port = ports.get(edge.flow.index)
        if edge.order_only:
            continue
        last = edge
        if port is None:
            edges[edge.flow.index] = ()
            continue
        fed.add(port)
        link = _into(original, edge, node.id, spec, port)
        if link is not None:
            edges[edge.flow.index] = (link,)
    new = _described(original, node, spec)
    missing = [
        port
        for port in spec.inputs
        if port.required and port.name not in fed and port.name not in spec.literals & dict(new.parameters).keys()
    ]
    side_sources = [(port.name, source) for port in missing for source in _side(original, node, port)]
    sides = [new_link(source, node.id, spec, name, original) for name, source in side_sources]
    if last is not None and sides:
        at = last.flow.index
        edges[at] = (*edges.get(at, (as_it_is(last.flow),)), *sides)
    for edge in node.outgoing:
        link = _out_of(original, edge, old, spec)
        if link is not None:
            edges[edge.flow.index] = (link,)
    return Mutation(
        original,
        SUBSTITUTION,
        f"Replace {node.operator} {node.id} by {spec.name}",
        node.flow.range,
        substituted={node.id: new},
        edges=edges,
        content=(node.id, spec.name),
        doubts=tuple(
            _doubts(original, node, spec, {port.name for port in missing} - {side for side, _ in side_sources})
        ),
    )


def _doubts(original: Original, node: TypedNode, spec: OperatorSpec, unfed: set[str]) -> Iterator[tuple[str, str]]:
    """What is wrong at first sight: a port that nothing can feed, an answer nobody can read."""
    for name in () if node.placement.findings else sorted(unfed):
        yield "ports", f"Nothing upstream of {node.id} can feed `{name}`, which {spec.name} needs."
    output = spec.outputs[0]
    if has_variable(output.type) or "returns" in node.resolution.parameters or node.resolution.samples:
        return
    for edge in node.outgoing:
        port = next((port for port in edge.target.input_ports if port.name == edge.port), None)
        if edge.placed.label.output is not None or port is None or edge.target.placement.findings:
            continue
        if not fits(original, output.type, port):
            yield "types", f"`{port.name}` of {edge.target.id} takes {port.item}; {spec.name} gives {output.type}."


def _side(original: Original, node: TypedNode, port: InputPort) -> list[NodeOutput]:
    """One source for a port that the new operator needs: not the node itself."""
    for source in feeders(original, node, port):
        if source.node is not node:
            return [source]
    return []


def _port_map(original: Original, node: TypedNode, spec: OperatorSpec) -> dict[int, str]:
    """For each edge into a node the port of the new operator that takes it: through for through, the same name for the
    same name, else one that is open and fits.
    """
    old_through = node.spec.through if node.spec is not None else None
    through = spec.inputs[0]
    mapped: dict[int, str] = {}
    taken: set[str] = set()
    rest: list[TypedEdge] = []
    for edge in node.incoming:
        if edge.port is None:
            continue
        name = None
        if old_through is not None and edge.port == old_through.name:
            name = through.name
        elif edge.port in spec.ports:
            name = edge.port
        if (
            name is None
            or (name in taken and not spec.ports[name].many)
            or not fits(original, edge.type, spec.ports[name])
        ):
            rest.append(edge)
            continue
        taken.add(name)
        mapped[edge.flow.index] = name
    for edge in rest:
        for port in spec.inputs:
            if port is through and (spec.is_ensemble or not port.many):
                continue
            if (port.many or port.name not in taken) and fits(original, edge.type, port):
                taken.add(port.name)
                mapped[edge.flow.index] = port.name
                break
    return mapped


def _into(original: Original, edge: TypedEdge, target: str, spec: OperatorSpec, port: str) -> WantedEdge | None:
    """The edge at its new port; None where it stays as it is written."""
    written = as_it_is(edge.flow)
    if edge.source.kind == "decision":
        label: str | None = case_label(edge, spec, port)
    else:
        source = source_of(edge)
        named = names_bulk(original)
        if edge.target.spec is not None and edge.target.spec.bulk == edge.port and spec.bulk == port:
            named = not edge.inferred
        label = joined(source.output, port_label(spec, port, edge.type, named=named, original=original))
    return None if label == written.label else WantedEdge(edge.source.id, target, label, kept=True)


def _out_of(original: Original, edge: TypedEdge, old: OperatorSpec | None, spec: OperatorSpec) -> WantedEdge | None:
    """An outgoing edge whose label names an output that the new operator has not; None where it stays."""
    written = as_it_is(edge.flow)
    label = read_label(written.label, from_decision=False) if edge.word is None else edge.placed.label
    if label.output is None or old is None or spec.output(label.output) is not None:
        return None
    port = next((port for port in edge.target.input_ports if port.name == edge.port), None)
    for number, output in enumerate(spec.outputs):
        if port is None or fits(original, output.type, port):
            new = joined(None if number == 0 else output.name, label.port)
            if edge.word is not None:
                new = edge.word if new is None else f"{edge.word}:{new}"
            return WantedEdge(edge.source.id, edge.target.id, new, kept=True)
    return None


def _described(original: Original, node: TypedNode, spec: OperatorSpec) -> NewNode:
    """The node with its own parameters as far as the new operator has them, and a role where it needs one."""
    old, parameters = (
        node.spec,
        {key: parameter.value for key, parameter in node.resolution.parameters.items() if key != "op"},
    )
    allowed = spec.allowed_parameters()
    instruction = parameters.get(old.instruction_key) if old is not None and old.instruction_key else None
    kept = {key: value for key, value in parameters.items() if key in allowed}
    key = spec.instruction_key
    if key is not None and key not in kept and "role" not in kept and isinstance(instruction, str):
        kept[key] = instruction
    if key is None or "prompt" in kept or key in kept or "role" in kept or spec.prompt is not None:
        return NewNode(node.id, spec, node.id, parameters=tuple(kept.items()))
    role = role_after(spec, None, types_fit_problem=False)
    if role is IMPROVE:
        sources = {edge.source.kind for edge in node.incoming if edge.port is not None}
        voices = len({edge.source.id for edge in node.incoming if edge.source.kind != "input"})
        role = MERGE if voices > 1 else SOLVE if "input" in sources else IMPROVE
    new = described(spec, node.id, node.id, role, original)
    return NewNode(node.id, spec, node.id, new.role, new.prompt, tuple(kept.items()), new.prompt_name)
