"""What a machine changes never asks people more often, elsewhere, or without what must have let it through.

What must stay is found without `kept_effects` (`tests.people.kept`).
"""

from __future__ import annotations

import json
import re
from itertools import islice
from random import Random
from typing import Any

import pytest
from tests.optimizer.files import beside
from tests.people.flows import CLASSES, EACH, ENDS, ROW, with_people
from tests.people.kept import acting_nodes, assert_kept, graph_of, guards
from tests.sizes import sized

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.graph.measures.call_bounds import most_calls
from merrow_analysis.graph.measures.kept_effects import acting, why_not_kept
from merrow_optimizer.crossover.children import CrossoverRefusedError, children
from merrow_optimizer.mutations.base import Move, MoveRefusal
from merrow_optimizer.mutations.calls.moves import rewritings
from merrow_optimizer.mutations.moves import changes, draw_from, identity, make, moves, random_mutants
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.preconditions import BRIDGE
from merrow_optimizer.repair.search import repair
from merrow_optimizer.revising.making import GraphChanges
from merrow_optimizer.revising.revision_answers import read_answer
from merrow_optimizer.suggestions.allowed import what_is_forbidden
from merrow_runtime.revising.reviser import CannotReviseError
from merrow_runtime.workflow import check_workflow

FLOWS = with_people()


@pytest.mark.parametrize("name", FLOWS)
def test_mutants_keep_what_people_are_asked(name: str) -> None:
    text = FLOWS[name]
    before = graph_of(text)
    assert acting_nodes(before)
    made = 0
    for seed in range(sized(1, 3)):
        titles = []
        for mutant in random_mutants(text, sized(12, 50), seed):
            titles.append(mutant.move.title)
            assert_kept(before, graph_of(mutant.text), f"{titles}\n{mutant.text}")
            made += 1
    assert made >= sized(8, 120), "too few mutants to say anything"


@pytest.mark.thinned(5)
@pytest.mark.parametrize("name", FLOWS)
def test_every_move_that_is_offered_keeps_them(name: str) -> None:
    before = graph_of(FLOWS[name])
    for number, move in enumerate(moves(analyse(FLOWS[name]))):
        if number % sized(12, 1) == 0:
            assert_kept(before, graph_of(move.apply(FLOWS[name])), move.title)


def refusal(text: str, title: str) -> MoveRefusal | None:
    """Why a change with this title is refused; None where it is made."""
    change = next(change for change in changes(Original(analyse(text))) if change.title == title)
    made = make(change)
    return made if isinstance(made, MoveRefusal) else None


@pytest.mark.parametrize(
    ("flow", "title"),
    [
        (ROW, "Remove EDIT"),
        (ROW, "Remove DECIDE"),
        (ROW, "Remove REVIEW"),
        (ROW, "Remove SHORT"),
        (EACH, "Remove CHECK"),
    ],
)
def test_nothing_is_taken_away_from_a_person(flow: str, title: str) -> None:
    refused = refusal(flow, title)
    assert refused is not None
    assert refused.precondition in ("effects", "bridge", "ports", "capacity"), refused


def test_the_precondition_can_not_be_left_out() -> None:
    original = Original(analyse(ROW))
    removal = next(change for change in changes(original) if change.title == "Remove EDIT")
    made = make(removal, [BRIDGE])
    assert isinstance(made, MoveRefusal)
    assert made.precondition == "effects"
    assert made.reason == "EDIT is a Human: only an author takes it away or makes something else of it."
    assert identity(removal)


def test_all_else_still_changes() -> None:
    """Workflows with people are not frozen."""
    original = Original(analyse(ROW))
    assert draw_from(original, Random(3)) is not None
    titles = {move.title for move in moves(original.analysis)}
    assert len(titles) > 20
    assert not any("Human" in title for title in titles), "no operator becomes one, and none is inserted"


