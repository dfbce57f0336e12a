"""How many nodes complete, tried out at random: a check of the formulas, and what to use where they do not apply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from random import Random

from merrow_analysis.graph.bare.reach import topological_order

_WITHIN = 1.959963984540054
"""Standard errors on either side of a mean within which it lies in 95 of 100 cases."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """The mean number of completed nodes in ``runs`` runs, and its 95 % interval."""

    runs: int
    mean: float
    low: float
    high: float

    def as_json(self) -> dict[str, object]:
        return {"runs": self.runs, "mean": self.mean, "interval": [self.low, self.high]}


def simulate(
    nodes: Iterable[str], edges: Iterable[tuple[str, str]], failures: Mapping[str, float], runs: int, seed: int = 0
) -> Simulation | None:
    """Run a graph ``runs`` times: a node fails with its probability in ``failures``, and is not begun where one that it waits for
    did not complete. None for a graph with a cycle.
    """
    ids = list(dict.fromkeys(nodes))
    number = {name: index for index, name in enumerate(ids)}
    before: list[list[int]] = [[] for _ in ids]
    after: list[list[int]] = [[] for _ in ids]
    for source, target in dict.fromkeys(edges):
        before[number[target]].append(number[source])
        after[number[source]].append(number[target])
    order = topological_order(after)
    if len(order) < len(ids):
        return None
    waits = [(node, before[node], failures[ids[node]]) for node in order]
    random = Random(seed).random  # noqa: S311 (no secret)
    total = squares = 0
    for _ in range(runs):
        completed = _completed(waits, random)
        total += completed
        squares += completed * completed
    mean = total / runs
    spread = sqrt(max(0.0, squares / runs - mean * mean) / max(1, runs - 1)) * _WITHIN
    return Simulation(runs, mean, max(0.0, mean - spread), min(float(len(ids)), mean + spread))


def _completed(waits: Sequence[tuple[int, list[int], float]], random: Callable[[], float]) -> int:
    done = bytearray(len(waits))
    for node, before, failure in waits:
        if random() >= failure and all(done[earlier] for earlier in before):
            done[node] = 1
    return sum(done)
