"""Definition: from a name to where it is declared, in the file or in a prompt file or library."""

from __future__ import annotations

from lsprotocol import types

from merrow_analysis.ide.names import definition as ide_definition
from merrow_analysis.text import Range
from merrow_server.lsp.located import Located
from merrow_server.lsp.server import MerrowServer

Answer = list[types.Location] | list[types.LocationLink] | None


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_DEFINITION)(definition)


def definition(server: MerrowServer, params: types.DefinitionParams) -> Answer:
    """The places as links, with the name that leads there, for clients that know links."""
    here = server.locate(params.text_document.uri, params.position)
    if here is None:
        return None
    answer = ide_definition.definition(here.analysis, here.position, here.document.context.provider)
    if answer is None:
        return None
    places = [place for target in answer.targets if (place := _place(here, target.file, target.whole, target.name))]
    if not here.supports.definition_links:
        return [types.Location(uri, name) for uri, _, name in places]
    origin = here.to_lsp(answer.origin)
    return [types.LocationLink(uri, whole, name, origin) for uri, whole, name in places]


def _place(here: Located, file: str | None, whole: Range, name: Range) -> tuple[str, types.Range, types.Range] | None:
    """The file's URI with both ranges as the client counts them; None for a file that can't be read any more."""
    if file is None:
        return here.document.uri, here.to_lsp(whole), here.to_lsp(name)
    resource = here.document.resource(file)
    return None if resource is None else (resource.uri, resource.to_lsp(whole), resource.to_lsp(name))
