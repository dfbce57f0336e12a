"""An editor in the test's own process: speaks JSON with a server object, byte for byte as over a pipe.

A server is made in milliseconds this way; what takes a real process is in the tests that use the `client` fixture.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from cattrs import Converter
from lsprotocol import types
from lsprotocol.converters import get_converter
from tests.patience import PATIENCE

from merrow_analysis.text import Position, Range, TextEdit, apply_edits, split_lines
from merrow_server.lsp.start import make_server
from merrow_server.positions import Encoding, position_at

Json = dict[str, Any]

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


class ServerError(Exception):
    """The server answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


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
        self.settings: Any = settings
        self.loop = asyncio.new_event_loop()
        self.server = make_server()
        self.notifications: list[Json] = []
        self.requests: list[Json] = []
        """What the server asked."""
        self.answers: dict[int, Json] = {}
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.exit_code: int | None = None
        self._id = 0
        self._asked: dict[int, str] = {}
        self.server.connect(self, self)  # type: ignore[arg-type]
        folders = None if folder is None or not names_folders else [{"uri": folder.as_uri(), "name": folder.name}]
        self.initialize_result: Json = self.request(
            "initialize",
            {
                "processId": None,
                "rootUri": folder.as_uri() if folder else None,
                "workspaceFolders": folders,
                "capabilities": self.capabilities,
                "initializationOptions": options,
            },
        )
        self.notify("initialized", {})
        self.run()

    # What a connection and a writer are to the server

    def end(self, code: int) -> None:
        self.exit_code = code

    def watch(self, process: int) -> None:
        """There is no other process."""

    def close(self) -> None:
        if not self.loop.is_closed():
            self.run()
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
            self.run()
            self.loop.close()

    def write(self, data: bytes) -> None:
        header, _, body = data.partition(b"\r\n\r\n")
        assert header == f"Content-Length: {len(body)}".encode()
        message = json.loads(body)
        check(message, self._asked.get(message.get("id")))
        if "method" not in message:
            self.answers[message["id"]] = message
        elif "id" in message:
            self.requests.append(message)
            self.loop.call_soon(self._answer, message)
        else:
            self.notifications.append(message)

    def _answer(self, message: Json) -> None:
        result: Any = None
        if message["method"] == "workspace/configuration":
            result = [self.settings for _ in message["params"]["items"]]
        elif message["method"] == "workspace/applyEdit":
            result = {"applied": True}
        self._send({"id": message["id"], "result": result})

    # What a test does

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

        self.loop.run_until_complete(asyncio.wait_for(wait(), PATIENCE))

    def run(self, seconds: float = 0.0) -> None:
        """Let the server work until it is idle, and for ``seconds`` longer."""
        for _ in range(20):
            self.loop.run_until_complete(asyncio.sleep(0))
        if seconds:
            self.loop.run_until_complete(asyncio.sleep(seconds))

    def request(self, method: str, params: Any = None) -> Any:
        """The result of a request. Raises `ServerError`."""
        return self.result(self.begin(method, params))

    def begin(self, method: str, params: Any = None) -> int:
        """Send a request and don't wait for its answer; its id."""
        self._id += 1
        self._asked[self._id] = method
        self._send({"id": self._id, "method": method, "params": params})
        return self._id

    def result(self, identifier: int) -> Any:
        """The answer to a request that was begun. Raises `ServerError`."""

        self.until(lambda: identifier in self.answers)
        answer = self.answers.pop(identifier)
        if "error" in answer:
            raise ServerError(answer["error"]["code"], answer["error"]["message"])
        return answer["result"]

    def notify(self, method: str, params: Any = None) -> None:
        self._send({"method": method, "params": params})

    def send_bytes(self, *bodies: bytes) -> None:
        """Send messages as they are, together."""

        async def send() -> None:
            self.server.protocol.receive_all(list(bodies))

        self.loop.run_until_complete(send())

    def _send(self, message: Json) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        if asyncio._get_running_loop() is self.loop:
            self.server.protocol.receive_all([body])
        else:
            self.send_bytes(body)

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
        self.loop.run_until_complete(asyncio.wait_for(self._all_checked(), PATIENCE))
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


def check(message: Json, asked: str | None) -> None:
    """Every message of the server has the form that the protocol gives it; ``asked`` is the method of what it answers."""
    answer, notice = 1, 0
    kinds = types.METHOD_TO_TYPES.get(message.get("method", asked))
    if kinds is not None and "error" not in message:
        converter().structure(message, kinds[notice if "method" in message else answer])


@cache
def converter() -> Converter:
    """One for all clients: for each kind of value that it meets it writes a function, which takes some time."""
    return get_converter()


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
