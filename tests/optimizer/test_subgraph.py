"""Subgraph mutation: patterns around nodes, in place of parts, and taken back to their core."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.optimizer.mutation_checks import CORPUS, EXAMPLES, check_mutant, rough_workflows
from tests.workflows import workflows

from merrow_analysis.check import analyse
from merrow_optimizer.mutations import subgraph
from merrow_optimizer.mutations.base import Move, WorkflowDifference, workflow_difference
from merrow_optimizer.mutations.moves import MoveFilter, moves, random_mutants
from merrow_optimizer.mutations.operator_names import SUBGRAPH
from merrow_optimizer.mutations.patterns import read_pattern

pytestmark = pytest.mark.thinned(8, "mutations of the corpus")

SUBGRAPHS = MoveFilter({SUBGRAPH: subgraph.proposals}, max_nodes=60)
GRAPHS = sorted((CORPUS / "mmd").glob("*.mmd"))

CHAIN = """flowchart TD
    PROBLEM([Problem])
    DRAFT["Custom<br/>(role: drafter)"]
    SOLVE["Custom<br/>(role: solver)"]
    RETURN([Return response & cost])

    classDef Interface fill:#e2e2f2
    classDef CustomOp fill:#d0e1f9

    class PROBLEM,RETURN Interface
    class DRAFT,SOLVE CustomOp

    PROBLEM --> |input|DRAFT
    DRAFT --> |input|SOLVE
    SOLVE --> RETURN
"""


def titled(text: str, title: str) -> Move:
    return next(move for move in moves(analyse(text), SUBGRAPHS) if move.title == title)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    text = path.read_text("utf-8")
    before = analyse(text)
    for move in moves(before, SUBGRAPHS):
        check_mutant(before, text, move)


@pytest.mark.shared("corpus")
@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
def test_corpus(path: Path) -> None:
    text = path.read_text("utf-8")
    before = analyse(text)
    for move in moves(before, SUBGRAPHS):
        check_mutant(before, text, move)


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=5)
@given(workflows() | rough_workflows(), st.integers(0, 9))
def test_generated_workflows(text: str, which: int) -> None:
    before = analyse(text)
    for number, move in enumerate(moves(before, SUBGRAPHS)):
        if number % 10 == which:
            check_mutant(before, text, move)


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=4)
@given(workflows(), st.integers(0, 999))
def test_chains_are_repeatable(text: str, seed: int) -> None:
    first = [(mutant.move.id, mutant.text) for mutant in random_mutants(text, 3, seed, SUBGRAPHS)]
    assert first == [(mutant.move.id, mutant.text) for mutant in random_mutants(text, 3, seed, SUBGRAPHS)]


@pytest.mark.parametrize(
    "title",
    [
        "Vote over three SOLVEs",
        "Choose the best of three SOLVEs",
        "Insert a Review and Revise after SOLVE",
        "Criticise and rewrite what SOLVE gives",
        "Verify what SOLVE gives by questions",
        "Check SOLVE against a program",
        "Insert a Review and Revise after DRAFT",
        "Plan before DRAFT",
        "Step back before DRAFT",
    ],
)
def test_a_pattern_around_a_node_is_taken_back_to_it(title: str) -> None:
    before = analyse(CHAIN)
    move = titled(CHAIN, title)
    mutant, after = check_mutant(before, CHAIN, move)
    added = {node.id for node in move.difference.added_nodes}
    back = [
        other
        for other in moves(after, SUBGRAPHS)
        if {node.id for node in other.difference.removed_nodes} == added and not other.difference.added_nodes
    ]
    assert len(back) == 1
    assert workflow_difference(before, analyse(back[0].apply(mutant))) == WorkflowDifference()


def test_a_vote_is_written_as_the_file_writes() -> None:
    mutant = titled(CHAIN, "Vote over three SOLVEs").apply(CHAIN)
    assert '    SOLVE_2["Custom<br/>(role: solver)"]\n    SOLVE_2@{ temperature: 0.7, seed: 2 }\n' in mutant
    assert "    DRAFT --> |input|SOLVE_3\n" in mutant
    assert "    SOLVE_3 --> VOTE\n    VOTE --> RETURN\n" in mutant
    assert "PROBLEM --> |problem|VOTE" in mutant
    kept = [line for line in CHAIN.splitlines() if line.strip() != "SOLVE --> RETURN"]
    lines = iter(mutant.splitlines())
    assert all(any(line == other for other in lines) for line in kept)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_part_gives_way_with_its_prompts(ending: str) -> None:
    prompts = "    drafter: |\n      Draft it.\n    solver: |\n      Solve it.\n"
    text = f"---\nworkflow:\n  model: m\n  prompts:\n{prompts}---\n{CHAIN}".replace("\n", ending)
    before = analyse(text)
    found = [move for move in moves(before, SUBGRAPHS) if "in place of SOLVE" in move.title]
    assert found
    for move in found:
        _, after = check_mutant(before, text, move)
        assert "solver" not in after.settings.prompts
        assert "drafter" in after.settings.prompts


def test_nothing_advises_an_ensemble_or_samples_one() -> None:
    text = (Path(__file__).parents[2] / "examples" / "vote.mmd").read_text("utf-8")
    titles = {move.title for move in moves(analyse(text), SUBGRAPHS)}
    assert "Insert a Review and Revise after VOTE" in titles
    assert not {"Plan before VOTE", "Vote over three VOTEs", "Step back before VOTE"} & titles


def test_copies_are_fed_as_the_core_is() -> None:
    text = (Path(__file__).parents[2] / "examples" / "code_with_tests.mmd").read_text("utf-8")
    _, after = check_mutant(analyse(text), text, titled(text, "Vote over three PLAINs and test the winner"))
    assert after.typed is not None
    fed = {
        name: sorted((edge.source.id, edge.port) for edge in after.typed.by_id[name].incoming)
        for name in ("PLAIN", "PLAIN_2", "PLAIN_3")
    }
    assert fed["PLAIN"] == fed["PLAIN_2"] == fed["PLAIN_3"]


def test_a_users_pattern_with_a_users_operator_needs_that_operator() -> None:
    pattern = read_pattern(
        """---
