"""Edges and ports: where labelled and unlabelled edges go, and what they carry."""

from __future__ import annotations

import pytest
from tests.analysis.workflows import diagnose, edge, errors, told, typed, workflow

from merrow_analysis.text import apply_edits

DRAFT = ('A["Custom"]:::CustomOp', "PROBLEM --> A")


@pytest.mark.parametrize(
    ("lines", "ends", "port", "type_"),
    [
        (("V[ScEnsemble]",), ("A", "V"), "solutions", "Text"),
        (("V[ScEnsemble]",), ("PROBLEM", "V"), "problem", "Problem"),
        (("V[Programmer]",), ("A", "V"), "analysis", "Text"),
        (("V[Programmer]",), ("PROBLEM", "V"), "problem", "Problem"),
        (("V[AnswerGenerate]",), ("A", "V"), "input", "Text"),
        (("V[CustomCodeGenerate]",), ("PROBLEM", "V"), "problem", "Problem"),
        (("V[Test]",), ("PROBLEM", "V"), "problem", "Problem"),
    ],
)
def test_unlabelled_edges_go_to_the_bulk_port_or_the_nearest(
    lines: tuple[str, ...], ends: tuple[str, str], port: str, type_: str
) -> None:
    graph = typed(workflow(*DRAFT, *lines, f"{ends[0]} --> {ends[1]}", "V --> RETURN"))
    found = edge(graph, *ends)
    assert (found.port, found.type, found.inferred) == (port, type_, True)


@pytest.mark.parametrize(
    ("label", "output", "type_"), [("solution", "response", "Code"), ("response:solution", "response", "Code")]
)
def test_labels_name_ports_and_outputs(label: str, output: str, type_: str) -> None:
    text = workflow(
        "E([e]):::Interface", "G[CustomCodeGenerate]", "T[Test]", "PROBLEM -->|problem| G", f"G -->|{label}| T",
        "PROBLEM -->|problem| T", "E -->|entry_point| T", "T -->|solution:result| RETURN",
    ).replace("E([", "ENTRY_POINT([").replace("E -->", "ENTRY_POINT -->")  # fmt: skip
    assert errors(text) == []
    found = edge(typed(text), "G", "T")
    assert (found.output, found.port, found.type, found.inferred) == (output, "solution", type_, False)


@pytest.mark.parametrize(
    ("sources", "type_"),
    [
        (("CustomCodeGenerate", "CustomCodeGenerate"), "Code"),
        (("CustomCodeGenerate", "Custom"), "Text"),
        (("Programmer", "Programmer"), "Answer"),
        (("AnswerGenerate", "Programmer"), "Answer"),
    ],
)
def test_an_ensemble_gives_the_closest_common_kind(sources: tuple[str, str], type_: str) -> None:
    ports = {"Custom": "input", "AnswerGenerate": "input"}
    lines = [f"S{n}[{name}]\nPROBLEM -->|{ports.get(name, 'problem')}| S{n} --> V" for n, name in enumerate(sources)]
    graph = typed(workflow(*lines, "V[ScEnsemble]", "V --> RETURN"))
    assert graph.by_id["V"].outputs == {"response": type_}


def test_samples_make_lists_that_ensembles_take() -> None:
    text = workflow(
        "A@{ op: CustomCodeGenerate, role: x, samples: 5 }", "PROBLEM -->|problem| A --> V[ScEnsemble] --> RETURN"
    )
    assert errors(text) == []
    graph = typed(text)
    assert graph.by_id["A"].outputs == {"response": "list[Code]"}
    assert graph.by_id["V"].outputs == {"response": "Code"}


def test_returns_is_a_promise_that_is_counted() -> None:
    text = workflow(
        "A@{ op: Custom, returns: Problem }", "PROBLEM --> A", "A -->|problem| P[Programmer]", "P --> RETURN"
    )  # fmt: skip
    assert errors(text) == []
    assert [node.id for node in typed(text).promises] == ["A"]


@pytest.mark.parametrize(
    ("lines", "code", "place"),
    [
        (("V[Programmer]", "A -->|problm| V", "PROBLEM -->|analysis| V"), "MW201", "problm"),
        (("V[Programmer]", "PROBLEM -->|problem| V", "A -->|nope:analysis| V"), "MW207", "nope"),
        (("V[Programmer]", "A -->|problem| V"), "MW206", "problem"),
        (("V[Programmer]", "A -->|analysis| V"), "MW204", "V"),
        (("V[Format]", "A --> V", "PROBLEM -->|problem| V", "A -->|solution| V"), "MW205", "-->|solution|"),
        (("V[Format]", "A --> V", "PROBLEM --> V"), "MW203", "-->"),
    ],
)
def test_what_is_wrong_is_told_once_at_its_place(lines: tuple[str, ...], code: str, place: str) -> None:
    found = told(workflow(*DRAFT, *lines, "V --> RETURN"))
    assert [one for one in found if one[0] != "MW202"][:1] == [(code, place)]


