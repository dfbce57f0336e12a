"""What is promised of every mutant, asked of the analysis of its text; and workflows to make mutants of."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import strategies as st
from tests.shared import SHARED
from tests.workflows import workflows

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.text import Range, apply_edits
from merrow_optimizer.mutations.base import Move, WorkflowDifference, workflow_difference
from merrow_optimizer.mutations.moves import OPERATORS, MoveFilter, moves
from merrow_optimizer.mutations.operator_names import DELETION

ROOT = Path(__file__).parents[2]
CORPUS = SHARED / "corpus"
EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*.mmd")) if path.stem != "broken"]
DELETIONS = MoveFilter({DELETION: OPERATORS[DELETION]})

Findings = Counter[tuple[str, str]]


def findings(analysis: Analysis, *severities: Severity) -> Findings:
    """Diagnostics by code and node; one on an edge counts for the node it leads into.

    Where one arrow draws several edges, it counts for the one of these nodes that its message names.
    """
    where: dict[Range, list[str]] = {}
    for edge in analysis.flow.edges:
        where.setdefault(edge.range, []).append(edge.target.id)
        if edge.arrow.label is not None:
            where.setdefault(edge.block.range(edge.arrow.label.span), []).append(edge.target.id)
    for node in analysis.flow.nodes.values():
        where.update((mention.range, [node.id]) for mention in node.mentions)

    def owner(found: Diagnostic) -> str:
        names = where.get(found.range, [""])
        words = set(re.findall(r"\w+", found.message))
        return next((name for name in names if name in words), names[0])

    return Counter((found.code, owner(found)) for found in analysis.diagnostics if found.severity in severities)


def check_mutant(before: Analysis, text: str, move: Move) -> tuple[str, Analysis]:
    """Assert that a mutant keeps what is promised of it."""
    mutant = move.apply(text)
    after = analyse(mutant)
    assert after.typed is not None, mutant
    assert apply_edits(mutant, move.reverse) == text
    if before.is_valid:
        assert after.is_valid, f"{move.title}: {findings(after, Severity.ERROR)}\n{mutant}"
        new = findings(after, Severity.WARNING) - findings(before, Severity.WARNING)
        assert not new, f"{move.title}: {new}\n{mutant}"
    else:
        assert set(findings(after, Severity.ERROR)) <= set(findings(before, Severity.ERROR)), f"{move.title}\n{mutant}"
    assert workflow_difference(before, after) == move.difference, f"{move.title}\n{mutant}"
    return mutant, after


def check_undone(before: Analysis, move: Move, mutant: str, after: Analysis) -> None:
    """Assert that one of the mutant's deletions makes the graph what it was before an addition."""
    names = {node.id for node in move.difference.added_nodes}
    for deletion in moves(after, DELETIONS):
        if {node.id for node in deletion.difference.removed_nodes} == names:
            assert workflow_difference(before, analyse(deletion.apply(mutant))) == WorkflowDifference()
            return
    pytest.fail(f"{move.title} is undone by no deletion\n{mutant}")


@st.composite
def rough_workflows(draw: st.DrawFn) -> str:
    """Valid workflows written in other ways: chains and groups, comments, semicolons, styles, subgraphs, CRLF."""
    text = draw(workflows())
    head, _, body = text.partition("flowchart TD\n" if "flowchart TD\n" in text else "graph LR\n")
    first = text[len(head) : len(text) - len(body)]
    lines = [line.strip() for line in body.splitlines()]
    edges = [line for line in lines if ">" in line and "[" not in line and "{" not in line and "(" not in line]
    other = [line for line in lines if line not in edges]
    edges = _joined(draw, edges)
    if draw(st.booleans()):
        edges.insert(draw(st.integers(0, len(edges))), "%% a remark")
    if draw(st.booleans()):
        edges.insert(draw(st.integers(0, len(edges))), "")
    if draw(st.booleans()):
        edges += [f"linkStyle {draw(st.integers(0, 1))} stroke:red", "linkStyle default stroke:grey"]
    inner = [line for line in other if not line.startswith(("class", "PROBLEM", "RETURN", "ENTRY"))]
    if inner and draw(st.booleans()):
        kept = inner[: draw(st.integers(1, len(inner)))]
        at = other.index(kept[0])
        other = [line for line in other if line not in kept]
        other[at:at] = ["subgraph GROUP [Some of it]", *kept, "end"]
    if inner and draw(st.booleans()):
        name = inner[0].split("[")[0].split("@")[0].split("{")[0]
        edges.append(f"style {name} stroke-width:3px")
    mark = draw(st.sampled_from(["", "", ";"]))
    indent = draw(st.sampled_from(["    ", "  ", "\t"]))
    written = [
        f"{indent}{line}{mark if line and not line.startswith('%%') else ''}" if line else ""
        for line in [*other, *edges]
    ]
    whole = head + first + "\n".join(written) + draw(st.sampled_from(["\n", ""]))
    return whole.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n"])))


def _joined(draw: st.DrawFn, edges: list[str]) -> list[str]:
    """Edges that follow each other as chains and groups, where they say the same that way."""
    found: list[str] = []
    for edge in edges:
        source, _, rest = edge.partition(" ")
        last_source, _, last_rest = found[-1].rpartition(" & ")[-1].partition(" ") if found else ("", "", "")
        if found and rest == last_rest and source != last_source and draw(st.booleans()):
            before = found.pop().removesuffix(f" {last_rest}")
            found.append(f"{before} & {source} {rest}")
        elif found and found[-1].split()[-1] == source and draw(st.booleans()):
            found[-1] += f" {rest}"
        else:
            found.append(edge)
    return found
