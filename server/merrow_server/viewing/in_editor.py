"""The pages of one language server in the user's browser: open documents, as they are in the editor, and the journal."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from merrow_server.lsp.documents import OpenDocument
from merrow_server.lsp.host import Host
from merrow_server.viewing.shown import Drawn, NothingToShowError, ShownFile, no_diagram

if TYPE_CHECKING:
    from merrow_server.viewing.http import ServedPages
    from merrow_server.viewing.serving import PageServer

Named = Callable[[str, int], str | None]
"""What the journal calls the diagram with a number of the document with a URI."""


class OpenFile(ShownFile):
    """A document of the editor; see `ShownFile`."""

    def __init__(self, host: Host, uri: str, drawn: Drawn, named: Named) -> None:
        super().__init__(unquote(uri).rpartition("/")[2] or uri)
        self._host, self._uri, self._drawn, self._named = host, uri, drawn, named
        self._was_open = True

    def look(self) -> None:
        """See `ShownFile`: nobody tells that a document was closed."""
        is_open = self._host.document(self._uri) is not None
        if is_open != self._was_open:
            self._was_open = is_open
            self.touch()

    async def graph(self, diagram: int) -> dict[str, Any]:
        """See `ShownFile`."""
        document = self._host.document(self._uri)
        if document is None:
            raise NothingToShowError(f"{self.name} is closed in the editor; the page continues when it is open again.")
        count = len(document.diagrams)
        if not 1 <= diagram <= count:
            raise no_diagram(self.name, diagram, count, too_large=document.kind == "too large")
        return self._drawn(document, diagram)

    def in_journal(self, diagram: int) -> str | None:
        """See `ShownFile`."""
        return self._named(self._uri, diagram)


class BrowserPages:
    """The server of pages, begun by the first one and ended with the process."""

    def __init__(self, host: Host, drawn: Drawn, named: Named) -> None:
        self._host, self._drawn, self._named = host, drawn, named
        self._files: dict[str, tuple[OpenFile, str]] = {}
        self._running: tuple[ServedPages, PageServer, asyncio.Task[None]] | None = None

    def address(self, uri: str, diagram: int) -> str:
        """Where the page of a document is. Called in the event loop. Raises `ModuleNotFoundError` where packages are missing,
        `InputError` where no port is free.
        """
        if self._running is None or self._running[2].done():
            self._running = self._begun()
        shown, server, _ = self._running
        key = unquote(uri)
        if key not in self._files:
            file = OpenFile(self._host, uri, self._drawn, self._named)
            self._files[key] = file, shown.add(file)
        path = self._files[key][1]
        return f"{server.origin}{server.root}{path}" + (f"?diagram={diagram}" if diagram != 1 else "")

    def _begun(self) -> tuple[ServedPages, PageServer, asyncio.Task[None]]:
        from merrow_server.viewing.http import ServedPages
        from merrow_server.viewing.serving import PageServer

        self._files.clear()
        shown = ServedPages()
        server = PageServer(shown, 0, ends_on_signals=False)
        return shown, server, asyncio.ensure_future(self._serve(server))

    @staticmethod
    async def _serve(server: PageServer) -> None:
        with contextlib.suppress(asyncio.CancelledError):  # the language server ends
            await server.run_to_end()

    def checked(self, document: OpenDocument) -> None:
        """A document was changed, or what it depends on: its page follows."""
        found = self._files.get(unquote(document.uri))
        if found is not None:
            found[0].touch()
