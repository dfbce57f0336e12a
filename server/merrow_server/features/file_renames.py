"""Files that are about to be renamed or moved: the paths in workflows that lead to them, and those in the files themselves."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from lsprotocol import types

from merrow_analysis.ide.names import moved_files
from merrow_server.lsp import callers
from merrow_server.lsp.documents import OpenDiagram, OpenDocument, path_of
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.sharing import closed_document, workspace_paths

_FILES = "**/*.{mmd,mermaid,md,markdown,py,yaml,yml}"

Moves = Sequence[tuple[Path, Path]]
"""Old and new places, those of folders for all that is in them."""


def register(server: MerrowServer) -> None:
    kinds = types.FileOperationPatternKind
    patterns = [types.FileOperationPattern(_FILES, kinds.File), types.FileOperationPattern("**", kinds.Folder)]
    options = types.FileOperationRegistrationOptions(
        [types.FileOperationFilter(pattern, "file") for pattern in patterns]
    )
    server.feature(types.WORKSPACE_WILL_RENAME_FILES, options)(will_rename)


async def will_rename(server: MerrowServer, params: types.RenameFilesParams) -> types.WorkspaceEdit | None:
    """The edits with which all paths go on leading to the same files; None where nothing has to change."""
    moves = []
    for file in params.files:
        old, new = path_of(file.old_uri), path_of(file.new_uri)
        if old is not None and new is not None:
            moves.append((callers.real_path(old), callers.real_path(new)))
    changes: dict[str, list[types.TextEdit]] = {}
    async for document in _concerned(server, moves):
        edits = [edit for diagram in document.diagrams for edit in _edits(server, diagram, moves)]
        if edits:
            changes[document.uri] = edits
    return server.edits(changes) if changes else None


async def _concerned(server: MerrowServer, moves: Moves) -> AsyncIterator[OpenDocument]:
    """The documents, open or not, in which a path may have to change."""
    for document in [candidate for candidate in server.documents.values() if candidate.kind != "other"]:
        yield document
    names = {old.name for old, _ in moves}
    for path in await workspace_paths(server):
        closed = closed_document(server, path)
        is_moved = _after(callers.real_path(path), moves) != callers.real_path(path)
        if closed is not None and (is_moved or any(name in closed.text for name in names)):
            yield closed
        await asyncio.sleep(0)


def _edits(server: MerrowServer, diagram: OpenDiagram, moves: Moves) -> list[types.TextEdit]:
    own = diagram.document.path
    if own is None:
        return []
    folder = callers.real_path(own).parent
    new_folder = _after(callers.real_path(own), moves).parent
    roots = [callers.real_path(root) for root in server.surroundings.folders]

    def moved(written: str) -> str:
        path, mark, anchor = written.partition("#")
        try:
            old = callers.real_path(folder / path)
        except ValueError:
            return written
        new = _after(old, moves)
        if (new, new_folder) == (old, folder) or not any(new.is_relative_to(root) for root in roots):
            return written
        relative = Path(os.path.relpath(new, new_folder)).as_posix()
        if relative == Path(os.path.normpath(path)).as_posix():
            return written
        begins = "./" if path.startswith("./") and not relative.startswith("../") else ""
        return begins + relative + mark + anchor

    return diagram.edits_to_lsp(moved_files.path_edits(diagram.analysis, moved))


def _after(path: Path, moves: Moves) -> Path:
    """Where a file will be."""
    around = [(old, new) for old, new in moves if path.is_relative_to(old)]
    if not around:
        return path
    old, new = max(around, key=lambda move: len(move[0].parts))
    return new / path.relative_to(old)
