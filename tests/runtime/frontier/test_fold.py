"""The frontier is a fold: whatever order outcomes arrive in, it stands as it would if it were worked out from nothing."""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from tests.analysis.decision_workflows import decision_workflows
from tests.analysis.test_liveness import workflows as with_decisions
from tests.analysis.workflows import typed, workflow
from tests.plain.drawings import whole_drawings
from tests.runtime.frontier.thought import Key, Told, World, finish, outcome_of, plain, recomputed
from tests.workflows import workflows as of_all_operators

from merrow_analysis.check import analyse
from merrow_analysis.graph.live_state import live_state
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_runtime.errors import BudgetFailure
from merrow_runtime.frontier import Chose, Ended, Failed, Frontier, Gave, Inputs, Skip, Start, Withdrawn
from merrow_runtime.visit import Visit

EXAMPLES = 12
OFTEN = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
texts = st.one_of(decision_workflows(), with_decisions(), of_all_operators(), whole_drawings())
worlds = st.builds(World, st.integers(0, 1000), st.sampled_from([0, 10, 15, 40]), st.sampled_from([0, 50, 100]))


def valid(text: str) -> TypedGraph:
    analysis = analyse(text, as_workflow=True)
    assume(not analysis.errors and analysis.typed is not None)
    assert analysis.typed is not None
    return analysis.typed


def assert_stands(frontier: Frontier, graph: TypedGraph, told: dict[str, Told]) -> None:
    """The frontier is where it would be if all that it was told were told at once."""
    state = recomputed(graph, told)
    assert {node.id: frontier.standing(node) for node in graph.nodes} == state.standing
    assert (frontier.failure is not None) == state.failed
    left = {"waiting", "open"} & set(state.standing.values())
    assert frontier.is_over == (state.failed or not left)
    results = {
        node.id: outcome.outputs["result"]
        for node in graph.outputs
        if state.standing[node.id] == "finished" and isinstance(outcome := told[node.id], Gave)
    }
    assert frontier.results == results


@OFTEN
@given(texts, worlds, st.randoms(use_true_random=False))
def test_after_each_outcome_it_stands_as_if_worked_out_from_nothing(text: str, world: World, random: Random) -> None:
    graph = valid(text)
    frontier = Frontier(graph)
    told: dict[str, Told] = {}
    running: list[Start] = []
    begun: set[str] = set()
    skipped: set[str] = set()
    consequences = frontier.begin()
    while True:
        assert_stands(frontier, graph, told)
        state = recomputed(graph, told)
        for one in consequences:
            assert one.visit == Visit(one.node.id)
            if isinstance(one, Skip):
                assert one.node.id not in skipped
                skipped.add(one.node.id)
                assert one.reason == "nothing reaches it" or one.reason.split()[1] in ("chose", "failed")
            else:
                assert one.node.id not in begun
                begun.add(one.node.id)
                assert plain(one.inputs) == plain(state.inputs[one.node.id])
                running.append(one)
        assert skipped == {name for name, how in state.standing.items() if how == "skipped"}
        if not state.failed:
            assert begun == set(state.inputs)
        if not running:
            break
        start = running.pop(random.randrange(len(running)))
        outcome = outcome_of(frontier, start, world)
        told[start.node.id] = outcome
        consequences = frontier.tell(outcome)
    assert frontier.is_over
    event(f"{len(graph.decisions)} Decisions, {len(skipped)} skipped, failed: {frontier.failure is not None}")


@OFTEN
@given(texts, worlds, st.randoms(use_true_random=False))
def test_outcomes_may_arrive_in_any_order_at_all(text: str, world: World, random: Random) -> None:
    graph = valid(text)
    first = Frontier(graph)
    told = finish(first, first.begin(), world, random)
    names = list(told)
    random.shuffle(names)
    second = Frontier(graph)
    second.begin()
    for number, name in enumerate(names, 1):
        second.tell(told[name])
        if number % 4 == 0:
            assert_stands(second, graph, {one: told[one] for one in names[:number]})
    assert_stands(second, graph, told)
    assert {node.id: first.standing(node) for node in graph.nodes} == {
        node.id: second.standing(node) for node in graph.nodes
    }
    for node in graph.nodes:
        assert first.outputs(node) == second.outputs(node)


