"""Formatting of a document, each diagram in the layout of ``merrow fmt``: whatever an editor's tab size, both agree."""

from __future__ import annotations

from lsprotocol import types

from merrow_server.lsp.server import MerrowServer


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_FORMATTING)(format_document)


def format_document(server: MerrowServer, params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
    from merrow_analysis.formatting import document_edits

    edits = [
        edit
        for diagram in server.diagrams(params.text_document.uri)
        for edit in diagram.edits_to_lsp(document_edits(diagram.analyser.document))
    ]
    return edits or None
