"""Edits follow the file's habits and touch nothing else."""

from __future__ import annotations

import difflib

import pytest

from merrow_analysis.check import analyse
from merrow_analysis.text import apply_edits
from merrow_optimizer.mutations.base import Move
from merrow_optimizer.mutations.moves import moves

FRAME = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Return]):::Interface
    classDef Interface fill:#e2e2f2
    classDef CustomOp fill:#d0e1f9
"""


def workflow(*lines: str, frame: str = FRAME) -> str:
    return frame + "".join(f"    {line}\n" for line in lines)


THREE = workflow(
    'A["Custom<br/>(role: one)"]:::CustomOp',
    'B["Custom<br/>(role: two)"]:::CustomOp',
    'C["Custom<br/>(role: three)"]:::CustomOp',
    "PROBLEM --> A --> C",
    "PROBLEM --> B --> C",
    "C --> RETURN",
)


def move(text: str, title: str) -> Move:
    """The safe move of this title."""
    analysis = analyse(text)
    assert analysis.is_valid, analysis.diagnostics
    found = {move.title: move for move in moves(analysis)}
    assert title in found, sorted(found)
    return found[title]


def change(text: str, title: str) -> list[str]:
    """The lines that a move takes out (-) and puts in (+)."""
    before, after = text.splitlines(), move(text, title).apply(text).splitlines()
    lines = difflib.unified_diff(before, after, lineterm="", n=0)
    return [line[0] + line[1:].strip() for line in lines if not line.startswith(("---", "+++", "@@"))]


def test_a_node_leaves_a_group() -> None:
    text = workflow(
        *(f'{name}["Custom<br/>(role: r)"]:::CustomOp' for name in "ABCD"),
        "PROBLEM --> A & B & C",
        "A & B & C --> D --> RETURN",
    )
    assert change(text, "Remove B") == [
        '-B["Custom<br/>(role: r)"]:::CustomOp',
        "-PROBLEM --> A & B & C",
        "-A & B & C --> D --> RETURN",
        "+PROBLEM --> A & C",
        "+A & PROBLEM & C --> D --> RETURN",
    ]


def test_a_new_node_stands_beside_its_source_and_takes_the_edges_place() -> None:
    assert change(THREE, "Insert AnswerGenerate on C -> RETURN") == [
        "+classDef AnswerGenerateOp fill:#d0e1f9,stroke:#4378a2",
        '+ANSWER["AnswerGenerate<br/>(role: short_answerer)"]:::AnswerGenerateOp',
        '+ANSWER@{ prompt: "Reason step by step about what you are given, then give the answer alone: a number, a name'
        ' or a short phrase." }',
        "-C --> RETURN",
        "+C --> ANSWER",
        "+ANSWER --> RETURN",
    ]


def test_class_statements_and_definitions_go_with_their_like() -> None:
    text = """\
flowchart TD
    PROBLEM([Problem])
    A["Custom<br/>(role: one)"]
    RETURN([Return])

    %% Styles
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2,stroke-width:2px;
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2,stroke-width:2px;

    %% Classes
    class PROBLEM Interface
    class A CustomOp
    class RETURN Interface

    %% Flow
    PROBLEM --> |input|A
    A --> RETURN
"""
    assert (
        move(text, "Insert Format on A -> RETURN").apply(text)
        == """\
flowchart TD
    PROBLEM([Problem])
    A["Custom<br/>(role: one)"]
    FORMAT["Format<br/>"]
    RETURN([Return])

    %% Styles
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2,stroke-width:2px;
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2,stroke-width:2px;
    classDef FormatOp fill:#fff6c9,stroke:#a58c1a,stroke-width:2px;

    %% Classes
    class PROBLEM Interface
    class A CustomOp
    class FORMAT FormatOp
    class RETURN Interface

    %% Flow
    PROBLEM --> |input|A
    A --> |solution|FORMAT
    PROBLEM --> |problem|FORMAT
    FORMAT --> RETURN