@OFTEN
@given(texts, st.randoms(use_true_random=False), st.integers(0, 3))
def test_a_choice_settles_what_a_look_at_the_whole_graph_would(text: str, random: Random, failing: int) -> None:
    graph = valid(text)
    live = live_state(graph)
    chosen: dict[str, int] = {}
    gone: set[str] = set()
    steps = [node for node in graph.decisions if node.cases is not None]
    others = [node for node in graph.nodes if node.kind == "operator"]
    steps += random.sample(others, min(failing, len(others)))
    random.shuffle(steps)
    before = {node.id: live.runs(node) for node in graph.nodes}
    for node in steps:
        if node.cases is not None:
            chosen[node.id] = random.randrange(len(node.cases.keys))
            changed = live.choose(node.index, chosen[node.id])
        else:
            gone.add(node.id)
            changed = live.skip(node.index)
        cold = live_state(graph, chosen, gone)
        now = {other.id: cold.runs(other) for other in graph.nodes}
        assert {other.id: live.runs(other) for other in graph.nodes} == now
        differ = {name for name in now if now[name] != before[name]}
        assert differ <= {graph.node(handle).id for handle in changed}
        before = now


def test_when_it_is_ended_from_outside_nothing_starts() -> None:
    graph = typed(workflow('A["Custom"]:::CustomOp', "PROBLEM --> A --> RETURN"))
    frontier = Frontier(graph)
    (start,) = frontier.begin()
    over = BudgetFailure("All is spent.")
    assert frontier.tell(Ended(over)) == []
    assert frontier.is_over
    assert frontier.failure is over
    assert frontier.tell(Gave(start.visit, {"value": "x"})) == []
    assert frontier.standing(graph.by_id["A"]) == "open"


def test_a_visit_that_is_withdrawn_has_no_outcome() -> None:
    graph = typed(workflow('A["Custom"]:::CustomOp', "PROBLEM --> A --> RETURN"))
    frontier = Frontier(graph)
    (start,) = frontier.begin()
    assert frontier.tell(Withdrawn(start.visit)) == []
    assert frontier.standing(graph.by_id["PROBLEM"]) == "open"
    assert not frontier.is_over


def test_a_decision_may_leave_its_cases_open() -> None:
    graph = typed(
        workflow(
            'Q["Custom"]:::CustomOp',
            "D{which?}:::DecisionOp",
            'A["Custom"]:::CustomOp',
            'B["Custom"]:::CustomOp',
            "PROBLEM --> Q --> D",
            "D -- a --> A",
            "D -- else --> B",
            "PROBLEM --> A & B",
            "A & B --> RETURN",
        )
    )
    frontier = Frontier(graph)
    pending = frontier.begin()
    started: dict[str, list[str]] = {}
    while pending:
        one = pending.pop(0)
        assert isinstance(one, Start)
        started[one.node.id] = [given.node for values in one.inputs.values() for given in values]
        decides = one.node.kind == "decision"
        outcome: Told = Chose(one.visit, None) if decides else Gave(one.visit, dict.fromkeys(one.node.outputs, "x"))
        pending += frontier.tell(outcome if one.node.kind != "output" else Gave(one.visit, {"result": "x"}))
    assert started["RETURN"] == ["A", "B"]
    assert set(started) == set(graph.by_id)


def test_an_output_that_a_case_leaves_empty_is_no_failure() -> None:
    graph = typed(workflow("D{which?}:::DecisionOp", "PROBLEM -->|when| D", "PROBLEM -->|value| D", "D -- a --> RETURN",
                           'B["Custom"]:::CustomOp', "D -- else --> B"))  # fmt: skip
    frontier = Frontier(graph)
    (start,) = frontier.begin()
    (start,) = frontier.tell(Gave(start.visit, {"value": "x"}))
    skip, other = frontier.tell(Chose(start.visit, 1, start.inputs["value"]))
    assert isinstance(skip, Skip)
    assert (skip.node.id, skip.reason) == ("RETURN", "D chose `else`")
    assert frontier.tell(Gave(other.visit, {"response": "y"})) == []
    assert frontier.is_over
    assert frontier.failure is None
    assert frontier.results == {}


