"""Call hierarchy: what feeds a node, and what it feeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from merrow_analysis.ide.names import call_hierarchy as ide_call_hierarchy
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.server import MerrowServer

if TYPE_CHECKING:
    from merrow_analysis.ide.names.call_hierarchy import Item


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY)(prepare)
    server.feature(types.CALL_HIERARCHY_INCOMING_CALLS)(incoming)
    server.feature(types.CALL_HIERARCHY_OUTGOING_CALLS)(outgoing)


def prepare(server: MerrowServer, params: types.CallHierarchyPrepareParams) -> list[types.CallHierarchyItem] | None:
    here = server.locate(params.text_document.uri, params.position)
    item = None if here is None else ide_call_hierarchy.item_at(here.analysis, here.position)
    return None if here is None or item is None else [_to_lsp(here.diagram, item)]


def incoming(
    server: MerrowServer, params: types.CallHierarchyIncomingCallsParams
) -> list[types.CallHierarchyIncomingCall] | None:
    found = _found(server, params.item)
    if found is None:
        return None
    diagram, node = found
    return [
        types.CallHierarchyIncomingCall(_to_lsp(diagram, other.item), [diagram.to_lsp(arrow) for arrow in other.arrows])
        for other in ide_call_hierarchy.incoming(diagram.analysis, node)
    ]


def outgoing(
    server: MerrowServer, params: types.CallHierarchyOutgoingCallsParams
) -> list[types.CallHierarchyOutgoingCall] | None:
    found = _found(server, params.item)
    if found is None:
        return None
    diagram, node = found
    return [
        types.CallHierarchyOutgoingCall(_to_lsp(diagram, other.item), [diagram.to_lsp(arrow) for arrow in other.arrows])
        for other in ide_call_hierarchy.outgoing(diagram.analysis, node)
    ]


def _to_lsp(diagram: OpenDiagram, item: Item) -> types.CallHierarchyItem:
    return types.CallHierarchyItem(
        item.id,
        types.SymbolKind.Method,
        diagram.document.uri,
        diagram.to_lsp(item.range),
        diagram.to_lsp(item.name_range),
        detail=item.detail or None,
    )


def _found(server: MerrowServer, item: types.CallHierarchyItem) -> tuple[OpenDiagram, str] | None:
    """The diagram and the node of an item, found anew: the text may have changed since the item was given."""
    here = server.locate(item.uri, item.selection_range.start)
    if here is not None and item.name in here.analysis.flow.nodes:
        return here.diagram, item.name
    for diagram in server.diagrams(item.uri):
        if item.name in diagram.analysis.flow.nodes:
            return diagram, item.name
    return None
