"""Fixes of large workflows: the likeliest ones, found without a look at everything for each finding."""

from __future__ import annotations

import pytest

from merrow_analysis.check import analyse

_CLASSES = "classDef Interface fill:#eee\nclassDef CustomOp fill:#eee\nclassDef OpOp fill:#eee\n"


def _titles(text: str, code: str) -> list[list[str]]:
    return [[fix.title for fix in one.fixes] for one in analyse(text).diagnostics if one.code == code]


@pytest.mark.parametrize("count", [20, 297, 298, 299, 400])
def test_a_port_is_fed_from_the_nearest_nodes_before(count: int) -> None:
    """Without the one that feeds its other port; `LATE` comes after the node in the text, and gives the same."""
    steps = "".join(f'A{number}["Custom<br/>(role: r)"]:::CustomOp\n' for number in range(count))
    edges = "".join(f"A{number} -->|input| A{number + 1}\n" for number in range(count - 1))
    text = (
        "---\nworkflow:\n  operators:\n    Op: {inputs: {a: Text, b: Text}, outputs: {c: Text}}\n---\nflowchart TD\n"
        f'PROBLEM([P]):::Interface\nRETURN([R]):::Interface\n{steps}N["Op"]:::OpOp\nLATE["Custom<br/>(role: r)"]:::CustomOp\n'
        f"PROBLEM -->|input| A0\n{edges}A{count - 1} -->|a| N\nN -->|input| LATE\nLATE --> RETURN\n{_CLASSES}"
    )
    assert _titles(text, "MW204") == [[f"Feed b from A{count - one}" for one in (2, 3, 4)]]


@pytest.mark.slow
@pytest.mark.parametrize(("wrong", "is_tried"), [(2, True), (60, True), (199, True), (200, False), (400, False)])
def test_where_hundreds_of_edges_into_one_node_are_wrong_none_is_tried(wrong: int, is_tried: bool) -> None:
    edges = "".join(f"PROBLEM -->|zz{number}zz| N\n" for number in range(wrong))
    text = (
        "---\nworkflow:\n  operators:\n    Op: {inputs: {a: Problem}, outputs: {c: Text}}\n---\nflowchart TD\n"
        f'PROBLEM([P]):::Interface\nRETURN([R]):::Interface\nN["Op"]:::OpOp\nPROBLEM -->|a| N\n{edges}N --> RETURN\n{_CLASSES}'
    )
    found = _titles(text, "MW201")
    assert len(found) == wrong
    assert found == [found[0]] * wrong
    assert bool(found[0]) == is_tried


@pytest.mark.parametrize("wrong", [20, 150])
def test_where_hundreds_of_edges_are_wrong_fixes_are_tried_in_a_workflow_and_not_in_a_drawing(wrong: int) -> None:
    """A change of a drawing is read as a whole."""
    edges = "".join(f"A{number} -->|again:input| A{number + 1}\n" for number in range(wrong))
    nodes = "".join(f'A{number}@{{op: Custom, prompt: "think"}}\n' for number in range(wrong + 1))
    ends = f"PROBLEM([P]):::Interface -->|input| A0\nRETURN([R]):::Interface\nA{wrong} --> RETURN\n{_CLASSES}"
    for text, is_tried in ((f"{nodes}{edges}{ends}", True), (nodes + edges, wrong == 20)):
        found = _titles(f"flowchart TD\n{text}", "MW118")
        assert [bool(titles) for titles in found] == [is_tried] * wrong
