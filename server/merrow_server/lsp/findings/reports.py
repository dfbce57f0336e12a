"""The diagnostics of documents as the client has them, with an id for each state, so that an unchanged one is not sent again."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from merrow_server.lsp.documents import Context, OpenDocument
from merrow_server.lsp.findings.diagnostics import document_diagnostics
from merrow_server.lsp.host import Host
from merrow_server.lsp.published import PlainDiagnostic

Found = tuple[list[PlainDiagnostic], str]
"""Diagnostics, and the id of this state of them."""


@dataclass(frozen=True, slots=True)
class _File:
    """A file on disk as it was checked: its time and size, and its context, which knows what it depends on."""

    stamp: tuple[int, int]
    context: Context
    found: Found


class ReportChanges:
    """What changed since it was last taken, for one who waits for it."""

    def __init__(self) -> None:
        self._happened = asyncio.Event()
        self._uris: set[str] = set()
        self._all = False

    def add(self, uri: str | None) -> None:
        """The diagnostics of a document may have changed; None: those of any file."""
        if uri is None:
            self._all = True
        else:
            self._uris.add(uri)
        self._happened.set()

    async def take(self) -> set[str] | None:
        """Wait for a change: the URIs of the documents that changed, None where any file may have."""
        await self._happened.wait()
        uris = None if self._all else self._uris
        self._happened.clear()
        self._uris, self._all = set(), False
        return uris


class Reports:
    """Makes reports and remembers the last one of each document."""

    def __init__(self, server: Host) -> None:
        self._server = server
        self._last: dict[str, Found] = {}
        self._files: dict[Path, _File] = {}
        self._ids = itertools.count(1)
        self._listeners: list[ReportChanges] = []

    @contextmanager
    def listening(self) -> Iterator[ReportChanges]:
        """Within the block, what changes is told to the object that is given."""
        changes = ReportChanges()
        self._listeners.append(changes)
        try:
            yield changes
        finally:
            self._listeners.remove(changes)

    def changed(self, uri: str | None = None) -> None:
        """Tell those who listen that the diagnostics of a document, or of any file, may have changed."""
        for listener in self._listeners:
            listener.add(uri)

    def of(self, document: OpenDocument) -> Found:
        """The diagnostics of ``document`` as it is now."""
        settings = self._server.surroundings.settings(document)
        items = document_diagnostics(document, self._server.supports, settings)
        key = unquote(document.uri)
        last = self._last.get(key)
        if last is None or last[0] != items:
            last = items, str(next(self._ids))
            self._last[key] = last
        return last

    def of_file(self, path: Path) -> Found | None:
        """The diagnostics of a file that is not open; None where it can't be read as text."""
        try:
            status = path.stat()
        except OSError:
            return None
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._files.get(path)
        if known is not None and known.stamp == stamp:
            return known.found
        document = self.read(path)
        if document is None:
            return None
        report = self.of(document)
        self._files[path] = _File(stamp, document.context, report)
        return report

    def read(self, path: Path) -> OpenDocument | None:
        """A file that is not open as a document; None where it can't be read as text."""
        from merrow_server.errors import InputError
        from merrow_server.files import read_path

        try:
            text = read_path(path, path.name).text
        except (OSError, InputError):
            return None
        document = OpenDocument(path.as_uri(), text, encoding=self._server.encoding, path=path)
        document.context = self._server.surroundings.context_of(document)
        return document

    def forget(self, uri: str) -> None:
        """The document was closed."""
        self._last.pop(unquote(uri), None)

    def forget_files(self, changed: Iterable[Path] | None = None) -> bool:
        """Check files that are not open again: those that depend on ``changed``, or all. Whether there are any."""
        from merrow_server.lsp.contexts import depends_on

        paths = None if changed is None else set(changed)
        if paths is None:
            stale = list(self._files)
        elif self._server.surroundings.contexts.asked.has_one_of(paths):
            stale = [path for path, file in self._files.items() if path in paths or depends_on(file.context, paths)]
        else:
            stale = [path for path in paths if path in self._files]
        for path in stale:
            del self._files[path]
        return bool(stale)
