"""Mutations of workflows with Loops and Maps: each is as valid as its original, and no box is torn."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.composites import composite_workflows
from tests.optimizer.mutation_checks import check_mutant

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.graph.liveness.frames import unit_order
from merrow_optimizer.mutations.base import Move, MoveRefusal
from merrow_optimizer.mutations.moves import DEFAULT, draw, moves
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.subgraph_loops import loop_proposals
from merrow_optimizer.mutations.subgraph_maps import mapping

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = settings(suppress_health_check=[HealthCheck.too_slow], max_examples=6)


def boxes_of(analysis: Analysis) -> dict[str, tuple[str, str | None, frozenset[str]]]:
    assert analysis.typed is not None
    return {box.id: (box.kind, box.parent, frozenset(box.nodes)) for box in analysis.typed.composites}


def words_of(analysis: Analysis) -> Counter[tuple[str, str, str]]:
    assert analysis.typed is not None
    return Counter((edge.source, edge.target, said.word) for edge, said in analysis.typed.core.words.items())


def check_boxes(before: Analysis, after: Analysis, move: Move, mutant: str) -> None:
    """Assert that each box is what it was but for nodes that came and went, and that no path leaves one and comes back."""
    old, new = boxes_of(before), boxes_of(after)
    unwrapped = {name for name in old if move.title == f"Run the nodes of {name} once"}
    drawn = new.keys() - old.keys()
    assert old.keys() - unwrapped == new.keys() - drawn, f"{move.title}\n{mutant}"
    if drawn:
        if move.title.startswith("Review "):
            check_wrapped(before, after, move, drawn.pop(), mutant)
        else:
            check_mapped(before, after, move, drawn.pop(), mutant)
        return
    if unwrapped:
        check_unwrapped(before, after, unwrapped.pop(), mutant)
        return
    came = {node.id for node in move.difference.added_nodes}
    went = {node.id for node in move.difference.removed_nodes}
    for name, (kind, parent, nodes) in old.items():
        assert new[name][:2] == (kind, parent), f"{move.title}\n{mutant}"
        assert new[name][2] - came == nodes - went, f"{move.title}\n{mutant}"
    assert words_of(before) <= words_of(after), f"{move.title}\n{mutant}"
    copied = words_of(after) - words_of(before)
    assert all(came.intersection(edge[:2]) for edge in copied), f"{move.title}\n{mutant}"
    assert after.typed is not None
    assert unit_order(after.typed.core) is not None, f"{move.title}\n{mutant}"


def check_wrapped(before: Analysis, after: Analysis, move: Move, name: str, mutant: str) -> None:
    """Assert that a Loop is around one node and its review, where that node was."""
    old, new = boxes_of(before), boxes_of(after)
    (review,) = (node.id for node in move.difference.added_nodes)
    (core,) = new[name][2] - {review}
    assert new[name][:2] == ("loop", before.typed.composites.inside.get(core) if before.typed else None), mutant
    assert {box: nodes for box, (_, _, nodes) in new.items() if box != name} == {
        box: nodes - {core} for box, (_, _, nodes) in old.items()
    }, mutant
    assert words_of(after) - words_of(before) == Counter([(review, core, "again")]), mutant
    assert words_of(before) <= words_of(after), mutant
    assert after.typed is not None
    assert unit_order(after.typed.core) is not None, mutant


def check_mapped(before: Analysis, after: Analysis, move: Move, name: str, mutant: str) -> None:
    """Assert that a Map is around one node, one of whose edges takes a list apart now."""
    assert move.title.startswith("Run "), f"{move.title}\n{mutant}"
    old, new = boxes_of(before), boxes_of(after)
    (core,) = new[name][2]
    assert new[name][:2] == ("map", before.typed.composites.inside.get(core) if before.typed else None), mutant
    assert {box: nodes for box, (_, _, nodes) in new.items() if box != name} == {
        box: nodes - {core} for box, (_, _, nodes) in old.items()
    }, mutant
    (said,) = words_of(after) - words_of(before)
    assert said[1:] == (core, "each"), mutant
    assert words_of(before) <= words_of(after), mutant
    assert after.typed is not None
    assert unit_order(after.typed.core) is not None, mutant


def check_unwrapped(before: Analysis, after: Analysis, name: str, mutant: str) -> None:
    """Assert that a Loop became a group, and its nodes and inner boxes are directly in what was around it."""
    old, new = boxes_of(before), boxes_of(after)
    parent = old[name][1]
    for box, (kind, around, nodes) in new.items():
        was = old[box]
        assert (kind, around) == (was[0], parent if was[1] == name else was[1]), mutant
        assert nodes == (was[2] | old[name][2] if box == parent else was[2]), mutant
    assert before.typed is not None
    assert after.typed is not None
    back = Counter(
        (edge.source.id, edge.target.id, "again") for edge in before.typed.again if edge.border.scope == name
    )
    assert words_of(before) - back == words_of(after), mutant
    assert name in after.flow.subgraphs
    assert unit_order(after.typed.core) is not None, mutant


@SMALL
@given(composite_workflows(), st.integers(0, 2**32))
def test_no_mutant_tears_a_box(text: str, seed: int) -> None:
    random, analysis = Random(seed), analyse(text)
    assert analysis.is_valid, text
    for made in range(6):
        move = draw(analysis, random, DEFAULT)
        if move is None:
            assume(made > 0)
            break
        mutant, after = check_mutant(analysis, text, move)
        check_boxes(analysis, after, move, mutant)
        text, analysis = mutant, after


@settings(SMALL, max_examples=4)
@given(composite_workflows())
def test_no_move_at_all_tears_a_box(text: str) -> None:
    before = analyse(text)
    for move in islice(moves(before), 200):
        mutant, after = check_mutant(before, text, move)
        check_boxes(before, after, move, mutant)


REFINE = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    PLAN["Custom<br/>(role: worker)"]
    subgraph REFINE["Loop (max: 4)"]
        WRITE["Custom<br/>(role: writer)"]
        REVIEW["Review<br/>"]
        CHECK{Good?}:::DecisionOp
    end
    PROBLEM --> PLAN
    PLAN --> WRITE
    PROBLEM -->|problem| REVIEW
    WRITE -->|solution| REVIEW
    WRITE -->|value| CHECK
    REVIEW -->|result:when| CHECK
    CHECK -->|no:again:input| WRITE
    REVIEW -.->|again:feedback:input| WRITE
    CHECK -->|yes| RETURN
    WRITE -->|over| RETURN
    classDef Interface fill:#e2e2f2
"""


