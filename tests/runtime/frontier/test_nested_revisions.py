"""Revisions of runs with Loops and Maps: boxes come, go and change, and nodes move into them and out, while turns and items are
under way. Nothing is made of what is older than its sources, no finished call is made again, and the outcome is that of the
last graph run from scratch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from tests.runtime.frontier.nested_revisions import revision, valid_graph
from tests.runtime.frontier.nested_workflows import nested_workflow
from tests.runtime.frontier.nested_world import NestedRun
from tests.runtime.frontier.thought import World

from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_runtime.errors import NodeFailure
from merrow_runtime.frontier import (
    Chose,
    Consequence,
    Failed,
    Gave,
    Inputs,
    Judged,
    JudgeTurn,
    LoopEnds,
    LoopReopens,
    Opens,
    Outcome,
    Skip,
    Start,
    Takes,
    Withdrawn,
)
from merrow_runtime.operators.base import Remembered
from merrow_runtime.visit import Visit

PARTS = 4
Work = tuple[str, str]
"""A node's id and its key."""


def how(one: LoopEnds | None) -> object:
    return None if one is None else (one.turns, one.why, one.exhausted, one.best)


def key_of(node: TypedNode, inputs: Inputs, entries: Callable[[], list[Remembered]], path: str = "") -> str:
    del path
    return repr(World(0).key(node, inputs, entries))


class NestedTrial(NestedRun):
    """A run in which what comes of a visit depends on its node and key alone, and what it has made and told until now."""

    def __init__(self, graph: TypedGraph, random: Random, seed: int, failing: int = 0) -> None:
        super().__init__(graph, random, failing)
        self.seed = seed
        self.variety = 3 if seed % 2 else 1000
        self.running: list[Start | JudgeTurn] = []
        self.made: Counter[Work] = Counter()
        self.visits: set[Visit] = set()
        self.working: dict[Visit, Work] = {}
        self.opened_now: set[tuple[str, str, int, int]] = set()
        self.numbers: dict[tuple[str, str, int, int], str | None] = {}
        self.ended: dict[tuple[str, str], LoopEnds] = {}
        self.skipped: set[tuple[str, str]] = set()
        self.skipped_now: set[tuple[str, str]] = set()
        self.seen_by: dict[tuple[str, int], list[str]] = {}

    @property
    def torn(self) -> bool:
        """Whether it has failed, or a turn or an item of it."""
        return self.frontier.failure is not None or any(self.numbers.values())

    def begin(self) -> None:
        self.follow(self.frontier.begin())

    def follow(self, consequences: list[Consequence]) -> None:
        for one in consequences:
            if isinstance(one, Start):
                assert one.visit not in self.visits, f"{one.visit} begins twice"
                self.visits.add(one.visit)
                self.skipped_now.discard((one.node.id, one.visit.path))
                self.working[one.visit] = work = one.node.id, self.key(one)
                self.made[work] += 1
                self.running.append(one)
            elif isinstance(one, JudgeTurn):
                given = [(node.id, one.outputs(node.id)) for node in self.frontier.graph.nodes]
                assert (one.path, one.redo) not in self.seen_by, f"{one.path} is judged twice"
                self.seen_by[one.path, one.redo] = sorted(repr(each) for each in given if each[1])
                self.running.append(one)
            elif isinstance(one, Skip):
                self.skipped.add((one.node.id, one.visit.path))
                self.skipped_now.add((one.node.id, one.visit.path))
            elif isinstance(one, Takes):
                self.skipped_now.discard((one.node.id, one.visit.path))
            elif isinstance(one, LoopReopens):
                del self.ended[one.path, one.composite]
            elif isinstance(one, LoopEnds):
                loop = one.path, one.composite.id
                assert how(self.ended.get(loop)) != how(one), f"{loop} is said to end twice"
                self.ended[loop] = one
            else:
                number = one.path, one.composite.id, one.number, one.most
                if isinstance(one, Opens):
                    # What is under way no more since a revision is not told of.
                    assert number not in self.opened_now, f"{number} is under way already"
                    self.opened_now.add(number)
                    self.numbers[number] = None
                else:
                    assert number in self.numbers or self.frontier.failure is not None
                    self.numbers[number] = str(one.failure or "")

    def key(self, start: Start) -> str:
        node, inputs = start.node, start.inputs
        return key_of(node, inputs, lambda: self.frontier.remembered(node, inputs, start.visit.path))

    def end_one(self) -> None:
        one = self.running.pop(self.random.randrange(len(self.running)))
        if isinstance(one, Start) and self.frontier.holds(one.visit):
            self.skipped_now.discard((one.visit.node, one.visit.path))
        self.follow(self.frontier.tell(self.outcome(one)))

    def outcome(self, one: Start | JudgeTurn) -> Outcome:
        if isinstance(one, JudgeTurn):
            drawn = Random(f"{self.seed} {one.composite.id} {self.seen_by[one.path, one.redo]}")
            score = drawn.choice([1.0, 2.0, 3.0]) if one.settings.best is not None else None
            return Judged(one.path, one.settings.until is not None and drawn.random() < 0.4, score, redo=one.redo)
        node, visit = one.node, one.visit
        drawn = Random(f"{self.seed} {self.working[visit]}")
        if node.kind in ("operator", "decision") and drawn.randrange(100) < self.failing:
            said = node.resolution.parameters.get("on_error")
            return Failed(visit, NodeFailure(f"{node.id} failed on purpose"), said is None or said.value == "fail")
        if node.cases is not None:
            return Chose(visit, drawn.randrange(len(node.cases.keys)), one.inputs.get("value", ()))
        if node.kind == "output":
            return Gave(visit, {"result": one.inputs["result"][0].value})
        return Gave(visit, self.given(node, drawn))

    def revise(self, graph: TypedGraph, *, judged_only: bool = False) -> None:
        self.graph = graph
        self.opened_now.clear()
        consequences = self.frontier.replace(graph, key_of, key_of)
        assert not judged_only or all(isinstance(one, JudgeTurn) for one in consequences), consequences
        self.follow(consequences)
        on_their_way = {one.visit for one in self.running if isinstance(one, Start)}
        for visit in self.frontier.obsolete():
            assert visit in on_their_way
            assert not self.frontier.counts(visit)
            if self.random.random() < 0.5:
                self.running = [one for one in self.running if isinstance(one, JudgeTurn) or one.visit != visit]
                self.made[self.working.pop(visit)] -= 1
                assert self.frontier.tell(Withdrawn(visit)) == []