pattern:
  title: "Polish what {core} gives"
  core: CORE
workflow:
  operators: {Polish: {inputs: {text: Text}, outputs: {better: Text}, prompt: Shine.}}
---
flowchart TD
    PROBLEM([Task]):::Interface
    CORE["AnswerGenerate<br/>"]
    POLISH["Polish<br/>"]
    RETURN([Answer]):::Interface
    PROBLEM -->|input| CORE
    CORE -->|text| POLISH
    POLISH --> RETURN
    classDef Interface fill:#eee
""",
        "polish",
    )
    choice = MoveFilter({SUBGRAPH: subgraph.with_patterns([pattern])})
    assert not [move.title for move in moves(analyse(CHAIN), choice) if move.title.startswith("Polish")]
    knows = (
        "---\nworkflow:\n  operators: {Polish: {inputs: {text: Text}, outputs: {better: Text}, prompt: Shine.}}\n---\n"
        + CHAIN
    )
    before = analyse(knows)
    found = [move for move in moves(before, choice) if move.title.startswith("Polish")]
    assert [move.title for move in found] == ["Polish what DRAFT gives", "Polish what SOLVE gives"]
    for move in found:
        check_mutant(before, knows, move)


@pytest.mark.parametrize(
    "edge", ["SOLVE --> |input|DRAFT", "SOLVE --> |input|SOLVE", "DRAFT --> |input|DRAFT", "SOLVE --> PROBLEM"]
)
def test_circles_are_survived(edge: str) -> None:
    text = f"{CHAIN}    {edge}\n    PROBLEM --> |input|SOLVE\n"
    before = analyse(text)
    for move in moves(before, SUBGRAPHS):
        check_mutant(before, text, move)
