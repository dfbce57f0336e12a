"""Metrics: the worked examples and Flow's own candidates come out, and the figures agree with their definitions."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import SHARED

from merrow_analysis.check import analyse
from merrow_analysis.definitions.settings import read_settings
from merrow_analysis.graph.drawings.fold import fold
from merrow_analysis.graph.measures.measures import MOST_NODES, Measures, measure
from merrow_analysis.graph.measures.metrics import metrics
from merrow_analysis.graph.typed import build
from merrow_analysis.syntax.parser import parse_diagram

FLOW_CORPUS = SHARED / "corpus" / "flow"

Edge = tuple[str, str]


class MalformedTaskGraphError(ValueError):
    """A sentence that says what is wrong with a task graph."""


def read_task_graph(data: Mapping[str, Any]) -> tuple[list[str], list[Edge]]:
    """Nodes and edges of one of Flow's task graphs: tasks with ``next`` and ``prev``, or the early form."""
    tasks = data.get("tasks", data.get("workflow"))
    if tasks is not None:
        nodes = list(tasks)
        edges = [(name, other) for name, task in tasks.items() for other in task.get("next") or []]
        edges += [(other, name) for name, task in tasks.items() for other in task.get("prev") or []]
    else:
        nodes = [str(subtask["id"]) for subtask in data["subtasks"]]
        edges = []
        for number, dependency in enumerate(data["subtask_dependencies"], 1):
            ends = dependency.get("parent"), dependency.get("child")
            if None in ends:
                end = "parent" if ends[0] is None else "child"
                raise MalformedTaskGraphError(f"Dependency {number} of the task graph has no {end}.")
            edges.append((str(ends[0]), str(ends[1])))
    unknown = sorted({end for edge in edges for end in edge}.difference(nodes))
    if unknown:
        raise MalformedTaskGraphError(f"The task graph speaks of {unknown[0]}, which is not one of its tasks.")
    return nodes, list(dict.fromkeys(edges))


def load(name: str) -> Any:
    return json.loads((FLOW_CORPUS / name).read_text(encoding="utf-8"))


@pytest.mark.shared("corpus/flow")
def test_the_worked_examples_come_out() -> None:
    for name, example in load("worked_examples.json")["examples"].items():
        for probability, expected in example["expected_completed"].items():
            found = measure(example["nodes"], map(tuple, example["edges"]), float(probability))
            assert found.depth == example["steps"], name
            assert found.p_avg == pytest.approx(example["p_avg"], abs=1e-6)
            assert found.c_dependency == pytest.approx(example["c_dependency"], abs=1e-6)
            assert found.expected_product == pytest.approx(expected["product_formula"], abs=1e-6)
            assert found.expected_exact == pytest.approx(expected["all_ancestors_succeed"], abs=1e-6)


@pytest.mark.shared("corpus/flow")
def test_the_candidates_of_published_runs_measure_as_defined_or_are_refused_in_a_sentence() -> None:
    refused = []
    for path in sorted(FLOW_CORPUS.glob("*.candidates.json")):
        for candidate in json.loads(path.read_text(encoding="utf-8"))["candidates"]:
            try:
                nodes, edges = read_task_graph(candidate["graph"])
            except MalformedTaskGraphError as error:
                refused.append((candidate, str(error)))
                continue
            expected, found = candidate["metrics"], measure(nodes, edges)
            assert (found.nodes, found.edges, found.depth) == (expected["nodes"], expected["edges"], expected["depth"])
            assert found.p_avg == pytest.approx(expected["p_avg_definition"], abs=1e-6)
            assert found.c_dependency == pytest.approx(expected["c_dependency"], abs=1e-6)
    assert refused
    assert all("metrics" not in candidate and sentence.endswith(".") for candidate, sentence in refused)


def by_letters(*edges: str, nodes: str = "ABCD") -> Measures:
    return measure(nodes, [(edge[0], edge[1]) for edge in edges])


