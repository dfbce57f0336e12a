"""Highlights: the places in a diagram of the name under the cursor."""

from __future__ import annotations

from lsprotocol import types

from merrow_analysis.ide.names import references as ide_references
from merrow_server.lsp.server import MerrowServer

_KINDS = {"read": types.DocumentHighlightKind.Read, "write": types.DocumentHighlightKind.Write}


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)(document_highlight)


def document_highlight(
    server: MerrowServer, params: types.DocumentHighlightParams
) -> list[types.DocumentHighlight] | None:
    here = server.locate(params.text_document.uri, params.position)
    if here is None:
        return None
    places = ide_references.highlights(here.analysis, here.position)
    return [types.DocumentHighlight(here.to_lsp(place.range), _KINDS[place.kind]) for place in places]
