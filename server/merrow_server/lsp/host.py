"""What the parts of the language server ask of the whole, so that none of them has to import it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast
from urllib.parse import unquote

from lsprotocol import types

from merrow_server.lsp.documents import Context, OpenDiagram, OpenDocument
from merrow_server.lsp.protocol import MerrowProtocol, TextKeeper
from merrow_server.lsp.scheduling import CheckScheduler
from merrow_server.lsp.supports import Supports
from merrow_server.positions import Encoding

if TYPE_CHECKING:
    from merrow_server.lsp.contexts import Contexts
    from merrow_server.lsp.settings import EditorSettings


class Surroundings(Protocol):
    """The settings and files around open documents, as `merrow_server.lsp.workspace.Workspace` has them."""

    contexts: Contexts

    @property
    def folders(self) -> list[Path]: ...

    def settings(self, document: OpenDocument) -> EditorSettings: ...

    def context_of(self, document: OpenDocument) -> Context: ...

    def files_changed(self, paths: Iterable[Path]) -> None: ...

    def reload(self) -> None: ...


class KnownReports(Protocol):
    """The diagnostics that the client has, as `merrow_server.lsp.findings.reports.Reports` remembers them."""

    def changed(self, uri: str | None = None) -> None: ...

    def forget_files(self, changed: Iterable[Path] | None = None) -> bool: ...


class ClientWire(Protocol):
    """The connection to the client, as `merrow_server.lsp.transport.ClientConnection` keeps it."""

    def watch(self, process: int) -> None: ...

    def end(self, code: int) -> None: ...


class Host(TextKeeper):
    """The open documents of one client, what it can do, and how it is told something."""

    protocol: MerrowProtocol
    supports: Supports
    documents: dict[str, OpenDocument]
    """The open documents by URI as `document` normalises it."""
    scheduler: CheckScheduler
    reports: KnownReports
    log: logging.Handler
    """Sends the server's log to the client."""
    is_initialized: bool

    @property
    def surroundings(self) -> Surroundings:
        """Settings and files around the documents."""
        raise NotImplementedError

    def document(self, uri: str) -> OpenDocument | None:
        """The open document with this URI."""
        return self.documents.get(unquote(uri))

    def diagrams(self, uri: str) -> list[OpenDiagram]:
        """The diagrams of an open document, in order; none where there is no such document."""
        document = self.document(uri)
        return [] if document is None else document.diagrams

    @property
    def encoding(self) -> Encoding:
        """How the client counts characters."""
        chosen = self.workspace.position_encoding
        return cast("Encoding", str(getattr(chosen, "value", chosen) or "utf-16"))

    def ask_to_refresh(self) -> None:
        """Have the client ask again for what depends on settings and other files, as far as it can be told to."""
        supports, is_open = self.supports, bool(self.documents)
        for supported, method in (
            (supports.pull_diagnostics and supports.refresh_diagnostics, types.WORKSPACE_DIAGNOSTIC_REFRESH),
            (is_open and supports.refresh_semantic_tokens, types.WORKSPACE_SEMANTIC_TOKENS_REFRESH),
            (is_open and supports.refresh_inlay_hints, types.WORKSPACE_INLAY_HINT_REFRESH),
            (is_open and supports.refresh_code_lenses, types.WORKSPACE_CODE_LENS_REFRESH),
        ):
            if supported:
                self.protocol.send_request(method)
