"""A short text may have millions of edges: that is said at once, and none of them is made."""

from __future__ import annotations

import tracemalloc

import pytest

from merrow_analysis.check import Analyser, analyse
from merrow_analysis.graph.drawings import fold
from merrow_analysis.text import Position, Range, TextEdit


def crossed(each: int) -> str:
    """A line in which every node leads to as many others."""
    before, after = (" & ".join(f"{letter}{number}" for number in range(each)) for letter in "AB")
    return f"    {before} --> {after}\n"


def test_nine_million_edges_are_told_without_being_made() -> None:
    tracemalloc.start()
    try:
        analysis = analyse("flowchart TD\n    PROBLEM --> RETURN\n" + crossed(3_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    [found] = [one for one in analysis.diagnostics if one.code == "MW015"]
    assert "9,000,001 edges" in found.message
    assert found.range.start.line == 2
    assert analysis.typed is None
    assert analysis.why_no_workflow is not None
    assert "9,000,001" in analysis.why_no_workflow
    assert peak < 60_000_000


def test_many_lines_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold, "MOST_EDGES_READ", 25)
    [found] = [one for one in analyse("flowchart TD\n" + crossed(3) * 3).diagnostics if one.code == "MW015"]
    assert "27 edges" in found.message
    assert found.range.start.line == 3


def test_while_a_text_is_edited_edges_go_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from merrow_analysis.graph.drawings import redraw

    for module in (fold, redraw):
        monkeypatch.setattr(module, "MOST_EDGES_READ", 25)
    text = "flowchart TD\n" + crossed(3) * 2
    analyser = Analyser(text)
    assert len(analyser.analysis().flow.chart.edges) == 18
    analyser.edit(TextEdit(Range(Position(1, 0), Position(1, 0)), crossed(3)))
    assert len(analyser.analysis().flow.chart.edges) == 0
    analyser.edit(TextEdit(Range(Position(1, 0), Position(2, 0)), ""))
    assert len(analyser.analysis().flow.chart.edges) == 18
