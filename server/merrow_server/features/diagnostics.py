"""Diagnostics: pushed with the document's version, or given when a client asks that prefers to ask; never both."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from merrow_server.lsp.documents import OpenDocument
from merrow_server.lsp.published import Encoded, with_items
from merrow_server.lsp.server import MerrowServer


def register(server: MerrowServer) -> None:
    server.on_checked.append(lambda document: push(server, document))
    options = types.DiagnosticOptions(
        inter_file_dependencies=True, workspace_diagnostics=True, identifier="merrow", work_done_progress=True
    )
    server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)(pull)


def push(server: MerrowServer, document: OpenDocument) -> None:
    """Publish what is wrong in ``document``, unless the client asks by itself or its settings are still to come."""
    if server.supports.pull_diagnostics or server.surroundings.waits_for_settings:
        return
    server.publish(document)


def pull(server: MerrowServer, params: types.DocumentDiagnosticParams) -> dict[str, Any] | Encoded:
    """What is wrong in a document as it is now; or that it is what the client has already."""
    document = server.document(params.text_document.uri)
    if document is None:
        return {"kind": "full", "items": []}
    items, identifier = server.reports.of(document)
    if params.previous_result_id == identifier:
        return {"kind": "unchanged", "resultId": identifier}
    return with_items({"kind": "full", "resultId": identifier}, "items", items)
