"""Outputs that a person sets: nodes give them in place of what they would be answered, in that run and those made from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping

from merrow_analysis.definitions.types import ANY
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.graph.resolve import called_path
from merrow_analysis.people.forms import NOTE
from merrow_analysis.suggest import closest
from merrow_runtime.errors import UsageFailure
from merrow_runtime.operators.ask_decision import case_words
from merrow_runtime.operators.formats.shapes import is_of, shape_of
from merrow_runtime.program.definitions import meanings_of
from merrow_runtime.program.inputs import typed_value
from merrow_runtime.running.single import visit_named
from merrow_runtime.values import Outputs, Value, canonical
from merrow_runtime.visit import Visit, read_segment
from merrow_runtime.workflow import Workflow


class SetOutputs:
    """What a person set, by visit. A node of a Loop or a Map that is named without a turn or an item has it in all of them, and
    a node of a called file is named behind the Call, ``SOLVE/VOTE``.
    """

    def __init__(self, workflow: Workflow, values: Mapping[str, Value]) -> None:
        """``values`` are by ``NODE`` or ``NODE.PORT``, of which the later ones count where several name an output. ``NODE``
        alone takes a mapping of outputs to values, or a value of the node's default output; of a Decision, the case to take.
        Raises `UsageFailure`.
        """
        self._said = dict(values)
        self._outputs: dict[Visit, Outputs] = {}
        self._cases: dict[Visit, int] = {}
        self._inside: dict[Visit, dict[str, Value]] = {}
        graph = workflow.graph
        self._called = {
            node.id: workflow.called[path]
            for node in graph.nodes
            if values and (path := called_path(node.resolution)) in workflow.called
        }
        for name, value in values.items():
            behind = _behind_call(workflow, name)
            if behind is not None:
                call, called, rest = behind
                SetOutputs(called, {rest: value})
                self._inside.setdefault(call, {})[rest] = value
                continue
            visit, port = _named(graph, name)
            node = graph.by_id[visit.node]
            if node.kind == "decision":
                self._cases[visit] = _case(node, name, port, value)
            else:
                known = self._outputs.setdefault(visit, {})
                known.update(_values(graph, node, port, value))
                if node.spec is not None and node.spec.is_human and port != NOTE:
                    known.setdefault(NOTE, "")  # as where a person leaves none

    def __bool__(self) -> bool:
        return bool(self._outputs or self._cases or self._inside)

    def on(self, workflow: Workflow) -> SetOutputs:
        """The same on a revised workflow, as far as it still fits."""
        return SetOutputs(workflow, inherited(workflow, self._said, (), None)[0])

    def inside(self, visit: Visit) -> SetOutputs | None:
        """What is set of the nodes of the file that a Call runs; None where nothing is."""
        inside = {**self._inside.get(Visit(visit.node), {}), **self._inside.get(visit.lasting, {})}
        return SetOutputs(self._called[visit.node], inside) if inside else None

    def key(self, visit: Visit, key: str) -> str:
        """The key of a Call: with what is set inside it another one, since its result is another."""
        inside = {**self._inside.get(Visit(visit.node), {}), **self._inside.get(visit.lasting, {})}
        return (
            hashlib.sha256(f"{key} {canonical(inside)}".encode("utf-8", "surrogatepass")).hexdigest() if inside else key
        )

    def of(self, visit: Visit) -> Outputs:
        """The outputs that are set of a visit, by port; empty where none is."""
        return {**self._outputs.get(Visit(visit.node), {}), **self._outputs.get(visit.lasting, {})}

    def case(self, visit: Visit) -> int | None:
        """The number of the case that a Decision is to take."""
        return self._cases.get(visit.lasting, self._cases.get(Visit(visit.node)))


def inherited(
    workflow: Workflow, before: Mapping[str, Value], names: Iterable[str], from_node: str | None
) -> tuple[dict[str, Value], list[str]]:
    """What a person set in an earlier run and still holds in one that is made from it, and a sentence about each value that does
    not fit the workflow any more. ``names`` are the nodes that are set now; what was set of them counts beside that. The node
    that is to run again (``from_node``) has nothing left.
    """
    again = None if from_node is None else visit_named(workflow.graph, from_node).node
    now = {_address(workflow, name) for name in names}
    kept: dict[str, Value] = {}
    problems: list[str] = []
    for name, value in before.items():
        try:
            visits, port = _address(workflow, name)
            SetOutputs(workflow, {name: value})
        except UsageFailure as problem:
            problems.append(f"What was set for {name} in the earlier run is left out. {problem}")
            continue
        if visits[0].node != again and (visits, port) not in now:
            kept[name] = value
    return kept, problems


def _address(workflow: Workflow, name: str) -> tuple[tuple[Visit, ...], str | None]:
    """The Calls that a name leads through, then the visit in the innermost file, and the port."""
    behind = _behind_call(workflow, name)
    if behind is None:
        visit, port = _named(workflow.graph, name)
        return (visit,), port
    call, called, rest = behind
    visits, port = _address(called, rest)
    return (call, *visits), port


def _behind_call(workflow: Workflow, name: str) -> tuple[Visit, Workflow, str] | None:
    """The Call that a name such as ``SOLVE/VOTE.response`` begins with, the file that it runs, and the rest of the name."""
    graph, parts = workflow.graph, name.split("/")
    if name in graph.by_id:
        return None
    for number in range(1, len(parts)):
        try:
            node, _, _, index = read_segment(parts[number - 1])
        except ValueError:
            return None
        called = graph.by_id.get(node) or next(
            (other for other in graph.nodes if other.id.casefold() == node.casefold()), None
        )
        path = None if called is None or index is not None else called_path(called.resolution)
        if path in workflow.called:
            return visit_named(graph, "/".join(parts[:number])), workflow.called[path], "/".join(parts[number:])
    return None


def _named(graph: TypedGraph, name: str) -> tuple[Visit, str | None]:
    """The visit and the port of ``NODE`` or ``NODE.PORT``; an id may hold dots itself."""
    owner, dot, port = name.rpartition(".")
    if name in graph.by_id or not dot or "/" in port:
        return visit_named(graph, name), None
    return visit_named(graph, owner), port


def _case(node: TypedNode, name: str, port: str | None, value: Value) -> int:
    assert node.cases is not None  # noqa: S101 (a Decision has cases)
    if port is not None:
        raise UsageFailure(f"{name} can't be set: Decision {node.id} has cases; write {node.id}=CASE.", node=node.id)
    text = value if isinstance(value, str) else json.dumps(value)
    words = [case_words(node), node.cases.labels, node.cases.keys]
    for known in words:
        folded = [str(word).casefold() for word in known]
        if text.strip().casefold() in folded:
            return folded.index(text.strip().casefold())
    cases = ", ".join(f"`{label}`" for label in node.cases.labels)
    raise UsageFailure(f"Decision {node.id} has no case `{text}`; its cases are {cases}.", node=node.id)


def _values(graph: TypedGraph, node: TypedNode, port: str | None, value: Value) -> Outputs:
    types = dict(node.own_outputs)
    if node.kind == "input":
        raise UsageFailure(f"{node.id} is an input; set its value with: --input {node.id.lower()}=...", node=node.id)
    if not types or node.kind == "output":
        raise UsageFailure(f"{node.id} has no output of its own; set one of the node before it.", node=node.id)
    if port is not None and port not in types:
        near = closest(port, types)
        hint = f"Did you mean {near}?" if near else f"Its outputs are: {', '.join(types)}."
        raise UsageFailure(f"Node {node.id} has no output {port}. {hint}", node=node.id)
    given = {port: value} if port is not None else _by_output(graph, node, value)
    return {
        name: typed_value(each, types[name] or ANY, graph.types, f"The output {node.id}.{name}")
        for name, each in given.items()
    }


def _by_output(graph: TypedGraph, node: TypedNode, value: Value) -> dict[str, Value]:
    """What a value for a whole node means: several outputs by name, else its default output."""
    types = dict(node.own_outputs)
    first = next(iter(types))
    read: object = value
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            read = value
    type_ = types[first]
    whole = type_ is not None and is_of(read, shape_of(type_, *meanings_of([type_], graph.types)))  # type: ignore[arg-type]
    if isinstance(read, dict) and read and read.keys() <= types.keys() and (isinstance(value, str) or not whole):
        return read
    return {first: value}
