"""Hover: what stands under the pointer, in Markdown where the client draws it."""

from __future__ import annotations

from lsprotocol import types

from merrow_analysis.ide import hover as ide_hover
from merrow_server.lsp import cases
from merrow_server.lsp.run_texts import result_text
from merrow_server.lsp.server import MerrowServer


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_HOVER)(hover)


def hover(server: MerrowServer, params: types.HoverParams) -> types.Hover | None:
    document = server.document(params.text_document.uri)
    if document is not None and document.kind == "cases":
        return cases.hover(server, document, params.position)
    here = server.locate(params.text_document.uri, params.position)
    if here is None:
        return None
    found = ide_hover.hover(here.analysis, here.position)
    if found is None:
        return None
    result = result_text(server, here)
    if here.supports.markdown_hover:
        content = types.MarkupContent(types.MarkupKind.Markdown, found.text.join(result.text).markdown() + result.link)
    else:
        content = types.MarkupContent(types.MarkupKind.PlainText, found.text.join(result.text).plain())
    return types.Hover(content, here.to_lsp(found.range))
