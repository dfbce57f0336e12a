"""Runs the checks of what a workflow file defines: a text and the files beside it in, diagnostics out."""

from __future__ import annotations

from collections.abc import Mapping

from merrow_analysis.definitions.libraries import with_libraries
from merrow_analysis.definitions.prompts import collect_prompts
from merrow_analysis.definitions.provider import ResourceError
from merrow_analysis.definitions.settings import NO_SETTINGS, read_settings
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.graph.drawings.fold import fold
from merrow_analysis.graph.typed import build
from merrow_analysis.rules.context import GraphContext, TextContext, check_graph, check_text
from merrow_analysis.rules.registry import Scope
from merrow_analysis.syntax.parser import parse_diagram
from merrow_analysis.text import Range, TextEdit, apply_edits, split_lines


class GivenFiles:
    """A provider of files that stand in a test."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = {path.removeprefix("./"): text for path, text in files.items()}

    def read(self, path: str) -> str:
        if not self.exists(path):
            raise ResourceError(f"There is no file {path}.")
        return self._files[path.removeprefix("./")]

    def exists(self, path: str) -> bool:
        return path.removeprefix("./") in self._files


def check(text: str, files: Mapping[str, str] | None = None) -> list[Diagnostic]:
    """The findings about prompts, parameters, front matter and files of a workflow, in the order of the text."""
    diagram = parse_diagram(text)
    front = diagram.front_matter
    written = NO_SETTINGS if front is None else read_settings(front[0].body, front[0].indent)
    provider = GivenFiles(files or {})
    settings, problems = with_libraries(written, provider)
    book = collect_prompts(settings, provider)
    flow = fold(diagram.blocks)
    graph = build(flow, settings)
    read = TextContext(diagram, flow, (), written, graph, (*problems, *book.problems))
    workflow = GraphContext(graph, diagram.header, diagram.front_matter, written, book)
    found = [*check_graph(workflow, Scope.PARAMETER), *check_text(read, reading=False)]
    return sorted(found, key=lambda diagnostic: diagnostic.range)


def marked(text: str, place: Range) -> str:
    """The text of a range."""
    lines = split_lines(text)
    if place.start.line == place.end.line:
        return lines[place.start.line][place.start.column : place.end.column]
    first = lines[place.start.line][place.start.column :]
    between = lines[place.start.line + 1 : place.end.line]
    last = lines[place.end.line][: place.end.column] if place.end.line < len(lines) else ""
    return "".join([first, *between, last])


def said(text: str, files: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """Code and marked text of each finding."""
    return [(diagnostic.code, marked(text, diagnostic.range)) for diagnostic in check(text, files)]


def fixed(text: str, diagnostic: Diagnostic, number: int = 0) -> str:
    """The text after a fix of a diagnostic."""
    edits: tuple[TextEdit, ...] = diagnostic.fixes[number].edits
    return apply_edits(text, edits)
