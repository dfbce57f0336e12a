"""Carries out a graph as its frontier says, with answers from a function instead of models: what was asked, done and given."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from merrow_analysis.graph.nodes import TypedGraph
from merrow_runtime.frontier import Chose, Consequence, Frontier, Gave, Judged, JudgeTurn, Start

Answering = Callable[[str, Sequence[str]], str]
"""The answer of a question, which is given by its id, out of some labels."""
MOST = 20_000


class Went(NamedTuple):
    """What happened: ``asked`` are questions with their answers in order, ``steps`` the calls of steps by id, and ``outputs``
    what reached which output.
    """

    asked: list[tuple[str, str]]
    steps: Counter[str]
    outputs: dict[str, object]


def carry_out(graph: TypedGraph, answer: Answering, last: str = "") -> Went:
    """Run a graph to its end, one node at a time, that of the id ``last`` when nothing else can go on. Each step gives its id and
    how often it ran; inputs give their id.
    """
    frontier = Frontier(graph)
    went = Went([], Counter(), {})
    waiting: deque[Consequence] = deque(frontier.begin())
    begun = 0
    while waiting:
        one = waiting.popleft()
        if isinstance(one, JudgeTurn):
            waiting.extend(frontier.tell(Judged(one.path)))
        elif isinstance(one, Start):
            if one.node.id == last and waiting:
                waiting.append(one)
                continue
            begun += 1
            assert begun < MOST, "it does not end"
            waiting.extend(frontier.tell(_outcome(one, answer, went)))
    assert frontier.failure is None
    assert frontier.is_over
    went.outputs.update(frontier.results)
    return went


def _outcome(start: Start, answer: Answering, went: Went) -> Gave | Chose:
    node, visit = start.node, start.visit
    arrived = [given.value for several in start.inputs.values() for given in several]
    if node.kind == "input":
        return Gave(visit, {"value": node.id})
    if node.kind == "output":
        return Gave(visit, {"result": arrived[0]})
    if node.cases is not None:
        labels = [label.casefold() for label in node.cases.labels]
        chosen = answer(node.id, labels)
        went.asked.append((node.id, chosen))
        return Chose(visit, labels.index(chosen))
    port = next(iter(node.own_outputs))
    if node.operator == "Pass":
        return Gave(visit, {port: arrived[0]})
    if node.operator == "Assemble":
        return Gave(visit, {port: " + ".join(map(str, arrived))})
    went.steps[node.id] += 1
    return Gave(visit, {port: f"{node.id} {went.steps[node.id]}"})


def scripted(ways: Mapping[str, Sequence[str]]) -> Answering:
    """Answers each question in turn, with its last answer from then on."""
    asked: Counter[str] = Counter()

    def answer(name: str, labels: Sequence[str]) -> str:
        del labels
        asked[name] += 1
        return ways[name][min(asked[name], len(ways[name])) - 1]

    return answer


def drawn_by(seed: int) -> Answering:
    """Answers at random, each question by itself, so that the order in which they are asked makes no difference."""
    asked: Counter[str] = Counter()

    def answer(name: str, labels: Sequence[str]) -> str:
        asked[name] += 1
        return Random(f"{seed} {name} {asked[name]}").choice(sorted(labels))

    return answer
