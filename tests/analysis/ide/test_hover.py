"""Hover: what is said about what stands under the cursor."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.ide.cursor import drawn, marked
from tests.strategies import any_flowcharts

from merrow_analysis.check import analyse
from merrow_analysis.ide.hover import hover
from merrow_analysis.text import Position, split_lines

HEAD = """---
workflow:
  model: gpt-4o-mini
  types: {Draft: Text}
  prompts:
    solver: |
      Solve *it*.
      ```
---
"""
WORKFLOW = (
    HEAD
    + """flowchart TD
    PROBLEM([Problem]):::Interface
    SOLVE["Custom<br/>(role: solver, returns: Draft)"]@{ temperature: 0.5 }
    P["Programmer<br/>"]
    CHECK{good?}:::DecisionOp
    RETURN([Return]):::Interface
    classDef CustomOp fill:#eee
    class SOLVE CustomOp
    PROBLEM --> SOLVE -->|value| CHECK
    CHECK -->|yes| RETURN
    PROBLEM -->|problem| P e1@--> RETURN
    e1@{ animate: true }
"""
)


def shown(place: str) -> tuple[str, str]:
    """The source under the hover, and its Markdown, of a workflow in which ``place`` has the cursor."""
    plain = place.replace("<|>", "")
    assert plain in WORKFLOW
    here = marked(WORKFLOW.replace(plain, place, 1))
    found = hover(here.analysis, here.position)
    assert found is not None
    under = drawn(here.text, [found.range]).split("\n")
    begin = under[1].index("^")
    return under[0][begin : under[1].rindex("^") + 1], found.text.markdown()


@pytest.mark.parametrize(
    ("place", "under", "said"),
    [
        ("-->|val<|>ue| CHECK", "-->|value|", "`SOLVE.response -> CHECK.value : Draft` (written)"),
        ("PROBLEM -<|>-> SOLVE", "-->", "`PROBLEM -> SOLVE.input : Problem` (inferred)"),
        ("-->|y<|>es| RETURN", "-->|yes|", "case yes"),
        ("class SOLVE Cust<|>omOp", "CustomOp", "Class `CustomOp`: operator `Custom`."),
        ("RETURN([Return]):::Inter<|>face", "Interface", "inputs and outputs of the workflow"),
        ("flow<|>chart TD", "flowchart TD", "Workflow: 3 subtasks"),
        ("  mod<|>el: gpt", "model", "The model that answers"),
        ("  type<|>s: {", "types", "Types of this workflow"),
        ("{Dra<|>ft: Text}", "Draft", "Type `Draft`, a kind of `Text`"),
        ("    solv<|>er: |", "solver", "1 node uses it."),
        ("(ro<|>le: solver", "role", "name of the node's prompt"),
        ("role: sol<|>ver,", "solver", "Prompt `solver` of the front matter."),
        ("@{ temp<|>erature: 0.5", "temperature", "Default: `0`."),
        ("returns: Dr<|>aft)", "Draft", "a kind of `Text`"),
        ('["Prog<|>rammer<br/>', "Programmer", "Programmer(problem*: Problem, analysis: Text)"),
        ("{ ani<|>mate: true", "animate", "whether the edge moves"),
        ("P e<|>1@-->", "e1", "`P.output -> RETURN.result : Answer`"),
        ("CHE<|>CK{", "CHECK", "`CHECK` is a `Decision`."),
    ],
)
def test_what_is_said(place: str, under: str, said: str) -> None:
    found, text = shown(place)
    assert found == under
    assert said in text


def test_a_rule_in_a_suppression() -> None:
    here = marked("flowchart TD\n%% merrow: ignore[MW1<|>05] a reason\nPROBLEM --> RETURN\n")
    found = hover(here.analysis, here.position)
    assert found is not None
    assert drawn(here.text, [found.range]) == "%% merrow: ignore[MW105] a reason\n                  ^^^^^"
    assert "ensemble-needs-two-sources (error)" in found.text.markdown()


@pytest.mark.parametrize(
    "text", ["flowchart TD\nPROBLEM([Pro<|>blem]) --> RETURN\n", "<|>", "%% so<|>me words\n", "hel<|>lo"]
)
def test_nothing_on_free_text(text: str) -> None:
    here = marked(text)
    assert hover(here.analysis, here.position) is None


def test_a_node_in_a_broken_statement() -> None:
    here = marked(WORKFLOW + "    P --> SOL<|>VE -->\n")
    found = hover(here.analysis, here.position)
    assert found is not None
    assert "`SOLVE` is a `Custom`" in found.text.markdown()


def test_plain_text_has_no_marks() -> None:
    here = marked(WORKFLOW.replace("SOLVE[", "SO<|>LVE["))
    found = hover(here.analysis, here.position)
    assert found is not None
    assert "`" not in found.text.plain().replace("`returns: Plan`", "").replace("```", "")


def test_a_users_words_are_no_markdown() -> None:
    note = 'operators: {Op1: {note: "**x** <b>", outputs: {o: Text}}}'
    here = marked(
        f'---\nworkflow:\n  {note}\n---\nflowchart TD\nA@{{ op: Op1, role: "`b` **c**" }}\nPROBLEM --> A<|> --> RETURN\n'
    )
    found = hover(here.analysis, here.position)
    assert found is not None
    text = found.text.markdown()
    assert "```text\n**x** <b>\n```" in text
    assert "`` `b` **c** ``" in text


@given(any_flowcharts, st.data())
@settings(max_examples=15, deadline=None)
def test_any_text_at_any_place(text: str, data: st.DataObject) -> None:
    analysis = analyse(text)
    lines = split_lines(text)
    line = data.draw(st.integers(0, len(lines)))
    column = data.draw(st.integers(0, 1 + (len(lines[line]) if line < len(lines) else 0)))
    found = hover(analysis, Position(line, column))
    if found is not None:
        assert found.range.start.line <= line <= found.range.end.line
        assert found.text.markdown()
        assert found.text.plain()
