"""Formatting of the statements that a range touches."""

from __future__ import annotations

from lsprotocol import types

from merrow_server.lsp.server import MerrowServer


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_RANGE_FORMATTING)(format_range)


def format_range(server: MerrowServer, params: types.DocumentRangeFormattingParams) -> list[types.TextEdit] | None:
    from merrow_analysis.formatting import document_edits

    edits: list[types.TextEdit] = []
    for diagram in server.diagrams(params.text_document.uri):
        within = diagram.range_from_lsp(params.range)
        if within is not None:
            edits += diagram.edits_to_lsp(document_edits(diagram.analyser.document, within=within))
    return edits or None
