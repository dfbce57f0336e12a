"""Slips of people who write workflows: the first fix of the finding is the repair that they want, and nothing is left or new."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from tests.analysis.workflows import workflow

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.text import apply_edits

A = 'A["Custom<br/>(role: one)"]'
B = 'B["Custom<br/>(role: two)"]'
C = 'C["Custom<br/>(role: three)"]'
PY = 'PY["Programmer<br/>"]'
VOTE = 'VOTE["ScEnsemble<br/>"]'
CHAIN = workflow(
    'DRAFT["Custom<br/>(role: one)"]',
    'POLISH["Custom<br/>(role: two)"]',
    "PROBLEM -->|input| DRAFT",
    "DRAFT --> POLISH",
    "POLISH --> RETURN",
)
LOOP = workflow(
    'DRAFT["Custom<br/>(role: one)"]',
    'subgraph BOX["Loop (max: 4)"]',
    'TEXT["Pass<br/>"]',
    'REVIEW["Review<br/>"]',
    "CHECK{Accepted?}:::DecisionOp",
    'REVISE["Revise<br/>"]',
    "end",
    "PROBLEM -->|input| DRAFT",
    "PROBLEM -->|problem| REVIEW & REVISE",
    "DRAFT --> TEXT",
    "TEXT -->|solution| REVIEW & REVISE",
    "TEXT -->|value| CHECK",
    "REVIEW -->|result:when| CHECK",
    "REVIEW -->|feedback:feedback| REVISE",
    "CHECK -->|yes| RETURN",
    "CHECK -->|no:after| REVISE",
    "REVISE -.->|again| TEXT",
    "REVISE -->|over| RETURN",
)
MAP = workflow(
    "SPLIT[\"Custom<br/>(role: split, returns: 'list[Text]')\"]",
    'subgraph EACH["Map (max: 9)"]',
    A,
    "end",
    B,
    "PROBLEM -->|input| SPLIT",
    "SPLIT -->|each:input| A",
    "A --> B",
    "B --> RETURN",
)
PROMPTS = "---\nworkflow:\n  prompts:\n    one: Write a draft.\n    two: Polish it.\n---\n"


def slip(text: str, *changes: tuple[str, str]) -> str:
    """A text with one place written otherwise, for each change."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


class Case(NamedTuple):
    """A text with a slip, the code of the finding whose first fix is looked at, and the title of that."""

    text: str
    code: str
    title: str
    is_alone: bool = True
    """Whether the fix leaves no error or warning at all."""


BRANCHES = workflow(
    'KIND["Custom<br/>(role: sort, returns: Bool)"]',
    "CHECK{Complaint?}:::DecisionOp",
    A,
    B,
    "PROBLEM -->|input| KIND & A & B",
    "KIND --> CHECK",
    "CHECK -->|yes:after| A",
    "CHECK -->|no:after| B",
    "A & B --> RETURN",
)

CARRIED = workflow(
    'KIND["Custom<br/>(role: sort, returns: Bool)"]',
    "CHECK{Complaint?}:::DecisionOp",
    A,
    B,
    "PROBLEM -->|input| KIND",
    "KIND -->|when| CHECK",
    "PROBLEM -->|value| CHECK",
    "CHECK -->|yes| A",
    "CHECK -->|no| B",
    "A & B --> RETURN",
)

