"""References: all places of a name, also in other files of the workspace where a prompt is shared."""

from __future__ import annotations

from lsprotocol import types

from merrow_analysis.ide.names import references as ide_references
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.sharing import diagrams_sharing


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_REFERENCES)(references)


async def references(server: MerrowServer, params: types.ReferenceParams) -> list[types.Location] | None:
    here = server.locate(params.text_document.uri, params.position)
    symbol = None if here is None else ide_references.symbol_at(here.analysis, here.position)
    if here is None or symbol is None:
        return None
    declarations = params.context.include_declaration
    found: list[types.Location] = []
    provider = here.document.context.provider
    for place in ide_references.references_of(here.analysis, symbol, declarations=declarations, provider=provider):
        if place.file is None:
            found.append(types.Location(here.document.uri, here.to_lsp(place.range)))
        elif (resource := here.document.resource(place.file)) is not None:
            found.append(types.Location(resource.uri, resource.to_lsp(place.range)))
    async for other in diagrams_sharing(server, here.diagram, symbol):
        found += [
            types.Location(other.document.uri, other.to_lsp(place.range))
            for place in ide_references.references_of(other.analysis, symbol, declarations=declarations)
            if place.file is None
        ]
    return found
