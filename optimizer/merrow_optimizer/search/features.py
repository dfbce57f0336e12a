"""A workflow as numbers for the linear model: which operators it has, who reads whom, how wide it joins, whom it tells what."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from zlib import crc32

from merrow_analysis.definitions.settings import NO_SETTINGS, WorkflowSettings
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.graph.remembering import remembered

STRUCTURE = 64
SIZE = 1 + STRUCTURE
"""How many features there are beside prompts: the intercept, then hashed counts."""

MEMORY = "memory"
"""In keys of nodes that remember."""
_WIDEST = 7


class PromptUse(NamedTuple):
    """A prompt and where it is: ``is_first`` at nodes that read the workflow's inputs alone, so that no earlier answer makes up
    for it, else at nodes that read other nodes.
    """

    text: str
    is_first: bool


def features_of(graph: TypedGraph, settings: WorkflowSettings = NO_SETTINGS) -> tuple[float, ...]:
    """The features of a graph, and of what its nodes remember by ``settings``; `SIZE` numbers.

    Each key with count v adds 1 to one bucket and .5 ln v to another, so that the model sees both that something is there and
    how often.
    """
    vector = [0.0] * SIZE
    vector[0] = 1.0
    for key, count in sorted(keys_of(graph, settings).items()):
        vector[place_of_key(key)] += 1.0
        vector[1 + (crc32(key.encode()) >> 8) % STRUCTURE] += 0.5 * math.log(count)
    return tuple(vector)


def prompts_of(graph: TypedGraph, prompts: Mapping[int, str]) -> dict[PromptUse, float]:
    """What nodes are told, ``prompts`` by the nodes' handles: each one's share of those in the same place, first or later.

    Each prompt is a feature of its own: hashed into a few places, some would be one to the model.
    """
    uses = [
        PromptUse(prompts[node.index], all(edge.source.kind == "input" for edge in node.incoming))
        for node in graph.nodes
        if node.index in prompts
    ]
    total = Counter(use.is_first for use in uses)
    return {use: count / total[use.is_first] for use, count in Counter(uses).items()}


def place_of_key(key: str) -> int:
    """Which feature says that something is there."""
    return 1 + crc32(key.encode()) % STRUCTURE


def keys_of(graph: TypedGraph, settings: WorkflowSettings = NO_SETTINGS) -> Counter[str]:
    """``op``, ``reader<op``, ``reader<reader<op``, ``w=K`` for a join of K values, ``join`` with the widest one; ``memory=M`` for
    a node that is shown earlier results by its memory, ``op+memory`` for one of an operator.
    """
    counts: Counter[str] = Counter()
    widest = 0
    for node in graph.nodes:
        if node.kind == "input":
            continue
        name = _name(node)
        if node.kind != "output":
            counts[name] += 1
        for reader in _readers(node):
            counts[f"{_name(reader)}<{name}"] += 1
            for next_reader in _readers(reader):
                counts[f"{_name(next_reader)}<{_name(reader)}<{name}"] += 1
        if node.spec is not None and node.spec.is_ensemble:
            width = sum(edge.port == node.spec.inputs[0].name for edge in node.incoming)
            counts[f"w={min(width, _WIDEST)}"] += 1
            widest = max(widest, width)
        memory, givers = remembered(graph, node, settings)
        if givers:
            counts[f"{MEMORY}={memory.text}"] += 1
            counts[f"{name}+{MEMORY}"] += 1
    if widest:
        counts["join"] = widest
    return counts


def _readers(node: TypedNode) -> Iterable[TypedNode]:
    return {edge.target.id: edge.target for edge in node.outgoing}.values()


def _name(node: TypedNode) -> str:
    return node.operator or node.kind
