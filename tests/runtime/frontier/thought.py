"""Runs in thought: a world that says what comes of each node, and a frontier worked out from nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from merrow_analysis.graph.live_state import LiveState, live_state
from merrow_analysis.graph.liveness.waiting import feed_of
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.placing.placement import PortFeed
from merrow_runtime.errors import NodeFailure
from merrow_runtime.frontier import Chose, Consequence, Failed, Frontier, Gave, Inputs, Outcome, Skip, Start
from merrow_runtime.operators.base import Given, Remembered
from merrow_runtime.visit import Visit

Told = Gave | Chose | Failed
Key = tuple[object, ...]


def named(visit: Visit) -> str:
    """A visit by its name, with how often it began before under other graphs."""
    return f"{visit}!{visit.life}" if visit.life else str(visit)


def _number(*parts: object) -> int:
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:6], "big")


@dataclass(frozen=True)
class World:
    """What comes of a node, by its definition, its inputs and its memory alone. ``failing`` of a hundred nodes fail, ``ending``
    of a hundred of these end the run; of the others some have a default.
    """

    seed: int
    failing: int = 0
    ending: int = 0

    def key(self, node: TypedNode, inputs: Inputs, entries: Callable[[], list[Remembered]], path: str = "") -> Key:
        del path
        said = tuple((name, repr(parameter.value)) for name, parameter in sorted(node.resolution.parameters.items()))
        given = tuple(
            (port, *((one.node, one.output, one.type, one.value) for one in values)) for port, values in inputs.items()
        )
        cases = None if node.cases is None else node.cases.keys
        memory = tuple((one.node, one.text) for one in entries()) if _number(node.id) % 3 == 0 else ()
        return node.kind, node.operator, said, tuple(node.outputs.items()), cases, given, memory

    def outcome(self, node: TypedNode, visit: Visit, inputs: Inputs, key: Key) -> Told:
        number = _number(self.seed, node.id, key)
        fails = node.kind != "input" and number % 100 < self.failing
        if fails and _number(number, "ends") % 100 < self.ending:
            return Failed(visit, NodeFailure(f"{node.id} ends it"), ends=True)
        if fails and _number(number, "default") % 3:
            return Failed(visit, NodeFailure(f"{node.id} failed"), ends=False)
        if node.cases is not None:
            return Chose(visit, number % len(node.cases.keys), inputs.get("value", ()))
        if node.kind == "output":
            return Gave(visit, {"result": inputs["result"][0].value})
        return Gave(visit, {port: f"{node.id}.{port} {number}" for port in node.outputs})


@dataclass
class State:
    """How each node stands, what the ready ones are given, and whether the run failed, by node id."""

    standing: dict[str, str]
    inputs: dict[str, Inputs]
    failed: bool


def recomputed(graph: TypedGraph, told: Mapping[str, Told]) -> State:
    """The state of a run from all outcomes at once, whatever order they came in, by nothing that the fold does."""
    chosen: dict[str, int] = {}
    gone: set[str] = set()
    while True:
        live = live_state(graph, chosen, gone)
        standing: dict[str, str] = {}
        for handle in graph.order:
            node = graph.node(handle)
            before = {standing[edge.source.id] for edge in node.incoming}
            outcome = told.get(node.id)
            if node.id in gone:
                standing[node.id] = "failed"
            elif live.runs(node) is False:
                standing[node.id] = "skipped"
            elif before & {"waiting", "open", "ended"}:
                standing[node.id] = "waiting"
            elif outcome is None:
                standing[node.id] = "open"
            else:
                failed = "ended" if isinstance(outcome, Failed) and outcome.ends else "failed"
                standing[node.id] = failed if isinstance(outcome, Failed) else "finished"
        now = {
            name: outcome.case
            for name, outcome in told.items()
            if standing.get(name) == "finished" and isinstance(outcome, Chose) and outcome.case is not None
        }
        lost = {name for name, how in standing.items() if how == "failed"}
        if (now, lost) == (chosen, gone):
            break
        chosen, gone = now, lost
    inputs = {
        node.id: arrived(graph, node, told, chosen, gone)
        for node in graph.nodes
        if standing[node.id] in ("open", "finished", "failed", "ended")
    }
    # One of the ends of a drawing is enough.
    enough = all if graph.core.reading.drawn else any
    empty = bool(gone) and enough(standing[node.id] == "skipped" for node in graph.outputs)
    failed = empty or "ended" in standing.values()
    return State({name: "failed" if how == "ended" else how for name, how in standing.items()}, inputs, failed)


def arrived(
    graph: TypedGraph, node: TypedNode, told: Mapping[str, Told], chosen: Mapping[str, int], gone: set[str]
) -> Inputs:
    """What the live edges bring to a node, in the order of the edges."""
    live = live_state(graph, chosen, gone - {node.id})
    inputs: Inputs = {}
    for port in dict.fromkeys(feed.port for edge in node.incoming for feed in edge.feeds):
        for edge in node.sources(port):
            for feed in edge.feeds:
                if feed.port == port:
                    inputs.setdefault(port, []).extend(brought(live, edge, feed, told))
    return {port: values for port, values in inputs.items() if values}


def brought(live: LiveState, edge: TypedEdge, feed: PortFeed, told: Mapping[str, Told]) -> Sequence[Given]:
    """What one edge brings to one port; what a Decision that asks passes on is what arrived there, by its number."""
    outcome = told.get(edge.source.id)
    if not live.alive(feed_of(edge, feed)):
        return ()
    if isinstance(outcome, Chose) and feed.passed is not None:
        return [given for one in edge.source.passes[feed.passed] for given in brought(live, *one, told)]
    if isinstance(outcome, Chose):
        return outcome.value
    if not isinstance(outcome, Gave):
        return ()
    name = feed.output or next(iter(outcome.outputs))
    return [Given(edge.source.id, name, feed.type or "Any", outcome.outputs[name])]


def plain(inputs: Inputs) -> list[tuple[str, list[tuple[object, ...]]]]:
    """Inputs without what people call the nodes."""
    return [(port, [(one.node, one.output, one.type, one.value) for one in given]) for port, given in inputs.items()]


def finish(frontier: Frontier, consequences: list[Consequence], world: World, random: Random) -> dict[str, Told]:
    """Run to the end, one outcome after the other in a random order; the outcomes by node id, in that order."""
    told: dict[str, Told] = {}
    running = [one for one in consequences if isinstance(one, Start)]
    while running:
        start = running.pop(random.randrange(len(running)))
        outcome = outcome_of(frontier, start, world)
        told[start.node.id] = outcome
        running += [one for one in frontier.tell(outcome) if isinstance(one, Start)]
    return told


def outcome_of(frontier: Frontier, start: Start, world: World) -> Told:
    """What comes of a visit that starts."""
    node, inputs = start.node, start.inputs
    key = world.key(node, inputs, lambda: frontier.remembered(node, inputs))
    return world.outcome(node, start.visit, inputs, key)


__all__ = ["Key", "Outcome", "Skip", "State", "Told", "World", "arrived", "finish", "outcome_of", "plain", "recomputed"]
