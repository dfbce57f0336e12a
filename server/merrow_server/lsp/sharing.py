"""Workflows beside the open ones: those in the workspace's files, and those that share a file of prompts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from merrow_server.lsp.documents import Locator, OpenDiagram, OpenDocument

if TYPE_CHECKING:
    from merrow_analysis.places.symbols import Symbol
    from merrow_server.lsp.host import Host

MOST_FILES = 2000
"""Files of a workspace looked at for one answer; in larger ones those beyond are left out."""

LARGEST_FILE = 2_000_000


async def workspace_paths(server: Host) -> list[Path]:
    """The diagram and Markdown files in the workspace's folders that are not open, sorted; a bounded number."""
    from merrow_server.files import discover

    folders = server.surroundings.folders
    if not folders:
        return []
    # Walking a large tree takes a while; editing goes on meanwhile.
    discovered = await asyncio.to_thread(discover, [str(folder) for folder in folders])
    paths = [target.path for target in discovered.targets if target.path is not None and target.block is None]
    return [path for path in paths if server.document(path.as_uri()) is None][:MOST_FILES]


def closed_document(server: Host, path: Path) -> OpenDocument | None:
    """A file that is not open, read as a document; None where it is too large or no text."""
    from merrow_server.errors import InputError
    from merrow_server.files import read_path

    try:
        text = read_path(path, path.name, LARGEST_FILE).text
    except (InputError, OSError):
        return None
    document = OpenDocument(path.as_uri(), text, encoding=server.encoding, path=path)
    document.context = server.surroundings.context_of(document)
    return document


async def diagrams_sharing(server: Host, diagram: OpenDiagram, symbol: Symbol) -> AsyncIterator[OpenDiagram]:
    """The other diagrams, open or in the workspace, that find a prompt in the same file as ``diagram`` does."""
    file = _file_of(diagram, symbol)
    if file is None:
        return
    documents = [document for document in server.documents.values() if document.kind != "other"]
    for document in documents:
        for other in document.diagrams:
            if other is not diagram and _file_of(other, symbol) == file:
                yield other
    for path in await workspace_paths(server):
        closed = closed_document(server, path)
        if closed is None or symbol.name not in closed.text.casefold():
            continue
        for other in closed.diagrams:
            if _file_of(other, symbol) == file:
                yield other
        await asyncio.sleep(0)


def _file_of(diagram: OpenDiagram, symbol: Symbol) -> Path | None:
    """The file in which a diagram finds a prompt; None where it is no prompt, or one of the diagram's own."""
    if symbol.kind != "prompt":
        return None
    prompt = diagram.analysis.prompts.prompts.get(symbol.name)
    provider = diagram.document.context.provider
    if prompt is None or prompt.file is None or not isinstance(provider, Locator):
        return None
    try:
        return provider.location(prompt.file)
    except ValueError:
        return None
