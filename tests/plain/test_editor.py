"""Editors' features on drawings: none fails on nodes that are not drawn, and they say what plain steps will do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.analysis.ide.cursor import marked

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.formatting import format_text
from merrow_analysis.graph.measures.metrics import metrics
from merrow_analysis.ide.actions.code_actions import actions
from merrow_analysis.ide.code_lens import figures
from merrow_analysis.ide.completion.completion import complete
from merrow_analysis.ide.completion.signature_help import signature_help
from merrow_analysis.ide.folding import folds
from merrow_analysis.ide.hover import hover
from merrow_analysis.ide.inlay_hints import inlay_hints
from merrow_analysis.ide.links import links
from merrow_analysis.ide.names import call_hierarchy
from merrow_analysis.ide.names.definition import definition
from merrow_analysis.ide.names.references import highlights
from merrow_analysis.ide.names.rename import RenameRefusedError, prepare_rename, rename
from merrow_analysis.ide.picture import picture
from merrow_analysis.ide.semantic_tokens import semantic_tokens
from merrow_analysis.ide.symbols import outline
from merrow_analysis.text import Position, Range, apply_edits, split_lines

FILES = sorted((Path(__file__).parent / "flowcharts").glob("*.mmd"))
WHOLE = Range(Position(0, 0), Position(99, 0))
FRONT = "---\nworkflow: true\n---\n"


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_every_feature_answers(path: Path) -> None:
    text = path.read_text("utf-8")
    analysis = analyse(text, as_workflow=True)
    assert analysis.typed is not None
    for feature in (outline, folds, links, picture, figures, semantic_tokens):
        feature(analysis)
    inlay_hints(analysis, WHOLE)
    metrics(analysis.typed)
    for node in analysis.flow.nodes:
        call_hierarchy.incoming(analysis, node)
        call_hierarchy.outgoing(analysis, node)
    for number, line in enumerate(split_lines(text)):
        for column in range(0, len(line), 2):
            place = Position(number, column)
            for about in (hover, definition, highlights, complete, signature_help):
                about(analysis, place)
            actions(analysis, Range(place, place))
            try:
                if prepare_rename(analysis, place) is not None:
                    rename(analysis, place, "renamed")
            except RenameRefusedError:
                continue


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_formatting_changes_no_meaning(path: Path) -> None:
    text = path.read_text("utf-8")
    before, after = analyse(text, as_workflow=True), analyse(format_text(text), as_workflow=True)
    assert [one.message for one in before.diagnostics] == [one.message for one in after.diagnostics]


def shown(text: str) -> str:
    cursor = marked(FRONT + text)
    found = hover(cursor.analysis, cursor.position)
    assert found is not None
    return found.text.markdown()


def test_hover_says_what_a_box_will_do() -> None:
    said = shown("flowchart TD\n    <|>A[Read the mail] --> B[Reply]\n")
    assert "names no operator and is read as a `Custom`" in said
    assert "Read the mail" in said
    assert "A model is asked: this prompt, with what its arrows bring and the results of all steps before it." in said


def test_hover_says_who_decides_at_a_diamond() -> None:
    said = shown("flowchart TD\n    A[Read] --> <|>B{Good?}\n    B -->|yes| C[Keep]\n    B -->|no| D[Drop]\n")
    assert "A model is asked which way to take:" in said
    assert "`yes`, `no`" in said


def hints(text: str) -> list[str]:
    return [hint.text for hint in inlay_hints(analyse(FRONT + text), WHOLE)]


def test_hints_say_what_each_box_will_do_and_who_decides() -> None:
    drawn = "flowchart TD\n    A[Read] --> B{Good?}\n    B -->|yes| C[Keep]\n    B -->|no| D[Drop]\n"
    assert hints(drawn) == [
        " a model is asked this",
        " a model is asked which way",
        " a model is asked this",
        " a model is asked this",
    ]
    review = (
        'flowchart TD\n    P([Task]) -->|problem| R["Review<br/>"]\n    P --> W[Write] -->|solution| R --> C{Good?}\n'
        "    C -->|yes| D[Keep]\n    C -->|no| E[Drop]\n"
    )
    assert " decided by R.result" in hints(review)


def read_as_workflow(text: str) -> Analysis | None:
    analysis = analyse(text)
    found = [one for one in actions(analysis, WHOLE) if one.title == "Read this flowchart as a workflow"]
    if not found:
        return None
    [action] = found
    edits = action.edits()
    assert edits is not None
    return analyse(apply_edits(text, edits))


@pytest.mark.parametrize("front", ["", "---\ntitle: Mine\n---\n", "---\nconfig:\n  theme: dark\n---\n"])
def test_the_action_makes_a_flowchart_a_workflow(front: str) -> None:
    after = read_as_workflow(f"{front}flowchart TD\n    A[Review] --> B[Reply]\n")
    assert after is not None
    assert after.is_workflow
    assert after.is_valid


@pytest.mark.parametrize(
    "text",
    [
        "---\nworkflow: false\n---\nflowchart TD\n    A[Review]\n",
        "---\nworkflow: true\n---\nflowchart TD\n    A[Review]\n",
        "sequenceDiagram\n    A->>B: hello\n",
        "flowchart TD\n",
    ],
)
def test_the_action_is_offered_where_it_helps(text: str) -> None:
    assert read_as_workflow(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "flowchart TD\n    A[Review] --> B[Custom]\n",
        "flowchart TD\n    A[Review the text<br/>by Monday]\n",
        "flowchart TD\n    A --> B\n",
        '---\nworkflow: false\n---\nflowchart TD\n    A["Custom<br/>(role: x)"]\n',
        "sequenceDiagram\n    A->>B: Custom<br/>(role: x)\n",
    ],
)
def test_other_diagrams_are_left_alone(text: str) -> None:
    analysis = analyse(text)
    assert analysis.diagnostics == []
    assert not analysis.is_workflow
    assert analysis.why_no_workflow


def test_the_published_form_makes_a_workflow() -> None:
    analysis = analyse('flowchart TD\n    A["Custom<br/>(role: x)"] --> B[Shorten it]\n')
    assert analysis.is_valid
    assert analysis.typed is not None
    assert [node.operator for node in analysis.typed.nodes] == ["Custom", "Custom", "Interface", "Interface"]
    assert not analyse("---\nworkflow: false\n---\nflowchart TD\n    A[Read]\n", as_workflow=True).is_workflow


def test_a_box_is_made_a_diamond() -> None:
    text = (
        FRONT
        + 'flowchart TD\n    A["Run the job"]:::x -->|abort| B[Clean up]\n    A -->|go on| C[Report]\n    classDef x fill:#fff\n'
    )
    [found] = [one for one in analyse(text).diagnostics if one.code == "MW123"]
    [fix] = found.fixes
    assert fix.title == "Make it a diamond"
    after = apply_edits(text, fix.edits)
    assert 'A{"Run the job"}:::x' in after
    graph = analyse(after).typed
    assert graph is not None
    assert graph.by_id["A"].asks


def test_a_box_of_which_some_ways_have_no_label_is_not_like_a_choice() -> None:
    text = f"{FRONT}flowchart TD\n    A[Run] -->|done| B[Tidy]\n    A -->|late| E[Wait]\n    A --> C[Report]\n"
    assert [one.code for one in analyse(text).diagnostics] == ["MW313"]


def test_arrows_that_all_say_the_same_are_no_choice() -> None:
    text = f"{FRONT}flowchart TD\n    A[Bus] -->|sends| B[Tidy]\n    A -->|Sends| C[Report]\n"
    assert "MW123" not in [one.code for one in analyse(text).diagnostics]
    assert "MW123" in [one.code for one in analyse(text.replace("Sends", "keeps")).diagnostics]


@pytest.mark.parametrize("arrow", ["<-->", "<==>", "o--o"])
def test_arrows_with_two_heads_are_no_choice(arrow: str) -> None:
    text = f"{FRONT}flowchart LR\n    A[Serve pages] -->|query| B[Find rows]\n    A -->|token| C[Sign in]\n"
    assert "MW123" in [one.code for one in analyse(text).diagnostics]
    assert "MW123" not in [one.code for one in analyse(text.replace("-->", arrow)).diagnostics]


def test_the_middle_of_a_drawing_of_a_system_is_no_bottleneck() -> None:
    arrows = "".join(f"    A{n}[App {n}] --> BUS[Bus] --> S{n}[Store {n}]\n    S{n} --> LOG[Log]\n" for n in range(3))
    text = f"{FRONT}flowchart TD\n{arrows}"
    assert "MW402" not in [one.code for one in analyse(text).diagnostics]
    written = re.sub(r"\[[A-Z][a-z]+( \d)?\]", '["Custom<br/>(prompt: Read it.)"]', text)
    assert "MW402" in [one.code for one in analyse(written).diagnostics]


@pytest.mark.parametrize(
    ("label", "code"),
    [
        ("Custm", "MW104"),
        ("Formatt", "MW104"),
        ("ScEnsembel", "MW104"),
        ('"Debate<br/>(rounds: 3)"', "MW104"),
        *(
            (word, None)
            for word in (
                '" "',
                '"🚀"',
                "Text",
                "Preview",
                "Reject",
                "Customer",
                "All",
                "GitHub",
                "Testing",
                "Reviewing the text",
            )
        ),
    ],
)
def test_only_what_is_most_likely_an_operator_misspelled_is_reported(label: str, code: str | None) -> None:
    text = f"flowchart TD\n    P([Task]) --> A[{label}] --> B[Custom]:::CustomOp\n    classDef CustomOp fill:#fff\n"
    assert [one.code for one in analyse(text).errors] == ([] if code is None else [code])


def test_a_front_matter_that_names_the_ends_has_the_last_word() -> None:
    body = "flowchart TD\n    A[Letter] --> B[Review] --> C[Reply]\n    D[Another] --> C\n"
    named = analyse(f"---\nworkflow:\n  inputs: [A]\n  outputs: [C]\n---\n{body}")
    assert named.typed is not None
    assert [node.id for node in named.typed.nodes] == ["A", "B", "C", "D"], "nothing is implied"
    assert named.typed.by_id["B"].operator == "Review", "a bare name is an operator's"
    assert [one.code for one in named.errors if one.code == "MW102"] == ["MW102"], "nothing leads to D"
    drawn = analyse(f"{FRONT}{body}")
    assert drawn.is_valid
    assert drawn.typed is not None
    assert [node.id for node in drawn.typed.nodes] == ["A", "B", "C", "D", "PROBLEM", "RETURN"]


@pytest.mark.parametrize(("label", "case"), [("|no|", "no"), ("", "else")])
def test_writing_out_says_again_on_an_arrow_back(label: str, case: str) -> None:
    text = f"{FRONT}flowchart TD\n    A[Write] --> B{{Good?}}\n    B -->{label} A\n    B -->|yes| C[Send]\n"
    before = analyse(text)
    [hint] = [one for one in before.diagnostics if one.code == "MW313"]
    assert f"A and B run in turns, at most 3, while B answers {case}; then yes." in hint.message
    [written] = hint.fixes
    after = apply_edits(text, written.edits)
    assert f"B -->|{case}:again| A" in after
    assert "subgraph" not in after
    analysis = analyse(after)
    assert analysis.is_valid, analysis.errors
    assert before.typed is not None
    assert analysis.typed is not None
    assert analysis.typed.composites.inside == before.typed.composites.inside
    words = [
        {(edge.source.id, edge.target.id, edge.word) for edge in (*graph.edges, *graph.again)}
        for graph in (before.typed, analysis.typed)
    ]
    assert words[0] == words[1]


def test_a_case_that_leads_out_as_well_as_back_is_not_led_out_again() -> None:
    """It ends the turns, so that they never run out by it."""
    text = f"{FRONT}flowchart TD\n    A[Write] --> B{{Good?}}\n    B -->|yes| A\n    B -->|Yes| C[Send]\n    B -->|maybe| C\n"
    graph = analyse(text).typed
    assert graph is not None
    assert [(edge.source.id, edge.target.id) for edge in graph.again] == [("B", "A")]
    assert graph.over == []


def test_a_way_for_when_the_turns_run_out_is_that_of_its_case_alone() -> None:
    text = f"{FRONT}flowchart TD\n    A[Write] --> B{{Good?}}\n    B -->|maybe| A\n    B -->|no| A\n    B -->|no:over| C[Send]\n"
    graph = analyse(text).typed
    assert graph is not None
    assert [(edge.source.id, edge.target.id) for edge in graph.over] == [("B", "C")]


def test_a_diamond_without_labels_leads_out_as_it_is_drawn() -> None:
    graph = analyse(f"{FRONT}flowchart TD\n    A[Write] --> B{{Good?}}\n    B --> A\n    B --> C[Send]\n").typed
    assert graph is not None
    assert graph.over == []


def test_a_cycle_that_is_entered_at_two_steps_is_written_out() -> None:
    text = f"{FRONT}flowchart TD\n    S --> A[Draft] --> B[Review]\n    S[Plan] --> B\n    B --> A\n    B --> E[Send]\n"
    [hint] = [one for one in analyse(text).diagnostics if one.code == "MW313"]
    assert "A and B run always 3 turns: nothing decides B -> A." in hint.message
    after = apply_edits(text, hint.fixes[0].edits)
    assert "B -->|again| A" in after
    assert analyse(after).errors == []


@pytest.mark.parametrize("slip", ["Polsh_it", "polish_it"])
def test_a_bare_id_that_is_nearly_another_one_is_a_slip(slip: str) -> None:
    text = f"{FRONT}flowchart TD\n    Polish_it[Polish the text] --> Send\n    Write --> {slip} --> Send\n"
    [found] = analyse(text).errors
    assert found.code == "MW104"
    assert "write Polish_it" in found.message
    assert apply_edits(text, next(iter(found.fixes)).edits) == text.replace(slip, "Polish_it")


def test_a_bare_id_is_no_slip_for_the_node_that_an_edge_joins_it_with() -> None:
    """It would lead to itself."""
    for line in (
        "Polish_it[Polish the text] --> Polsh_it --> Send",
        "Read --> Polsh_it --> Polish_it[Polish the text]",
    ):
        found = analyse(f"{FRONT}flowchart TD\n    {line}\n").diagnostics
        assert [fix.title for one in found for fix in one.fixes] == ["Write the operators out"]


def test_numbered_bare_ids_are_steps_of_their_own() -> None:
    assert analyse(f"{FRONT}flowchart TD\n    Draft1[Write one draft] --> Draft2 --> Draft3\n").errors == []


def test_an_arrow_to_a_group_leads_to_the_first_step_in_it() -> None:
    text = f"{FRONT}flowchart TD\n    subgraph Team\n    Write --> Check\n    end\n    Plan --> Team\n"
    found = analyse(text)
    assert found.errors == []
    assert found.typed is not None
    assert [edge.source.id for edge in found.typed.by_id["Write"].incoming] == ["Plan"]


def test_the_results_of_a_circle_are_those_of_the_steps_that_lead_back() -> None:
    text = f"{FRONT}flowchart TD\n    A[Plan] --> B[Do] --> C[Check] --> A\n    B --> A\n"
    found = analyse(text)
    assert found.errors == []
    assert found.typed is not None
    assert [node.id for node in found.typed.outputs] == ["B", "C"]


def test_what_is_written_out_is_indented_as_the_drawing_is_and_not_as_its_first_box() -> None:
    text = f"{FRONT}flowchart TD\n    subgraph one [Round]\n        A[Read it] --> B[Sort it]\n    end\n"
    [fix] = next(one for one in analyse(text).diagnostics if one.code == "MW313").fixes
    added = [line for line in apply_edits(text, fix.edits).splitlines() if "@{" in line or "class" in line]
    assert added
    assert all(line.startswith("    ") and not line.startswith("     ") for line in added), added