PLAIN = (
    "---\nworkflow:\n  prompts: {write: Write it., check: Check it.}\n---\n"
    + ENDS
    + """    FIRST["Custom<br/>(role: write)"]
    SECOND["Custom<br/>(role: check)"]
    PROBLEM -->|input| FIRST
    FIRST -->|input| SECOND
    SECOND --> RETURN
"""
    + CLASSES
)
IN_A_ROW = PLAIN.replace('SECOND["Custom<br/>(role: check)"]', "SECOND[\"Human<br/>(ask: 'Is it right?')\"]")


TAIL = IN_A_ROW.replace(
    "    SECOND --> RETURN\n",
    '    THIRD["Custom<br/>(role: write)"]\n    FOURTH["Custom<br/>(role: check)"]\n    SECOND -->|input| THIRD\n'
    "    THIRD -->|input| FOURTH\n    FOURTH --> RETURN\n",
)


@pytest.mark.parametrize("text", [ROW, IN_A_ROW, TAIL], ids=["row", "in a row", "tail"])
def test_no_child_has_another_parents_people(text: str) -> None:
    first, second = analyse(text), analyse(PLAIN)
    hosts = set[int]()
    try:
        for child in islice(children(first, second), sized(30, 1000)):
            graph = graph_of(child.text)
            hosts.add(child.host)
            if child.host == 0:
                assert_kept(graph_of(text), graph, child.title)
            else:
                assert not acting_nodes(graph), child.title
    except CrossoverRefusedError:
        pass
    assert text != TAIL or hosts == {0, 1}, "what is no person's is crossed over as before"


def test_a_call_that_asks_people_stays_in_a_child_as_a_person_does() -> None:
    typed = "    PROBLEM@{ shape: stadium, type: Text }\n    class PROBLEM Interface"
    files = beside({"part.mmd": IN_A_ROW.replace("    PROBLEM([Task]):::Interface", typed)})
    text = TAIL.replace("SECOND[\"Human<br/>(ask: 'Is it right?')\"]", "SECOND@{ op: Call, workflow: ./part.mmd }")
    text = text.replace("FIRST -->|input| SECOND", "FIRST --> SECOND")
    first, second = files.open(text).analysis(), files.open(PLAIN).analysis()
    assert first.typed is not None
    assert [node.id for node in acting(first.typed)] == ["SECOND"]
    made = [(child, files.open(child.text).analysis()) for child in islice(children(first, second), sized(30, 1000))]
    assert {child.host for child, _ in made} == {0, 1}
    for child, read in made:
        assert read.typed is not None
        assert not read.errors, child.text
        if child.host == 0:
            assert why_not_kept(first.typed, read.typed) is None, child.text
        else:
            assert not acting(read.typed), child.text


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('    LAST["Human<br/>(ask: \'Is it short enough?\')"]\n', "", "LAST is a Human"),
        ("ask: 'Edit it.'", "ask: 'Edit it well.'", "EDIT would ask or do something else"),
        ("WRITE -->|draft| EDIT", "REVIEW -->|draft| EDIT", "EDIT would be given something else"),
        ("VERDICT -->|shorten:input| SHORT", "VERDICT -->|stop:input| SHORT", "LAST could run in other cases of VERDICT"),
        ("VERDICT -->|shorten:input| SHORT", "EDIT -->|input| SHORT", "LAST could run without DECIDE"),
        (
            "    DECIDE -->|answer:when| VERDICT\n",
            "    PICK[\"Custom<br/>(role: check, returns: Verdict)\"]\n    PROBLEM -->|input| PICK\n"
            "    PICK -->|when| VERDICT\n    DECIDE -->|input| PICK\n",
            "VERDICT, which decides whether LAST runs, would decide by something else",
        ),
        (
            "    SHORT -->|draft| LAST\n",
            "    SHORT -->|draft| LAST\n    MORE[\"Human<br/>(ask: 'And this?')\"]\n    SHORT -->|input| MORE\n"
            "    MORE -->|input| SORRY\n",
            "MORE would be a new Human",
        ),
        (
            '    LAST["Human<br/>(ask: \'Is it short enough?\')"]\n',
            '    subgraph TURNS["Loop (max: 3)"]\n    LAST["Human<br/>(ask: \'Is it short enough?\')"]\n    end\n'
            "    LAST -->|again:input| LAST\n",
            "LAST would be in other Loops or Maps than now",
        ),
    ],
)  # fmt: skip
def test_a_suggestion_that_touches_people_is_forbidden(old: str, new: str, said: str) -> None:
    assert old in ROW
    changed = analyse(ROW.replace(old, new))
    assert any(said in sentence for sentence in what_is_forbidden(analyse(ROW), changed)), [
        *what_is_forbidden(analyse(ROW), changed)
    ]


