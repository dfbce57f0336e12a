"""Editors for the tests of the language server.

`open_editor` makes an editor in the test's own process (fast); `client` is pytest-lsp's, with a server process of its own. The
variants of clients: `MODERN`, `PULLING`, `MINIMAL` of `tests.server.lsp.editor`.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import ClientServerConfig, LanguageClient
from pytest_lsp.client import register_lsp_features
from tests.server.lsp.editor import MINIMAL, MODERN, PULLING, Editor

_converter = cache(default_converter)
"""One for all clients: for each kind of value that it meets it writes a function, which takes some time."""
COMMAND = [sys.executable, "-m", "merrow_server", "serve"]


@pytest.fixture
def open_editor() -> Iterator[Callable[..., Editor]]:
    """Makes editors (`Editor(capabilities, folder, settings=...)`) that are closed with the test."""
    editors: list[Editor] = []

    def make(*arguments: Any, **options: Any) -> Editor:
        editors.append(Editor(*arguments, **options))
        return editors[-1]

    yield make
    for editor in editors:
        editor.close()


@pytest.fixture
def editor(open_editor: Callable[..., Editor]) -> Editor:
    """A modern client without a folder: its documents are untitled."""
    return open_editor()


@pytest.fixture(params=[MODERN, PULLING, MINIMAL], ids=["modern", "pulling", "minimal"])
def any_editor(request: pytest.FixtureRequest, open_editor: Callable[..., Editor]) -> Editor:
    """Each kind of client in turn."""
    return open_editor(request.param)


def _make_client() -> LanguageClient:
    """pytest-lsp's client, which also lets the server register what it wants to be told of, and ask it to ask again."""
    client = LanguageClient(converter_factory=_converter)
    register_lsp_features(client)
    # There is nothing to do: the tests tell the server what they want to.
    for method in (
        types.CLIENT_REGISTER_CAPABILITY,
        types.WORKSPACE_DIAGNOSTIC_REFRESH,
        types.WORKSPACE_SEMANTIC_TOKENS_REFRESH,
        types.WORKSPACE_INLAY_HINT_REFRESH,
        types.WORKSPACE_CODE_LENS_REFRESH,
    ):
        client.protocol.fm.add_builtin_feature(method, lambda _: None)
    return client


@pytest_lsp.fixture(config=ClientServerConfig(server_command=COMMAND, client_factory=_make_client))
async def client(lsp_client: LanguageClient, tmp_path: Path) -> AsyncIterator[None]:
    """pytest-lsp's client with all abilities but pulling, and a folder of its own (``client.folder``)."""
    capabilities = _converter().structure(MODERN, types.ClientCapabilities)
    lsp_client.folder = tmp_path  # type: ignore[attr-defined]
    await lsp_client.initialize_session(
        types.InitializeParams(
            capabilities=capabilities,
            root_uri=tmp_path.as_uri(),
            workspace_folders=[types.WorkspaceFolder(tmp_path.as_uri(), "work")],
        )
    )
    yield
    await lsp_client.shutdown_session()
