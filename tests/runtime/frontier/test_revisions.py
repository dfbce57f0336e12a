"""A graph may be replaced while a run goes on: what a revision does not reach is kept, the rest is made again, nothing twice."""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from tests.analysis.decision_workflows import decision_workflows
from tests.analysis.workflows import errors, typed, workflow
from tests.runtime.frontier.thought import Key, Told, World, finish, named, outcome_of, recomputed
from tests.workflows import workflows as of_all_operators

from merrow_analysis.graph.nodes import TypedGraph
from merrow_optimizer.mutations import moves
from merrow_runtime.errors import NodeFailure
from merrow_runtime.frontier import Chose, Consequence, Failed, Frontier, Gave, Skip, Start, Takes, Withdrawn
from merrow_runtime.frontier.outcomes import Made, Revision
from merrow_runtime.visit import Visit

SMALL = moves.MoveFilter(moves.OPERATORS, max_nodes=40)
texts = st.one_of(decision_workflows(), decision_workflows(), of_all_operators())
worlds = st.builds(World, st.integers(0, 1000), st.sampled_from([0, 0, 15, 40]), st.sampled_from([0, 0, 50]))


class Trial:
    """A run that is revised, and all that was ever asked and answered in it."""

    def __init__(self, graph: TypedGraph, world: World, random: Random) -> None:
        self.graph, self.world, self.random = graph, world, random
        self.frontier = Frontier(graph)
        self.running: dict[Visit, tuple[Start, Key, Told]] = {}
        self.answered: dict[tuple[str, Key], Told] = {}
        self.visits: set[Visit] = set()
        self.skipped: set[str] = set()
        self.follow(self.frontier.begin())

    def follow(self, consequences: list[Consequence]) -> None:
        for one in consequences:
            if isinstance(one, Skip):
                assert one.node.id not in self.skipped, f"{one.node.id} was told to be skipped before"
                self.skipped.add(one.node.id)
                continue
            if isinstance(one, Takes):
                continue
            key = self.key(one)
            assert (one.node.id, key) not in self.answered, f"{one.visit} was made before"
            assert one.visit not in self.visits
            on_its_way = [(start.node.id, known) for start, known, _ in self.running.values()]
            assert (one.node.id, key) not in on_its_way, f"{one.visit} is being made"
            assert one.visit.life == len([visit for visit in self.visits if visit.node == one.node.id])
            self.visits.add(one.visit)
            self.running[one.visit] = one, key, self.world.outcome(one.node, one.visit, one.inputs, key)

    def key(self, start: Start) -> Key:
        return self.world.key(start.node, start.inputs, lambda: self.frontier.remembered(start.node, start.inputs))

    def end_one(self) -> None:
        """Something that is on its way comes to its end."""
        visit = self.random.choice(list(self.running))
        start, key, outcome = self.running.pop(visit)
        self.answered[start.node.id, key] = outcome
        self.follow(self.frontier.tell(outcome))

    def revise(self, graph: TypedGraph) -> None:
        """Go on with another graph; of what is obsolete by then some is cancelled."""
        self.graph = graph
        self.follow(self.frontier.replace(graph, self.world.key, self.world.key))
        self.skipped &= {node.id for node in graph.nodes if self.frontier.standing(node) == "skipped"}
        for visit in self.frontier.obsolete():
            assert visit in self.running
            if self.random.random() < 0.5:
                del self.running[visit]
                assert self.frontier.tell(Withdrawn(visit)) == []

    def check(self) -> None:
        """What is there was made of what is there: no node has a result of older inputs than its sources have now."""
        frontier, graph = self.frontier, self.graph
        told: dict[str, Told] = {}
        for node in graph.nodes:
            visit = frontier.visit(node)
            if visit is not None and frontier.standing(node) in ("finished", "failed"):
                told[node.id] = next(one for one in self.answered.values() if one.visit == visit)
        state = recomputed(graph, told)
        assert {node.id: frontier.standing(node) for node in graph.nodes} == state.standing
        assert (frontier.failure is not None) == state.failed
        assert {name for name, how in state.standing.items() if how == "skipped"} == self.skipped
        for node in graph.nodes:
            if node.id in told:
                inputs = state.inputs[node.id]
                key = self.world.key(node, inputs, lambda node=node, inputs=inputs: frontier.remembered(node, inputs))
                assert self.answered[node.id, key] == told[node.id], f"{node.id} has a result of something else"


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(texts, worlds, st.randoms(use_true_random=False), st.integers(1, 5))
def test_a_run_that_is_revised_comes_out_as_the_last_graph_run_from_scratch(
    text: str, world: World, random: Random, revisions: int
) -> None:
    assume(not errors(text))
    lineage = moves.Lineage(text, SMALL)
    graphs = [lineage.analysis.typed]
    trial = Trial(graphs[0], world, random)
    left = revisions
    while trial.running or left:
        trial.check()
        if left and (not trial.running or random.random() < 0.3):
            left -= 1
            if random.random() < 0.75:
                for _ in range(random.randint(1, 3)):
                    lineage.grow(random)
                if not lineage.analysis.typed.composites:  # for these see `test_nested_revisions`
                    graphs.append(lineage.analysis.typed)
            # Going back to an earlier one is a revision, too.
            trial.revise(graphs[-1] if random.random() < 0.75 else random.choice(graphs))
        else:
            trial.end_one()
    trial.check()

    last = trial.graph
    alone = Frontier(last)
    told = finish(alone, alone.begin(), world, random)
    assert (alone.failure is None) == (trial.frontier.failure is None)
    if alone.failure is None:
        assert alone.results == trial.frontier.results
        for node in last.nodes:
            assert alone.standing(node) == trial.frontier.standing(node)
            assert alone.outputs(node) == trial.frontier.outputs(node)
    event(f"failed: {alone.failure is not None}, redone: {any(visit.life for visit in trial.visits)}")
    event(f"kept: {len(told) - len([visit for visit in trial.visits if visit.life])} of {len(told)}")


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(texts, worlds, st.randoms(use_true_random=False), st.integers(0, 12))
def test_a_revision_that_changes_nothing_has_no_consequences(
    text: str, world: World, random: Random, ended: int
) -> None:
    assume(not errors(text))
    trial = Trial(typed(text), world, random)
    for _ in range(ended):
        if trial.running:
            trial.end_one()
    # The same text read a second time has other objects.
    assert trial.frontier.replace(typed(text + "%% the same\n"), world.key, world.key) == []
    assert trial.frontier.obsolete() == []