def test_the_paper_prefers_another_workflow_than_its_formula() -> None:
    first, second = by_letters("AC", "BC", "AD", "BD", "CD"), by_letters("AC", "BC", "CD")
    assert first.p_avg == second.p_avg
    assert (first.c_dependency or 0) < (second.c_dependency or 0)
    assert first.transitive_edges == (("A", "D"), ("B", "D"))
    assert second.transitive_edges == ()


def test_width_counts_a_level_and_the_antichain_any_independent_nodes() -> None:
    found = by_letters("AB", "BC", "AD", nodes="ABCDE")
    assert (found.depth, found.width, found.max_antichain) == (3, 2, 3)
    assert found.critical_path == ("A", "B", "C")


def test_of_equal_paths_the_first_declared_is_critical() -> None:
    assert by_letters("AD", "BD", "CD").critical_path == ("A", "D")
    assert by_letters("AD", "BD", "CD", nodes="CBAD").critical_path == ("C", "D")


def test_parallel_edges_count_once() -> None:
    assert measure("AB", [("A", "B"), ("A", "B")]) == measure("AB", [("A", "B")])


@pytest.mark.parametrize(
    ("edges", "cycle"), [(["AB", "BC", "CB", "CD"], "B -> C -> B"), (["AA"], "A -> A"), (["AB", "BA"], "A -> B -> A")]
)
def test_a_cycle_is_named_and_what_needs_an_order_is_undefined(edges: list[str], cycle: str) -> None:
    found = by_letters(*edges)
    assert found.undefined is not None
    assert cycle in found.undefined
    assert found.c_dependency is not None
    assert (found.depth, found.width, found.p_avg, found.critical_path, found.expected_exact) == (None,) * 5
    assert (found.transitive_edges, found.max_antichain, found.expected_product) == (None,) * 3


def test_no_nodes_are_a_sentence() -> None:
    found = measure([], [])
    assert found.undefined == "There are no nodes to measure."
    assert found.p_avg is None


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(probability: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        measure("A", [], probability)


def test_an_edge_to_nowhere_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="names X"):
        measure("A", [("A", "X")])


