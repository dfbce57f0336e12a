"""What runs under which cases: the symbolic answer against enumeration, and runs of workflows without errors."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.analysis.decision_workflows import decision_workflows
from tests.analysis.workflows import errors, told, typed, workflow

from merrow_analysis.graph.bare.conditions import ALWAYS, NEVER, Conditions, TooManyCombinationsError
from merrow_analysis.graph.live_state import live_state
from merrow_analysis.graph.liveness.combinations import combinations
from merrow_analysis.graph.liveness.waiting import feeds_of
from merrow_analysis.graph.nodes import TypedGraph


def holds(store: Conditions, condition: int, choices: tuple[int, ...]) -> bool:
    """Whether a condition holds under these choices."""
    for number, case in enumerate(choices):
        condition = store.both(condition, store.chosen(number, case))
    return condition != NEVER


SIZES = (2, 3, 2)
FORMULAS = st.recursive(
    st.one_of(
        st.sampled_from(["always", "never"]),
        st.tuples(st.just("is"), st.integers(0, 2), st.integers(0, 1)),
    ),
    lambda part: st.tuples(st.sampled_from(["and", "or"]), part, part),
    max_leaves=12,
)


def evaluate(formula: object, choices: tuple[int, ...]) -> bool:
    if isinstance(formula, str):
        return formula == "always"
    assert isinstance(formula, tuple)
    if formula[0] == "is":
        return choices[formula[1]] == formula[2]
    first, second = evaluate(formula[1], choices), evaluate(formula[2], choices)
    return first and second if formula[0] == "and" else first or second


def condition_of(formula: object, store: Conditions) -> int:
    if isinstance(formula, str):
        return ALWAYS if formula == "always" else NEVER
    assert isinstance(formula, tuple)
    if formula[0] == "is":
        return store.chosen(formula[1], formula[2])
    first, second = condition_of(formula[1], store), condition_of(formula[2], store)
    return store.both(first, second) if formula[0] == "and" else store.either(first, second)


@given(FORMULAS)
def test_conditions_agree_with_enumeration(formula: object) -> None:
    store = Conditions(SIZES)
    condition = condition_of(formula, store)
    answers = {choices: evaluate(formula, choices) for choices in product(*map(range, SIZES))}
    assert all(holds(store, condition, choices) == answer for choices, answer in answers.items())
    assert (condition == ALWAYS) == all(answers.values())
    assert (condition == NEVER) == (not any(answers.values()))
    for wanted, example in ((False, store.counterexample(condition)), (True, store.example(condition))):
        if example is None:
            assert all(answer != wanted for answer in answers.values())
        else:
            matching = [answers[c] for c in answers if all(c[number] == case for number, case in example.items())]
            assert matching
            assert all(answer == wanted for answer in matching)


@st.composite
def workflows(draw: st.DrawFn) -> str:
    """Small workflows with Decisions, most of them right or nearly so."""
    lines: list[str] = []
    sources, loose, unused = ["PROBLEM"], dict[str, list[str]](), dict[str, None]()

    def edge(source: str, target: str, port: str = "") -> None:
        unused.pop(source, None)
        label = port
        if source in loose:
            case = loose[source].pop(0) if loose[source] else draw(st.sampled_from(["Passed", "else", "a"]))
            label = f"{case}:{port}" if port and draw(st.integers(0, 3)) else case
        lines.append(f"{source} -->|{label}| {target}" if label else f"{source} --> {target}")

    for number in range(draw(st.integers(1, 6))):
        node = f"N{number}"
        operator = draw(st.sampled_from(["Custom", "Custom", "Review", "Decision", "Decision", "ScEnsemble", "Format"]))
        lines.append(f'{node}["{operator}"]:::{operator}Op')
        if operator == "Decision":
            source = draw(st.sampled_from(sources))
            edge(source, node)
            verdict = any(line.startswith(f'{source}["Review"') for line in lines)
            cases = ["Passed", "Failed"] if verdict else draw(st.sampled_from([["a", "b", "else"], ["a", "else"]]))
            if draw(st.booleans()):
                lines.append(f"PROBLEM -->|value| {node}")
            loose[node] = list(cases)
            for case in cases[: draw(st.integers(0, 3))]:
                edge(node, f"{node}{case}")
                lines.append(f'{node}{case}["Custom"]:::CustomOp')
                if draw(st.booleans()):
                    lines.append(f"PROBLEM -->|input| {node}{case}")
                sources.append(f"{node}{case}")
                unused[f"{node}{case}"] = None
            if loose[node]:
                sources.append(node)
                unused[node] = None
            continue
        if operator in ("Review", "Format"):
            edge(draw(st.sampled_from(sources)), node, "solution")
            lines.append(f"PROBLEM -->|problem| {node}")
        else:
            least = 2 if operator == "ScEnsemble" and len(sources) > 2 else 1
            for source in draw(st.lists(st.sampled_from(sources), min_size=least, max_size=3, unique=True)):
                edge(source, node)
        sources.append(node)
        unused[node] = None
    last = draw(st.sampled_from(["FIN", "RETURN"]))
    for source in list(unused):
        for _ in range(max(1, len(loose.get(source, ())))):
            edge(source, last)
    if draw(st.booleans()) and last == "FIN":
        lines.append("PROBLEM -->|input| FIN")
    if last == "FIN":
        lines += ['FIN["Custom"]:::CustomOp', "FIN --> RETURN"]
    return workflow(*lines)


def all_choices(graph: TypedGraph) -> list[dict[str, int]]:
    decisions = [node for node in graph.decisions if node.cases is not None and node.cases.keys]
    ranges = [range(len(node.cases.keys)) for node in decisions if node.cases is not None]
    return [dict(zip([node.id for node in decisions], choice, strict=True)) for choice in product(*ranges)]


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(workflows() | decision_workflows())
def test_the_symbolic_answer_is_that_of_every_single_combination(text: str) -> None:
    graph = typed(text)
    answer = combinations(graph)
    seen: dict[str, set[bool | None]] = {node.id: set() for node in graph.nodes}
    for choice in all_choices(graph):
        state = live_state(graph, choice)
        for node in graph.nodes:
            seen[node.id].add(state.runs(node))
    for node in graph.nodes:
        condition = answer.runs(node)
        expected = {True} if condition == ALWAYS else {False} if condition == NEVER else {True, False}
        assert seen[node.id] == expected, node.id


def test_a_workflow_without_errors_never_meets_a_missing_or_ill_typed_value() -> None:
    run = 0
    wanted = 50

    @settings(max_examples=wanted, suppress_health_check=list(HealthCheck))
    @given(decision_workflows() | decision_workflows() | workflows())
    def check(text: str) -> None:
        nonlocal run
        graph = typed(text)
        assume(len(graph.decisions) >= 2 and not errors(text))
        for choice in all_choices(graph):
            simulate(graph, choice)
        run += 1

    check()
    assert run >= wanted, f"only {run} of the workflows drawn were free of errors and had two Decisions or more"


def simulate(graph: TypedGraph, choice: dict[str, int]) -> None:
    """Run a workflow with types for values, and look at each value that arrives."""
    state = live_state(graph, choice)
    for index in graph.order:
        node = graph.nodes[index]
        if not state.runs(node):
            assert node.kind != "output", f"{node.id} is left empty by {choice}"
            continue
        for port in node.input_ports:
            arriving = [edge_ for edge_ in node.sources(port.name) if any(map(state.alive, feeds_of(edge_, port.name)))]
            for edge_ in arriving:
                assert state.runs(edge_.source), f"{edge_.source.id} feeds {node.id} without running"
                given_type = next(feed.type for feed in edge_.feeds if feed.port == port.name)
                assert given_type is not None
                item = port.item if port.many else port.type
                assert item == "T" or graph.types.fits(given_type, item)
            if port.required:
                assert arriving, f"{port.name} of {node.id} gets nothing with {choice}"
            if not port.many:
                assert len(arriving) <= 1, f"{port.name} of {node.id} gets {len(arriving)} values with {choice}"


def test_a_merge_takes_the_branch_that_ran() -> None:
    text = workflow(
        'A["Custom"]:::CustomOp',
        'R["Review"]:::ReviewOp',
        "D{good?}:::DecisionOp",
        'FIX["Custom"]:::CustomOp',
        "PROBLEM --> A",
        "A -->|solution| R",
        "PROBLEM -->|problem| R",
        "R -->|result:when| D",
        "A -->|value| D",
        "D -- Passed --> RETURN",
        "D -- Failed --> FIX --> RETURN",
    )
    assert errors(text) == []
    graph = typed(text)
    node = graph.by_id
    for case, runs in ((0, False), (1, True)):
        state = live_state(graph, {"D": case})
        assert state.runs(node["FIX"]) is runs
        assert state.runs(node["RETURN"]) is True
        arriving = [
            edge_ for edge_ in node["RETURN"].sources("result") if any(map(state.alive, feeds_of(edge_, "result")))
        ]
        assert [edge_.source.id for edge_ in arriving] == ["FIX" if runs else "D"]


def test_nothing_is_known_before_a_decision_has_chosen() -> None:
    text = workflow(
        'R["Custom"]:::CustomOp', "D{which?}:::DecisionOp", 'A["Custom"]:::CustomOp', 'B["Custom"]:::CustomOp',
        "PROBLEM --> R --> D", "D -- a --> A --> RETURN", "D -- else --> B --> RETURN",
        "PROBLEM --> A", "PROBLEM --> B",
    )  # fmt: skip
    assert errors(text) == []
    graph = typed(text)
    state = live_state(graph, {})
    assert [state.runs(graph.by_id[name]) for name in ("R", "D", "A", "B", "RETURN")] == [True, True, None, None, None]
    state = live_state(graph, {"D": 0})
    assert [state.runs(graph.by_id[name]) for name in ("A", "B", "RETURN")] == [True, False, True]
    state = live_state(graph, {"D": 0}, skipped=["A"])
    assert state.runs(graph.by_id["RETURN"]) is False


@pytest.mark.parametrize("count", [30, 300])
def test_decisions_in_a_row_stay_cheap(count: int) -> None:
    lines = ['S["Custom"]:::CustomOp', "PROBLEM --> S --> D0"]
    for number in range(count):
        lines += [f"D{number}{{?}}:::DecisionOp", f"C{number}[Custom]:::CustomOp", f"PROBLEM --> C{number} --> RETURN"]
        lines += [f"D{number} -- stop --> C{number}", f"D{number} -- else --> E{number}[Custom]:::CustomOp"]
        lines += [f"PROBLEM --> E{number}", f"E{number} --> D{number + 1}"]
    lines += [f"D{count}[Custom]:::CustomOp", f"D{count} --> RETURN"]
    assert errors(workflow(*lines)) == []


def test_decisions_side_by_side_stay_cheap() -> None:
    lines = ['FIN["Custom"]:::CustomOp', "FIN --> RETURN"]
    for number in range(30):
        lines += [
            f'S{number}["Custom"]:::CustomOp',
            f"D{number}{{?}}:::DecisionOp",
            f"PROBLEM --> S{number} --> D{number}",
        ]
        lines += [f'A{number}["Custom"]:::CustomOp', f"D{number} -- a --> A{number} --> FIN", f"PROBLEM --> A{number}"]
        lines += [
            f'B{number}["Custom"]:::CustomOp',
            f"D{number} -- else --> B{number} --> FIN",
            f"PROBLEM --> B{number}",
        ]
    assert errors(workflow(*lines)) == []


def test_too_many_combinations_are_an_error_and_not_a_guess() -> None:
    store = Conditions([2] * 40, 200)
    with pytest.raises(TooManyCombinationsError):
        entangle(store)


def entangle(store: Conditions) -> None:
    condition = ALWAYS
    for number in range(20):
        pair = store.either(store.chosen(number, 0), store.chosen(39 - number, 1))
        condition = store.both(condition, pair)


def test_ensembles_need_sources_that_are_live_together() -> None:
    text = workflow(
        'A["Custom"]:::CustomOp', "D{which?}:::DecisionOp", 'B["Custom"]:::CustomOp', 'C["Custom"]:::CustomOp',
        'V["ScEnsemble"]:::ScEnsembleOp', "PROBLEM --> A --> D", "D -- one --> B --> V", "D -- else --> C --> V",
        "PROBLEM --> B", "PROBLEM --> C", "V --> RETURN",
    )  # fmt: skip
    assert told(text) == [("MW105", "V")]
    assert errors(text + "A --> V\n") == []
