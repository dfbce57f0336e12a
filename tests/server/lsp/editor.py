"""An editor in the test's own process: pytest-lsp's client and a server object, with a pipe between them.

A server is made in milliseconds this way; what takes a real process is in the tests that use the `client` fixture.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast
from uuid import uuid4

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.io_ import run_async
from tests.patience import PATIENCE
from tests.server.lsp.client import Json, Recording, make_client, on, session

from merrow_analysis.text import Position, Range, TextEdit, apply_edits, split_lines
from merrow_server.language_server import make_server
from merrow_server.lsp.transport import Frames
from merrow_server.positions import Encoding, position_at

T = TypeVar("T")

MODERN: Json = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True},
    "workspace": {
        "applyEdit": True,
        "configuration": True,
        "workspaceFolders": True,
        "workspaceEdit": {"documentChanges": True},
        "didChangeConfiguration": {"dynamicRegistration": True},
        "fileOperations": {"willRename": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
        "diagnostics": {"refreshSupport": True},
        "semanticTokens": {"refreshSupport": True},
        "inlayHint": {"refreshSupport": True},
        "codeLens": {"refreshSupport": True},
        "symbol": {"dynamicRegistration": False},
    },
    "textDocument": {
        "publishDiagnostics": {
            "relatedInformation": True,
            "versionSupport": True,
            "codeDescriptionSupport": True,
            "dataSupport": True,
            "tagSupport": {"valueSet": [1, 2]},
        },
        "codeAction": {
            "codeActionLiteralSupport": {
                "codeActionKind": {"valueSet": ["quickfix", "refactor", "source", "source.fixAll"]}
            },
            "dataSupport": True,
            "isPreferredSupport": True,
            "disabledSupport": True,
            "resolveSupport": {"properties": ["edit"]},
        },
        "completion": {
            "completionItem": {
                "snippetSupport": True,
                "insertReplaceSupport": True,
                "labelDetailsSupport": True,
                "documentationFormat": ["markdown", "plaintext"],
                "resolveSupport": {"properties": ["documentation", "detail"]},
            }
        },
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "definition": {"linkSupport": True},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "foldingRange": {"lineFoldingOnly": False},
        "rename": {"prepareSupport": True},
        "documentLink": {"tooltipSupport": True},
        "signatureHelp": {"signatureInformation": {"parameterInformation": {"labelOffsetSupport": True}}},
    },
}
"""A client that can do everything but pull diagnostics."""

PULLING: Json = MODERN | {
    "textDocument": MODERN["textDocument"]
    | {
        "diagnostic": {
            "relatedInformation": True,
            "codeDescriptionSupport": True,
            "dataSupport": True,
            "tagSupport": {"valueSet": [1, 2]},
        }
    }
}
"""The same, pulling diagnostics."""


MINIMAL: Json = {}
"""An old client: no literals, no resolve, no versions."""

ServerError = JsonRpcException
"""The server answered with an error, which has a ``code`` and a ``message``."""


class _Pipe:
    """A writer; ``write`` takes the bytes to the other end."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self.write = write

    def close(self) -> None:
        """Both ends are in one process."""


