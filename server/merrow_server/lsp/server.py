"""The language server: open documents, and what features need of them. One object serves one client."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import unquote

from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.exceptions import FeatureRequestError, JsonRpcException

from merrow_server.lsp.documents import OpenDocument, path_of
from merrow_server.lsp.findings.diagnostics import document_diagnostics
from merrow_server.lsp.findings.reports import Reports
from merrow_server.lsp.host import ClientWire, Host
from merrow_server.lsp.located import Located
from merrow_server.lsp.logs import ClientLog
from merrow_server.lsp.protocol import FeatureError, MerrowProtocol
from merrow_server.lsp.published import with_items
from merrow_server.lsp.scheduling import CheckScheduler
from merrow_server.lsp.supports import Supports, read_supports
from merrow_server.lsp.work.following import Following
from merrow_server.lsp.work.last_found import LastFound, evaluated, searched
from merrow_server.lsp.work.runs import Runs
from merrow_server.lsp.work.suggestions import Suggestions
from merrow_server.lsp.work.tools import EditorTools

if TYPE_CHECKING:
    from cattrs import Converter
    from pygls.io_ import AsyncWriter, Writer
    from pygls.server import ServerErrors

    from merrow_server.lsp.workspace import Workspace

log = logging.getLogger(__name__)

_Function = TypeVar("_Function", bound=Callable[..., Any])


@functools.cache
def _converter() -> Converter:
    """One for all servers of a process.

    For each kind of value that it meets it writes a function, which takes longer than all else that a server begins with.
    """
    return get_converter()


class MerrowServer(Host):
    """A server for one client. Features are functions of the server and the parameters of their request."""

    def __init__(self) -> None:
        super().__init__("merrow", "", protocol_cls=MerrowProtocol, converter_factory=_converter)
        # Looking up the version takes longer than the answer that would contain it.
        self.protocol.server_info = types.ServerInfo("merrow")
        self.supports = Supports()
        self.documents = {}
        self.scheduler = CheckScheduler(self._check)
        self.log = ClientLog(self)
        self.reports: Reports = Reports(self)
        self.jobs = Following(self)
        self.runs = Runs(self, self.jobs)
        self.tools = EditorTools(self, self.jobs, self.runs.consents)
        self.suggestions = Suggestions(self)
        self.last_evaluations = LastFound(
            self,
            self.jobs,
            evaluated,
            lambda session, text: session.look_at("evaluation", lambda known: known.last(text)),
        )
        self.last_searches = LastFound(
            self, self.jobs, searched, lambda session, text: session.look_at("search", lambda known: known.last(text))
        )
        self.is_initialized = False
        self.initial_settings: object = {}
        """The settings that the client passed at startup."""
        self._workspace: Workspace | None = None
        self._connection: ClientWire | None = None
        self.on_checked: list[Callable[[OpenDocument], None]] = []
        """Called with each document that is due to be checked, to push diagnostics."""

    # What features ask

    def locate(self, uri: str, position: types.Position) -> Located | None:
        """The position in a diagram that a client refers to; None if no diagram is open there."""
        document = self.document(uri)
        located = None if document is None else document.diagram_at(position)
        return None if located is None else Located(*located, self.supports)

    def edit(self, document: OpenDocument, edits: Iterable[types.TextEdit]) -> types.WorkspaceEdit:
        """Edits of one open document, in the form that the client supports, with the version if possible."""
        return self.edits({document.uri: list(edits)})

    def confirmed_edit(
        self, document: OpenDocument, edits: Iterable[types.TextEdit], label: str, effect: str, name: str
    ) -> types.WorkspaceEdit:
        """Edits of one open document that the user confirms first, if the client supports that: under ``label``, with their
        effect. ``name`` is the name of the change in the message.
        """
        if not (self.supports.document_changes and self.supports.change_annotations):
            return self.edit(document, edits)
        annotated = [types.AnnotatedTextEdit(name, edit.range, edit.new_text) for edit in edits]
        identifier = types.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
        note = types.ChangeAnnotation(label, needs_confirmation=True, description=effect)
        return types.WorkspaceEdit(
            document_changes=[types.TextDocumentEdit(identifier, annotated)], change_annotations={name: note}
        )

    def edits(self, edits: dict[str, list[types.TextEdit]]) -> types.WorkspaceEdit:
        """Edits of several files by URI, in the form that the client supports."""
        if not self.supports.document_changes:
            return types.WorkspaceEdit(changes=dict(edits))
        changes: list[types.TextDocumentEdit] = []
        for uri, parts in edits.items():
            document = self.document(uri)
            identifier = types.OptionalVersionedTextDocumentIdentifier(uri, document.version if document else None)
            changes.append(types.TextDocumentEdit(identifier, list(parts)))
        return types.WorkspaceEdit(document_changes=list(changes))

    def plain(self, value: object) -> Any:
        """A message's part as JSON has it."""
        return self.protocol.converter.unstructure(value)

    @property
    def surroundings(self) -> Workspace:
        """Settings and files around the documents. Created on first use, because it imports the whole analysis."""
        if self._workspace is None:
            from merrow_server.lsp.workspace import Workspace

            self._workspace = Workspace(self)
        return self._workspace

    # How features are registered

    def feature(self, feature_name: str, options: Any | None = None) -> Callable[[_Function], _Function]:
        """Register ``function(server, params)`` for a method; what it raises is logged and answered with an error."""
        register = super().feature(feature_name, options)

        def decorate(function: _Function) -> _Function:
            register(self._guarded(function, feature_name))
            return function

        return decorate

    def command(self, command_name: str) -> Callable[[_Function], _Function]:
        """Register ``function(server, arguments)``, with the list of the client's arguments, for a command."""
        register = super().command(command_name)

        def decorate(function: _Function) -> _Function:
            guarded = self._guarded(function, command_name)

            if asyncio.iscoroutinefunction(guarded):

                async def run(*arguments: Any) -> Any:
                    return await guarded(list(arguments))

                register(run)
            else:

                def run_now(*arguments: Any) -> Any:
                    return guarded(list(arguments))

                register(run_now)
            return function

        return decorate

    def _guarded(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """``function`` with this server as its first argument; its failures don't spread."""

        def failed(problem: Exception) -> JsonRpcException:
            if isinstance(problem, JsonRpcException):
                return problem
            log.exception("%s failed.", name)
            return FeatureError(f"{name} failed inside Merrow; everything else goes on. The log says where.")

        if asyncio.iscoroutinefunction(function):
            start = cast("Callable[..., Coroutine[Any, Any, Any]]", function)

            @functools.wraps(function, assigned=("__name__", "__qualname__", "__doc__"), updated=())
            async def guarded(*arguments: Any) -> Any:
                try:
                    return await start(self, *arguments)
                except Exception as problem:  # noqa: BLE001 - logged and answered
                    raise failed(problem) from None

            del guarded.__wrapped__  # pygls would inspect its signature
            return guarded

        @functools.wraps(function, assigned=("__name__", "__qualname__", "__doc__"), updated=())
        def guarded_now(*arguments: Any) -> Any:
            try:
                return function(self, *arguments)
            except Exception as problem:  # noqa: BLE001 - logged and answered
                raise failed(problem) from None

        del guarded_now.__wrapped__
        return guarded_now

    # Text synchronisation

    def did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        item = params.text_document
        path = path_of(item.uri)
        document = OpenDocument(
            item.uri,
            item.text,
            version=item.version,
            language_id=item.language_id,
            encoding=self.encoding,
            path=path,
        )
        self.documents[unquote(item.uri)] = document
        if document.kind != "other":
            document.context = self.surroundings.context(document)
        self.touched(document)

    def did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        identifier = params.text_document
        document = self.document(identifier.uri)
        if document is None:
            log.error("A change of %s came, which is not open.", identifier.uri)
            return
        if document.version is not None and identifier.version is not None and identifier.version <= document.version:
            log.warning(
                "A change of %s to version %s came after version %s.",
                document.uri,
                identifier.version,
                document.version,
            )
        document.change(params.content_changes)
        document.version = identifier.version
        self.touched(document)

    def did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        document = self.documents.pop(unquote(params.text_document.uri), None)
        if document is None:
            log.warning("%s was closed, which is not open.", params.text_document.uri)
            return
        self.scheduler.forget(document.uri)
        self.reports.forget(document.uri)
        self.surroundings.closed(document)
        if document.kind != "other" and not self.supports.pull_diagnostics:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(document.uri, []))

    def publish(self, document: OpenDocument) -> None:
        """Send the problems in the current version of ``document``."""
        settings = self.surroundings.settings(document)
        diagnostics = document_diagnostics(document, self.supports, settings)
        params: dict[str, Any] = {"uri": document.uri}
        if self.supports.diagnostic_version and document.version is not None:
            params["version"] = document.version
        self.protocol.send_plain(
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, with_items(params, "diagnostics", diagnostics)
        )

    def touched(self, document: OpenDocument) -> None:
        """Schedule a check of ``document`` and of what depends on it."""
        if document.kind != "other":
            self.scheduler.touch(document.uri)
        if document.path is not None and self._workspace is not None:
            self._workspace.buffer_changed(document)

    def _check(self, uri: str) -> None:
        document = self.document(uri)
        if document is None:
            return
        try:
            for callback in self.on_checked:
                callback(document)
        except Exception:
            # A document that can't be checked must not end the loop's callback silently.
            log.exception("Checking %s failed.", uri)

    # Life

    def initialize(self, params: types.InitializeParams) -> None:
        """Read the client's capabilities."""
        self.is_initialized = True
        self.supports = read_supports(params.capabilities)
        options = params.initialization_options
        if isinstance(options, dict):
            self.initial_settings = options.get("settings", options)
            self.runs.trusted = options.get("trusted") is not False
        if self._connection is not None and params.process_id is not None:
            self._connection.watch(params.process_id)

    @property
    def is_connected(self) -> bool:
        return self._connection is not None

    def connect(self, connection: ClientWire, writer: AsyncWriter | Writer) -> None:
        """Talk to a client through ``writer``; ``connection`` is notified when it ends."""
        self._connection = connection
        self.protocol.set_writer(writer)

    def leave(self, code: int) -> None:
        """End the process with this exit code."""
        self.scheduler.forget_all()
        if self._connection is not None:
            self._connection.end(code)

    def report_server_error(self, error: Exception, source: ServerErrors) -> None:
        """Failures that no answer reports go to the log; those of features are already there."""
        if not issubclass(source, FeatureRequestError):
            log.error("A message could not be handled: %s.", type(error).__name__)
