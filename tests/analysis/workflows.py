"""Workflow texts for tests: short ways to write them, and what the checker says about them."""

from __future__ import annotations

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph


def typed(text: str) -> TypedGraph:
    """The typed graph of a workflow."""
    graph = analyse(text).typed
    assert graph is not None
    return graph


def diagnose(text: str) -> list[Diagnostic]:
    return analyse(text).diagnostics


def told(text: str) -> list[tuple[str, str]]:
    """Code and text at the place of each error and warning."""
    lines = text.splitlines()
    found = []
    for diagnostic in diagnose(text):
        if diagnostic.severity is Severity.HINT:
            continue
        start, end = diagnostic.range
        line = lines[start.line] if start.line < len(lines) else ""
        found.append((diagnostic.code, line[start.column : end.column if end.line == start.line else None]))
    return found


def errors(text: str) -> list[str]:
    """The codes of the errors."""
    return [diagnostic.code for diagnostic in diagnose(text) if diagnostic.severity is Severity.ERROR]


def edge(graph: TypedGraph, source: str, target: str) -> TypedEdge:
    """The first edge between two nodes."""
    return next(one for one in graph.edges if (one.source.id, one.target.id) == (source, target))


def workflow(*lines: str, front: str = "", head: str = "flowchart TD") -> str:
    """A workflow with PROBLEM and RETURN declared, and ``lines``; classes given by ``:::`` are defined."""
    frame = ["---", *front.strip("\n").split("\n"), "---"] if front else []
    frame += [head, "PROBLEM([Problem]):::Interface", "RETURN([Return]):::Interface", "classDef Interface fill:#e2e2f2"]
    classes = {word for line in lines for word in line.replace(":::", " :::").split() if word.startswith(":::")}
    frame += [f"classDef {name[3:]} fill:#eee" for name in sorted(classes) if name != ":::Interface"]
    return "\n".join([*frame, *lines]) + "\n"