CASES = {
    "the id of a target is misspelled": Case(
        slip(CHAIN, ("DRAFT --> POLISH", "DRAFT --> POLSH")), "MW104", "Write POLISH for POLSH"
    ),
    "it ends a chain": Case(slip(CHAIN, ("DRAFT --> POLISH", "DRAFT --> POLSH")), "MW102", "Write POLISH for POLSH"),
    "the id of a source is misspelled": Case(
        slip(CHAIN, ("DRAFT --> POLISH", "DRAF --> POLISH")), "MW104", "Write DRAFT for DRAF"
    ),
    "RETURN is misspelled": Case(
        slip(CHAIN, ("POLISH --> RETURN", "POLISH --> RETRUN")), "MW102", "Write RETURN for RETRUN"
    ),
    "an id has another case": Case(
        slip(CHAIN, ("DRAFT --> POLISH", "draft --> POLISH")), "MW102", "Write DRAFT for draft"
    ),
    "the id of a declaration is misspelled": Case(
        slip(CHAIN, ('POLISH["Custom', 'POLSH["Custom')), "MW102", "Write POLSH for POLISH"
    ),
    "the word class is missing": Case(
        slip(
            CHAIN, ("classDef Interface fill:#e2e2f2", "classDef Interface fill:#e2e2f2\n    PROBLEM,RETURN Interface")
        ),
        "MW001",
        "Write class before it",
    ),
    "the word flowchart is missing": Case(slip(CHAIN, ("flowchart TD", "TD")), "MW011", "Write flowchart TD"),
    "a step leads nowhere, and a review lacks what it gives": Case(
        workflow(
            A,
            B,
            C,
            'REVIEW["Review<br/>"]',
            "OUT([Out]):::Interface",
            "PROBLEM -->|input| A & B",
            "PROBLEM -->|problem| REVIEW",
            "B -->|input| C --> RETURN",
            "REVIEW -->|feedback:| OUT",
        ),
        "MW102",
        "Lead A to REVIEW",
        is_alone=False,
    ),
    "a chain is broken": Case(slip(CHAIN, ("DRAFT --> POLISH\n", "")), "MW102", "Lead DRAFT to POLISH"),
    "an edge is drawn backwards": Case(
        slip(CHAIN, ("POLISH --> RETURN", "RETURN --> POLISH")), "MW113", "Turn the edge round: POLISH → RETURN"
    ),
    "it is drawn backwards, seen from its source": Case(
        slip(CHAIN, ("POLISH --> RETURN", "RETURN --> POLISH")), "MW102", "Turn the edge round: POLISH → RETURN"
    ),
    "one of three that work side by side leads nowhere": Case(
        workflow(
            A, B, PY, VOTE, "PROBLEM -->|input| A & B", "PROBLEM -->|problem| PY", "A & B --> VOTE", "VOTE --> RETURN"
        ),
        "MW102",
        "Lead PY to VOTE",
    ),
    "one of three that work side by side reads nothing": Case(
        workflow(
            A,
            B,
            C,
            'D["Custom<br/>(role: four)"]',
            "PROBLEM -->|input| A",
            "A -->|input| B",
            "B & C --> D",
            "D --> RETURN",
        ),
        "MW102",
        "Lead A to C",
    ),
    "a diamond and the step before it are not connected": Case(
        slip(BRANCHES, ("KIND --> CHECK\n", "")), "MW102", "Lead KIND to CHECK"
    ),
    "the edge of a case is missing": Case(slip(CARRIED, ("CHECK -->|yes| A\n", "")), "MW212", "Lead yes of CHECK to A"),
    "a diamond with yes and no decides on text": Case(
        slip(BRANCHES, (", returns: Bool", "")), "MW212", "Write returns: Bool at KIND"
    ),
    "an input that all programs want is not connected": Case(
        workflow(
            "ENTRY_POINT([Entry point]):::Interface",
            'CODE["CustomCodeGenerate<br/>"]',
            'TEST["Test<br/>"]',
            "PROBLEM -->|problem| CODE & TEST",
            "CODE -->|solution| TEST",
            "TEST -->|solution:| RETURN",
        ),
        "MW102",
        "Lead ENTRY_POINT to CODE and TEST",
    ),
    "a program wants an entry point, and there is none": Case(
        workflow(
            'CODE["CustomCodeGenerate<br/>"]',
            'TEST["Test<br/>"]',
            "PROBLEM -->|problem| CODE & TEST",
            "CODE -->|solution| TEST",
            "TEST -->|solution:| RETURN",
        ),
        "MW204",
        "Add ENTRY_POINT and lead it to TEST",
    ),
    "what a review reviews is not named": Case(
        workflow(A, 'REVIEW["Review<br/>"]', "PROBLEM -->|input| A", "A --> REVIEW", "REVIEW -->|feedback:| RETURN"),
        "MW204",
        "Feed problem from PROBLEM",
        is_alone=False,
    ),
    "an edge is drawn twice": Case(
        slip(CHAIN, ("POLISH --> RETURN", "POLISH --> RETURN\n    POLISH --> RETURN")),
        "MW205",
        "Remove the edge of line 10",
    ),
    "again is misspelled": Case(slip(LOOP, ("|again|", "|agian|")), "MW110", "Mark the edge back with again"),
    "again is forgotten": Case(
        slip(LOOP, (" -.->|again| TEXT", " -.-> TEXT")), "MW110", "Mark the edge back with again"
    ),
    "over is misspelled": Case(slip(LOOP, ("|over|", "|ovre|")), "MW216", "Write |over|"),
    "over is read as a port": Case(slip(LOOP, ("|over|", "|ovre|")), "MW201", "Write |over|"),
    "over is forgotten": Case(
        slip(LOOP, ("REVISE -->|over| RETURN\n", "")), "MW216", "Lead REVISE to RETURN when the turns run out"
    ),
    "a step of a Loop stands below it": Case(
        slip(LOOP, ('REVISE["Revise<br/>"]\nend\n', 'end\nREVISE["Revise<br/>"]\n')), "MW118", "Move REVISE into BOX"
    ),
    "a Loop has no edge back": Case(
        workflow(
            'subgraph BOX["Loop (max: 4)"]',
            A,
            "end",
            B,
            "PROBLEM -->|input| A",
            "A --> B",
            "B --> RETURN",
            "A -->|over| RETURN",
        ),
        "MW124",
        "Make BOX a plain group",
    ),
    "each case leads out of a Loop": Case(
        slip(
            LOOP,
            ("CHECK -->|yes|", "CHECK -->|no:input| C\nC --> RETURN\nCHECK -->|yes|"),
            ("REVISE -->|over| RETURN\n", ""),
            ("DRAFT[", f"{C}\nDRAFT["),
        ),
        "MW124",
        "Lead no out of the Loop by `over`",
    ),
    "each is misspelled": Case(slip(MAP, ("|each:input|", "|eech:input|")), "MW121", "Write |each:input|"),
    "each is read as an output": Case(slip(MAP, ("|each:input|", "|eech:input|")), "MW207", "Write |each:input|"),
    "a role and an operator are misspelled": Case(
        PROMPTS + slip(CHAIN, ("Custom<br/>(role: one)", "Debate<br/>(role: oen)")),
        "MW104",
        "Make DRAFT a Custom",
        is_alone=False,
    ),
    "an unknown operator has a prompt": Case(
        PROMPTS + slip(CHAIN, ("Custom<br/>(role: one)", "Debate<br/>(role: one)")), "MW104", "Make DRAFT a Custom"
    ),
    "a node has two declarations, whose roles have no prompt": Case(
        PROMPTS
        + slip(
            CHAIN,
            ('DRAFT["Custom<br/>(role: one)"]', 'DRAFT["Custom<br/>(role: on)"]\n    DRAFT["Custom<br/>(role: oen)"]'),
        ),
        "MW109",
        "Keep DRAFT as “Custom (role: oen)”",
        is_alone=False,
    ),
    "what orders items is misspelled": Case(
        "---\nworkflow:\n  types:\n    Draft: {text: Text, score: Number}\n---\n"
        + workflow(
            "WRITE[\"Custom<br/>(role: one, returns: 'list[Draft]')\"]",
            'BEST["Select<br/>(by: scor)"]',
            "PROBLEM -->|input| WRITE",
            "WRITE --> BEST",
            "BEST -->|best.text:| RETURN",
        ),
        "MW228",
        "Write by: score",
    ),
    "a key has no value": Case(slip(CHAIN, ("(role: one)", "(temperature, role: one)")), "MW308", "Remove temperature"),
    "a comma is missing in metadata": Case(
        slip(CHAIN, ('DRAFT["Custom<br/>(role: one)"]', "DRAFT@{ op: Custom role: one }")), "MW007", "Add a comma"
    ),
    "a tab indents one line of the front matter": Case(
        slip(PROMPTS, ("    one:", "\tone:")) + CHAIN, "MW008", "Indent with spaces"
    ),
    "typographic quotes": Case(
        slip(CHAIN, ('["Custom<br/>(role: one)"]', "[“Custom<br/>(role: one)”]")), "MW006", "Write straight quotes"
    ),
    "the quote before a value is missing": Case(
        slip(CHAIN, ("classDef Interface", 'PROBLEM@{ default: Say it: now" }\nclassDef Interface')), "MW003", 'Add "'
    ),
    "the quote before a sentence is missing": Case(
        slip(CHAIN, ("classDef Interface", 'PROBLEM@{ default: Say it." }\nclassDef Interface')), "MW003", 'Add "'
    ),
    "quotes inside quotes": Case(
        slip(CHAIN, ("(role: one)", '(role: one, prompt: "Do it")')), "MW006", "Write ' for the quotes inside"
    ),
    "a number in quotes inside quotes": Case(slip(MAP, ("max: 9", 'max: "9"')), "MW006", "Remove the quotes inside"),
}


