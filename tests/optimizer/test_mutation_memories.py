"""Moves of memory: what a step remembers, and the result of one earlier step that an edge brings or no longer brings."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.optimizer.test_mutation_writing import change, move
from tests.workflows import workflows

from merrow_analysis.check import analyse
from merrow_analysis.graph.instructions import memory_of
from merrow_analysis.graph.remembering import remembered
from merrow_analysis.text import apply_edits
from merrow_optimizer.mutations.base import Move, workflow_difference
from merrow_optimizer.mutations.memories import MEMORIES, remember, remembering, sharing, thinkers
from merrow_optimizer.mutations.moves import make, moves
from merrow_optimizer.mutations.original import Original, why_unchangeable

CHAIN = """\
---
workflow:
  memory: {memory}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    PLAN["Custom<br/>(role: planner)"]
    DRAFT@{{ op: Custom, prompt: "Draft it.", temperature: 0.5 }}
    CHECK["Custom<br/>(role: checker{label})"]
    SAY@{{
      op: Custom
      prompt: Say it.{lines}
    }}
    RETURN([Return]):::Interface
    classDef Interface fill:#e2e2f2
    PROBLEM -->|input| PLAN -->|input| DRAFT -->|input| CHECK -->|input| SAY --> RETURN
"""


def chain(memory: str = "none", label: str = "", lines: str = "") -> str:
    return CHAIN.format(memory=memory, label=label, lines=lines)


@pytest.mark.parametrize(
    ("text", "title", "changed"),
    [
        (chain(), "Let CHECK remember all earlier results", ['CHECK["Custom<br/>(role: checker, memory: all)"]']),
        (chain(), "Let CHECK remember the last result", ['CHECK["Custom<br/>(role: checker, memory: {last: 1})"]']),
        (chain(), "Let DRAFT remember all earlier results",
         ['DRAFT@{ op: Custom, prompt: "Draft it.", temperature: 0.5, memory: all }']),
        (chain("all"), "Let CHECK remember nothing", ['CHECK["Custom<br/>(role: checker, memory: none)"]']),
        (chain(label=", memory: all"), "Let CHECK remember nothing", ['CHECK["Custom<br/>(role: checker, memory: none)"]']),
        (chain(), "Let SAY remember the last 2 results", ['memory: "{last: 2}"']),
        (chain(lines="\n      memory: all"), "Let SAY remember the last result", ['memory: "{last: 1}"']),
        (chain(), "Let CHECK read PLAN as well", ["PLAN -->|input| CHECK"]),
    ],
)  # fmt: skip
def test_a_memory_is_written_where_the_step_says_its_parameters(text: str, title: str, changed: list[str]) -> None:
    assert [line[1:] for line in change(text, title) if line.startswith("+")] == changed
    made = move(text, title)
    assert apply_edits(made.apply(text), made.reverse) == text


def test_a_result_that_an_edge_brings_can_be_left_out_again() -> None:
    text = move(chain(), "Let CHECK read PLAN as well").apply(chain())
    assert change(text, "Let CHECK no longer read PLAN") == ["-PLAN -->|input| CHECK"]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (chain(), "Let PLAN remember all earlier results"),  # Its edge brings all there is.
        (chain(), "Let CHECK remember nothing"),
        (chain("all"), "Let CHECK remember all earlier results"),
        (chain(), "Let CHECK remember the last 2 results"),  # There are no more.
        (chain(label=", memory: {last: 2}"), "Let CHECK remember all earlier results"),
    ],
)
def test_a_memory_that_shows_the_same_is_refused(text: str, title: str) -> None:
    assert title not in {one.title for one in moves(analyse(text))}
    proposed = next(one for make_one in remembering(Original(analyse(text))) if (one := make_one()).title == title)
    refused = make(proposed)
    assert not isinstance(refused, Move)
    assert refused.precondition == "memory"


@settings(suppress_health_check=list(HealthCheck), max_examples=25, deadline=None)
@given(workflows(), st.sampled_from(["", "all", "none", "{last: 1}", "summary"]), st.integers(0, 2**32))
def test_a_move_of_memory_gives_one_step_this_memory_and_changes_nothing_else(
    text: str, all_of: str, seed: int
) -> None:
    text = f"---\nworkflow: {{memory: {all_of}}}\n---\n{text}" if all_of and not text.startswith("---") else text
    before = analyse(text)
    if before.typed is None or why_unchangeable(before) is not None:
        return
    original = Original(before)
    proposed = [(node, memory) for node in thinkers(original, before.typed.nodes) for memory in MEMORIES]
    for node, memory in Random(seed).sample(proposed, min(len(proposed), 6)):
        made = make(remember(original, node, memory))
        if not isinstance(made, Move):
            assert made.precondition in ("memory", "writing"), made
            continue
        mutant = made.apply(text)
        after = analyse(mutant)
        assert after.typed is not None
        assert len(after.errors) == len(before.errors)
        assert workflow_difference(before, after) == made.difference
        assert made.difference.changed_memories
        assert apply_edits(mutant, made.reverse) == text
        for name, other in after.typed.by_id.items():
            wanted = memory if name == node.id else memory_of(before.typed.by_id[name], before.settings)
            assert memory_of(other, after.settings) == wanted
        shown = [
            remembered(one.typed, one.typed.by_id[node.id], one.settings)[1] for one in (before, after) if one.typed
        ]
        assert shown[0] or shown[1]
        if all_of != "summary" and not before.typed.decisions:
            assert [one.id for one in shown[0]] != [one.id for one in shown[1]]


@settings(suppress_health_check=list(HealthCheck), max_examples=15, deadline=None)
@given(workflows(), st.integers(0, 2**32))
def test_a_shared_result_arrives_by_an_edge_and_is_remembered_no_more(text: str, seed: int) -> None:
    before = analyse(text)
    if before.typed is None or why_unchangeable(before) is not None:
        return
    proposed = sharing(Original(before))
    for number in Random(seed).sample(range(len(proposed)), min(len(proposed), 40)):
        one = proposed[number]()
        made = make(one)
        if isinstance(made, Move):
            after = analyse(made.apply(text))
            assert len(after.errors) == len(before.errors)
            assert workflow_difference(before, after) == made.difference
            assert len(made.difference.added_edges) == 1
            assert not made.difference.removed_edges