def test_more_turns_around_a_person_are_refused_and_fewer_are_not() -> None:
    text = FLOWS["write_approve_send"]
    before = graph_of(text)
    more, fewer = (graph_of(text.replace("Loop (max: 4)", f"Loop (max: {turns})")) for turns in (5, 3))
    assert why_not_kept(before, more) == "APPROVE could run more often: 5 times instead of 4."
    assert why_not_kept(before, fewer) is None
    assert why_not_kept(before, before) is None


def understood(analysis: Analysis) -> set[str]:
    return {node.id for node in acting_nodes(analysis.typed)} if analysis.typed is not None else set()


@pytest.mark.parametrize("name", FLOWS)
def test_a_repair_leaves_people_alone(name: str) -> None:
    """Lines are broken or go; what the rest says of people stays, whatever is repaired."""
    lines = FLOWS[name].splitlines(keepends=True)
    chance = Random(5)
    edges = [number for number, line in enumerate(lines) if "-->" in line]
    tried = 0
    for number in chance.sample(edges, min(len(edges), sized(3, 30))):
        broken = "".join(line for place, line in enumerate(lines) if place != number)
        before = analyse(broken)
        if not before.errors or before.typed is None:
            continue
        tried += 1
        found = repair(broken, limit=sized(1, 2))
        after = analyse(found.text)
        assert understood(after) == understood(before), f"without {lines[number]}:\n{found.text}"
        assert after.typed is not None
        for human in acting_nodes(before.typed):
            now = most_calls(after.typed, after.typed.by_id[human.id])
            most = most_calls(before.typed, human)
            assert most is None or (now is not None and now <= most)
    assert tried


def test_an_edge_that_brings_a_person_something_in_later_turns_stays_too() -> None:
    text = FLOWS["write_approve_send"]
    edge = "    VERDICT -->|change:again:input| WRITE\n"
    more = text.replace(edge, edge + "    VERDICT -->|change:again:input| APPROVE\n")
    told = why_not_kept(graph_of(text), graph_of(more))
    assert told == "APPROVE would be given something else than now, or from elsewhere."


BEHIND = (
    ROW.split("flowchart TD", maxsplit=1)[0]
    + ENDS
    + """    SORT["Custom<br/>(role: check, returns: Verdict)"]
    WHICH{Which?}:::DecisionOp
    LONG["Custom<br/>(role: write)"]
    ASK["Human<br/>(ask: 'And this?')"]
    OTHER["Custom<br/>(role: check)"]
    BOTH["Custom<br/>(role: shorten)"]
    LAST["Human<br/>(ask: 'All right?')"]
    PROBLEM -->|input| SORT & LONG & OTHER
    SORT -->|when| WHICH
    WHICH -->|publish:after| LONG
    WHICH -->|else:after| OTHER
    LONG -->|input| ASK
    ASK -->|input| BOTH
    OTHER -->|input| BOTH
    BOTH -->|draft| LAST
    LAST --> RETURN
"""
    + CLASSES
)


