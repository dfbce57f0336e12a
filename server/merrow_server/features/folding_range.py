"""Folding ranges: always whole lines, which every client can fold."""

from __future__ import annotations

from lsprotocol import types

from merrow_analysis.ide import folding as ide_folding
from merrow_analysis.text import Position
from merrow_server.lsp.server import MerrowServer

_KINDS = {"comment": types.FoldingRangeKind.Comment, "region": types.FoldingRangeKind.Region}


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)(folding_range)


def folding_range(server: MerrowServer, params: types.FoldingRangeParams) -> list[types.FoldingRange]:
    ranges: list[types.FoldingRange] = []
    for diagram in server.diagrams(params.text_document.uri):
        if diagram.fence is not None:
            place = diagram.document.to_lsp(diagram.fence.range)
            ranges.append(types.FoldingRange(place.start.line, place.end.line, kind=types.FoldingRangeKind.Region))
        for fold in ide_folding.folds(diagram.analysis):
            first, last = (diagram.position_to_lsp(Position(line, 0)).line for line in (fold.first, fold.last))
            kind = None if fold.kind is None else _KINDS[fold.kind]
            ranges.append(types.FoldingRange(first, last, kind=kind))
    return _limited([fold for fold in ranges if fold.end_line > fold.start_line], server.supports.folding_limit)


def _limited(folds: list[types.FoldingRange], most: int | None) -> list[types.FoldingRange]:
    """At most as many as the client likes: those that hide the most lines."""
    if most is None or len(folds) <= most:
        return folds
    longest = sorted(range(len(folds)), key=lambda number: folds[number].start_line - folds[number].end_line)[:most]
    return [folds[number] for number in sorted(longest)]