def from_scratch(graph: TypedGraph, seed: int, failing: int) -> NestedTrial:
    """A run of a graph that nothing revises."""
    alone = NestedTrial(graph, Random(seed), seed, failing)
    alone.begin()
    while alone.running:
        alone.end_one()
    return alone


def assert_same(trial: NestedTrial, alone: NestedTrial) -> None:
    """A run that was revised has come out as one from scratch, and its readers know of the same."""
    assert trial.frontier.is_over
    assert (trial.frontier.failure is None) == (alone.frontier.failure is None)
    if alone.frontier.failure is not None:
        return
    assert trial.frontier.results == alone.frontier.results
    for node in trial.graph.nodes:
        assert trial.frontier.standing(node) == alone.frontier.standing(node), node.id
        assert trial.frontier.outputs(node) == alone.frontier.outputs(node), node.id
    # What a turn or an item comes to before it fails is a matter of what ends first.
    failed = [f"{path}/{box}[{number}]".strip("/") for (path, box, number, _), why in alone.numbers.items() if why]
    settled = {one for one in alone.skipped if not any(f"{one[1]}/".startswith(f"{place}/") for place in failed)}
    assert settled <= trial.skipped_now
    if not alone.torn:
        came_back = {(one.node, one.path) for one in alone.visits}
        assert not trial.skipped_now & came_back, "readers still take them for skipped"
    for number, ended in () if alone.torn else alone.numbers.items():
        assert trial.numbers[number] == ended, number
    if not alone.torn:
        assert {loop: how(one) for loop, one in trial.ended.items()} == {
            loop: how(one) for loop, one in alone.ended.items()
        }


def revised_run(seed: int) -> Counter[str]:
    """A run that is revised at random moments; what was seen in it."""
    seen: Counter[str] = Counter()
    random = Random(seed)
    text = nested_workflow(seed)
    graph = valid_graph(text)
    if graph is None:
        return seen
    failing = random.choice([0, 0, 0, 10])
    texts = [(text, graph)]
    trial = NestedTrial(graph, random, seed, failing)
    trial.begin()
    left = random.randint(1, 4)
    alone = from_scratch(graph, seed, failing)
    demand, torn = alone.made, alone.torn
    while trial.running or left:
        if left and (not trial.running or random.random() < 0.08):
            left -= 1
            text, graph = random.choice(texts) if random.random() < 0.25 else revision(text, random)
            texts.append((text, graph))
            opened = dict(trial.numbers)
            trial.revise(graph)
            alone = from_scratch(graph, seed, failing)
            demand |= alone.made
            torn |= alone.torn
            if trial.frontier.failure is None:
                # The same once more: nothing follows, but that turns are still to be judged.
                trial.revise(graph, judged_only=True)
            seen["revised"] += 1
            seen["under way"] += None in opened.values()
            seen["redone inside"] += any(visit.life and visit.path for visit in trial.visits)
        else:
            trial.end_one()
        # How much of a frame is run before it fails is a matter of what ends first.
        twice = {} if torn else {work: count for work, count in trial.made.items() if count > demand[work]}
        assert not twice, f"made again: {twice}"
    assert_same(trial, alone)
    # Nothing changes: nothing follows.
    again = trial.frontier.replace(graph, key_of, key_of)
    if trial.frontier.failure is None:
        assert again == []
    assert not any(isinstance(one, Start) for one in again)
    seen["failed"] += trial.frontier.failure is not None
    return seen


@pytest.mark.parametrize("part", range(PARTS))
def test_a_run_with_boxes_that_is_revised_comes_out_as_the_last_graph_run_from_scratch(part: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(part, 160, PARTS):
        try:
            seen += revised_run(seed)
        except AssertionError as wrong:
            raise AssertionError(f"run {seed}: {wrong}") from wrong
    for kind in ("revised", "under way", "redone inside"):
        assert seen[kind], f"no run had {kind}"


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(103, id="an item that failed takes nothing from another"),
        pytest.param(10_639, id="a visit under way that is taken again is told of when it is done"),
        pytest.param(11_104, id="what was withdrawn in an item that is over is under way no more"),
        pytest.param(12_702, id="a turn under way in an item that failed does not end later"),
        pytest.param(20_783_001_016, id="what is skipped in a turn that fails may be skipped or not"),
    ],
)
def test_runs_with_boxes_that_are_rarely_drawn(seed: int) -> None:
    assert revised_run(seed)["revised"]
