"""Labels as MermaidFlow writes them, and what is wrong with parameters in labels and metadata."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.definition_checks import said

from merrow_analysis.definitions.labels.parameters import parse_label

PIECES = st.sampled_from(
    [
        "Custom",
        "role",
        ": ",
        ":",
        ", ",
        "(",
        ")",
        "'",
        '"',
        "#quot;",
        "<br/>",
        "<br>",
        "\n",
        " ",
        "a b",
        "analysis",
        "&amp;",
    ]
)


@given(st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=20).map("".join)))
def test_any_label_is_read_with_places_inside_it(text: str) -> None:
    parts = parse_label(text)
    spans = [parts.operator_span, *(problem.span for problem in parts.problems)]
    for key, parameter in parts.parameters.items():
        assert text[slice(*parameter.key_span)] == key
        spans.append(parameter.value_span)
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert text[slice(*parts.operator_span)] == parts.operator_word


@pytest.mark.parametrize(
    ("text", "operator", "values"),
    [
        ("Custom<br/>(role: simple_solver_1)", "Custom", {"role": "simple_solver_1"}),
        ("ScEnsemble<br/>", "ScEnsemble", {}),
        ("test_result<br/>passed?", "test_result", {}),
        ("Programmer<br/>(analysis: 'Calculate, then (maybe) check')", "Programmer",
         {"analysis": "Calculate, then (maybe) check"}),
        ("Custom<BR >(role: a,temperature: 0.5)", "Custom", {"role": "a", "temperature": 0.5}),
        ("Custom\n(role: a, b, samples: 3)", "Custom", {"role": "a, b", "samples": 3}),
        ("Custom (role: a)<br/>(seed: 1)", "Custom", {"role": "a", "seed": 1}),
        ("Custom<br/>(prompt: #quot;Say #35;1, please#quot;)", "Custom", {"prompt": "Say #1, please"}),
        ("Custom<br/>(prompt: see https://x.y/z (there))", "Custom", {"prompt": "see https://x.y/z (there)"}),
        ("Custom<br/>(prompt: 'it''s<br/>two lines')", "Custom", {"prompt": "it's\ntwo lines"}),
        ("Custom<br/>(role: '1')", "Custom", {"role": "1"}),
        ("Review & Revise", "Review & Revise", {}),
        ("", "", {}),
    ],
)  # fmt: skip
def test_labels(text: str, operator: str, values: dict[str, object]) -> None:
    parts = parse_label(text)
    assert parts.operator_word == operator
    assert {key: parameter.value for key, parameter in parts.parameters.items()} == values
    assert parts.problems == ()


@pytest.mark.parametrize(
    "text", ["C<br/>(" + "a: 'x," * 20_000, "(" * 100_000, "C<br/>(a: '" + "' " * 50_000, "C(a, " * 30_000]
)
def test_long_labels_are_survived(text: str) -> None:
    assert parse_label(text).problems or parse_label(text).parameters


def node(declaration: str, prompts: str = "{solver: x}") -> str:
    return f"---\nworkflow:\n  prompts: {prompts}\n---\nflowchart TD\n  {declaration}\n"


@pytest.mark.parametrize(
    ("declaration", "found"),
    [
        ('A["Custom<br/>(role: solver, temprature: 1)"]', [("MW304", "temprature")]),
        ('A["Custom<br/>(role: solver, temperature: 5)"]', [("MW305", "5")]),
        ('A["Custom<br/>(role: solver, on_error: retry)"]', [("MW305", "retry")]),
        ('A["Custom<br/>(role: )"]', [("MW303", "solver"), ("MW305", "role")]),
        (
            'A["Custom<br/>(role solver)"]\n  B@{ op: Custom, role: solver }',
            [("MW309", "A"), ("MW308", "role solver")],
        ),
        ('A["Custom<br/>(role: a, role: solver)"]', [("MW307", "role")]),
        ('A["Custom<br/>(role: solver"]', [("MW308", "(role: solver")]),
        ("A@{ op: Custom, role: solver, samples: 0 }", [("MW305", "0")]),
        ("A@{ op: Custom, role: solver, sampels: 2 }", [("MW304", "sampels")]),
        ("A@{ op: Custom, role: solver, base_url: x }", [("MW501", "base_url")]),
        ("A@{ op: Custom, role: solver, shape: rect, label: hi, w: 100 }", []),
        ("A@{ op: Custom, role: 1 }", [("MW303", "solver"), ("MW305", "1")]),
        ("A@{\n    op: Custom\n    role: solver\n    memory:\n      last: 0\n  }", [("MW305", "last: 0")]),
        ("A@{ op: Test, role: solver, on_no_tests: skip }", [("MW305", "skip")]),
        ("A@{ op: Custom, role: solver, on_no_tests: pass }", [("MW304", "on_no_tests")]),
        ('A["Custom<br/>(role: solver, seed: 1)"]\n  A@{ seed: 2 }', [("MW306", "1")]),
        ('A["Custom<br/>(role: solver, seed: 1)"]\n  A@{ seed: 1 }', []),
        ('A["Custom<br/>(role: solver, seed: x)"]\n  A@{ seed: 2 }', [("MW306", "x")]),
        ("A@{ op: Custom, role: solver }\n  A e1@--> B\n  e1@{ animat: true }", [("MW304", "animat")]),
        ("A@{ op: Custom, role: solver }\n  PROBLEM@{ type: Text, model: x }", [("MW304", "model")]),
        ('A@{ op: Decision, role: solver, if: "x > 1" }', [("MW406", "role")]),
    ],
)
def test_findings(declaration: str, found: list[tuple[str, str]]) -> None:
    extra = "  class PROBLEM Interface\n  PROBLEM --> A\n" if "PROBLEM" in declaration else ""
    assert sorted(said(node(declaration) + extra)) == sorted(found)


def test_a_quoted_text_over_two_lines_shifts_no_place() -> None:
    text = node('A@{ op: Custom, role: solver, prompt: "one\n      two", sampels: 2 }')
    assert said(text) == [("MW304", "sampels")]