def serious(text: str) -> list[Diagnostic]:
    return [one for one in analyse(text).diagnostics if one.severity is not Severity.HINT]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("name", CASES)
def test_the_first_fix_is_the_repair_that_is_wanted(name: str, ending: str) -> None:
    case = CASES[name]
    text = case.text.replace("\n", ending)
    finding = next(one for one in analyse(text).diagnostics if one.code == case.code)
    first = next(iter(finding.fixes))
    assert first.title == case.title
    after = apply_edits(text, first.edits)
    left = serious(after)
    assert (case.code, finding.message) not in [(one.code, one.message) for one in left]
    assert not case.is_alone or not left, after
    assert ending == "\n" or "\n" not in after.replace("\r\n", "")


def test_a_voice_of_an_ensemble_names_no_port() -> None:
    text = workflow(
        A,
        B,
        PY,
        VOTE,
        "PROBLEM -->|input| A",
        "PROBLEM -->|problem| PY",
        "PY -->|output:input| B",
        "B --> VOTE --> RETURN",
    )
    [finding] = analyse(text).errors
    assert "\nA --> VOTE\n" in apply_edits(text, finding.fixes[0].edits)


def test_a_prompt_stays_with_the_node_whose_operator_is_written() -> None:
    text = CASES["an unknown operator has a prompt"].text
    finding = next(one for one in analyse(text).diagnostics if one.code == "MW104")
    assert "one: Write a draft." in apply_edits(text, next(iter(finding.fixes)).edits)