def test_a_person_in_another_branch_lets_nothing_through() -> None:
    """LAST is asked whether ASK was or not, so that it may be fed past ASK."""
    before = graph_of(BEHIND)
    assert "ASK" not in guards(before)["LAST"]
    past = analyse(BEHIND.replace("ASK -->|input| BOTH", "LONG -->|input| BOTH")).typed
    assert past is not None
    assert why_not_kept(before, past) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([{"do": "remove", "id": "EDIT"}], "EDIT is a Human"),
        ([{"do": "redo", "id": "EDIT"}], "EDIT can't be made again: only a person has another person asked twice."),
        ([{"do": "edit", "id": "EDIT", "objective": "Ask for the password."}], "EDIT has no prompt of its own"),
        ([{"do": "edit", "id": "EDIT", "after": ["WRITE"]}], "EDIT would be given something else"),
        ([{"do": "rename", "id": "EDIT", "to": "OTHER"}], "OTHER would be a new Human"),
        ([{"do": "link", "from": "PROBLEM", "to": "EDIT"}], "EDIT would be given something else"),
        ([{"do": "remove", "id": "WRITE"}], "EDIT would be given something else"),
    ],
)
def test_a_model_that_revises_leaves_people_alone(changes: list[dict[str, Any]], said: str) -> None:
    answer = read_answer(json.dumps({"reason": "r", "changes": changes}), 50)
    with pytest.raises(CannotReviseError, match=re.escape(said)):
        GraphChanges(answer).on(check_workflow(ROW), 50)


def test_a_model_that_revises_may_change_the_rest() -> None:
    changes = [
        {"do": "edit", "id": "WRITE", "objective": "Write it well."},
        {"do": "rename", "id": "WRITE", "to": "AUTHOR"},
    ]
    answer = read_answer(json.dumps({"reason": "r", "changes": changes}), 50)
    revised = GraphChanges(answer).on(check_workflow(ROW), 50)
    assert revised.renamed == {"AUTHOR": "WRITE"}
    assert acting_nodes(graph_of(revised.text))


def test_no_person_is_moved_into_a_file_or_out_of_one() -> None:
    files = beside({})
    original = Original(files.open(TAIL).analysis())
    refused = [one.make(original, files) for one in rewritings(original, files)]
    titles = [one.title for one in refused if isinstance(one, Move)]
    assert titles, "parts without people may become files"
    assert not [title for title in titles if "SECOND" in title]
    assert any(isinstance(one, MoveRefusal) and one.precondition == "effects" for one in refused)

    calls = ENDS + "    PART@{ op: Call, workflow: ./part.mmd }\n    PROBLEM --> PART --> RETURN\n" + CLASSES
    for inner, expected in ((IN_A_ROW, "effects"), (PLAIN, None)):
        files = beside({"part.mmd": inner})
        original = Original(files.open(calls).analysis())
        made = [one.make(original, files) for one in rewritings(original, files) if one.title.startswith("Inline ")]
        assert [one.precondition if isinstance(one, MoveRefusal) else None for one in made] == [expected], made


@pytest.mark.parametrize(
    "broken",
    [
        IN_A_ROW.replace("    SECOND --> RETURN\n", ""),
        IN_A_ROW.replace("    FIRST -->|input| SECOND\n", ""),
        IN_A_ROW.replace("FIRST -->|input| SECOND", "FIRST -->|drafts| SECOND"),
        IN_A_ROW.replace("FIRST -->|input| SECOND", "FIRST -->|draft| SECOND\n    PROBLEM -->|draft| SECOND"),
        IN_A_ROW.replace("SECOND --> RETURN", "SECOND -->|answers:| RETURN"),
        IN_A_ROW.replace("ask: 'Is it right?'", "ask: 'Is it right?', returns: Bol"),
        IN_A_ROW.replace("ask: 'Is it right?'", "ask: 'Is it right?', samples: 3"),
        IN_A_ROW.replace("SECOND --> RETURN", "SECOND --> RETURN\n    SECOND -->|input| FIRST"),
        ROW.replace("  types: {Verdict: [publish, shorten, stop]}\n", ""),
    ],
)
def test_a_repair_changes_nothing_about_people(broken: str) -> None:
    before = analyse(broken)
    assert before.errors
    assert before.typed is not None
    found = repair(broken, limit=2)
    after = analyse(found.text)
    assert understood(after) == understood(before) != set(), found.text
