"""The floor: a pygls server that keeps no text and checks nothing, and says so after each change."""

from lsprotocol import types
from pygls.lsp.server import LanguageServer

server = LanguageServer("floor", "1", text_document_sync_kind=types.TextDocumentSyncKind.None_)


def _publish(document: types.TextDocumentItem | types.VersionedTextDocumentIdentifier) -> None:
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(document.uri, [], document.version))


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
def _opened(params: types.DidOpenTextDocumentParams) -> None:
    _publish(params.text_document)


@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
def _changed(params: types.DidChangeTextDocumentParams) -> None:
    _publish(params.text_document)


if __name__ == "__main__":
    server.start_io()
