"""Drawings that say nothing to Merrow: ordinary labels and styles make no workflow of them, published ones do."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from merrow_analysis.check import analyse
from merrow_analysis.definitions.operators import BUILT_IN_TABLE
from merrow_analysis.text import apply_edits

OPERATORS = sorted(BUILT_IN_TABLE.names())
names = st.sampled_from(OPERATORS) | st.sampled_from(OPERATORS).map(str.lower)
words = st.from_regex(r"\A[a-z]{2,8}( [a-z0-9]{1,8}){0,3}\Z")


def drawing(label: str, style: str = "") -> str:
    return f'flowchart TD\n    A[Plan it] --> T["{label}"]{style} --> C[Ship it]\n'


@given(
    names,
    words,
    st.sampled_from(("{0}<br/>{1}", "{0}<br>({1})", "{0}<br/><br/>{1}", "{0}<br/>(note: {1}) {1}", "{0} {1}")),
)
@example("Test", "on three devices", "{0}<br/>{1}")
@example("Review", "by a maintainer", "{0}<br/>{1}")
def test_words_below_an_operators_name_are_an_ordinary_label(name: str, rest: str, form: str) -> None:
    analysis = analyse(drawing(form.format(name, rest)))
    assert not analysis.is_workflow
    assert not analysis.diagnostics


@given(names, words, st.sampled_from(("{0}<br/>{1}", "{0}<br/><br/>{1}", "{0}<br/>{1}<br/>({1})", "{0} {1}")))
@example("Test", "phase", "{0}<br/>{1}")
def test_words_below_an_operators_name_are_a_step_also_between_problem_and_return(
    name: str, rest: str, form: str
) -> None:
    label = form.format(name, rest)
    text = f'flowchart TD\n    PROBLEM --> A[Custom<br/>] --> T["{label}"] --> RETURN\n'
    analysis = analyse(text)
    assert analysis.typed is not None
    step, before = analysis.typed.by_id["T"].resolution, analysis.typed.by_id["A"].resolution
    assert step.plain is not None
    assert (before.plain, before.spec) == (None, BUILT_IN_TABLE.named("Custom"))


@given(
    names,
    st.sampled_from(
        ("{0}<br/>", "{0}<br>(role: a)", "{0}<br/>(role: a, temperature: 1)<br/>", " {0} <br />(role: 'a b')")
    ),
)
def test_the_published_form_makes_a_workflow(name: str, form: str) -> None:
    assert analyse(drawing(form.format(name))).is_workflow


@pytest.mark.parametrize("style", ["decision", "Decision", "test", "review", "custom", "program", "stop", "step"])
def test_a_style_of_the_authors_own_changes_nothing(style: str) -> None:
    plain = "flowchart TD\n    s([Start]) --> w[Write] --> q{Fine?}\n    q -->|Yes| p[Publish]\n    q -->|No| w\n"
    styled = f"{plain}    classDef {style} fill:#fff3c4\n    class q {style}\n    class w {style}\n"
    assert not analyse(styled).is_workflow
    assert not analyse(styled).diagnostics
    one, other = (analyse(text, as_workflow=True) for text in (plain, styled))
    assert one.typed is not None
    assert other.typed is not None
    assert [(node.kind, node.operator, node.asks) for node in other.typed.nodes] == [
        (node.kind, node.operator, node.asks) for node in one.typed.nodes
    ]
    assert [found.message for found in other.diagnostics] == [found.message for found in one.diagnostics]


def test_the_published_class_decides_among_operators() -> None:
    text = (
        "flowchart TD\n    PROBLEM([P]):::Interface -->|input| A[Custom<br/>] --> D{Which way?}:::Decision\n"
        "    D -->|yes| RETURN([R]):::Interface\n"
    )
    analysis = analyse(text)
    assert analysis.is_workflow
    assert analysis.typed is not None
    assert analysis.typed.by_id["D"].resolution.claims


@pytest.mark.parametrize("lines", ["    %%\n", "    %%\n    %%\n", "%%\n"])
def test_an_empty_comment_is_a_node_and_its_fix_removes_it(lines: str) -> None:
    before, after = "flowchart TD\n    A[Read] --> B[Write]\n", "    B --> C[Send]\n"
    analysis = analyse(before + lines + after)
    assert [found.code for found in analysis.diagnostics] == ["MW016"] * lines.count("%%")
    assert "%%" in analysis.flow.nodes
    first = analysis.diagnostics[0].fixes[0]
    (edit,) = first.edits
    assert edit.new_text == ""
    assert edit.range.start.line == 2
    assert edit.range.end.line == 3


def test_an_empty_comment_behind_a_statement_is_removed_not_moved() -> None:
    text = "flowchart TD\n    A --> B %%\n"
    (found,) = analyse(text).diagnostics
    assert [apply_edits(text, fix.edits) for fix in found.fixes] == ["flowchart TD\n    A --> B\n"]
