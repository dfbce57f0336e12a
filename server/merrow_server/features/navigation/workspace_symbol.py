"""Workspace symbols: nodes, subgraphs, prompts and operators of all workflows in the workspace, open or not."""

from __future__ import annotations

import asyncio
from pathlib import Path

from lsprotocol import types

from merrow_analysis.ide import symbols as ide_symbols
from merrow_server.features.navigation.document_symbol import flat_symbols
from merrow_server.lsp.documents import OpenDocument
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.sharing import closed_document, workspace_paths

MOST_SYMBOLS = 500
"""Symbols in one answer; who looks for more types another letter."""

_NOT_LISTED = (types.SymbolKind.Package, types.SymbolKind.Property)
_Stamp = tuple[int, int]


def register(server: MerrowServer) -> None:
    server.feature(types.WORKSPACE_SYMBOL)(_WorkspaceSymbols().answer)


class _WorkspaceSymbols:
    """Remembers the symbols of files on disk for as long as their time and size stay."""

    def __init__(self) -> None:
        self._files: dict[Path, tuple[_Stamp, list[types.SymbolInformation]]] = {}

    async def answer(self, server: MerrowServer, params: types.WorkspaceSymbolParams) -> list[types.SymbolInformation]:
        symbols: list[types.SymbolInformation] = []
        for document in list(server.documents.values()):
            if document.kind != "other":
                symbols += _matching(params.query, _symbols(document))
        for path in await workspace_paths(server):
            if len(symbols) >= MOST_SYMBOLS:
                break
            symbols += _matching(params.query, self._of_file(server, path))
            await asyncio.sleep(0)
        return symbols[:MOST_SYMBOLS]

    def _of_file(self, server: MerrowServer, path: Path) -> list[types.SymbolInformation]:
        try:
            status = path.stat()
        except OSError:
            return []
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._files.get(path)
        if known is None or known[0] != stamp:
            document = closed_document(server, path)
            known = self._files[path] = (stamp, [] if document is None else _symbols(document))
        return known[1]


def _symbols(document: OpenDocument) -> list[types.SymbolInformation]:
    symbols = [symbol for diagram in document.diagrams for symbol in flat_symbols(diagram)]
    return [symbol for symbol in symbols if symbol.kind not in _NOT_LISTED]


def _matching(query: str, symbols: list[types.SymbolInformation]) -> list[types.SymbolInformation]:
    return [symbol for symbol in symbols if ide_symbols.matches(query, symbol.name)]
