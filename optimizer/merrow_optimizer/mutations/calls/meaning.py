"""What a workflow does, apart from its text: to tell whether a part does the same in a file of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.prompts import Prompt
from merrow_analysis.graph.bare.conditions import ALWAYS
from merrow_analysis.graph.boxes.edge_words import Word
from merrow_analysis.graph.instructions import memory_of, prompt_of, role_of
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode

_NAME = re.compile(r"[^\W\d]\w*")
_OF_TEXT = frozenset({"op", "role", "instruction", "prompt"})


class Arrival(NamedTuple):
    """What one edge brings to a node: values as (output, port), from which node, in which case, under which word."""

    source: str
    case: str | None
    word: Word | None
    values: tuple[tuple[str | None, str], ...]


class NodeMeaning(NamedTuple):
    """What a node does: its operator, its parameters, what it is told, and the box that it is in."""

    operator: str | None
    parameters: tuple[tuple[str, str], ...]
    told: str | None
    box: str | None


class BoxMeaning(NamedTuple):
    """A Loop or a Map: what it is, in which other one, with which parameters."""

    kind: str
    parent: str | None
    parameters: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a workflow does, by the ids of its nodes and boxes. Edges are in the order in which they count, ``again`` last."""

    nodes: Mapping[str, NodeMeaning] = field(default_factory=dict)
    arrivals: Mapping[str, tuple[Arrival, ...]] = field(default_factory=dict)
    boxes: Mapping[str, BoxMeaning] = field(default_factory=dict)


def meaning(analysis: Analysis) -> Meaning:
    """What a workflow does. Raises `ValueError` for what is none."""
    graph = analysis.typed
    if graph is None:
        raise ValueError("only a workflow does something")
    first = {node.id: next(iter(node.outputs), None) for node in graph.nodes}
    return Meaning(
        {node.id: _work(node, graph, analysis) for node in graph.nodes},
        {node.id: tuple(_arrival(edge, first) for edge in (*node.incoming, *node.again_in)) for node in graph.nodes},
        {
            box.id: BoxMeaning(
                box.kind,
                box.parent,
                tuple(sorted((key, str(parameter.value)) for key, parameter in box.parameters.items())),
            )
            for box in graph.composites
        },
    )


def _work(node: TypedNode, graph: TypedGraph, analysis: Analysis) -> NodeMeaning:
    prompt = prompt_of(node, analysis.prompts)
    role = role_of(node)
    told = prompt.text if isinstance(prompt, Prompt) else prompt
    if told is None and role is not None:
        told = f"({role[1].casefold()})"
    values = {key: str(parameter.value) for key, parameter in node.resolution.parameters.items() if key not in _OF_TEXT}
    box = graph.composites.inside.get(node.id)
    return NodeMeaning(node.operator, tuple(sorted(values.items())), told, box)


def _arrival(edge: TypedEdge, first: Mapping[str, str | None]) -> Arrival:
    values = tuple(
        (None if feed.output == first[edge.record.source] else feed.output, feed.port) for feed in edge.feeds
    )
    return Arrival(edge.record.source, edge.case_label, edge.word, values)