def test_a_way_that_was_not_taken_brings_nothing_where_it_joins_another() -> None:
    graph = typed(workflow("D{which?}:::DecisionOp", "PROBLEM -->|when| D", "PROBLEM -->|value| D", "D -- a --> RETURN",
                           'B["Custom"]:::CustomOp', "D -- else --> B --> RETURN"))  # fmt: skip
    for case, giver in ((0, "PROBLEM"), (1, "B")):
        frontier = Frontier(graph)
        told = finish(frontier, frontier.begin(), _Always(case), Random(1))
        assert [node.id for node in graph.nodes if node.id in told] == [
            node.id for node in graph.nodes if case or node.id != "B"
        ]
        assert str(frontier.results["RETURN"]).startswith(giver)


class _Always(World):
    """A world in which every Decision takes the case with this number, which is its seed."""

    def __init__(self, case: int) -> None:
        super().__init__(case)

    def outcome(self, node: TypedNode, visit: Visit, inputs: Inputs, key: Key) -> Told:
        told = super().outcome(node, visit, inputs, key)
        return Chose(visit, self.seed, told.value) if isinstance(told, Chose) else told


def test_a_node_waits_for_each_of_its_sources_however_many_edges_lead_from_it() -> None:
    graph = typed(workflow('V["Review"]:::ReviewOp', 'A["Custom"]:::CustomOp', 'B["Custom"]:::CustomOp',
                           "PROBLEM -->|solution| V", "PROBLEM -->|problem| V", "PROBLEM --> A", "V -->|feedback:input| B",
                           "V -->|result:input| B", "A --> B --> RETURN"))  # fmt: skip
    frontier = Frontier(graph)
    (problem,) = frontier.begin()
    review, custom = frontier.tell(Gave(problem.visit, {"value": "x"}))
    assert frontier.tell(Gave(review.visit, {"feedback": "f", "result": True})) == []
    (last,) = frontier.tell(Gave(custom.visit, {"response": "r"}))
    assert isinstance(last, Start)
    assert [given.value for given in last.inputs["input"]] == ["f", True, "r"]


def test_what_had_begun_before_a_failure_counts_whatever_is_told_first() -> None:
    graph = typed(workflow('A["Custom"]:::CustomOp', 'B["Custom"]:::CustomOp', 'C["Custom"]:::CustomOp',
                           "PROBLEM --> A --> C --> RETURN", "PROBLEM --> B --> RETURN"))  # fmt: skip
    frontier = Frontier(graph)
    (problem,) = frontier.begin()
    frontier.tell(Gave(problem.visit, {"value": "x"}))
    assert frontier.tell(Failed(Visit("B"), BudgetFailure("no"), ends=True)) == []
    assert frontier.tell(Gave(Visit("A"), {"response": "a"})) == []
    assert frontier.standing(graph.by_id["C"]) == "open"
    assert frontier.tell(Gave(Visit("C"), {"response": "c"})) == []
    assert frontier.standing(graph.by_id["C"]) == "finished"


def test_what_is_not_passed_on_keeps_a_node_from_running_before_the_choice() -> None:
    """Whether GOOD runs stays the same, as what it decides on comes from PLAN too; what it passes on does not."""
    operators = "workflow: {operators: {Run: {inputs: {code: Code}, outputs: {report: Text}, prompt: Run it.}}}"
    graph = typed(workflow("PROBLEM --> PLAN[Plan it] & LONG{Long?}", "LONG -->|no| NO[Say no]",
                           'LONG -->|"yes:problem"| K["CustomCodeGenerate (prompt: p)"]:::CustomCodeGenerateOp',
                           "PLAN & K --> GOOD{Good?}", "GOOD -->|yes| R@{ op: Run }", "GOOD -->|no| T[Shorten it]",
                           "PLAN & NO & R & T --> ALL[Put it together] --> RETURN", front=operators))  # fmt: skip
    node = graph.by_id
    assert node["GOOD"].asks
    live = live_state(graph)
    yes, no = (graph.by_id["LONG"].cases.labels.index(label) for label in ("yes", "no"))  # type: ignore[union-attr]
    live.choose(node["LONG"].index, yes)
    assert live.runs(node["R"]) is None
    live = live_state(graph)
    live.choose(node["LONG"].index, no)
    assert (live.runs(node["GOOD"]), live.runs(node["R"])) == (True, False)