@pytest.mark.parametrize(
    ("line", "repaired"),
    [
        ("PROBLEM --> V", "PROBLEM -->|problem| V"),
        ("PROBLEM ==> V", "PROBLEM ==>|problem| V"),
        ("PROBLEM --> V --> RETURN", "PROBLEM -->|problem| V --> RETURN"),
        ("PROBLEM --> V & W", "PROBLEM -->|problem| V & W"),
        ("PROBLEM --> V & C", None),
    ],
)
def test_a_missing_label_is_written_without_touching_other_edges(line: str, repaired: str | None) -> None:
    rest = [] if "RETURN" in line else ["V --> RETURN"]
    more = ["W[Programmer] --> X[ScEnsemble]"] if "W" in line else ["C[Custom]"] if "C" in line else []
    text = workflow("V[Programmer]", *more, line, *rest)
    found = [one for one in diagnose(text) if one.code == "MW202"]
    if repaired is None:
        assert [one.fixes for one in found] == [()]
        return
    after = apply_edits(text, found[0].fixes[0].edits)
    assert after == text.replace(line, repaired)
    assert not [one for one in diagnose(after) if one.code == "MW202"]


def test_a_bool_decides_and_the_default_output_is_carried() -> None:
    text = workflow(
        *DRAFT, "R[Test]", "ENTRY_POINT([e]):::Interface", "G[CustomCodeGenerate]", "D{ok?}:::DecisionOp",
        "PROBLEM -->|problem| G & R", "G -->|solution| R", "ENTRY_POINT -->|entry_point| R", "R --> D",
        "D -- Passed --> RETURN", "D -- Failed --> F[Custom] --> RETURN", "A --> F",
    )  # fmt: skip
    assert errors(text) == []
    graph = typed(text)
    assert [(feed.output, feed.port) for feed in edge(graph, "R", "D").feeds] == [
        ("result", "when"),
        ("solution", "value"),
    ]
    assert (edge(graph, "D", "RETURN").port, edge(graph, "D", "RETURN").type) == ("result", "Code")


@pytest.mark.parametrize(("outputs", "when"), [("good: Bool", "good"), ("good: Bool, safe: Bool", "note")])
def test_of_several_bools_none_decides_by_itself(outputs: str, when: str) -> None:
    judge = f"workflow:\n  operators:\n    Judge: {{inputs: {{input: Text}}, outputs: {{note: Text, {outputs}}}, prompt: Judge.}}"
    lines = ("J[Judge]", "PROBLEM --> J --> D{ok?}:::DecisionOp", "D -- Yes --> RETURN", "D -- No --> RETURN")
    feeds = edge(typed(workflow(*lines, front=judge)), "J", "D").feeds
    assert [feed.output for feed in feeds if feed.port == "when"] == [when]


def test_a_routers_word_never_leaks_into_its_branches() -> None:
    text = workflow(
        *DRAFT, "D{kind?}:::DecisionOp", "M[Custom]", "N[Custom]", "A --> D", "D -- math --> M", "D -- else --> N",
        "PROBLEM --> M & N", "M --> RETURN", "N --> RETURN",
    )  # fmt: skip
    assert errors(text) == []
    assert edge(typed(text), "D", "M").order_only


def test_an_input_of_a_decision_that_its_expression_does_not_use() -> None:
    def unused(expression: str) -> list[str]:
        text = workflow(
            *DRAFT,
            "D{ok?}:::DecisionOp",
            f'D@{{ if: "{expression}" }}',
            "A -->|score:| D",
            "A -->|score| D",
            "PROBLEM -->|task| D",
            "D -- yes --> RETURN",
            "D -- no --> RETURN",
        )
        return [one.message.split("`")[3] for one in diagnose(text) if one.code == "MW405"]

    assert unused("len(score) > len(task)") == []
    assert unused("len(score) > 3") == ["task"]
    assert unused("1 < 2") == ["score", "task"]


OPERATORS = """workflow:
  operators:
    Compare:
      inputs: {left?: Text, right: Text, extra?: Text}
      outputs: {better: Text}
      prompt: Compare them.
    Choose:
      inputs: {left: Text, right: Text}
      outputs: {better: Text}
      prompt: Choose one.
"""


def test_of_equally_near_ports_an_unlabelled_edge_feeds_the_one_that_must_be_fed() -> None:
    text = workflow(*DRAFT, "V[Compare]", "A --> V", "V --> RETURN", front=OPERATORS)
    assert edge(typed(text), "A", "V").port == "right"
    assert told(text) == [("MW202", "-->")]
    both = workflow(*DRAFT, "V[Choose]", "A --> V", "V --> RETURN", front=OPERATORS)
    assert "MW203" in [code for code, _ in told(both)]
