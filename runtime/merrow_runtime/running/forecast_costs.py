"""What a graph may use: calls, tokens and US dollars, the least and the most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from merrow_analysis.graph.boxes.composites import loop_settings, map_settings
from merrow_analysis.graph.live_state import live_state
from merrow_analysis.graph.nodes import TypedGraph
from merrow_runtime.models.endpoint import Endpoint
from merrow_runtime.models.prices import Price, price_at
from merrow_runtime.models.tokens import estimate_call, prompt_tokens
from merrow_runtime.program.definitions import Step
from merrow_runtime.requests import ModelRequest
from merrow_runtime.running.forecast_figures import FREE, ONCE, Cost, PlannedNode
from merrow_runtime.running.set_outputs import SetOutputs
from merrow_runtime.usage import Usage
from merrow_runtime.visit import Visit

_MOST_COMBINATIONS = 2_000
"""Combinations of cases that are looked at one by one; for more the bounds are wider, but still hold."""


def costs_of(
    graph: TypedGraph,
    steps: Mapping[int, Step],
    nodes: Sequence[PlannedNode],
    endpoint: Endpoint,
    set_outputs: SetOutputs | None = None,
) -> Cost:
    """What a graph may use, whatever is chosen that a person did not set (``set_outputs``)."""
    costs = {
        node.node: (node.costs or FREE) + _cost(node, steps, graph, endpoint)
        for node in nodes
        if node.questions or node.costs is not None
    }
    ways = list(_ways(graph, nodes, set_outputs))
    unsure = left_out(graph)
    times = {node.node: ONCE if node.times is None else node.times for node in nodes}
    least = [
        min(
            sum(costs[name].least[i] * times[name].least for name in way if name in costs and name not in unsure)
            for way, _ in ways
        )
        for i in range(3)
    ]
    most = [
        max(sum(costs[name].most[i] * (times[name].most or 0) for name in way if name in costs) for _, way in ways)
        for i in range(3)
    ]
    priced = all(cost.priced for cost in costs.values())
    return Cost((least[0], least[1], least[2]), (most[0], most[1], most[2]), priced)


def left_out(graph: TypedGraph) -> set[str]:
    """The ids of nodes that need not run although no call fails: a Map that gets too many items, or too few, has failed, and a
    Loop or a Map around it may let that pass. That concerns all in that box, and what follows from it.
    """
    left_out_nodes: set[str] = set()
    for box in graph.composites:
        settings = loop_settings(box) if box.kind == "loop" else map_settings(box)
        # A Map that leaves items out still needs `min` of them whole.
        lets_pass = settings.on_error == "default" or (settings.on_error == "skip" and box.kind == "loop")
        if lets_pass and graph.composites.maps(tuple(graph.composites.within(box.id)[1:])):
            left_out_nodes.update(graph.composites.members(box.id))
    waiting = list(left_out_nodes)
    while waiting:
        following = {edge.target.id for edge in graph.by_id[waiting.pop()].outgoing} - left_out_nodes
        left_out_nodes |= following
        waiting += following
    return left_out_nodes


def _cost(node: PlannedNode, steps: Mapping[int, Step], graph: TypedGraph, endpoint: Endpoint) -> Cost:
    step = steps[graph.by_id[node.node].index]
    definition = step.definition
    priced = True
    least = [0.0, 0.0, 0.0]
    most = [0.0, 0.0, 0.0]
    for question in node.questions:
        times = node.samples if question.step != "memory" else 1
        limit = None if question.judges else definition.max_tokens
        model = definition.model if question.model is None else question.model
        price: Price | None = price_at(endpoint, model)
        priced = priced and price is not None
        request = ModelRequest(
            model, question.messages, definition.temperature, limit, schema=question.schema, tools=question.tools
        )
        longest = estimate_call(request, endpoint, price)
        prompt = prompt_tokens(request)
        shortest_cost = 0.0 if price is None else price.cost(Usage(prompt, 0, 1))
        for sums, count, tokens, cost in (
            (least, question.least, prompt, shortest_cost),
            (most, question.most, longest.tokens, longest.cost_usd or 0.0),
        ):
            sums[0] += count * times
            sums[1] += count * times * tokens
            sums[2] += count * times * cost
    return Cost((least[0], least[1], least[2]), (most[0], most[1], most[2]), priced)


def _ways(
    graph: TypedGraph, nodes: Sequence[PlannedNode], set_outputs: SetOutputs | None = None
) -> Iterator[tuple[list[str], list[str]]]:
    """For each way through the Decisions outside of composites the nodes that run in any case, and those that may run; or once
    those of all ways, and those of any.
    """
    decisions = [node for node in graph.decisions if node.cases is not None and node.id not in graph.composites.inside]
    if prod(len(node.cases.keys) for node in decisions if node.cases is not None) > _MOST_COMBINATIONS:
        yield [node.node for node in nodes if node.runs], [node.node for node in nodes]
        return
    cases = [set_outputs.case(Visit(node.id)) if set_outputs else None for node in decisions]
    ranges = [
        range(len(node.cases.keys)) if case is None else (case,)
        for node, case in zip(decisions, cases, strict=True)
        if node.cases is not None
    ]
    for choice in product(*ranges):
        chosen = {node.id: case for node, case in zip(decisions, choice, strict=True)}
        state = live_state(graph, chosen)
        truths = {node.node: state.runs(graph.by_id[node.node]) for node in nodes}
        yield (
            [name for name, runs in truths.items() if runs],
            [name for name, runs in truths.items() if runs is not False],
        )
