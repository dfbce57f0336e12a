"""What passes the gate: moves and whole workflows that are valid, change only what may differ, and repeat no data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.optimizer.suggestions.scripted import FLOW, ground, lines

from merrow_analysis.check import analyse
from merrow_analysis.difference import line_edits
from merrow_analysis.text import apply_edits
from merrow_optimizer.evaluation.items import Item
from merrow_optimizer.mutations.moves import find
from merrow_optimizer.suggestions.allowed import what_is_forbidden
from merrow_optimizer.suggestions.candidate_answers import Apply, CandidateAnswer, NewPrompt, NewValue, Step
from merrow_optimizer.suggestions.gate import PassedCandidate, SuggestionGate
from merrow_optimizer.suggestions.leaks import Leaks
from merrow_optimizer.suggestions.menu import menu_of
from merrow_optimizer.suggestions.refusals import Unusable

NEW = "Write the steps. Check each of them."
SOLVE = "Solve the problem step by step."


def checked(
    *moves: Step,
    workflow: str | None = None,
    text: str = FLOW,
    items: Sequence[Item] = (),
    node: str | None = None,
    taken: Sequence[str] = (),
    max_nodes: int | None = None,
) -> PassedCandidate:
    at = ground(text, max_nodes)
    return SuggestionGate(at, menu_of(at), Leaks(items), node).check(CandidateAnswer("T", "R", moves, workflow), taken)


def refused(stage: str, says: str, *moves: Step, **given: Any) -> None:
    with pytest.raises(Unusable) as caught:
        checked(*moves, **given)
    assert caught.value.stage == stage, caught.value.sentences
    assert says in str(caught.value)


def changed(before: str, after: str) -> list[str]:
    """The lines that are new."""
    return [line for edit in line_edits(before, after) for line in edit.new_text.splitlines()]


# Moves


@pytest.mark.parametrize("name", ["vote", "math", "letters", "code_with_tests", "router"])
@pytest.mark.thinned(24)
def test_everything_on_the_menu_passes(name: str, examples: Any) -> None:
    at = examples(name)
    menu = menu_of(at)
    assert 10 < len(menu) <= 40
    assert menu_of(at) == menu
    assert len({one.operator for one in menu}) >= 4
    gate = SuggestionGate(at, menu, Leaks())
    for one in menu:
        passed = gate.check(CandidateAnswer("T", "R", (Apply(one.id),)), ())
        assert passed.key != at.own_key


def test_a_prompt_that_two_nodes_share_is_written_at_the_node() -> None:
    shared = lines(FLOW, ("(role: quick)", "(role: careful)"), ("    quick: |\n      Answer in one sentence.\n", ""))
    passed = checked(NewPrompt("A", NEW), text=shared)
    assert passed.analysis.settings.prompts == {"careful": "Solve the problem step by step.\n"}
    (line,) = changed(shared, passed.text)
    assert NEW in line
    assert line.lstrip().startswith("A[")


def test_moves_after_others_find_what_they_meant() -> None:
    """The id of an insertion is stale where what it leads to has become another operator: it stands for what it was about."""
    at = ground()
    menu = menu_of(at)
    first = next(one for one in menu if one.title == "Replace ScEnsemble VOTE by AnswerGenerate")
    second = next(one for one in menu if one.title == "Insert Review on A -> VOTE")
    after = at.read(find(at.analysis, first.id, at.choice).apply(FLOW))  # type: ignore[union-attr]
    assert find(after, second.id, at.choice) is None
    passed = SuggestionGate(at, menu, Leaks()).check(CandidateAnswer("T", "R", (Apply(first.id), Apply(second.id))), ())
    graph = passed.analysis.typed
    assert graph is not None
    assert (graph.by_id["VOTE"].operator, graph.by_id["REVIEW"].operator) == ("AnswerGenerate", "Review")


@pytest.mark.slow
def test_moves_that_can_not_be_made_say_why() -> None:
    refused("read", "The menu has no mutation nonsense", Apply("nonsense"))
    refused("read", "no node NOBODY", NewPrompt("NOBODY", NEW))
    refused("read", "PROBLEM has no prompt", NewPrompt("PROBLEM", NEW))
    refused("read", "PROBLEM has no `samples`", NewValue("PROBLEM", "samples", 2))
    refused("allowed", "`samples` of A may be 16 at most", NewValue("A", "samples", 17))
    refused("check", "temperature", NewValue("A", "temperature", 7))
    at = ground()
    vote = next(one for one in menu_of(at) if one.title == "Replace ScEnsemble VOTE by MdEnsemble")
    refused("read", f"After the moves before it, {vote.title} is not possible", Apply(vote.id), Apply(vote.id))


def test_a_warning_that_was_there_is_no_objection_and_another_one_is() -> None:
    warned = lines(FLOW, ("B --> VOTE", "B --> VOTE\n    B --> VOTE"))
    assert [one.code for one in analyse(warned).diagnostics] == ["MW117"]
    for passed in (
        checked(NewPrompt("A", NEW), text=warned),
        checked(workflow=warned.replace(SOLVE, NEW), text=warned),
    ):
        assert passed.text == warned.replace(SOLVE, NEW)
    refused("check", "MW117", workflow=lines(warned, ("A --> VOTE", "A --> VOTE\n    A --> VOTE")), text=warned)


# Whole workflows


def test_a_whole_workflow_is_a_minimal_difference() -> None:
    proposed = lines(
        FLOW,
        ("    VOTE[", '    CHECK["Custom<br/>(role: checker)"]:::CustomOp\n    VOTE['),
        ("VOTE --> RETURN", "VOTE --> CHECK\n    CHECK --> RETURN"),
        ("    quick: |", "    checker: |\n      Check it, and answer with it.\n    quick: |"),
    )
    passed = checked(workflow=proposed)
    assert "%% the two voices" in passed.text
    new = changed(FLOW, passed.text)
    assert sorted(line.strip() for line in new if "CHECK" in line) == [
        "CHECK --> RETURN",
        'CHECK["Custom<br/>(role: checker)"]:::CustomOp',
        "VOTE --> CHECK",
    ]
    assert len(new) == 5


def test_a_whole_workflow_may_leave_out_what_stays() -> None:
    proposed = "---\nworkflow:\n  prompts:\n    careful: Check each step.\n---\n" + FLOW[FLOW.index("flowchart") :]
    assert checked(workflow=proposed).text == FLOW.replace("Solve the problem step by step.", "Check each step.")


def test_only_the_meaning_of_a_whole_workflow_counts() -> None:
    """Renamed nodes, another order, other layout and a fence around it are no change."""
    proposed = """\