@st.composite
def acyclic(draw: st.DrawFn) -> tuple[list[str], list[Edge]]:
    count = draw(st.integers(1, 7))
    pairs = list(itertools.combinations(range(count), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    names = draw(st.permutations([f"n{number}" for number in range(count)]))
    return sorted(names), [(names[low], names[high]) for low, high in chosen]


@given(acyclic(), st.floats(0, 1))
def test_figures_agree_with_their_definitions_spelt_out(
    graph: tuple[list[str], list[Edge]], probability: float
) -> None:
    nodes, edges = graph
    found = measure(nodes, edges, probability)
    reach = {(a, b) for a, b in edges}
    for middle, a, b in itertools.product(nodes, repeat=3):
        if (a, middle) in reach and (middle, b) in reach:
            reach.add((a, b))
    ancestors = {node: {other for other in nodes if (other, node) in reach} for node in nodes}

    antichains = (
        chosen
        for size in range(len(nodes), 0, -1)
        for chosen in itertools.combinations(nodes, size)
        if not any((a, b) in reach for a in chosen for b in chosen)
    )
    assert found.max_antichain == len(next(antichains))
    assert found.transitive_edges == tuple(
        (a, b) for a, b in dict.fromkeys(edges) if any((a, c) in reach and (c, b) in reach for c in nodes)
    )
    assert found.expected_exact == pytest.approx(sum((1 - probability) ** (1 + len(ancestors[n])) for n in nodes))

    levels: dict[str, int] = {}
    completed: dict[str, float] = {}
    for node in sorted(nodes, key=lambda node: len(ancestors[node])):
        sources = [source for source, target in dict.fromkeys(edges) if target == node]
        levels[node] = 1 + max((levels[source] for source in sources), default=0)
        completed[node] = 1 - probability
        for source in sources:
            completed[node] *= completed[source]
    assert found.depth == max(levels.values())
    assert found.width == max(list(levels.values()).count(level) for level in levels.values())
    assert found.expected_product == pytest.approx(sum(completed.values()))
    assert (found.expected_product or 0) <= (found.expected_exact or 0) + 1e-9
    path = found.critical_path or ()
    assert len(path) == found.depth
    assert all(pair in edges for pair in itertools.pairwise(path))
    assert found.width <= found.max_antichain


def test_large_graphs_are_measured_and_very_large_ones_in_part() -> None:
    chain = [str(number) for number in range(5000)]
    found = measure(chain, [*itertools.pairwise(chain), *zip(chain, chain[2:], strict=False)])
    assert (found.depth, found.width, found.max_antichain) == (5000, 1, 1)
    assert len(found.transitive_edges or ()) == 4998
    beyond = measure(map(str, range(MOST_NODES + 1)), [])
    assert (beyond.width, beyond.max_antichain, beyond.transitive_edges) == (MOST_NODES + 1, None, None)
    assert beyond.undefined == "Some figures are left out above 10,000 nodes."


WORKFLOW = """flowchart TD
    PROBLEM([Problem])
    PLAN["Custom<br/>(role: planner)"]
    CODE@{ op: Custom, prompt: "Write code.", returns: Code }
    RETURN([Return])
    class PROBLEM,RETURN Interface
    class PLAN CustomOp
    PROBLEM --> PLAN --> CODE --> RETURN
    PROBLEM --> CODE
    PROBLEM ~~~ RETURN
"""


def test_a_workflow_is_measured_without_its_interface_and_with_it() -> None:
    flow = fold(parse_diagram(WORKFLOW).blocks)
    found = metrics(build(flow, read_settings("")))
    assert found.workflow is not None
    assert (found.workflow.nodes, found.workflow.edges, found.workflow.depth) == (2, 1, 2)
    assert (found.graph.nodes, found.graph.edges, found.graph.depth) == (4, 4, 4)
    assert found.graph.transitive_edges == (("PROBLEM", "CODE"),)
    assert found.promises == 1
    answer = found.as_json()
    assert json.loads(json.dumps(answer)) == answer


def test_a_flowchart_that_is_no_workflow_has_a_graph_only() -> None:
    found = metrics(fold(parse_diagram("flowchart LR\nA --> B\n").blocks))
    assert (found.workflow, found.promises, found.graph.nodes) == (None, None, 2)


BOXES = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    PLAN@{ op: Custom, returns: 'list[Text]', samples: 2 }
    subgraph PARTS["Map (min: 2, max: 5)"]
        PART["Custom<br/>"]
        subgraph TRIES["Loop ()"]
            TRY["Custom<br/>"]
            REVIEW["Review<br/>"]
        end
    end
    SUM["Custom<br/>"]
    PROBLEM --> PLAN
    PLAN -->|each| PART
    PART --> TRY
    TRY -->|solution| REVIEW
    PROBLEM -->|problem| REVIEW
    REVIEW -->|again:feedback:input| TRY
    TRY --> SUM
    REVIEW -->|feedback:input| SUM
    SUM --> RETURN
"""


def test_calls_are_products_of_the_bounds_of_loops_and_maps() -> None:
    typed = analyse(BOXES).typed
    assert typed is not None
    found = metrics(typed)
    # Two samples of PLAN; SUM; at least two items with one turn, at most five with three turns each.
    assert found.as_json()["calls"] == {"least": 2 + 1 + 2 * (1 + 2), "most": 2 + 1 + 5 * (1 + 3 * 2)}
    # The edge back is no part of what is measured.
    assert found.workflow is not None
    assert (found.workflow.edges, found.workflow.depth) == (5, 5)


def test_what_a_decision_may_pass_by_is_not_among_the_least_calls() -> None:
    typed = analyse(DECIDED).typed
    assert typed is not None
    assert metrics(typed).as_json()["calls"] == {"least": 2, "most": 3}


DECIDED = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    FIRST["Custom<br/>"]
    REVIEW["Review<br/>"]
    GOOD{Good?}:::DecisionOp
    MORE["Custom<br/>"]
    PROBLEM --> FIRST
    PROBLEM -->|problem| REVIEW
    FIRST -->|solution| REVIEW
    FIRST -->|value| GOOD
    REVIEW -->|result:when| GOOD
    GOOD -->|no| MORE
    GOOD -->|yes| RETURN
    MORE --> RETURN
"""