def test_an_unknown_section_of_the_front_matter_is_kept_as_a_comment() -> None:
    text = PROMPTS.replace("prompts:", "texts:") + CHAIN
    finding = next(one for one in analyse(text).diagnostics if one.code == "MW310")
    assert apply_edits(text, finding.fixes[0].edits).startswith(
        "---\nworkflow:\n  # texts:\n  #   one: Write a draft.\n  #   two:"
    )


def test_a_name_that_is_there_twice_is_the_name() -> None:
    text = PROMPTS.replace("prompts:", "promptsprompts:") + CHAIN
    finding = next(one for one in analyse(text).diagnostics if one.code == "MW310")
    assert finding.fixes[0].title == "Write prompts"


@pytest.mark.parametrize("operator", ["ToolUse", "ToolCall", "McpCall"])
def test_what_acts_is_not_made_a_model_call(operator: str) -> None:
    text = slip(CHAIN, ('DRAFT["Custom<br/>(role: one)"]', f'DRAFT["{operator}<br/>(name: search)"]'))
    finding = next(one for one in analyse(text).diagnostics if one.code == "MW104")
    assert "did you mean Tool" in finding.message or "Tool is the operator that uses a tool" in finding.message
    assert "Make DRAFT a Custom" not in [fix.title for fix in finding.fixes]


@pytest.mark.parametrize("operator", ["HumanApproval", "Approval", "human_in_the_loop"])
def test_what_asks_people_elsewhere_is_a_human(operator: str) -> None:
    text = slip(CHAIN, ('DRAFT["Custom<br/>(role: one)"]', f'DRAFT["{operator}<br/>(ask: May it go?)"]'))
    finding = next(one for one in analyse(text).diagnostics if one.code == "MW104")
    assert "did you mean Human, which asks a person?" in finding.message
    assert [fix.title for fix in finding.fixes] == ["Write Human"]
    assert not analyse(apply_edits(text, finding.fixes[0].edits)).errors


def test_ids_that_differ_in_a_number_are_different_ones() -> None:
    finding = next(
        one
        for one in analyse(
            slip(CHAIN.replace("DRAFT", "STEP1"), ("POLISH --> RETURN", "POLISH --> STEP2\n    POLISH --> RETURN"))
        ).diagnostics
        if one.code == "MW104"
    )
    assert "did you mean" not in finding.message
    assert [fix.title for fix in finding.fixes] == ["Remove STEP2"]


ARROWS = {
    "A -> C": "A --> C",
    "A->C": "A-->C",
    "A => C": "A --> C",
    "A → C": "A --> C",
    "A —> C": "A --> C",
    "A - C": "A --> C",
    "A -->> C": "A --> C",
    "A > C": "A --> C",
    "A <- C": "C --> A",
    "A -- > C": "A --> C",
    "A ..> C": "A -.-> C",
    "A -- yes -> C": "A -- yes --> C",
    "A |yes| C": "A -->|yes| C",
    "A ->|yes| C": "A -->|yes| C",
    "A -->[yes] C": "A -->|yes| C",
    'A --> "yes" C': "A -->|yes| C",
    "A --> C -> D": "A --> C --> D",
    "A[one -> two] -> C": "A[one -> two] --> C",
    "A, B --> C": "A & B --> C",
    "A --> B and C": "A --> B & C",
}


@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
@pytest.mark.parametrize("line", ARROWS)
def test_arrows_of_other_notations_are_written_as_mermaid_has_them(line: str, ending: str) -> None:
    newline = ending or "\n"
    text = newline.join(["flowchart TD", "    A[one] --> B[two]", "    B --> C[three]", f"    {line}"]) + ending
    finding = analyse(text).errors[0]
    after = apply_edits(text, next(iter(finding.fixes)).edits)
    assert after == text.replace(line, ARROWS[line])
    assert not [one for one in analyse(after).errors if one.code.startswith("MW0")]