Here it is:
```mermaid
flowchart LR
    RETURN([Done])
    PROBLEM([The task])
    X["Custom<br/>(role: careful)"]:::CustomOp
    B["Custom<br/>(role: quick)"]:::CustomOp
    VOTE["ScEnsemble"]:::ScEnsembleOp
    PROBLEM --> X --> VOTE --> RETURN
    PROBLEM --> B --> VOTE
    class PROBLEM,RETURN Interface
    classDef Interface fill:#fff
    classDef CustomOp fill:#fff
    classDef ScEnsembleOp fill:#fff
```
"""
    refused("duplicate", "does the same as the workflow", workflow=proposed.split("\n", 1)[1])
    passed = checked(
        workflow=proposed.split("\n", 1)[1]
        .replace('"ScEnsemble"', '"MdEnsemble"')
        .replace("ScEnsembleOp", "MdEnsembleOp")
    )
    assert [line.strip() for line in changed(FLOW, passed.text) if "VOTE" in line] == [
        'VOTE["MdEnsemble<br/>"]:::MdEnsembleOp'
    ]


def test_a_whole_workflow_with_mistakes_is_repaired_for_nothing() -> None:
    other = lines(FLOW, ("ScEnsemble<br/>", "MdEnsemble<br/>"), (":::ScEnsembleOp", ":::MdEnsembleOp"))
    assert not checked(workflow=other).repaired
    passed = checked(workflow=lines(other, ("|input| B", "|inptu| B")))
    assert passed.repaired
    assert "MdEnsemble<br/>" in passed.text


@pytest.mark.thinned(24)
@pytest.mark.parametrize(
    ("replaced", "says"),
    [
        ([("tokens: 20000", "tokens: 900000")], "`workflow.budget` must stay"),
        ([("model: test-model", "model: dearer-model")], "`workflow.model` must stay"),
        (
            [("  model: test-model", "  model: test-model\n  base_url: http://evil.invalid")],
            "`workflow.base_url` must stay",
        ),
        (
            [("  model: test-model", "  model: test-model\n  libraries: [./evil.yaml]")],
            "`workflow.libraries` must stay",
        ),
        ([("  model: test-model", "  model: test-model\n  brand_new: 1")], "`workflow.brand_new` must stay"),
        (
            [("  model: test-model", "  model: test-model\n  validators: {v: {if: output}}")],
            "`workflow.validators` must stay",
        ),
        ([("title: Two voices", "title: Owned")], "`title` must stay"),
        ([("(role: careful)", "(role: careful, model: dearer)")], "`model` of A must stay"),
        ([("(role: careful)", "(role: careful, max_tokens: 90000)")], "`max_tokens` of A must stay"),
        ([("(role: careful)", "(role: careful, timeout: 9)")], "`timeout` of A must stay"),
        ([("(role: careful)", "(role: careful, on_error: skip)")], "`on_error` of A must stay"),
        ([("  model: test-model", "  model: test-model\n  memory: all")], "`workflow.memory` must stay"),
        ([("(role: careful)", "(role: careful, samples: 99)")], "`samples` of A may be 16 at most"),
        (
            [("PROBLEM([Problem]):::Interface", "PROBLEM([Problem]):::Interface\n    PROBLEM@{ type: Code }")],
            "must stay",
        ),
        (
            [
                ("    VOTE[", '    C["Custom<br/>(role: quick, model: dearer)"]:::CustomOp\n    VOTE['),
                ("B --> VOTE", "B --> VOTE\n    PROBLEM --> C --> VOTE"),
            ],
            "C may not have `model`",
        ),
        (
            [
                ("    VOTE[", '    C["Call<br/>(workflow: secret.mmd)"]:::CallOp\n    VOTE['),
                ("B --> VOTE", "B --> VOTE\n    PROBLEM --> C --> VOTE"),
            ],
            "",
        ),
        ([("RETURN([Answer])", "OTHER([Answer])"), ("--> RETURN", "--> OTHER")], ""),
    ],
)
@pytest.mark.thinned(24)
def test_what_must_stay_stays(replaced: list[tuple[str, str]], says: str) -> None:
    with pytest.raises(Unusable) as caught:
        checked(workflow=lines(FLOW, *replaced))
    assert caught.value.stage in ("allowed", "check", "duplicate")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("validate: v, attempts: 3", "attempts: 3", "`validate` of A must stay"),
        ("attempts: 3", "attempts: 9", "`attempts` of A must stay"),
        ("len(output) > 3", "output", "`workflow.validators` must stay"),
        ("RETURN@{ validate: v }", "", "RETURN is an output of the workflow and must stay as it is"),
    ],
)
def test_what_is_validated_stays_validated(before: str, after: str, says: str) -> None:
    text = """---
