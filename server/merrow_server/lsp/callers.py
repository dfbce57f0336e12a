"""Files that call each other: who calls a file, what a Call leads to, and what would be found if several texts were others."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from merrow_server.lsp.documents import Locator, OpenDiagram, OpenDocument
from merrow_server.lsp.sharing import closed_document, workspace_paths

if TYPE_CHECKING:
    from merrow_analysis.check import Analysis
    from merrow_analysis.definitions.callees import Callee
    from merrow_analysis.places.symbols import Symbol
    from merrow_server.lsp.contexts import OpenResources
    from merrow_server.lsp.host import Host

MOST_OFFERED = 200
"""Workflows that are looked at to offer them at a Call."""


def own_path(diagram: OpenDiagram) -> Path | None:
    """The file that a diagram is all of, as calls lead to it; None for a fence, and for what is not on disk."""
    return None if diagram.fence is not None else _path(diagram.document)


def real_path(path: Path) -> Path:
    """``path`` without ``..`` and links, as all paths in here are compared. Raises ValueError for no path at all."""
    from merrow_server.lsp.contexts import absolute_path

    return absolute_path(path)


def _path(document: OpenDocument) -> Path | None:
    try:
        return None if document.path is None else real_path(document.path)
    except ValueError:
        return None


def location(document: OpenDocument, path: str) -> Path | None:
    """Where the file lies that a document names by ``path``; None where that is not a path."""
    provider = document.context.provider
    try:
        return provider.location(path) if isinstance(provider, Locator) else None
    except ValueError:
        return None


def document_at(server: Host, path: Path) -> OpenDocument | None:
    """The file at ``path`` as the editor has it, or as it is on disk; None where it can't be read."""
    for document in server.documents.values():
        if document.kind != "other" and _path(document) == path:
            return document
    return closed_document(server, path)


def whole_diagram(document: OpenDocument) -> OpenDiagram | None:
    """The diagram that a file is all of; None for any other file."""
    diagrams = document.diagrams if document.kind == "diagram" else []
    return diagrams[0] if len(diagrams) == 1 else None


def diagram_within(server: Host, diagram: OpenDiagram, calls: Sequence[str]) -> OpenDiagram | None:
    """The file that a chain of ``calls`` leads to, by the ids of the Calls from ``diagram`` on; None where it may not be read, or
    where one of them is no Call any more.
    """
    from merrow_analysis.graph.resolve import called_path

    within: OpenDiagram | None = diagram
    for name in calls:
        typed = None if within is None else within.analysis.typed
        node = None if typed is None else typed.by_id.get(name)
        file = None if node is None else called_path(node.resolution)
        if within is None or file is None or within.document.resource(file) is None:
            return None
        path = location(within.document, file)
        document = None if path is None else document_at(server, path)
        within = None if document is None else whole_diagram(document)
    return within


def called_diagram(server: Host, diagram: OpenDiagram, symbol: Symbol) -> OpenDiagram | None:
    """The file that a called file or a port of it is, which may be ``diagram``'s own; None where it may not be read."""
    from merrow_analysis.ide.names.definition import callee_of

    callee, document = callee_of(diagram.analysis, symbol), diagram.document
    is_readable = callee is not None and document.resource(callee.path) is not None
    path = location(document, callee.path) if callee is not None and is_readable else None
    called = None if path is None else document_at(server, path)
    return None if called is None else whole_diagram(called)


def is_port(diagram: OpenDiagram, symbol: Symbol) -> bool:
    """Whether callers of the file know a node by its name."""
    typed = diagram.analysis.typed
    node = None if typed is None or symbol.kind != "node" else typed.by_id.get(symbol.name)
    return node is not None and node.kind in ("input", "output")


def names_of(diagram: OpenDiagram, path: Path) -> list[str]:
    """The paths, those of `Callee`, by which the Calls of a diagram lead to a file; none where it doesn't call it."""
    typed = diagram.analysis.typed
    callees = () if typed is None else (resolution.callee for resolution in typed.resolutions)
    paths = dict.fromkeys(callee.path for callee in callees if callee is not None)
    return [name for name in paths if location(diagram.document, name) == path]


def _names_a_file(text: str) -> bool:
    """Whether a text may call a file at all, which is quicker told than which one: a link has a name of its own."""
    from merrow_server.files import DIAGRAM_SUFFIXES

    lowered = text.lower()
    return any(suffix in lowered for suffix in DIAGRAM_SUFFIXES)


async def callers_of(server: Host, called: OpenDiagram) -> AsyncIterator[tuple[OpenDiagram, list[str]]]:
    """The diagrams, open or in the workspace, that call a file, each with the paths that it calls it by; none call a fence."""
    path = own_path(called)
    if path is None:
        return
    for document in [candidate for candidate in server.documents.values() if candidate.kind != "other"]:
        for diagram in document.diagrams:
            names = names_of(diagram, path)
            if names:
                yield diagram, names
    for other in await workspace_paths(server):
        closed = closed_document(server, other)
        if closed is None or not _names_a_file(closed.text):
            continue
        for diagram in closed.diagrams:
            names = names_of(diagram, path)
            if names:
                yield diagram, names
        await asyncio.sleep(0)


async def callable_by(server: Host, diagram: OpenDiagram) -> tuple[list[Callee], bool]:
    """The workflows that a diagram could call, the nearest first and its own last; with the word whether these are all there are.

    Those that can't be called, for they have errors, are among them; flowcharts that are not workflows are not.
    """
    from merrow_analysis.check import callable_files
    from merrow_analysis.rules.configuration import Config
    from merrow_server.files import DIAGRAM_SUFFIXES

    document = diagram.document
    context = server.surroundings.context_of(document)
    if document.path is None or context.provider is None:
        return [], True
    folder = real_path(document.path).parent
    paths = {
        path for other in server.documents.values() if other.kind == "diagram" and (path := _path(other)) is not None
    }
    paths.update(real_path(path) for path in await workspace_paths(server) if path.suffix.lower() in DIAGRAM_SUFFIXES)
    own = document.path.name
    relative = [Path(os.path.relpath(path, folder)).as_posix() for path in paths]
    relative.sort(key=lambda path: (path == own, *_far(path)))
    finder = callable_files(context.provider, document.path.name, context.config or Config())
    callees: list[Callee] = []
    for name in relative[:MOST_OFFERED]:
        callee = finder.find(name)
        if callee.inputs is not None:
            callees.append(callee)
        await asyncio.sleep(0)
    return callees, len(relative) <= MOST_OFFERED


def _far(path: str) -> tuple[int, str]:
    return path.count("/") + path.count("../"), path


class _Instead:
    """The files beside a document, some with another text."""

    def __init__(self, files: OpenResources, texts: Mapping[Path, str]) -> None:
        self._files, self._texts = files, texts

    def read(self, path: str) -> str:
        """The text of the file at ``path``. Raises `ResourceError`."""
        text = self._files.read(path)
        return self._texts.get(self._files.location(path), text)

    def exists(self, path: str) -> bool:
        """Whether there is such a file that may be read."""
        return self._files.exists(path)


def read_instead(diagram: OpenDiagram, text: str, others: Mapping[Path, str]) -> Analysis:
    """What would be found in a diagram with this text if other files had theirs."""
    from merrow_analysis.check import analyse
    from merrow_server.lsp.contexts import OpenResources

    context = diagram.document.context
    provider = context.provider
    if isinstance(provider, OpenResources):
        provider = _Instead(provider, others)
    return analyse(text, path=context.path, provider=provider, config=context.config)
