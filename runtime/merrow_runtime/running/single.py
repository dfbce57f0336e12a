"""What a node that is run on its own is given: inputs that are set or taken from an earlier run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.suggest import closest
from merrow_runtime.errors import UsageFailure
from merrow_runtime.frontier import Inputs
from merrow_runtime.operators.base import Given, Remembered
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import Step
from merrow_runtime.program.inputs import typed_value
from merrow_runtime.store.contract import NodeRecord
from merrow_runtime.values import Value, output_at
from merrow_runtime.visit import Visit, read_segment


def node_named(graph: TypedGraph, name: str) -> TypedNode:
    """The node of this id, in any case of letters. Raises `UsageFailure`."""
    exact = graph.by_id.get(name)
    if exact is not None:
        return exact
    same = [node for node in graph.nodes if node.id.casefold() == name.casefold()]
    if len(same) == 1:
        return same[0]
    near = closest(name, graph.by_id)
    raise UsageFailure(f"The workflow has no node {name}." + (f" Did you mean {near}?" if near else ""))


def visit_named(graph: TypedGraph, name: str) -> Visit:
    """The visit of this name: a node's id, or with the turns and items that it is in, as ``REFINE[2]/WRITE``. Of a node inside
    composites that is named alone the path is empty. Raises `UsageFailure`.
    """
    path, _, last = name.rpartition("/")
    if name in graph.by_id or not path:
        return Visit(node_named(graph, name).id)
    try:
        named, _, *numbers = read_segment(last)
        node = node_named(graph, named)
        boxes = [read_segment(part) for part in path.split("/")]
    except ValueError:
        raise UsageFailure(f"{name} names no node; write its id, or as REFINE[2]/WRITE with turns and items.") from None
    around = graph.composites.around(node.id)[::-1]
    if tuple(box for box, *_ in boxes) != around or any(number is None for *_, number in boxes) or any(numbers):
        inside = "/".join(f"{box}[1]" for box in around)
        advice = f"write {inside}/{node.id}, with the numbers of turns and items" if around else f"write {node.id}"
        raise UsageFailure(f"{name} names no visit of {node.id}; {advice}.", node=node.id)
    return Visit(node.id, path)


@dataclass(frozen=True, slots=True)
class Rerun:
    """Which visits are made again with ``--from``: those of ``handles`` (the node, and what follows from it), in the frames that
    come from ``start`` on.
    """

    handles: frozenset[int] = frozenset()
    start: Visit | None = None

    def covers(self, handle: int, visit: Visit) -> bool:
        """Whether a visit, of the node with this handle, is among them."""
        if handle not in self.handles:
            return False
        if self.start is None or not self.start.path or not visit.path:
            return True
        for first, then in zip(self.start.path.split("/"), visit.path.split("/"), strict=False):
            (box, _, _, begin), (other, _, _, number) = read_segment(first), read_segment(then)
            if box != other or begin is None or number is None or number > begin:
                return True
            if number < begin:
                return False
        return True


@dataclass(frozen=True, slots=True)
class Alone:
    """A node with what it is given, and the frame of the visit that it is: that is how a recording knows it."""

    node: TypedNode
    inputs: Inputs
    memory: list[Remembered]
    path: str = ""
    ordinal: str = ""


def single_inputs(
    graph: TypedGraph, steps: Mapping[int, Step], options: RunOptions, earlier: Mapping[str, NodeRecord]
) -> Alone:
    """What the one node is given: values that are set, and for its other ports what they had in the earlier run.

    Raises `UsageFailure` where a port that must have a value has none.
    """
    visit = visit_named(graph, options.only or "")
    node = graph.by_id[visit.node]
    if node.index not in steps:
        raise UsageFailure(
            f"Node {node.id} has no operator that asks or computes anything; name one that has.", node=node.id
        )
    before = earlier.get(visit.name)
    path = visit.path if before is None else before.path
    titles = {step.definition.id: step.definition.title for step in steps.values()}
    inputs: Inputs = {}
    for port, references in (before.inputs or {}).items() if before is not None else ():
        inputs[port] = [
            # The values are in the record: the nodes that gave them are not in this run.
            Given(
                reference["node"],
                reference["output"],
                reference["type"],
                _value(reference, path, earlier),
                _title(reference, path, earlier) or titles.get(reference["node"], reference["node"]) or port,
                None,
            )
            for reference in references
        ]
    memory = [_remembered(node, entry) for entry in before.memory] if before is not None else []
    inputs.update(_set(graph, node, options.set_values))
    for port in node.placement.required:
        if port not in inputs:
            more = "" if options.from_run is not None else ", or name an earlier run with --run"
            raise UsageFailure(
                f"Port {port} of node {node.id} has no value; set it with: --set {node.id}.{port}=...{more}"
            )
    return Alone(node, inputs, memory, path, _ordinal(graph, path))


def _ordinal(graph: TypedGraph, path: str) -> str:
    """What tells a frame from others in which the same is done, as it does in a run of the whole; of items that are equal, the
    first one's.
    """
    ordinal = ""
    for part in path.split("/") if path else ():
        box, _, _, number = read_segment(part)
        ordinal += f"{number if graph.composites.boxes[box].kind == 'loop' else 0}."
    return ordinal


def _set(graph: TypedGraph, node: TypedNode, values: Mapping[str, Value]) -> Inputs:
    ports = {port.name: port for port in node.input_ports}
    inputs: Inputs = {}
    for name, value in values.items():
        owner, _, port = name.rpartition(".")
        if owner.casefold() != node.id.casefold():
            raise UsageFailure(f"{name} is not a port of the node that is run; write {node.id}.PORT.")
        spec = ports.get(port)
        if spec is None:
            known = ", ".join(ports)
            raise UsageFailure(f"Node {node.id} has no port {port}; it has {known}.", node=node.id)
        what = f"The value of {node.id}.{port}"
        values_of = value if spec.many and isinstance(value, list) else [value]
        inputs[port] = [
            Given(
                "", None, spec.item, typed_value(given, spec.item if spec.many else spec.type, graph.types, what), port
            )
            for given in values_of
        ]
    return inputs


def _remembered(node: TypedNode, entry: Mapping[str, Any]) -> Remembered:
    if entry["text"] is None:
        raise UsageFailure(
            f"What node {node.id} remembers of {entry['node']} is missing in the journal of the earlier run; run all of the"
            " workflow again.",
            node=node.id,
        )
    return Remembered(**entry)


def _giver(reference: Mapping[str, Value], path: str, earlier: Mapping[str, NodeRecord]) -> NodeRecord | None:
    """The visit that gave something to a node in the frame with this path."""
    return earlier.get(Visit(str(reference["node"]), str(reference.get("path", path))).name)


def _value(reference: Mapping[str, Value], path: str, earlier: Mapping[str, NodeRecord]) -> Value:
    if "value" in reference:
        return reference["value"]
    giver = _giver(reference, path, earlier)
    outputs = None if giver is None else giver.outputs
    try:
        return output_at(outputs or {}, str(reference["output"]))
    except LookupError:
        raise UsageFailure(
            f"The earlier run has no value of {reference['node']} any more; set it with --set."
        ) from None


def _title(reference: Mapping[str, Value], path: str, earlier: Mapping[str, NodeRecord]) -> str | None:
    """What the giver was called in the earlier run; None if it isn't there, as in a run of one node."""
    # Of a list that items gave no visit is the giver, and all of the node's have the same title.
    giver = _giver(reference, path, earlier) or earlier.get(str(reference["node"]))
    definition = None if giver is None else giver.definition
    return str(definition["title"]) if definition else None
