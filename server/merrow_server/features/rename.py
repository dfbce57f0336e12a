"""Rename: a name at all its places, those in prompt files and in other workflows that share them included."""

from __future__ import annotations

from lsprotocol import types

from merrow_analysis.ide.names import rename as ide_rename
from merrow_analysis.ide.names import rename_files
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
    changes = _Changes(server)
    changes.add(here.document.uri, here.edits_to_lsp(found.edits))
    if found.file is not None:
        resource = here.document.resource(found.file)
        if resource is None:
            raise FeatureError(
                f"{found.file}, which has this prompt, can't be read.", types.LSPErrorCodes.RequestFailed
            )
        text = "".join(resource.lines)
        renamed = rename_files.prompt_file_edits(text, found.file, found.symbol, found.old, found.new)
        changes.add(resource.uri, resource.edits_to_lsp(renamed))
        async for other in diagrams_sharing(server, here.diagram, found.symbol):
            more = ide_rename.edits_of(other.analysis, found.symbol, found.old, found.new)
            changes.add(other.document.uri, other.edits_to_lsp(more))
    return changes.whole()


class _Changes:
    """Edits of several files, and the versions of the open ones that they are for."""

    def __init__(self, server: MerrowServer) -> None:
        self._server = server
        self._edits: dict[str, list[types.TextEdit]] = {}
        self._versions: dict[str, int | None] = {}

    def add(self, uri: str, edits: list[types.TextEdit]) -> None:
        document = self._server.document(uri)
        if document is not None:
            # The client knows a document by the URI with which it opened it.
            uri = document.uri
            self._versions.setdefault(uri, document.version)
        if edits:
            self._edits.setdefault(uri, []).extend(edits)

    def whole(self) -> types.WorkspaceEdit:
        """All edits. Raises `FeatureError` where a document changed while other files were read."""
        for uri, version in self._versions.items():
            document = self._server.document(uri)
            if document is None or document.version != version:
                raise FeatureError("The text changed meanwhile; rename again.", types.LSPErrorCodes.ContentModified)
        return self._server.edits(self._edits)


def _refused(refusal: ide_rename.RenameRefusedError) -> FeatureError:
    return FeatureError(str(refusal), types.LSPErrorCodes.RequestFailed)