CHAIN = ('A["Custom"]:::CustomOp', 'B["Custom"]:::CustomOp', "PROBLEM --> A --> B --> RETURN")
PLAIN = World(1)


def started(consequences: list[Consequence]) -> list[str]:
    return [named(one.visit) for one in consequences if isinstance(one, Start)]


def test_a_node_whose_definition_changes_runs_again_with_what_is_behind_it() -> None:
    frontier = Frontier(typed(workflow(*CHAIN)))
    finish(frontier, frontier.begin(), PLAIN, Random(1))
    changed = typed(workflow(*CHAIN, "A@{ temperature: 0.5 }"))
    (again,) = frontier.replace(changed, PLAIN.key, PLAIN.key)
    assert isinstance(again, Start)
    assert named(again.visit) == "A!1"
    behind = frontier.tell(outcome_of(frontier, again, PLAIN))
    assert started(behind) == ["B!1"]
    # What comes out as it was needs nothing behind it: going back costs nothing.
    taken = frontier.replace(typed(workflow(*CHAIN)), PLAIN.key, PLAIN.key)
    assert [one.source for one in taken if isinstance(one, Takes)] == [Visit("A"), Visit("B")]
    assert not started(taken)
    assert frontier.is_over
    assert frontier.obsolete() == [Visit("B", life=1)]


def test_an_equal_result_keeps_what_is_behind_it() -> None:
    frontier = Frontier(typed(workflow(*CHAIN)))
    finish(frontier, frontier.begin(), PLAIN, Random(1))
    before = frontier.outputs(frontier.graph.by_id["A"])
    changed = typed(workflow(*CHAIN, "A@{ temperature: 0.5 }"))
    (again,) = frontier.replace(changed, PLAIN.key, PLAIN.key)
    assert before is not None
    assert frontier.tell(Gave(again.visit, dict(before))) == []
    assert frontier.is_over


def test_what_runs_is_awaited_while_its_inputs_may_come_out_as_they_were() -> None:
    frontier = Frontier(typed(workflow(*CHAIN)))
    (problem,) = frontier.begin()
    (first,) = frontier.tell(Gave(problem.visit, {"value": "x"}))
    (second,) = frontier.tell(Gave(first.visit, {"response": "y"}))
    assert str(second.visit) == "B"
    (again,) = frontier.replace(typed(workflow(*CHAIN, "A@{ temperature: 0.5 }")), PLAIN.key, PLAIN.key)
    assert frontier.obsolete() == []
    assert frontier.tell(Gave(again.visit, {"response": "y"})) == []
    assert frontier.visit(frontier.graph.by_id["B"]) == second.visit
    assert started(frontier.tell(Gave(second.visit, {"response": "z"}))) == ["RETURN"]


