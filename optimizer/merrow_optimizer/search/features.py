"""A workflow as numbers for the linear model: which operators it has, who reads whom, how wide it joins, what it prompts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from zlib import crc32

from merrow_analysis.graph.nodes import TypedGraph, TypedNode

STRUCTURE = 64
PROMPTS = 24
SIZE = 1 + STRUCTURE + PROMPTS
"""How many features there are: the intercept, then hashed counts, then shares of prompts."""

_WIDEST = 7


def features_of(graph: TypedGraph, prompts: Sequence[str]) -> tuple[float, ...]:
    """The features of a graph whose prompted nodes have these ``prompts``, one text for each node; `SIZE` numbers.

    Each key with count v adds 1 to one bucket and .5 ln v to another, so that the model sees both that something is there and
    how often. A prompt has its share of all prompted nodes.
    """
    found = [0.0] * SIZE
    found[0] = 1.0
    for key, count in sorted(keys_of(graph).items()):
        found[place_of_key(key)] += 1.0
        found[1 + (crc32(key.encode()) >> 8) % STRUCTURE] += 0.5 * math.log(count)
    for prompt in prompts:
        found[place_of_prompt(prompt)] += 1 / len(prompts)
    return tuple(found)


def place_of_key(key: str) -> int:
    """Which feature says that something is there."""
    return 1 + crc32(key.encode()) % STRUCTURE


def place_of_prompt(prompt: str) -> int:
    """Which feature is the share of a prompt."""
    return 1 + STRUCTURE + crc32(prompt.encode("utf-8", "surrogatepass")) % PROMPTS


def keys_of(graph: TypedGraph) -> Counter[str]:
    """``op``, ``reader<op``, ``reader<reader<op``, ``w=K`` for a join of K values, ``join`` with the widest one."""
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
    if widest:
        counts["join"] = widest
    return counts


def _readers(node: TypedNode) -> Iterable[TypedNode]:
    return {edge.target.id: edge.target for edge in node.outgoing}.values()


def _name(node: TypedNode) -> str:
    return node.operator or node.kind
