"""Which operator a node has, by metadata, class and label; and operators that a workflow declares."""

from __future__ import annotations

import pytest
from tests.analysis.workflows import diagnose, told, typed, workflow

from merrow_analysis.diagnostics import Severity

ENDS = ("PROBLEM -->|input| A", "A --> RETURN")


def operator(*lines: str) -> str | None:
    return typed(workflow(*lines, *ENDS)).by_id["A"].operator


@pytest.mark.parametrize(
    "lines",
    [
        ('A["Custom<br/>(role: x)"]',),
        ("A:::CustomOp",),
        ("A:::customop",),
        ("A@{ op: Custom }",),
        ("A@{ op: custom }",),
        ("A[Any text]", "class A CustomOp", "classDef CustomOp fill:#fff"),
        ('A["Custmo<br/>"]:::CustomOp',),
        ('A["Customer letter"]:::CustomOp',),
        ("A[Summary]:::CustomOp", "class A highlight", "classDef highlight fill:#fff"),
    ],
)
def test_metadata_class_and_label_say_the_operator(lines: tuple[str, ...]) -> None:
    assert operator(*lines) == "Custom"
    assert told(workflow(*lines, *ENDS)) == []


@pytest.mark.parametrize(
    ("lines", "code", "place"),
    [
        (('A["Programmer<br/>"]:::CustomOp',), "MW107", "CustomOp"),
        (('A["Custom<br/>"]', "A@{ op: Review }"), "MW107", "Review"),
        (("A:::CustomOp", "class A TestOp", "classDef TestOp fill:#fff"), "MW107", "CustomOp"),
        (('A["Debate<br/>(rounds: 3)"]:::DebateOp',), "MW104", "DebateOp"),
        (("A@{ op: Custm }",), "MW104", "Custm"),
        (('A["Debate<br/>(rounds: 3)"]',), "MW104", "Debate"),
        (("A",), "MW104", "A"),
        (('A["Custom"]', 'A["Custom<br/>(role: y)"]'), "MW109", "A"),
    ],
)
def test_what_is_not_clear_is_one_error_and_suspends_the_ports(lines: tuple[str, ...], code: str, place: str) -> None:
    text = workflow(*lines, "PROBLEM -->|nonsense| A", "A -->|nope:| RETURN")
    assert told(text) == [(code, place)]


@pytest.mark.parametrize(
    ("lines", "right"),
    [
        (('A["Programmer"]:::ProgramOp',), "ProgrammerOp"),
        (("A@{ op: ProgrammerOp }",), "Programmer"),
        (("A[Program]",), "Programmer"),
    ],
)
def test_published_variants_are_understood_and_repaired(lines: tuple[str, ...], right: str) -> None:
    text = workflow(*lines, "PROBLEM -->|problem| A", "A --> RETURN")
    [found] = [one for one in diagnose(text) if one.severity is not Severity.HINT]
    assert (found.code, found.severity) == ("MW108", Severity.WARNING)
    assert {edit.new_text for edit in found.fixes[0].edits} == {right}


PLANNER = """
workflow:
  operators:
    Planner:
      inputs: {problem: Problem, "hints?": "list[Text]"}
      outputs: {plan: Plan}
      prompt: Write a plan.
    Polish: {inputs: {draft: T}, outputs: {better: T}}
"""


def test_declared_operators_have_ports_types_and_variables() -> None:
    text = workflow(
        "P[Planner]", "Q:::PolishOp", "PROBLEM -->|problem| P -->|draft| Q --> RETURN", front=PLANNER
    )  # fmt: skip
    assert told(text) == []
    graph = typed(text)
    assert [(port.name, port.required, port.many) for port in graph.by_id["P"].input_ports] == [
        ("problem", True, False),
        ("hints", False, True),
    ]
    assert graph.by_id["Q"].outputs == {"better": "Plan"}


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("Planner: {outputs: {plan: Pln}}", "Plan"),
        ("custom: {outputs: {plan: Plan}}", "built-in"),
        ("Planner: {inputs: {a: Text}}", "outputs"),
        ("Planner: {inptus: {a: Text}, outputs: {plan: Plan}}", "inputs"),
        ("Planner: {outputs: {plan: T}}", "no input says"),
        ("Planner: [a]", "needs its ports"),
        ("Planner: {inputs: {a b: Text}, outputs: {plan: Plan}}", "can't name a port"),
        ("Planner: {inputs: {a: {type: Text, many: yep}}, outputs: {plan: Plan}}", "true or false"),
    ],
)
def test_wrong_declarations_are_told_in_the_front_matter(body: str, word: str) -> None:
    text = workflow("A[Custom]", *ENDS, front=f"workflow:\n  operators:\n    {body}")
    found = [one for one in diagnose(text) if one.code == "MW221"]
    assert len(found) == 1
    assert word in found[0].message
    assert found[0].range.start.line == 3
