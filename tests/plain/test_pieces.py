"""Drawings in several pieces, with arrows back: whatever is wrong in them, each offered fix can be made.

A fix may name the PROBLEM or RETURN that a drawing only implies; what it leads to is checked as if that were written.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.plain.drawings import LABELS, knotted_drawings
from tests.server.program import in_process

from merrow_analysis.check import analyse
from merrow_analysis.edits.change import GraphChange, WantedEdge, as_it_is
from merrow_analysis.edits.delta import graph_after
from merrow_analysis.text import apply_edits

TWO_PIECES = "flowchart TD\n    Draft --> Review\n    Review --> Draft\n    Plan --> Build\n"
THREE_PIECES = "flowchart LR\n    Sow --> Water\n    Water --> Sow\n    Cut --> Dry\n    Dry --> Pack\n"
ONLY_A_RING = "flowchart TD\n    Draft --> Review\n    Review --> Draft\n"
WITH_PROBLEM = (
    'flowchart TD\n    A{Good?} -.->|problem| B{Right?}\n    B --> C{Well?}\n    PROBLEM["Custom<br/>"]\n    C -.-> A\n'
)
PIECES = [TWO_PIECES, THREE_PIECES, ONLY_A_RING, WITH_PROBLEM, f"---\nworkflow: true\n---\n{TWO_PIECES}"]


@st.composite
def pieces(draw: st.DrawFn) -> str:
    """A drawing of up to three parts that nothing connects, of which some go round."""
    lines = ["flowchart TD"]
    node = 0
    for _ in range(draw(st.integers(1, 3))):
        first, node = node, node + draw(st.integers(1, 4))
        inside = st.integers(first, node - 1).map("N{}".format)
        lines += [f"    N{number} --> N{number + 1}" for number in range(first, node - 1)]
        for _ in range(draw(st.integers(0, 2))):
            lines.append(f"    {draw(inside)} -->{draw(st.sampled_from(LABELS))} {draw(inside)}")
    ends = st.sampled_from(["PROBLEM", "RETURN", "N0", "N0{Good?}", "RETURN([Answer])", f"N{node - 1} --> RETURN"])
    lines += [f"    {line}" for line in draw(st.lists(ends, max_size=2))]
    return "\n".join(lines) + "\n"


@settings(max_examples=15, suppress_health_check=list(HealthCheck), deadline=None)
@example(TWO_PIECES)
@example(THREE_PIECES)
@example(ONLY_A_RING)
@example(WITH_PROBLEM)
@given(pieces() | knotted_drawings())
def test_every_fix_of_a_broken_drawing_can_be_made(text: str) -> None:
    for found in analyse(text, as_workflow=True).diagnostics:
        for fix in found.fixes:
            analyse(apply_edits(text, fix.edits), as_workflow=True)


@pytest.mark.parametrize(
    ("text", "source", "target"),
    [
        (TWO_PIECES, "Review", "RETURN"),
        (TWO_PIECES, "PROBLEM", "Draft"),
        (THREE_PIECES, "Sow", "RETURN"),
        (ONLY_A_RING, "Draft", "RETURN"),
        (WITH_PROBLEM, "B", "RETURN"),
    ],
)
def test_an_edge_to_an_implied_end_means_what_it_means_when_written(text: str, source: str, target: str) -> None:
    before = analyse(text, as_workflow=True).typed
    assert before is not None
    last = before.flow.edges[-1]
    change = GraphChange(edges={last.index: (as_it_is(last), WantedEdge(source, target))})
    inferred = graph_after(change, before)
    written = analyse(f"{text}    {source} --> {target}\n", as_workflow=True).typed
    assert written is not None
    assert _meant(inferred) == _meant(written)


def _meant(graph: Any) -> list[object]:
    return [
        (node.id, node.kind, node.implied, sorted((edge.source.id, edge.feeds) for edge in node.incoming))
        for node in sorted(graph.nodes, key=lambda node: str(node.id))
    ]


def test_drawings_in_pieces_and_rings_have_no_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = []
    for number, text in enumerate(PIECES):
        (tmp_path / f"{number}.mmd").write_text(text)
        names.append(f"{number}.mmd")
    outcome = in_process(capsys, "check", "--as-workflow", "--format", "json", *names)
    assert (outcome.code, outcome.err) == (0, "")
    assert in_process(capsys, "import", "1.mmd").code == 0
