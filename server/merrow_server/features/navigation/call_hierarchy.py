"""Call hierarchy: what feeds a node and what it feeds, who calls a file and whom it calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from merrow_analysis.ide.names import call_hierarchy as ide_call_hierarchy
from merrow_analysis.ide.names import references as ide_references
from merrow_server.lsp import callers
from merrow_server.lsp.documents import OpenDiagram, path_of
from merrow_server.lsp.server import MerrowServer

if TYPE_CHECKING:
    from merrow_analysis.ide.names.call_hierarchy import HierarchyItem
    from merrow_analysis.places.symbols import Symbol


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY)(prepare)
    server.feature(types.CALL_HIERARCHY_INCOMING_CALLS)(incoming)
    server.feature(types.CALL_HIERARCHY_OUTGOING_CALLS)(outgoing)


def prepare(server: MerrowServer, params: types.CallHierarchyPrepareParams) -> list[types.CallHierarchyItem] | None:
    """A node; at the path of a Call the file that it leads to, at the first word of a workflow the file itself."""
    here = server.locate(params.text_document.uri, params.position)
    if here is None:
        return None
    path = ide_call_hierarchy.file_at(here.analysis, here.position)
    if path is not None:
        diagram = here.diagram if path == "" else callers.called_diagram(server, here.diagram, _file(path))
        return None if diagram is None or diagram.document.path is None else [_file_item(diagram)]
    item = ide_call_hierarchy.item_at(here.analysis, here.position)
    return None if item is None else [_to_lsp(here.diagram, item)]


async def incoming(
    server: MerrowServer, params: types.CallHierarchyIncomingCallsParams
) -> list[types.CallHierarchyIncomingCall] | None:
    located = _found(server, params.item)
    if located is None:
        return None
    diagram, node = located
    if node is None:
        calls: list[types.CallHierarchyIncomingCall] = []
        async for caller, names in callers.callers_of(server, diagram):
            named = ide_call_hierarchy.file_calls(caller.analysis)
            ranges = [caller.to_lsp(place) for name in names for place in named[name]]
            calls.append(types.CallHierarchyIncomingCall(_file_item(caller), ranges))
        return calls
    return [
        types.CallHierarchyIncomingCall(_to_lsp(diagram, other.item), [diagram.to_lsp(arrow) for arrow in other.arrows])
        for other in ide_call_hierarchy.incoming(diagram.analysis, node)
    ]


def outgoing(
    server: MerrowServer, params: types.CallHierarchyOutgoingCallsParams
) -> list[types.CallHierarchyOutgoingCall] | None:
    located = _found(server, params.item)
    if located is None:
        return None
    diagram, node = located
    calls: list[types.CallHierarchyOutgoingCall] = []
    for path, places in ide_call_hierarchy.file_calls(diagram.analysis, node).items():
        called = callers.called_diagram(server, diagram, _file(path))
        if called is not None:
            ranges = [diagram.to_lsp(place) for place in places]
            calls.append(types.CallHierarchyOutgoingCall(_file_item(called), ranges))
    for other in () if node is None else ide_call_hierarchy.outgoing(diagram.analysis, node):
        ranges = [diagram.to_lsp(arrow) for arrow in other.arrows]
        calls.append(types.CallHierarchyOutgoingCall(_to_lsp(diagram, other.item), ranges))
    return calls


def _to_lsp(diagram: OpenDiagram, item: HierarchyItem) -> types.CallHierarchyItem:
    return types.CallHierarchyItem(
        item.id,
        types.SymbolKind.Method,
        diagram.document.uri,
        diagram.to_lsp(item.range),
        diagram.to_lsp(item.name_range),
        detail=item.detail or None,
    )


def _file_item(diagram: OpenDiagram) -> types.CallHierarchyItem:
    """A whole workflow, by the name of its file."""
    path, analysis = diagram.document.path, diagram.analysis
    place = diagram.to_lsp(ide_call_hierarchy.header_of(analysis))
    title = analysis.settings.document.values.get("title")
    return types.CallHierarchyItem(
        diagram.document.uri if path is None else path.name,
        types.SymbolKind.File,
        diagram.document.uri,
        place,
        place,
        detail=title if isinstance(title, str) else None,
    )


def _file(path: str) -> Symbol:
    return ide_references.called_symbol(path, None)


def _found(server: MerrowServer, item: types.CallHierarchyItem) -> tuple[OpenDiagram, str | None] | None:
    """The diagram and the node of an item, None for a whole file; found again, for the text may have changed since then."""
    start = item.selection_range.start
    document, path = server.document(item.uri), path_of(item.uri)
    if document is None and path is not None:
        document = callers.document_at(server, callers.real_path(path))
    if document is None:
        return None
    place = document.diagram_at(start)
    diagrams = document.diagrams if place is None else [place[0], *document.diagrams]
    if item.kind == types.SymbolKind.File:
        return (diagrams[0], None) if diagrams else None
    return next(((diagram, item.name) for diagram in diagrams if item.name in diagram.analysis.flow.nodes), None)