class Editor:
    """A client with its open documents. ``settings`` is what it answers as the section ``merrow``. One that does not name
    workspace folders says only which its root is.
    """

    def __init__(
        self,
        capabilities: Json | None = None,
        folder: Path | None = None,
        *,
        settings: Json | None = None,
        options: Any = None,
        names_folders: bool = True,
    ) -> None:
        self.capabilities = MODERN if capabilities is None else capabilities
        self.folder = folder
        self.loop = asyncio.new_event_loop()
        self.server = make_server()
        self.client = make_client()
        self.settings = settings
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.exit_code: int | None = None
        self._protocol = cast(Recording, self.client.protocol)
        self.notifications, self.requests = self._protocol.notifications, self._protocol.requests
        self.answers = self._protocol.answers
        """The messages of the server as they came; answers by the id of their request."""
        self._told = 0
        self._asked: dict[str, asyncio.Task[Any]] = {}
        self._together: bytearray | None = None
        self._frames = Frames()
        self._from_server = asyncio.StreamReader(loop=self.loop)
        self._protocol.set_writer(_Pipe(self._to_server))
        self.server.connect(self, _Pipe(self._to_client))  # type: ignore[arg-type]
        self.on("workspace/applyEdit", lambda _: types.ApplyWorkspaceEditResult(applied=True))
        for method in ("$/progress", "window/showMessageRequest"):
            self.on(method, lambda _: None)
        reading = run_async(
            self.client._stop_event, self._from_server, self._protocol, error_handler=self.client.report_server_error
        )
        self.loop.create_task(reading)
        said = session(self.capabilities, folder, options=options, names_folders=names_folders)
        self.do(self.client.initialize_session(said))
        (answer,) = self.answers.values()
        self.answers.clear()
        self.initialize_result: Json = answer["result"]
        self.run()

    # What a connection is to the server

    def end(self, code: int) -> None:
        self.exit_code = code

    def watch(self, process: int) -> None:
        """It is this process."""

    def close(self) -> None:
        if not self.loop.is_closed():
            self.run()
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
            self.loop.run_until_complete(asyncio.sleep(0))
            self.loop.close()

    def _to_server(self, data: bytes) -> None:
        if self._together is not None:
            self._together += data
        else:
            self.server.protocol.receive_all(list(self._frames.feed(data)))

    def _to_client(self, data: bytes) -> None:
        self._told += 1
        self._from_server.feed_data(data)

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Do this, and let the client read what the server has written by then. Raises what was wrong with it."""

        async def run() -> T:
            result = await work
            told = self._told
            while told > self._protocol.heard:
                await asyncio.sleep(0)
            if self.client.error is not None:
                raise self.client.error
            return result

        return self.loop.run_until_complete(run())

    # What a test does

    @property
    def settings(self) -> Any:
        return self.client.get_configuration(section="merrow")

    @settings.setter
    def settings(self, value: Any) -> None:
        self.client.set_configuration(value, section="merrow")

    @property
    def capabilities_of_server(self) -> Json:
        return dict(self.initialize_result["capabilities"])

    @property
    def encoding(self) -> Encoding:
        chosen: Encoding = self.capabilities_of_server.get("positionEncoding", "utf-16")
        return chosen

    def until(self, condition: Callable[[], object]) -> None:
        """Let the server work until this is true. Raises ``TimeoutError``."""

        async def wait() -> None:
            while not condition():
                await asyncio.sleep(0)

        self.do(asyncio.wait_for(wait(), PATIENCE))

    def run(self, seconds: float = 0.0) -> None:
        """Let the server work until it is idle, and for ``seconds`` longer."""

        async def wait() -> None:
            for _ in range(40):
                await asyncio.sleep(0)
            if seconds:
                await asyncio.sleep(seconds)

        self.do(wait())

    def on(self, method: str, answer: Callable[[Any], object]) -> None:
        """Let this function answer what the server asks by ``method``. It gets the parameters; it may raise `ServerError`."""
        on(self.client, method, answer)

    def request(self, method: str, params: Any = None) -> Any:
        """The result of a request. Raises `ServerError`."""
        return self.result(self.begin(method, params))

    def begin(self, method: str, params: Any = None) -> str:
        """Send a request and don't wait for its answer; its id."""
        identifier = str(uuid4())

        async def send() -> None:
            asked = self._protocol.send_request_async(method, params, identifier)
            self._asked[identifier] = asyncio.create_task(asked)

        self.do(send())
        return identifier

    def result(self, identifier: str) -> Any:
        """The answer to a request that was begun. Raises `ServerError`."""
        self.do(asyncio.wait_for(self._asked.pop(identifier), PATIENCE))
        return self.answers.pop(identifier)["result"]

    def cancel(self, identifier: str) -> None:
        """Tell the server that nobody waits for the answer to a request any more."""
        self._say(lambda: self.client.cancel_request(types.CancelParams(identifier)))

    def notify(self, method: str, params: Any = None) -> None:
        self._say(lambda: self._protocol.notify(method, params))

    def _say(self, say: Callable[[], None]) -> None:
        async def run() -> None:
            say()

        if asyncio._get_running_loop() is self.loop:
            say()
        else:
            self.do(run())

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is said meanwhile comes to the server at once."""
        self._together = bytearray()
        yield
        data, self._together = bytes(self._together), None
        self._say(lambda: self._to_server(data))

    def uri(self, name: str) -> str:
        """The URI of a file in the folder; untitled where there is none."""
        return f"untitled:{name}" if self.folder is None else (self.folder / name).as_uri()

    def open(self, text: str, name: str = "flow.mmd", language: str | None = None) -> str:
        """Open a document, which needs no file on disk; its URI."""
        uri = self.uri(name)
        if language is None:
            language = "markdown" if name.endswith(".md") else "mermaid" if name.endswith(".mmd") else "plaintext"
        self.texts[uri], self.versions[uri] = text, 1
        item = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    def change(self, uri: str, *changes: Json) -> None:
        """Send content changes, and apply them to the editor's own text."""
        self.versions[uri] += 1
        for change in changes:
            self.texts[uri] = (
                change["text"] if "range" not in change else apply_change(self.texts[uri], change, self.encoding)
            )
        self.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": self.versions[uri]}, "contentChanges": list(changes)},
        )

    def close_document(self, uri: str) -> None:
        self.texts.pop(uri)
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def published(self, uri: str) -> list[Json]:
        """The diagnostics last pushed for a document, once the server is idle."""
        self.run(0.02)
        self.do(asyncio.wait_for(self._all_checked(), PATIENCE))
        for message in reversed(self.notifications):
            if message["method"] == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri:
                return list(message["params"]["diagnostics"])
        return []

    async def _all_checked(self) -> None:
        # A second change of a document is checked after a pause of twice what the last check took: on a busy machine that
        # is longer than any pause that a test would choose.
        while self.server.scheduler.waits:
            await asyncio.sleep(0.001)

    def codes(self, uri: str) -> list[str]:
        """The codes of the diagnostics last pushed."""
        return [diagnostic["code"] for diagnostic in self.published(uri)]

    def messages(self, method: str) -> list[Json]:
        """The parameters of the notifications with this method so far."""
        return [message["params"] for message in self.notifications if message["method"] == method]

    def find(self, uri: str, word: str, offset: int = 0) -> Json:
        """The position ``offset`` characters into the first place where ``word`` stands, as the client counts."""
        for number, line in enumerate(split_lines(self.texts[uri])):
            column = line.find(word)
            if column >= 0:
                return {"line": number, "character": _count(line[: column + offset], self.encoding)}
        raise AssertionError(f"{word!r} is not in the text")

    def at(self, uri: str, word: str, offset: int = 0) -> Json:
        """The parameters of a request about the place where ``word`` stands."""
        return {"textDocument": {"uri": uri}, "position": self.find(uri, word, offset)}

    def best_fix(self, uri: str, diagnostic: Json) -> Json:
        """The preferred quick fix of a diagnostic."""
        context = {"diagnostics": [diagnostic], "only": ["quickfix"]}
        params = {"textDocument": {"uri": uri}, "range": diagnostic["range"], "context": context}
        actions: list[Json] = self.request("textDocument/codeAction", params)
        return next(action for action in actions if action.get("isPreferred"))

    def applied(self, edit: Json) -> dict[str, str]:
        """The texts of the open documents that a workspace edit changes, afterwards."""
        parts: dict[str, list[Json]] = dict(edit.get("changes") or {})
        for change in edit.get("documentChanges") or []:
            version = change["textDocument"]["version"]
            assert version in (None, self.versions.get(change["textDocument"]["uri"])), "an edit of another version"
            parts[change["textDocument"]["uri"]] = change["edits"]
        return {uri: self.edited(uri, edits) for uri, edits in parts.items()}

    def edited(self, uri: str, edits: list[Json]) -> str:
        """The text of an open document after text edits."""
        text = self.texts[uri]
        lines = split_lines(text)
        places = [TextEdit(range_of(lines, edit["range"], self.encoding), edit["newText"]) for edit in edits]
        return apply_edits(text, places)


def apply_change(text: str, change: Json, encoding: Encoding) -> str:
    """The text after one incremental change."""
    return apply_edits(text, [TextEdit(range_of(split_lines(text), change["range"], encoding), change["text"])])


def range_of(lines: list[str], wire: Json, encoding: Encoding) -> Range:
    start, end = (_position(lines, wire[name], encoding) for name in ("start", "end"))
    return Range(start, end)


def _position(lines: list[str], wire: Json, encoding: Encoding) -> Position:
    return position_at(lines, wire["line"], wire["character"], encoding)


def _count(text: str, encoding: Encoding) -> int:
    width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    name = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[encoding]
    return len(text.encode(name, "surrogatepass")) // width
