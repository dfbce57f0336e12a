"""Selection ranges: what is selected when a selection grows, for each cursor."""

from __future__ import annotations

from lsprotocol import types

from merrow_analysis.ide import selection_ranges as ide_selection
from merrow_server.lsp.server import MerrowServer

_DEEPEST = 100
"""How many ranges a chain has at most: each is sent inside the next one, and writing that down has an end. The innermost ones are
kept, and the whole."""


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_SELECTION_RANGE)(selection_range)


def selection_range(server: MerrowServer, params: types.SelectionRangeParams) -> list[types.SelectionRange] | None:
    """One chain of ranges for each position; an empty range where there is no diagram."""
    uri = params.text_document.uri
    if server.document(uri) is None:
        return None
    return [_chain(server, uri, position) for position in params.positions]


def _chain(server: MerrowServer, uri: str, position: types.Position) -> types.SelectionRange:
    here = server.locate(uri, position)
    if here is None:
        return types.SelectionRange(types.Range(position, position))
    places = ide_selection.selections(here.analysis, here.position)
    if len(places) > _DEEPEST:
        places = [*places[: _DEEPEST - 1], places[-1]]
    chain: types.SelectionRange | None = None
    for place in reversed(places):
        chain = types.SelectionRange(here.to_lsp(place), chain)
    return chain if chain is not None else types.SelectionRange(types.Range(position, position))
