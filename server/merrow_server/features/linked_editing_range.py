"""Linked editing: a node's id changes at all its mentions while it is typed."""

from __future__ import annotations

from lsprotocol import types

from merrow_analysis.ide.names import linked_editing as ide_linked_editing
from merrow_server.lsp.server import MerrowServer


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_LINKED_EDITING_RANGE)(linked_editing_range)


def linked_editing_range(
    server: MerrowServer, params: types.LinkedEditingRangeParams
) -> types.LinkedEditingRanges | None:
    here = server.locate(params.text_document.uri, params.position)
    linked = None if here is None else ide_linked_editing.linked_places(here.analysis, here.position)
    if here is None or linked is None:
        return None
    return types.LinkedEditingRanges([here.to_lsp(place) for place in linked.ranges], linked.word_pattern)