@pytest.mark.slow
def test_every_move_of_one_workflow() -> None:
    before = analyse(REFINE)
    made = list(moves(before))
    for move in made:
        mutant, after = check_mutant(before, REFINE, move)
        check_boxes(before, after, move, mutant)
    titles = {move.title for move in made}
    assert "Remove PLAN" in titles
    assert "Insert Custom on PLAN -> WRITE" in titles
    assert "Insert Custom on WRITE -> REVIEW" in titles, sorted(titles)
    assert "Remove REVIEW" not in titles
    assert {"Let REFINE have up to 3 turns", "Let REFINE have up to 5 turns"} <= titles
    # What happens when the turns run out would never happen.
    assert "Run the nodes of REFINE once" not in titles


UNTIL = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    subgraph REFINE["Loop (until: REVIEW.result)"]
        WRITE["Custom<br/>(role: writer)"]
        REVIEW["Review<br/>"]
        READ["Custom<br/>(role: reader)"]
    end
    PROBLEM -->|first:input| WRITE
    PROBLEM -->|problem| REVIEW
    WRITE -->|solution| REVIEW
    REVIEW -->|feedback:input| READ
    WRITE --> READ
    READ -.->|again:input| WRITE
    READ --> RETURN
    classDef Interface fill:#e2e2f2
"""


def made(text: str, title: str) -> str:
    (move,) = [one for one in moves(analyse(text)) if one.title == title]
    return move.apply(text)


@pytest.mark.slow
def test_turns_are_written_where_the_loop_says_or_could_say_them() -> None:
    more = "Let REFINE have up to 4 turns"
    assert 'subgraph REFINE["Loop (max: 4, until: REVIEW.result)"]' in made(UNTIL, more)
    bare = UNTIL.replace("(until: REVIEW.result)", "()")
    assert 'subgraph REFINE["Loop (max: 4)"]' in made(bare, more)
    below = bare.replace('["Loop ()"]', "[Refine]").replace(
        "    PROBLEM -->|f", "    REFINE@{ op: Loop, max: 3 }\n    PROBLEM -->|f"
    )
    assert "    REFINE@{ op: Loop, max: 4 }\n" in made(below, more)
    assert "Let REFINE have up to 0 turns" not in {
        one.title for one in moves(analyse(UNTIL.replace("(until", "(max: 1, until")))
    }


def test_a_loop_taken_back_is_a_group_whose_nodes_run_once() -> None:
    mutant = made(UNTIL, "Run the nodes of REFINE once")
    assert 'subgraph REFINE["REFINE"]' in mutant
    assert "    PROBLEM -->|input| WRITE\n" in mutant
    assert "again" not in mutant
    assert analyse(mutant).is_valid


def test_a_node_that_a_loop_names_stays_what_it_is() -> None:
    titles = {move.title for move in moves(analyse(UNTIL))}
    assert not {title for title in titles if title.startswith(("Remove REVIEW", "Replace Review REVIEW"))}


@settings(parent=SMALL, max_examples=4)
@given(composite_workflows())
def test_what_is_said_safe_at_once_is_what_all_preconditions_admit(text: str) -> None:
    analysis = analyse(text)
    assume(analysis.is_valid and analysis.typed is not None)
    original = Original(analysis)
    for proposal in loop_proposals(original):
        move = DEFAULT.make(proposal())
        at_once = DEFAULT.make_if_safe(proposal())
        assert at_once == (move if isinstance(move, Move) else None), f"{move}\n{text}"


def test_a_box_that_brings_a_finding_is_not_drawn() -> None:
    """An edge behind BEST names an output that a list of its answers does not have."""
    original = Original(analyse((EXAMPLES / "best_draft.mmd").read_text("utf-8")))
    (proposal,) = mapping(original, original.typed.by_id["BEST"])
    refused = DEFAULT.make(proposal())
    assert isinstance(refused, MoveRefusal)
    assert refused.precondition == "types"
    assert DEFAULT.make_if_safe(proposal()) is None
