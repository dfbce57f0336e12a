"""Fixes that write something new: operators and types in the front matter, nodes written a second time."""

from __future__ import annotations

import pytest

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Applicability
from merrow_analysis.text import apply_edits

HEAD = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Answer]):::Interface
    classDef Interface fill:#eee
"""
PLANNER = (
    HEAD
    + '    PLAN["Plan it"]:::PlannerOp\n    S[Programmer]\n    PROBLEM -->|problem| PLAN -->|plan:problem| S --> RETURN\n'
)


def results(text: str, code: str) -> dict[str, str]:
    """What the fixes of the first finding of a rule make of a text, by their titles; all of them are unsafe."""
    found = next(one for one in analyse(text).diagnostics if one.code == code)
    assert all(fix.applicability is Applicability.UNSAFE for fix in found.fixes)
    return {fix.title: apply_edits(text, fix.edits) for fix in found.fixes}


def errors(text: str) -> list[str]:
    return [one.code for one in analyse(text).errors]


def front(text: str) -> str:
    return text.split("flowchart TD")[0]


def test_an_operator_is_declared_with_the_ports_that_its_edges_name() -> None:
    made = results(PLANNER, "MW104")
    assert next(iter(made)) == "Declare operator Planner"
    assert front(made["Declare operator Planner"]) == (
        "---\nworkflow:\n  operators:\n    Planner: {inputs: {problem: Problem}, outputs: {plan: Problem}, "
        "prompt: Say here what Planner is to do.}\n---\n"
    )
    assert errors(made["Declare operator Planner"]) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("---\nworkflow: true\n---\n", "---\nworkflow: {operators: {Chooser: BODY}}\n---\n"),
        (
            "---\nworkflow:\n  memory: none\n---\n",
            "---\nworkflow:\n  operators:\n    Chooser: BODY\n  memory: none\n---\n",
        ),
        (
            "---\nworkflow:\n  operators:\n    Other: {outputs: {x: Text}}\n---\n",
            "---\nworkflow:\n  operators:\n    Chooser: BODY\n    Other: {outputs: {x: Text}}\n---\n",
        ),
        ("---\nworkflow: {}\n---\n", "---\nworkflow: {operators: {Chooser: BODY}}\n---\n"),
        ("---\nworkflow:\n  operators:\n---\n", "---\nworkflow:\n  operators:\n    Chooser: BODY\n---\n"),
    ],
)
def test_a_front_matter_gains_an_operator(before: str, after: str) -> None:
    text = (
        before + HEAD + "    A[Do one] --> V@{ op: Chooser } --> RETURN\n    B[Do two] --> V\n    PROBLEM --> A & B\n"
    )
    made = results(text, "MW104")["Declare operator Chooser"]
    body = (
        "{inputs: {input: {type: Text, many: true}}, outputs: {output: Text}, prompt: Say here what Chooser is to do.}"
    )
    assert front(made) == after.replace("BODY", body)
    assert errors(made) == []


def test_no_prompt_is_declared_where_a_node_has_one() -> None:
    text = HEAD + "    V@{ op: Chooser, prompt: Choose. }\n    PROBLEM --> V --> RETURN\n"
    assert "Say here" not in results(text, "MW104")["Declare operator Chooser"]


def test_an_operator_is_not_declared_where_that_leaves_an_error() -> None:
    text = HEAD + "    V@{ op: 'Cho oser' }\n    PROBLEM --> V --> RETURN\n"
    assert not any(title.startswith("Declare") for title in results(text, "MW104"))
    broken = (
        "---\nworkflow:\n  operators: [one]\n---\n" + HEAD + "    V@{ op: Chooser }\n    PROBLEM --> V --> RETURN\n"
    )
    assert not any(title.startswith("Declare") for title in results(broken, "MW104"))


def test_a_type_is_declared_as_a_kind_that_its_readers_take() -> None:
    text = HEAD + "    V@{ op: Custom, prompt: x, returns: Letter }\n    PROBLEM --> V --> RETURN\n"
    made = results(text, "MW219")["Declare type Letter: Text"]
    assert front(made) == "---\nworkflow:\n  types:\n    Letter: Text\n---\n"
    wanted = text.replace("V --> RETURN", "V -->|problem| P[Programmer] --> RETURN")
    made = results(wanted, "MW219")
    assert [title for title in made if title.startswith("Declare")] == ["Declare type Letter: Problem"]
    assert errors(made["Declare type Letter: Problem"]) == []
    listed = text.replace("Letter", "'list[Letter]'")
    assert "Declare type Letter: Text" in results(listed, "MW219")


def test_a_second_declaration_takes_the_edges_of_its_own_line() -> None:
    text = HEAD + "    PROBLEM --> A[Write it.] --> B[Check it.] --> A[Write it better.] --> RETURN\n"
    made = results(text, "MW109")
    assert next(iter(made)) == "Rename to A2"
    assert made["Rename to A2"] == text.replace("A[Write it better.]", "A2[Write it better.]")
    assert errors(made["Rename to A2"]) == []


def test_a_second_declaration_on_an_edge_that_would_move_is_only_renamed() -> None:
    text = HEAD + "    PROBLEM --> A[Write it.]\n    A[Check it.] --> RETURN\n    A --> B[Do it.] --> RETURN\n"
    assert not any("the step after" in title for title in results(text, "MW109"))


def test_an_ensemble_votes_over_three() -> None:
    text = HEAD + '    A["Custom<br/>(role: one)"]\n    V[ScEnsemble]\n    PROBLEM -->|input| A --> V --> RETURN\n'
    made = results(text, "MW105")
    assert list(made)[:2] == ["Sample A 3 times", "Vote over three: A, A2 and A3"]
    after = made["Vote over three: A, A2 and A3"]
    assert errors(after) == []
    graph = analyse(after).typed
    assert graph is not None
    for name in ("A", "A2", "A3"):
        node = graph.by_id[name]
        assert [edge.source.id for edge in node.incoming] == ["PROBLEM"]
        assert [edge.target.id for edge in node.outgoing] == ["V"]
        assert node.resolution.parameters["role"].value == "one"


def test_a_circle_is_unrolled_once() -> None:
    text = HEAD + '    W["Custom<br/>(role: write)"]\n    C["Custom<br/>(role: check)"]\n'
    text += "    PROBLEM -->|input| W -->|input| C\n    C -->|input| W\n    W --> RETURN\n"
    made = results(text, "MW110")
    assert list(made)[:2] == ["Draw a Loop around W and C", "Unroll once: W again as W2"]
    after = made["Unroll once: W again as W2"]
    assert errors(after) == []
    graph = analyse(after).typed
    assert graph is not None
    assert [edge.source.id for edge in graph.by_id["W2"].incoming] == ["PROBLEM", "C"]
    assert [edge.target.id for edge in graph.by_id["W2"].outgoing] == ["RETURN"]
    assert [edge.target.id for edge in graph.by_id["W"].outgoing] == ["C"]