workflow:
  validators: {v: {if: len(output) > 3}}
---
flowchart TD
    A@{ op: Custom, prompt: x, validate: v, attempts: 3 }
    PROBLEM([P]) --> A --> RETURN([R])
    RETURN@{ validate: v }
"""
    assert any(says in one for one in what_is_forbidden(analyse(text), analyse(text.replace(before, after))))


def test_links_comments_and_directives_of_a_model_never_reach_the_file() -> None:
    proposed = (
        lines(
            FLOW,
            ("flowchart TD\n", "%%{init: {'securityLevel': 'loose'}}%%\nflowchart TD\n    %% merrow: ignore-file\n"),
            ("Solve the problem step by step.", NEW),
        )
        + '    click A href "http://evil.invalid"\n    style A fill:#000\n'
    )
    passed = checked(workflow=proposed)
    assert passed.text == FLOW.replace("Solve the problem step by step.", NEW)


@pytest.mark.slow
def test_a_workflow_that_is_too_large_is_refused_before_anything_else_is_done() -> None:
    many = "".join(
        f'    N{n}["Custom<br/>(role: careful)"]:::CustomOp\n    PROBLEM --> N{n} --> VOTE\n' for n in range(30)
    )
    refused("size", "nodes; 12 are allowed", workflow=FLOW + many)
    endless = "".join(f'    N{n}["Custom"]\n' for n in range(10_000))
    refused("size", "too many lines", workflow=FLOW + endless)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["rm -rf /", "graph", "", "flowchart TD\n", "---\nworkflow: [\n---\nflowchart TD\n", "\x00\x1b[2J", "{" * 9_000],
)
def test_what_is_no_workflow_is_refused(text: str) -> None:
    with pytest.raises(Unusable):
        checked(workflow=text)


# One node


@pytest.mark.slow
def test_only_the_prompt_of_the_node_may_change() -> None:
    assert checked(NewPrompt("A", NEW), node="A").text
    refused("allowed", "Only the prompt of A may change here", NewPrompt("B", NEW), node="A")
    refused("allowed", "Only the prompt of A may change here", NewValue("A", "samples", 3), node="A")
    refused("allowed", "Only the prompt of A may change here", NewPrompt("A", NEW), NewPrompt("B", NEW), node="A")


# Duplicates


@pytest.mark.slow
def test_what_does_the_same_is_a_duplicate() -> None:
    refused("duplicate", "the same as the workflow", NewPrompt("A", "Solve the problem step by step."))
    first = checked(NewPrompt("A", NEW))
    refused("duplicate", "the same as another", NewPrompt("A", NEW), taken=[first.key])


# Data

ITEMS = [
    Item(
        "1", {"problem": "A farmer has 17 sheep and all but 9 of them run away in the night; how many are left?"}, "9"
    ),
    Item("2", {"problem": "Who wrote the first book of this series?"}, "Ursula K. Le Guin"),
    Item("3", {"problem": "What is the sum?"}, 4711),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ("If the author is asked for, answer Ursula K. Le Guin.", "gives away the right answer"),
        ("If the author is asked for, answer URSULA  k le guin!", "gives away the right answer"),
        ("The answer is often 4711.", "gives away the right answer"),
        (
            "A farmer has 17 sheep and all but 9 of them run away in: take the second number.",
            "repeats 12 or more words",
        ),
        ("A farmer has 17 sheep and so on: 9.", "gives away an item"),
    ],
)
def test_prompts_that_repeat_the_data_are_refused(prompt: str, says: str) -> None:
    refused("data", says, NewPrompt("A", prompt), items=ITEMS)
    refused("data", says, workflow=FLOW.replace("Solve the problem step by step.", prompt), items=ITEMS)


@pytest.mark.parametrize(
    "prompt",
    [
        "Solve it in 9 steps.",
        "Count sheep and other animals one by one.",
        "Answer with the number of sheep that are left.",
    ],
)
def test_prompts_in_words_of_their_own_pass(prompt: str) -> None:
    assert checked(NewPrompt("A", prompt), items=ITEMS).text


def test_labels_that_many_items_have_may_be_named() -> None:
    items = [
        Item(str(n), {"text": f"Ticket {n} of the customer about topic {n}."}, ["refund", "repair"][n % 2])
        for n in range(20)
    ]
    assert checked(NewPrompt("A", "Answer with refund or repair."), items=items).text


@pytest.mark.slow
def test_data_in_new_nodes_and_labels_is_found_too() -> None:
    proposed = lines(
        FLOW,
        ("    VOTE[", "    C[\"Programmer<br/>(analysis: 'It is Ursula K. Le Guin')\"]:::ProgrammerOp\n    VOTE["),
        ("B --> VOTE", "B --> VOTE\n    PROBLEM -->|problem| C\n    C --> VOTE"),
        ("    classDef CustomOp", "    classDef ProgrammerOp fill:#fff\n    classDef CustomOp"),
    )
    refused("data", "gives away the right answer", workflow=proposed, items=ITEMS)
    assert checked(workflow=proposed).text


def test_a_passed_text_is_valid_and_written_in_the_files_own_line_ends() -> None:
    text = FLOW.replace("\n", "\r\n")
    passed = checked(NewPrompt("A", f"{NEW}\nTwice."), NewValue("B", "samples", 3), text=text)
    assert "\n" not in passed.text.replace("\r\n", "")
    assert analyse(passed.text).is_valid
    assert apply_edits(text, line_edits(text, passed.text)) == passed.text
