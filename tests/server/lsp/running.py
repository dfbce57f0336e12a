"""A server in a process of its own with pytest-lsp's client, for tests that run workflows: a journal and settings of its own."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pytest_lsp import LanguageClient
from tests.patience import PATIENCE
from tests.runtime.openai_server import OpenAIServer
from tests.server.lsp.client import Json, make_client, on, session
from tests.server.lsp.editor import MODERN
from tests.server.lsp.forked_servers import forked_server

WAIT = PATIENCE
"""Seconds after which something that doesn't come counts as missing."""
RUNS: Json = MODERN | {"experimental": {"merrowInput": True, "merrowRuns": True}}
"""A client that shows runs and asks for inputs."""
_NONE = {"OPENAI_API_KEY", "OPENAI_BASE_URL", "MERROW_MODEL"}


class RunningEditor:
    """A client and its server. ``events`` are those of all runs so far, as they came; ``inputs`` what it answers if asked."""

    def __init__(self, client: LanguageClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.notices: list[Json] = []
        self.asked: list[Json] = []
        self.inputs: dict[str, str | None] = {}
        self.asked_to_pull = asyncio.Event()
        self.asked_for_lenses = asyncio.Event()
        self._news = asyncio.Condition()
        self._versions: dict[str, int] = {}
        on(client, "merrow/runEvent", self._take)
        on(client, "merrow/input", self._answer)
        on(client, types.WORKSPACE_DIAGNOSTIC_REFRESH, lambda _: self.asked_to_pull.set())
        on(client, types.WORKSPACE_CODE_LENS_REFRESH, lambda _: self.asked_for_lenses.set())

    async def _take(self, notice: Json) -> None:
        async with self._news:
            self.notices.append(notice)
            self._news.notify_all()

    def _answer(self, question: Json) -> str | None:
        self.asked.append(question)
        return self.inputs.get(question["name"])

    @property
    def events(self) -> list[Json]:
        return [notice["event"] for notice in self.notices]

    def named(self, event: str) -> list[Json]:
        return [each for each in self.events if each["event"] == event]

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until an event makes this true."""
        async with self._news:
            await asyncio.wait_for(self._news.wait_for(condition), WAIT)

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, text: str, name: str = "flow.mmd", language: str = "mermaid") -> str:
        """Open a document that lies nowhere on the disk yet; its URI."""
        uri = self.uri(name)
        self._versions[uri] = 1
        item = types.TextDocumentItem(uri, language, 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, text: str) -> None:
        self._versions[uri] += 1
        identifier = types.VersionedTextDocumentIdentifier(uri=uri, version=self._versions[uri])
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))

    def begin(self, command: str, /, **argument: Any) -> asyncio.Future[Any]:
        """Execute a command and don't wait for its answer."""
        params = types.ExecuteCommandParams(command, arguments=[argument])
        return asyncio.ensure_future(self.client.workspace_execute_command_async(params))

    async def execute(self, command: str, /, **argument: Any) -> Any:
        return await asyncio.wait_for(self.begin(command, **argument), WAIT)

    async def ask(self, method: str, **params: Any) -> Any:
        return await asyncio.wait_for(self.client.protocol.send_request_async(method, params), WAIT)

    async def hover(self, uri: str, line: int, character: int) -> str:
        document, position = types.TextDocumentIdentifier(uri), types.Position(line, character)
        found = await self.client.text_document_hover_async(types.HoverParams(document, position))
        assert found is not None
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value

    async def hints(self, uri: str) -> list[types.InlayHint]:
        """The hints that the last run left, of the whole document."""
        whole = types.Range(types.Position(0, 0), types.Position(10_000, 0))
        params = types.InlayHintParams(types.TextDocumentIdentifier(uri), whole)
        found = await self.client.text_document_inlay_hint_async(params) or []
        return [hint for hint in found if hint.kind is None]

    async def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        """Those of a document now, as a client has them that asks."""
        params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
        report = await self.client.text_document_diagnostic_async(params)
        return list(getattr(report, "items", []))

    @property
    def progress(self) -> list[Any]:
        """What was shown of the last run's progress."""
        return list(self.client.progress_reports.values())[-1]


@asynccontextmanager
async def editor_on(
    folder: Path,
    server: OpenAIServer | None = None,
    *,
    capabilities: Json = RUNS,
    options: Any = None,
    environment: dict[str, str] | None = None,
    arguments: tuple[str, ...] = (),
    from_nothing: bool = False,
) -> AsyncIterator[RunningEditor]:
    """An editor in ``folder`` whose server asks the endpoint ``server`` (None: the embedded model). Where the test looks at
    the process, it is started ``from_nothing``: as editors do, which takes longer than a fork.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in _NONE}
    own = {"MERROW_STATE_DIR": str(folder / ".state"), "MERROW_CONFIG_DIR": str(folder / ".config")}
    endpoint = {} if server is None else {"OPENAI_BASE_URL": server.base_url}
    client = make_client()
    editor = RunningEditor(client, folder)
    environment = {**inherited, **own, **endpoint, **(environment or {})}
    if from_nothing:
        await client.start_io(sys.executable, "-m", "merrow_server", "serve", *arguments, env=environment)
    else:
        await client.start_tcp("127.0.0.1", forked_server(arguments, environment))
    await client.initialize_session(session(capabilities, folder, options=options))
    try:
        yield editor
    finally:
        if not client.stopped:
            await asyncio.wait_for(client.shutdown_session(), WAIT)
        # A server from nothing is waited for by its process, a fork by the end of its connection.
        if not from_nothing:
            await asyncio.wait(client._async_tasks, timeout=WAIT)