def renamed(original: Meaning, names: Mapping[str, str]) -> Meaning:
    """The same with other ids, also where parameters of boxes name them."""

    def name(old: str) -> str:
        return names.get(old, old)

    def values(given: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        return tuple(
            (key, _NAME.sub(lambda word: name(word[0]), value) if key in ("until", "best") else value)
            for key, value in given
        )

    return Meaning(
        {
            name(key): work._replace(box=None if work.box is None else name(work.box))
            for key, work in original.nodes.items()
        },
        {
            name(key): tuple(arrival._replace(source=name(arrival.source)) for arrival in arrivals)
            for key, arrivals in original.arrivals.items()
        },
        {
            name(key): BoxMeaning(box.kind, None if box.parent is None else name(box.parent), values(box.parameters))
            for key, box in original.boxes.items()
        },
    )


def with_body(caller: Meaning, call: str, body: Meaning, inputs: list[str], outputs: list[str]) -> Meaning | None:
    """What a caller does with the body of a file in place of a Call of it; ``inputs`` and ``outputs`` are those of the file.

    None where an input would come from several places, or lead through the file as it is.
    """
    box = caller.nodes[call].box
    given: dict[str, Arrival] = {}
    for arrival in caller.arrivals[call]:
        if len(arrival.values) != 1 or arrival.values[0][1] in given or arrival.case is not None:
            return None
        given[arrival.values[0][1]] = arrival
    taken: dict[str, tuple[Arrival, ...]] = {}
    for output in outputs:
        taken[output] = body.arrivals[output]
        if any(len(onward.values) != 1 or onward.source in inputs for onward in taken[output]):
            return None

    def into(arrival: Arrival) -> list[Arrival] | None:
        """An edge of the body, from outside where it comes from an input."""
        if arrival.source not in inputs:
            return [arrival]
        outer = given.get(arrival.source)
        if outer is None or len(arrival.values) != 1 or arrival.values[0][0] is not None:
            return None
        if outer.word is not None and arrival.word is not None:
            return None
        values = ((outer.values[0][0], arrival.values[0][1]),)
        return [Arrival(outer.source, arrival.case, outer.word or arrival.word, values)]

    def out(arrival: Arrival) -> list[Arrival] | None:
        """An edge of the caller, from inside where it comes from the Call."""
        if arrival.source != call:
            return [arrival]
        inner = taken.get(arrival.values[0][0] or outputs[0], ()) if len(arrival.values) == 1 else ()
        if not inner or (arrival.word is not None and any(within.word is not None for within in inner)):
            return None
        port = arrival.values[0][1]
        return [
            Arrival(within.source, within.case, within.word or arrival.word, ((within.values[0][0], port),))
            for within in inner
        ]

    ends = {*inputs, *outputs}
    nodes = {key: work for key, work in caller.nodes.items() if key != call}
    nodes |= {
        key: work._replace(box=box if work.box is None else work.box)
        for key, work in body.nodes.items()
        if key not in ends
    }
    all_arrivals: dict[str, tuple[Arrival, ...]] = {}
    for key, arrivals, led in (
        *((key, caller.arrivals[key], out) for key in caller.nodes if key != call),
        *((key, body.arrivals[key], into) for key in body.nodes if key not in ends),
    ):
        made: list[Arrival] = []
        for arrival in arrivals:
            ends_now = led(arrival)
            if ends_now is None:
                return None
            made += ends_now
        all_arrivals[key] = tuple(made)
    boxes = {
        key: inner_box._replace(parent=box if inner_box.parent is None else inner_box.parent)
        for key, inner_box in body.boxes.items()
    }
    return replace(caller, nodes=nodes, arrivals=all_arrivals, boxes={**caller.boxes, **boxes})


def remembers_nothing(analysis: Analysis) -> bool:
    """Whether no node is told what ran before it: a Call begins with an empty memory, and is one step in that of others."""
    graph = analysis.typed
    return graph is not None and all(memory_of(node, analysis.settings).kind == "none" for node in graph.nodes)


def begin_together(graph: TypedGraph, part: frozenset[str], last: str) -> bool:
    """Whether the nodes of a part run exactly when all that they read from outside is there, as those of a Call would.

    Where nothing outside decides, Decisions in the part are its own affair: a file always gives what it promises. Else all its
    nodes must run, and ``last`` give something, in the same cases.
    """
    combinations = graph.combinations
    if combinations.undecided is not None:
        return False
    nodes = [graph.by_id[name] for name in part]
    sources = {edge.source.id: edge.source for node in nodes for edge in node.incoming if edge.source.id not in part}
    given = {combinations.runs(source) for source in sources.values()}
    when = combinations.runs(graph.by_id[last])
    if given == {ALWAYS}:
        return True
    return all(combinations.runs(node) == when for node in nodes) and when in given and given <= {when, ALWAYS}
