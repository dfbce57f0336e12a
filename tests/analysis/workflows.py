"""Workflow texts for tests: short ways to write them, and what the graph's rules say about them."""

from __future__ import annotations

from merrow_analysis.definitions.settings import NO_SETTINGS, read_settings
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.graph.fold import fold
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.graph.typed import TypedCache, build
from merrow_analysis.rules.graph import check
from merrow_analysis.syntax.parser import parse_diagram


def typed(text: str, cache: TypedCache | None = None) -> TypedGraph:
    """The typed graph of a text."""
    diagram = parse_diagram(text)
    settings = NO_SETTINGS
    if diagram.front_matter is not None:
        settings = read_settings(diagram.front_matter[0].body, diagram.front_matter[0].indent)
    return build(fold(diagram.blocks), settings, cache=cache)


def diagnose(text: str, cache: TypedCache | None = None) -> list[Diagnostic]:
    """What the rules of the graph say about a text, in the order of their places."""
    diagram = parse_diagram(text)
    graph = typed(text, cache)
    found = check(
        graph,
        header=diagram.header,
        front_matter=diagram.front_matter,
        document=getattr(graph.settings, "document", NO_SETTINGS.document),
    )
    return sorted(found, key=lambda diagnostic: (diagnostic.range, diagnostic.code))


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


def workflow(*lines: str, head: str = "flowchart TD") -> str:
    """A workflow with PROBLEM and RETURN declared, and ``lines``."""
    frame = [
        head,
        "PROBLEM([Problem]):::Interface",
        "RETURN([Return]):::Interface",
        "classDef Interface fill:#e2e2f2",
    ]
    classes = {word for line in lines for word in line.replace(":::", " :::").split() if word.startswith(":::")}
    frame += [f"classDef {name[3:]} fill:#eee" for name in sorted(classes) if name != ":::Interface"]
    return "\n".join([*frame, *lines]) + "\n"
