"""A workflow file on disk that a page follows: read again when it, or a file that it uses, was changed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from merrow_analysis.text import LARGEST_TEXT
from merrow_runtime.program.workflow_files import whole_path
from merrow_server.errors import InputError
from merrow_server.files import MARKDOWN_SUFFIXES, read_path
from merrow_server.lsp.contexts import Contexts, OpenResources
from merrow_server.lsp.documents import OpenDocument
from merrow_server.lsp.settings import EditorSettings
from merrow_server.viewing.shown import Drawn, NothingToShowError, ShownFile, no_diagram

_LOOK = 0.25
"""Seconds between two looks at the disk."""
_MOST_BESIDE = 200
"""Files that are looked at beside the file itself."""

Stamp = tuple[int, int, int] | None


class FileOnDisk(ShownFile):
    """See `ShownFile`; `follow` is to be running."""

    def __init__(self, path: Path, drawn: Drawn) -> None:
        super().__init__(path.name)
        self._path, self._drawn = Path(whole_path(path)), drawn
        self._contexts = Contexts(lambda _: None, lambda _: EditorSettings())
        self._document: OpenDocument | None = None
        self._read = 0
        self._one = asyncio.Lock()
        self._stamps: dict[Path, Stamp] = {}

    async def follow(self) -> None:
        """Look at the disk until this is cancelled."""
        while True:
            stamps = await asyncio.to_thread(_stamps, [self._path, *self._beside()])
            if any(self._stamps.get(path, stamp) != stamp for path, stamp in stamps.items()):
                self.touch()
            self._stamps.update(stamps)
            await asyncio.sleep(_LOOK)

    def _beside(self) -> Iterable[Path]:
        provider = None if self._document is None else self._document.context.provider
        return provider.asked.some(_MOST_BESIDE) if isinstance(provider, OpenResources) else ()

    async def graph(self, diagram: int) -> dict[str, Any]:
        """See `ShownFile`."""
        async with self._one:
            # Reading a large file anew takes seconds, in which the others are served.
            return await asyncio.to_thread(self._graph, diagram)

    def _graph(self, diagram: int) -> dict[str, Any]:
        document = self._document
        if document is None or self._read != self.version:
            version = self.version
            document = self._document = self._opened(document)
            self._read = version
        count = len(document.diagrams)
        if not 1 <= diagram <= count:
            raise no_diagram(self.name, diagram, count, too_large=document.kind == "too large")
        drawn = self._drawn(document, diagram)
        # What was asked for may be written before the next look.
        self._stamps.update(_stamps([path for path in self._beside() if path not in self._stamps]))
        return drawn

    def _opened(self, document: OpenDocument | None) -> OpenDocument:
        """The document with the text on disk; what did not change of it keeps its analysis."""
        self._stamps[self._path] = _stamp(self._path)
        try:
            text = read_path(self._path, self.name, LARGEST_TEXT).text
        except InputError as problem:
            raise NothingToShowError(str(problem)) from None
        self._contexts.forget()
        context = self._contexts.context(self._path)
        if document is None:
            language = "markdown" if self._path.suffix.lower() in MARKDOWN_SUFFIXES else "mermaid"
            return OpenDocument(self._path.as_uri(), text, language_id=language, path=self._path, context=context)
        document.replace(text)
        document.refresh(context)
        return document

    def in_journal(self, diagram: int) -> str | None:
        """See `ShownFile`."""
        is_markdown = self._path.suffix.lower() in MARKDOWN_SUFFIXES
        return f"{self._path}#{diagram}" if is_markdown else str(self._path)


def _stamps(paths: Iterable[Path]) -> dict[Path, Stamp]:
    """By what a change of each shows; None for one that is not there."""
    return {path: _stamp(path) for path in paths}


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
