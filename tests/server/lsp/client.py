"""pytest-lsp's client, by which all tests speak to the server; what is no message at all they write beside it, by `frame`."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

from cattrs import Converter
from lsprotocol import types
from lsprotocol.converters import get_converter
from pytest_lsp import LanguageClient, LanguageClientProtocol
from pytest_lsp.client import register_lsp_features
from tests.patience import PATIENCE

Json = dict[str, Any]


@cache
def converter() -> Converter:
    """One for all clients: for each kind of value that it meets it writes a function, which takes some time."""
    return get_converter()


class Recording(LanguageClientProtocol):
    """Keeps the JSON of each message that comes in, beside what pygls makes of it, and sends what a test wrote as it is."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.notifications: list[Json] = []
        self.requests: list[Json] = []
        self.answers: dict[object, Json] = {}
        self.heard = 0

    def structure_message(self, data: Json) -> Any:
        if "jsonrpc" in data:
            self.heard += 1
            if "method" not in data:
                self.answers[data["id"]] = data
            else:
                (self.requests if "id" in data else self.notifications).append(data)
        return super().structure_message(data)

    def get_message_type(self, method: str) -> type[Any] | None:
        return None if method in _SENT else super().get_message_type(method)


_SENT = {method for method in types.METHOD_TO_TYPES if types.message_direction(method) == "clientToServer"}


def make_client() -> LanguageClient:
    """A client that also lets the server register what it wants to be told of, and ask it to ask again."""
    client = LanguageClient(converter_factory=converter, protocol_cls=Recording)
    register_lsp_features(client)
    # There is nothing to do: the tests tell the server what they want to.
    for method in (
        types.CLIENT_REGISTER_CAPABILITY,
        types.WORKSPACE_DIAGNOSTIC_REFRESH,
        types.WORKSPACE_SEMANTIC_TOKENS_REFRESH,
        types.WORKSPACE_INLAY_HINT_REFRESH,
        types.WORKSPACE_CODE_LENS_REFRESH,
    ):
        on(client, method, lambda _: None)
    return client


def on(client: LanguageClient, method: str, answer: Callable[[Any], object]) -> None:
    """Let this function answer what the server asks or tells by ``method``, in place of what did so. It gets the parameters."""
    client.protocol.fm.builtin_features[method] = answer


@asynccontextmanager
async def server_process(*arguments: str) -> AsyncIterator[LanguageClient]:
    """A client, not yet initialized, of ``merrow serve`` in a process of its own, which ends with the test whatever happens."""
    client = make_client()
    await client.start_io(sys.executable, "-m", "merrow_server", "serve", *arguments)
    try:
        yield client
    finally:
        if process_of(client).returncode is None:
            process_of(client).kill()
        await client.stop()


def process_of(client: LanguageClient) -> Process:
    assert client._server is not None
    return client._server


async def exit_code(client: LanguageClient) -> int:
    return await asyncio.wait_for(process_of(client).wait(), PATIENCE)


def send(client: LanguageClient, *data: bytes) -> None:
    """Write bytes to the server that the client itself would not send."""
    client.protocol.writer.write(b"".join(data))  # type: ignore[union-attr]


def frame(content: Json | list[Any] | bytes) -> bytes:
    """A message as it goes to the server, or what only looks like one."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def message(method: str, params: Any = None, identifier: int | None = None) -> bytes:
    """A message for a server that gets all that it will at once, as its input."""
    content: Json = {"jsonrpc": "2.0", "method": method, "params": params}
    return frame(content if identifier is None else {**content, "id": identifier})


def session(
    capabilities: Json | None = None, folder: Path | None = None, *, options: Any = None, names_folders: bool = True
) -> types.InitializeParams:
    """What a client says first. One that does not name workspace folders says only which its root is."""
    uri = None if folder is None else folder.as_uri()
    return types.InitializeParams(
        capabilities=converter().structure(capabilities or {}, types.ClientCapabilities),
        root_uri=uri,
        workspace_folders=[types.WorkspaceFolder(uri, "work")] if uri and names_folders else None,
        initialization_options=options,
    )
