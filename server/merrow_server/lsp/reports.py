"""The diagnostics of documents as the client has them, with an id for each state, so that an unchanged one is not sent again."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING
from urllib.parse import unquote

from merrow_server.lsp.diagnostics import document_diagnostics
from merrow_server.lsp.documents import OpenDocument

if TYPE_CHECKING:
    from lsprotocol import types

    from merrow_server.lsp.server import MerrowServer


class Reports:
    """Makes reports and remembers the last one of each document."""

    def __init__(self, server: MerrowServer) -> None:
        self._server = server
        self._last: dict[str, tuple[list[types.Diagnostic], str]] = {}
        self._ids = itertools.count(1)

    def of(self, document: OpenDocument) -> tuple[list[types.Diagnostic], str]:
        """The diagnostics of ``document`` as it is now, and the id of this state of them."""
        settings = self._server.surroundings.settings(document)
        items = document_diagnostics(document, self._server.supports, settings)
        key = unquote(document.uri)
        last = self._last.get(key)
        if last is None or last[0] != items:
            last = items, str(next(self._ids))
            self._last[key] = last
        return last

    def forget(self, uri: str) -> None:
        """The document is gone."""
        self._last.pop(unquote(uri), None)
