"""Rename: a name at all its places, those in prompt files and in other workflows that share them included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from merrow_analysis.ide.names import references as ide_references
from merrow_analysis.ide.names import rename as ide_rename
from merrow_analysis.ide.names import rename_files, rename_rules
from merrow_analysis.text import apply_edits
from merrow_server.lsp import callers
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.located import Located
from merrow_server.lsp.protocol import FeatureError
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.sharing import diagrams_sharing

if TYPE_CHECKING:
    from merrow_analysis.check import Analysis
    from merrow_analysis.ide.names.rename import Renamed
    from merrow_analysis.places.symbols import Symbol


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)(prepare_rename)
    server.feature(types.TEXT_DOCUMENT_RENAME)(rename)


def prepare_rename(server: MerrowServer, params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder | None:
    """What would be renamed; the error of a name that can't be says why."""
    here = server.locate(params.text_document.uri, params.position)
    if here is None:
        return None
    try:
        target = ide_rename.prepare_rename(here.analysis, here.position)
        if target is not None and target.symbol.kind == "port":
            _declared_at(server, here.diagram, target.symbol, target.name)
    except ide_rename.RenameRefusedError as refusal:
        raise _refused(refusal) from None
    return None if target is None else types.PrepareRenamePlaceholder(here.to_lsp(target.range), target.name)


async def rename(server: MerrowServer, params: types.RenameParams) -> types.WorkspaceEdit | None:
    here = server.locate(params.text_document.uri, params.position)
    if here is None:
        return None
    try:
        return await _rename(server, here, params.new_name)
    except ide_rename.RenameRefusedError as refusal:
        raise _refused(refusal) from None


async def _rename(server: MerrowServer, here: Located, new_name: str) -> types.WorkspaceEdit:
    diagram = here.diagram

    def read(text: str) -> Analysis:
        return callers.read_instead(diagram, text, {})

    asked = ide_rename.prepare_rename(here.analysis, here.position)
    changes = _Changes(server)
    changes.add(here.document.uri, [])
    if asked is not None and asked.symbol.kind == "port":
        diagram = _declared_at(server, diagram, asked.symbol, asked.name)
        renaming = ide_rename.rename_node(diagram.analysis, asked.name, new_name, read)
    else:
        renaming = ide_rename.rename(here.analysis, here.position, new_name, read)
    changes.add(diagram.document.uri, diagram.edits_to_lsp(renaming.edits))
    if renaming.edits and (renaming.symbol.kind in ("type", "field") or callers.is_port(diagram, renaming.symbol)):
        await _in_callers(server, diagram, renaming, changes)
    if renaming.file is not None:
        resource = here.document.resource(renaming.file)
        if resource is None:
            raise FeatureError(
                f"{renaming.file}, which has this prompt, can't be read.", types.LSPErrorCodes.RequestFailed
            )
        text = "".join(resource.lines)
        renamed = rename_files.prompt_file_edits(text, renaming.file, renaming.symbol, renaming.old, renaming.new)
        changes.add(resource.uri, resource.edits_to_lsp(renamed))
        async for other in diagrams_sharing(server, here.diagram, renaming.symbol):
            more = ide_rename.edits_of(other.analysis, renaming.symbol, renaming.old, renaming.new)
            changes.add(other.document.uri, other.edits_to_lsp(more))
    return changes.whole()


def _declared_at(server: MerrowServer, diagram: OpenDiagram, port: Symbol, name: str) -> OpenDiagram:
    """The called file that declares an input or output. Raises `RenameRefusedError` where the name can't be changed there."""
    home = callers.called_diagram(server, diagram, port)
    if home is None or home.analysis.typed is None or name not in home.analysis.typed.by_id:
        raise ide_rename.RenameRefusedError(f"The called file that declares {name} can't be read.")
    rename_rules.refuse_special(home.analysis, name)
    return home


async def _in_callers(server: MerrowServer, home: OpenDiagram, outcome: Renamed, changes: _Changes) -> None:
    """Rename an input or output at its callers. Raises `RenameRefusedError` where the change would break one of them, and
    `FeatureError` where a document changed meanwhile.
    """
    path = callers.own_path(home)
    if path is None:
        return
    after = {path: apply_edits(home.text, outcome.edits)}
    renamed: list[tuple[OpenDiagram, list[Symbol], str]] = []
    async for caller, names in callers.callers_of(server, home):
        symbols = [
            ide_references.called_symbol(name, outcome.symbol.name) for name in names if outcome.symbol.kind == "node"
        ]
        edits = [
            edit
            for symbol in symbols
            for edit in ide_rename.edits_of(caller.analysis, symbol, outcome.old, outcome.new)
        ]
        changes.add(caller.document.uri, caller.edits_to_lsp(edits))
        own = callers.own_path(caller)
        if own == path:
            symbols.append(outcome.symbol)
            edits += outcome.edits
        text = apply_edits(caller.text, edits)
        renamed.append((caller, symbols, text))
        if own is not None:
            after[own] = text
    changes.check()
    for caller, symbols, text in renamed:
        before = callers.read_instead(caller, caller.text, {})
        ide_rename.refuse_misread(before, callers.read_instead(caller, text, after), symbols, outcome.new)


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

    def check(self) -> None:
        """Raise `FeatureError` where a document changed while other files were read."""
        for uri, version in self._versions.items():
            document = self._server.document(uri)
            if document is None or document.version != version:
                raise FeatureError("The text changed meanwhile; rename again.", types.LSPErrorCodes.ContentModified)

    def whole(self) -> types.WorkspaceEdit:
        """All edits. Raises `FeatureError` as `check`."""
        self.check()
        return self._server.edits(self._edits)


def _refused(refusal: ide_rename.RenameRefusedError) -> FeatureError:
    return FeatureError(str(refusal), types.LSPErrorCodes.RequestFailed)
