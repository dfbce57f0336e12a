"""The shape of workflows: inputs, outputs, paths, circles, classes, and hints; and that any graph is survived."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.analysis.workflows import diagnose, errors, told, workflow

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Applicability, Diagnostic, Severity
from merrow_analysis.text import apply_edits

C = ":::CustomOp"


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ((f"A{C} --> B{C} --> RETURN",), [("MW102", "A")]),
        ((f"A{C}", "PROBLEM --> A --> RETURN", f"A --> B{C} --> D{C}"), [("MW102", "D")]),
        ((f"A{C}", "PROBLEM --> A --> RETURN", f"B{C}"), [("MW102", "B")]),
        ((f"A{C}", "PROBLEM --> A --> RETURN", f"B{C} --> D{C}"), [("MW102", "B")]),
        ((f"A{C} & B{C} -->|input| D{C} --> RETURN",), [("MW102", "PROBLEM")]),
        ((f"PROBLEM --> A{C}",), [("MW102", "A")]),
        ((f"PROBLEM --> A{C} & B{C}",), [("MW102", "RETURN")]),
        ((f"A{C}", "PROBLEM --> A --> RETURN", "A ~~~ B", f"B{C}"), [("MW102", "B")]),
        ((f"A{C}", "PROBLEM --> A --> RETURN", "X([x]):::Interface"), [("MW102", "X")]),
    ],
)
def test_off_the_path_only_the_break_is_told(lines: tuple[str, ...], found: list[tuple[str, str]]) -> None:
    assert told(workflow(*lines)) == found


VOTE = 'V["ScEnsemble"]:::ScEnsembleOp'


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ((f"PROBLEM --> A{C} --> RETURN", "A --> A"), "MW111"),
        ((f"PROBLEM --> A{C} --> RETURN", "A --> PROBLEM"), "MW112"),
        ((f"PROBLEM --> A{C} --> RETURN", "RETURN --> A"), "MW113"),
        ((f"PROBLEM --> A{C} --> B{C} --> A", "B --> RETURN"), "MW110"),
        ((f"PROBLEM --> A{C} --> B{C} --> D{C} --> A", "B --> A", "D --> RETURN"), "MW110"),
    ],
)
def test_edges_that_may_not_be_are_one_error(lines: tuple[str, ...], code: str) -> None:
    assert errors(workflow(*lines)) == [code]


def test_other_inputs_and_outputs_stand_in_the_front_matter() -> None:
    chart = "flowchart TD\nQ([q]):::Interface --> A[Custom] --> OUT([o]):::Interface\nclassDef Interface fill:#fff\n"
    assert errors("---\nworkflow: {inputs: [Q], outputs: [OUT]}\n---\n" + chart) == []
    assert told("---\nworkflow: {inputs: [Q], outputs: [END1]}\n---\n" + chart)[0][0] == "MW101"


SAFE = [
    workflow("A[Custom]", "PROBLEM --> A --> RETURN").replace("]):::Interface", "])"),
    workflow("A[Custom]", "PROBLEM --> A --> RETURN").replace("classDef Interface fill:#e2e2f2\n", ""),
    "flowchart TD; PROBLEM([p]) --> A[Custom]; A --> RETURN([r])",
    workflow('A["ScEnsemble"]:::ScEnsambleOp', f"B{C} & D{C} --> A --> RETURN", "PROBLEM --> B & D"),
    workflow("A[Programmer]:::ProgramOp", "PROBLEM --> A --> RETURN"),
    workflow("G[CustomCodeGenerate]", "PROBLEM -->|input| G --> RETURN"),
]


@pytest.mark.parametrize("text", SAFE)
def test_safe_fixes_leave_nothing_to_say(text: str) -> None:
    for _ in range(9):
        fixes = [fix for one in diagnose(text) for fix in one.fixes if fix.applicability is Applicability.SAFE]
        if not fixes:
            break
        text = apply_edits(text, fixes[0].edits)
    assert told(text) == []


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ((f"A{C}", "PROBLEM --> A --> RETURN", "class B CustomOp"), "MW115"),
        ((f"class A CustomOp\nA[Custom]{C}", "PROBLEM --> A --> RETURN"), "MW115"),
        ((f"A{C}", "PROBLEM --> A", "PROBLEM -->|input| A --> RETURN"), "MW117"),
        ((f"A{C}", "PROBLEM --> A --> RETURN", "class A stress"), "MW114"),
    ],
)
def test_warnings(lines: tuple[str, ...], code: str) -> None:
    found = [one for one in diagnose(workflow(*lines)) if one.severity is Severity.WARNING]
    assert [one.code for one in found] == [code]


PIECES = st.sampled_from(
    [
        "PROBLEM", "RETURN", "ENTRY_POINT", "A", "B", "C[Custom]", "D{x}:::DecisionOp", "E[Test]:::TestOp", "F:::CustmOp",
        "G@{ op: Programmer, returns: Cod }", "H[ScEnsemble]", "I([i]):::Interface", "A[Review]", "D", "E", "H",
        'J@{ op: Decision, if: "x >" }', "K@{ op: Custom, samples: 2 }",
    ]
)  # fmt: skip
ARROWS = st.sampled_from(
    [
        "-->",
        "-->|input|",
        "-->|problem|",
        "-->|yes|",
        "-->|else:solution|",
        "-->|code:|",
        "-->|a:after|",
        "~~~",
        "-.->|:|",
    ]
)


@settings(max_examples=38, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(PIECES, ARROWS, PIECES), max_size=14))
def test_any_graph_is_survived_and_its_places_are_in_the_text(edges: list[tuple[str, str, str]]) -> None:
    text = "flowchart TD\n" + "\n".join(" ".join(edge) for edge in edges) + "\n"
    lines = text.split("\n")
    for found in analyse(text).diagnostics:
        for place in (found.range, *(related.range for related in found.related)):
            assert place.start <= place.end
            assert place.end.column <= len(lines[place.end.line])
        for fix in found.fixes:
            assert apply_edits(text, fix.edits) != text


class TestSubgraphs:
    """What is said of a subgraph is not a node."""

    PART = (f"PROBLEM --> A{C}", "subgraph part [Part]", "A", "end", "A --> RETURN")

    @pytest.mark.parametrize(
        "said", ["part@{ view: collapsed }", "part:::mine", "part:::mine\npart@{ view: collapsed }"]
    )
    def test_drawing_one_otherwise_is_fine(self, said: str) -> None:
        text = workflow(*self.PART, *said.split("\n"))
        analysis = analyse(text)
        assert told(text) == []
        assert "MW404" not in [found.code for found in analysis.diagnostics]
        assert "part" not in analysis.flow.nodes

    def test_secrets_are_refused_there_too(self) -> None:
        (found,) = self.about_keys("part@{ api_key: x }")
        assert found.code == "MW501"

    def about_keys(self, line: str) -> list[Diagnostic]:
        return [found for found in diagnose(workflow(*self.PART, line)) if found.severity is not Severity.HINT]


@pytest.mark.parametrize("port", ["", "|solutions|"])
def test_samples_of_an_unknown_type_are_enough_for_an_ensemble(port: str) -> None:
    text = workflow("A@{ op: Custom, samples: 3, returns: Nope }", "PROBLEM --> A", f"A -->{port} {VOTE} --> RETURN")
    assert "MW105" not in errors(text)
    assert "MW105" in errors(text.replace("samples: 3, ", ""))


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [(3, 3, 1), (2, 3, 0), (3, 2, 0), (2, 2, 0), (4, 3, 1)],
)
def test_a_bottleneck_is_wide_before_and_after(before: int, after: int, found: int) -> None:
    """Inputs and outputs beside the work are no work that waits."""
    firsts, lasts = [f"A{number}" for number in range(before)], [f"B{number}" for number in range(after)]
    lines = [f"{name}[Custom]{C}" for name in (*firsts, "X", *lasts)]
    lines += [f"PROBLEM --> {name} --> X" for name in firsts]
    lines += [f"X --> {name} --> LAST" for name in lasts]
    lines += [f"LAST[Custom]{C} --> RETURN", "PROBLEM --> X", "X --> RETURN2", "RETURN2([more]):::Interface"]
    hints = [one for one in diagnose(workflow(*lines)) if one.code == "MW402" and one.message.count("through X")]
    assert len(hints) == found


@pytest.mark.parametrize("place", range(3))
def test_cases_that_imply_each_other_are_told_in_any_order(place: int) -> None:
    cases = ["SECOND -- yes --> X", "SECOND -- no --> X"]
    cases.insert(place, "FIRST -- yes --> X")
    lines = [
        'A["Custom<br/>(role: a, returns: Bool)"]:::CustomOp & B["Custom<br/>(role: b, returns: Bool)"]:::CustomOp',
        f"PROBLEM -->|input| A & B & X{C}",
        "A --> FIRST{First?}:::DecisionOp",
        "B --> SECOND{Second?}:::DecisionOp",
        "FIRST -- yes --> B",
        *cases,
        "FIRST -- no --> RETURN",
        "X --> RETURN",
    ]
    text = workflow(*lines)
    found = [one.range.start.line for one in diagnose(text) if one.code == "MW401"]
    assert [text.splitlines()[line].strip() for line in found] == [*cases, "FIRST -- no --> RETURN"]


DECIDED = (
    'A["Custom<br/>(role: a, returns: Bool)"]:::CustomOp & B["Custom<br/>(role: b, returns: Bool)"]:::CustomOp',
    f"X{C}",
    "PROBLEM -->|input| A & B",
    "A --> FIRST{First?}:::DecisionOp",
    "FIRST -- yes --> B",
    "FIRST -- no --> RETURN",
    "X --> RETURN",
)


@pytest.mark.parametrize(
    ("lines", "told_of"),
    [
        # X waits for what only this case brings, so its only case says nothing new.
        (("B -->|response:input| X", "FIRST -- yes --> X"), ["FIRST -- no --> RETURN", "FIRST -- yes --> X"]),
        # X runs in the same cases without the second, but no longer after SECOND.
        (
            (
                "PROBLEM -->|input| X",
                "B --> SECOND{Second?}:::DecisionOp",
                "SECOND -- no --> B2:::CustomOp",
                "FIRST -- yes --> X",
                "SECOND -- yes --> X",
            ),
            ["FIRST -- no --> RETURN"],
        ),
    ],
)
def test_a_case_is_implied_where_its_end_runs_and_waits_the_same_without_it(
    lines: tuple[str, ...], told_of: list[str]
) -> None:
    text = workflow(*DECIDED, *lines)
    found = [one.range.start.line for one in diagnose(text) if one.code == "MW401"]
    assert [text.splitlines()[line].strip() for line in found] == told_of