"""
    )


def test_prompts_go_where_the_file_keeps_them() -> None:
    front = "---\nworkflow:\n  prompts:\n    one: |\n      Do it.\n---\n"
    text = front + workflow('A["Custom<br/>(role: one)"]:::CustomOp', "PROBLEM --> A", "A --> RETURN")
    assert change(text, "Insert Custom on A -> RETURN") == [
        "+careful_improver: |",
        "+Check the work you are given step by step. Correct every mistake you find, keep what is right, and",
        "+answer with the whole corrected work in the same form, without comments on the changes.",
        '+IMPROVE["Custom<br/>(role: careful_improver)"]:::CustomOp',
        "-A --> RETURN",
        "+A --> IMPROVE",
        "+IMPROVE --> RETURN",
    ]
    grown = move(text, "Insert Custom on A -> RETURN").apply(text)
    assert move(grown, "Remove IMPROVE").apply(grown) == text


def test_metadata_files_get_metadata_nodes() -> None:
    text = "flowchart TD\nPROBLEM@{ op: Interface }\n"
    text += 'A@{ op: Custom, prompt: "Do it." }\nRETURN@{ op: Interface }\nPROBLEM --> A --> RETURN\n'
    mutant = move(text, "Insert Format on A -> RETURN").apply(text)
    assert "FORMAT@{ op: Format }" in mutant
    assert "class" not in mutant


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_line_endings_stay_the_files_own(eol: str, last: bool) -> None:
    text = THREE.replace("\n", eol)
    text = text if last else text.removesuffix(eol)
    for found in moves(analyse(text)):
        mutant = found.apply(text)
        assert mutant.count("\r\n") == (mutant.count("\n") if eol == "\r\n" else 0)
        assert mutant.endswith(eol) or not last


def test_comments_blank_lines_and_styles_stay() -> None:
    text = THREE.replace("    PROBLEM --> B", "\n    %% the other voice\n    PROBLEM --> B")
    text += "    style A stroke-width:3px\n    style B stroke-width:4px\n"
    mutant = move(text, "Remove A").apply(text)
    assert "\n\n    %% the other voice\n    PROBLEM --> B --> C\n" in mutant
    assert "style A" not in mutant
    assert "style B stroke-width:4px" in mutant


def test_link_styles_are_counted_anew() -> None:
    text = workflow(
        'A["Custom<br/>(role: one)"]:::CustomOp',
        "PROBLEM --> A",
        "A --> RETURN",
        "linkStyle 0 stroke:red",
        "linkStyle 1 stroke:blue",
    )
    mutant = move(text, "Insert Custom on PROBLEM -> A").apply(text)
    assert "linkStyle 1 stroke:red" in mutant
    assert "linkStyle 2 stroke:blue" in mutant


def test_a_shared_class_line_is_split_for_one_node() -> None:
    text = """\
flowchart TD
    PROBLEM([Problem])
    A["Custom<br/>(role: one)"]
    B["Custom<br/>(role: two)"]
    RETURN([Return])
    classDef Interface fill:#eee
    classDef CustomOp fill:#ddd
    class PROBLEM,RETURN Interface
    class A,B CustomOp
    PROBLEM --> A --> B --> RETURN
"""
    assert change(text, "Replace Custom B by AnswerGenerate") == [
        '-B["Custom<br/>(role: two)"]',
        '+B["AnswerGenerate<br/>(role: two)"]',
        "+classDef AnswerGenerateOp fill:#d0e1f9,stroke:#4378a2",
        "-class A,B CustomOp",
        "+class A CustomOp",
        "+class B AnswerGenerateOp",
    ]


def test_a_silenced_line_does_not_go() -> None:
    text = THREE.replace("    C -->", "    %% merrow: ignore[MW402] as meant\n    C -->")
    titles = {move.title for move in moves(analyse(text))}
    assert "Remove C" not in titles


def test_an_edge_from_a_node_to_itself_goes_with_it() -> None:
    text = THREE.replace("    C --> RETURN\n", "    C --> RETURN\n    B --> B\n")
    found = {move.title: move for move in moves(analyse(text))}
    lines = [line for line in text.splitlines() if "B[" not in line and "B --> B" not in line]
    lines[lines.index("    PROBLEM --> B --> C")] = "    PROBLEM --> C"
    assert found["Remove B"].apply(text).splitlines() == lines


ROLES = """\
---
workflow:
  prompts:
    quick: Answer at once.
    slow: Answer step by step.
    "odd: one": Answer as you like.
    critic: Say what is wrong.
---
""" + workflow(
    'A["Custom<br/>(role: quick)"]:::CustomOp',
    'B@{op: Custom, role: "quick"}',
    "R@{op: Review, role: critic}",
    'C@{op: Custom, role: quick, prompt: "Its own."}',
    "PROBLEM --> A -->|solution| R",
    "PROBLEM -->|problem| R",
    "R --> B --> C --> RETURN",
)


def roles_given(text: str) -> list[str]:
    return sorted(move.title for move in moves(analyse(text)) if move.title.startswith("Give "))


@pytest.mark.slow
def test_a_node_gets_another_role_that_the_file_has() -> None:
    """One that no node has, or others with its operator. No name that can't be written anywhere; no node with its own prompt."""
    assert roles_given(ROLES) == ["Give A the role slow", "Give B the role slow", "Give R the role slow"]
    assert change(ROLES, "Give A the role slow") == [
        '-A["Custom<br/>(role: quick)"]:::CustomOp',
        '+A["Custom<br/>(role: slow)"]:::CustomOp',
    ]
    assert change(ROLES, "Give B the role slow") == ['-B@{op: Custom, role: "quick"}', '+B@{op: Custom, role: "slow"}']
    found = move(ROLES, "Give A the role slow")
    assert found.operator == "substitution"
    assert apply_edits(found.apply(ROLES), found.reverse) == ROLES


def test_a_prompt_goes_with_the_last_node_that_had_its_role() -> None:
    text = ROLES.replace('B@{op: Custom, role: "quick"}', "B@{op: Custom, role: slow}")
    text = text.replace(', prompt: "Its own."', "").replace("C@{op: Custom, role: quick}", "C@{op: Custom, role: slow}")
    assert roles_given(text) == ["Give A the role slow", "Give B the role quick", "Give C the role quick"]
    assert change(text, "Give A the role slow")[0] == "-quick: Answer at once."
    assert change(text, "Give C the role quick") == ["-C@{op: Custom, role: slow}", "+C@{op: Custom, role: quick}"]
