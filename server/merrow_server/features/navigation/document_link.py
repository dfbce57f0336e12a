"""Document links: addresses of click lines, prompt files, libraries, files of checks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from merrow_analysis.ide import links as ide_links
from merrow_server.lsp.server import MerrowServer

if TYPE_CHECKING:
    from merrow_analysis.ide.links import DocumentLink


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_DOCUMENT_LINK)(document_link)


def document_link(server: MerrowServer, params: types.DocumentLinkParams) -> list[types.DocumentLink]:
    links: list[types.DocumentLink] = []
    for diagram in server.diagrams(params.text_document.uri):
        for link in ide_links.links(diagram.analysis):
            target = _target(link, diagram.document.path)
            if target is not None:
                tooltip = link.tooltip if server.supports.document_link_tooltips else None
                links.append(types.DocumentLink(diagram.to_lsp(link.range), target, tooltip))
    return links


def _target(link: DocumentLink, path: Path | None) -> str | None:
    """The address of a link; None for a file that an untitled document names."""
    if not link.is_file:
        return link.target
    if path is None:
        return None
    file, mark, anchor = link.target.partition("#")
    try:
        return (path.parent / file).resolve().as_uri() + mark + anchor
    except (ValueError, OSError, RuntimeError):
        return None
