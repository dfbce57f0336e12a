"""References: all places of a name, also in other files of the workspace: of a shared prompt, of a called file and its ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from merrow_analysis.ide.names import references as ide_references
from merrow_server.lsp import callers
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.sharing import diagrams_sharing

if TYPE_CHECKING:
    from merrow_analysis.places.symbols import Symbol


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_REFERENCES)(references)


async def references(server: MerrowServer, params: types.ReferenceParams) -> list[types.Location] | None:
    here = server.locate(params.text_document.uri, params.position)
    symbol = None if here is None else ide_references.symbol_at(here.analysis, here.position)
    if here is None or symbol is None:
        return None
    declarations = params.context.include_declaration
    locations: list[types.Location] = []
    diagram = here.diagram
    if symbol.kind in ("file", "port"):
        called = callers.called_diagram(server, diagram, symbol)
        if called is None or callers.own_path(called) is None:
            return _in_text(diagram, symbol, declarations=declarations)
        name = symbol.name.rpartition(":")[2] if symbol.kind == "port" else None
        if name is None and declarations:
            start = types.Position(0, 0)
            locations.append(types.Location(called.document.uri, types.Range(start, start)))
        elif name is not None:
            locations += _in_text(called, ide_references.node_symbol(name), declarations=declarations)
        return locations + await _in_callers(server, called, name)
    provider = here.document.context.provider
    for place in ide_references.references_of(here.analysis, symbol, declarations=declarations, provider=provider):
        if place.file is None:
            locations.append(types.Location(here.document.uri, here.to_lsp(place.range)))
        elif (resource := here.document.resource(place.file)) is not None:
            locations.append(types.Location(resource.uri, resource.to_lsp(place.range)))
    if callers.is_port(diagram, symbol):
        return locations + await _in_callers(server, diagram, symbol.name)
    async for other in diagrams_sharing(server, here.diagram, symbol):
        locations += _in_text(other, symbol, declarations=declarations)
    return locations


def _in_text(diagram: OpenDiagram, symbol: Symbol, *, declarations: bool) -> list[types.Location]:
    """The places of a thing in the text of one diagram."""
    places = ide_references.references_of(diagram.analysis, symbol, declarations=declarations)
    return [types.Location(diagram.document.uri, diagram.to_lsp(place.range)) for place in places if place.file is None]


async def _in_callers(server: MerrowServer, called: OpenDiagram, name: str | None) -> list[types.Location]:
    """Where callers of a file name one of its inputs and outputs, or, with None, the file itself."""
    locations: list[types.Location] = []
    async for caller, paths in callers.callers_of(server, called):
        for path in paths:
            locations += _in_text(caller, ide_references.called_symbol(path, name), declarations=False)
    return locations