def test_what_runs_goes_on_while_its_node_is_there_and_unchanged() -> None:
    frontier = Frontier(typed(workflow(*CHAIN)))
    (problem,) = frontier.begin()
    (start,) = frontier.tell(Gave(problem.visit, {"value": "x"}))
    assert str(start.visit) == "A"
    longer = typed(workflow('C["Custom"]:::CustomOp', *CHAIN[:2], "PROBLEM --> A --> C --> B --> RETURN"))
    assert frontier.replace(longer, PLAIN.key, PLAIN.key) == []
    assert frontier.obsolete() == []
    without = typed(workflow(CHAIN[1], "PROBLEM --> B --> RETURN"))
    assert started(frontier.replace(without, PLAIN.key, PLAIN.key)) == ["B"]
    assert frontier.obsolete() == [start.visit]
    # Its outcome counts for nothing now, but is there if it is needed again.
    assert frontier.tell(Gave(start.visit, {"response": "late"})) == []
    assert frontier.obsolete() == []
    frontier.replace(longer, PLAIN.key, PLAIN.key)
    assert frontier.outputs(longer.by_id["A"]) == {"response": "late"}


def test_a_failure_that_is_revised_away_lets_the_run_go_on() -> None:
    text = workflow('A["Custom"]:::CustomOp', 'B["Custom"]:::CustomOp', 'C["ScEnsemble"]:::ScEnsembleOp',
                    "PROBLEM --> A & B --> C --> RETURN")  # fmt: skip
    graph = typed(text)
    trial = Trial(graph, World(3), Random(1))
    trial.end_one()
    first = next(visit for visit in trial.running if visit.node == "A")
    frontier = trial.frontier
    assert frontier.tell(Failed(first, NodeFailure("no"), ends=True)) == []
    assert frontier.is_over
    same = frontier.replace(typed(text), trial.world.key, trial.world.key)
    assert same == []
    assert frontier.failure is not None
    changed = typed(text.replace("PROBLEM -->", "A@{ temperature: 0.5 }\n    PROBLEM -->"))
    assert started(frontier.replace(changed, trial.world.key, trial.world.key)) == ["A!1"]
    assert frontier.failure is None


def test_what_a_revision_adds_where_nothing_leads_is_skipped_and_the_rest_not_told_again() -> None:
    lines = ("D{which?}:::DecisionOp", 'A["Custom"]:::CustomOp', 'B["Custom"]:::CustomOp', "PROBLEM -->|when| D",
             "PROBLEM --> A & B", "D -- a --> A", "D -- else --> B")  # fmt: skip
    graph = typed(workflow(*lines, "A & B --> RETURN"))
    frontier = Frontier(graph)
    (problem,) = frontier.begin()
    (decision,) = frontier.tell(Gave(problem.visit, {"value": "x"}))
    skip, start = frontier.tell(Chose(decision.visit, 1))
    assert (skip.node.id, start.node.id) == ("A", "B")
    longer = typed(workflow(*lines, 'C["Custom"]:::CustomOp', "A --> C", "B & C --> RETURN"))
    (skip,) = frontier.replace(longer, PLAIN.key, PLAIN.key)
    assert isinstance(skip, Skip)
    assert (skip.node.id, skip.reason) == ("C", "D chose `else`")


def test_a_visit_that_is_forgotten_is_made_again_although_nothing_else_changes() -> None:
    frontier = Frontier(typed(workflow(*CHAIN)))
    finish(frontier, frontier.begin(), PLAIN, Random(1))
    same = typed(workflow(*CHAIN))
    again = frontier.replace(same, PLAIN.key, PLAIN.key, Revision(forgotten=(Visit("A"),)))
    assert started(again) == ["A!1"]
    assert frontier.standing(same.by_id["B"]) == "waiting"


def test_a_node_lets_go_of_what_it_could_not_have_made() -> None:
    own, other = Made("own", 1, ""), Made("other", 1, "")

    def lets_go(key: Made, times: int, *, redo: bool = False, definition: str | None = "own") -> bool:
        return Revision(defined=lambda _: definition, redo=lambda *_: times).lets_go("A", key, redo=redo)

    assert lets_go(own, 1, definition=None), "it is gone"
    # What is only asked for again has made it, and so has what it was before: the first counts where that is asked.
    assert [lets_go(own, times) for times in (1, 2)] == [False, False]
    assert [lets_go(own, times, redo=True) for times in (1, 2)] == [False, True]
    assert [lets_go(other, times) for times in (1, 2)] == [True, False]
    assert [lets_go(other, times, redo=True) for times in (1, 2)] == [True, True]
