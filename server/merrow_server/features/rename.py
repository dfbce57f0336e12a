"""Rename: a name at all its places, those in prompt files and in other workflows that share them included."""

from __future__ import annotations

from lsprotocol import types

from merrow_analysis.ide import rename as ide_rename
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.protocol import FeatureError
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.sharing import diagrams_sharing


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)(prepare_rename)
    server.feature(types.TEXT_DOCUMENT_RENAME)(rename)


def prepare_rename(server: MerrowServer, params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder | None:
    """What would be renamed; the error of a name that can't be says why."""
    here = server.locate(params.text_document.uri, params.position)
    if here is None:
        return None
    try:
        found = ide_rename.prepare_rename(here.analysis, here.position)
    except ide_rename.RenameRefusedError as refusal:
        raise _refused(refusal) from None
    return None if found is None else types.PrepareRenamePlaceholder(here.to_lsp(found.range), found.name)


async def rename(server: MerrowServer, params: types.RenameParams) -> types.WorkspaceEdit | None:
    here = server.locate(params.text_document.uri, params.position)
    if here is None:
        return None
    try:
        found = ide_rename.rename(here.analysis, here.position, params.new_name)
    except ide_rename.RenameRefusedError as refusal:
        raise _refused(refusal) from None
    edits: dict[str, list[types.TextEdit]] = {here.document.uri: here.edits_to_lsp(found.edits)}
    if found.file is not None:
        resource = here.document.resource(found.file)
        if resource is None:
            raise FeatureError(
                f"{found.file}, which has this prompt, can't be read.", types.LSPErrorCodes.RequestFailed
            )
        text = "".join(resource.lines)
        renamed = ide_rename.prompt_file_edits(text, found.file, found.symbol, found.old, found.new)
        edits.setdefault(resource.uri, []).extend(resource.edits_to_lsp(renamed))
        others: list[OpenDiagram] = [other async for other in diagrams_sharing(server, here.diagram, found.symbol)]
        for other in others:
            more = ide_rename.edits_of(other.analysis, found.symbol, found.old, found.new)
            edits.setdefault(other.document.uri, []).extend(other.edits_to_lsp(more))
    return server.edits({uri: parts for uri, parts in edits.items() if parts})


def _refused(refusal: ide_rename.RenameRefusedError) -> FeatureError:
    return FeatureError(str(refusal), types.LSPErrorCodes.RequestFailed)
