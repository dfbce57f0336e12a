"""Document symbols: the outline as a tree, or as a list for clients that know no trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from merrow_analysis.ide import symbols as ide_symbols
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.server import MerrowServer

if TYPE_CHECKING:
    from merrow_analysis.ide.symbols import OutlineEntry

KINDS = {
    "front-matter": types.SymbolKind.Package,
    "key": types.SymbolKind.Property,
    "prompt": types.SymbolKind.String,
    "operator": types.SymbolKind.Function,
    "type": types.SymbolKind.Class,
    "subgraph": types.SymbolKind.Namespace,
    "node": types.SymbolKind.Method,
    "interface": types.SymbolKind.Interface,
    "decision": types.SymbolKind.Enum,
}
_DEEPEST = 50
"""Levels of the outline."""
Answer = list[types.DocumentSymbol] | list[types.SymbolInformation]


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)(document_symbol)


def document_symbol(server: MerrowServer, params: types.DocumentSymbolParams) -> Answer:
    diagrams = server.diagrams(params.text_document.uri)
    if not server.supports.hierarchical_symbols:
        return [information for diagram in diagrams for information in flat_symbols(diagram)]
    document_symbols: list[types.DocumentSymbol] = []
    for diagram in diagrams:
        symbols = _tree(diagram, ide_symbols.outline(diagram.analysis))
        fence = diagram.fence
        if fence is not None:
            place = diagram.document.to_lsp(fence.range)
            name = f"Diagram {fence.index}"
            document_symbols.append(
                types.DocumentSymbol(
                    name, types.SymbolKind.Module, place, types.Range(place.start, place.start), children=symbols
                )
            )
        else:
            document_symbols += symbols
    return document_symbols


def flat_symbols(diagram: OpenDiagram) -> list[types.SymbolInformation]:
    """All entries of a diagram's outline, each with the name of the one above it."""
    uri = diagram.document.uri
    return [
        types.SymbolInformation(
            types.Location(uri, diagram.to_lsp(entry.range)),
            entry.name,
            KINDS[entry.kind],
            container_name=above or None,
        )
        for entry, above in ide_symbols.flattened(ide_symbols.outline(diagram.analysis))
    ]


def _tree(diagram: OpenDiagram, entries: list[OutlineEntry]) -> list[types.DocumentSymbol]:
    """The entries as symbols. Subgraphs may nest as deep as the text is long; below `_DEEPEST` all are siblings, since writing
    the answer, and reading it, takes a call a level.
    """
    document_symbols: list[types.DocumentSymbol] = []
    waiting = [(entries, document_symbols, 1)]
    while waiting:
        group, into, depth = waiting.pop()
        for entry in group:
            children: list[types.DocumentSymbol] = []
            place, name = diagram.to_lsp(entry.range), diagram.to_lsp(entry.name_range)
            into.append(
                types.DocumentSymbol(
                    entry.name or "?", KINDS[entry.kind], place, name, detail=entry.detail or None, children=children
                )
            )
            if entry.children:
                waiting.append((entry.children, children if depth < _DEEPEST else into, depth + 1))
    return document_symbols
