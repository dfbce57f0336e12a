"""Editors for the tests of the language server.

`open_editor` makes an editor in the test's own process (fast); `client` is pytest-lsp's, with a server process of its own. The
variants of clients: `MODERN`, `PULLING`, `MINIMAL` of `tests.server.lsp.editor`.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from pytest_lsp import ClientServerConfig, LanguageClient
from tests.server.lsp.client import make_client, session
from tests.server.lsp.editor import MINIMAL, MODERN, PULLING, Editor

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


@pytest_lsp.fixture(config=ClientServerConfig(server_command=COMMAND, client_factory=make_client))
async def client(lsp_client: LanguageClient, tmp_path: Path) -> AsyncIterator[None]:
    """pytest-lsp's client with all abilities but pulling, and a folder of its own (``client.folder``)."""
    lsp_client.folder = tmp_path  # type: ignore[attr-defined]
    await lsp_client.initialize_session(session(MODERN, tmp_path))
    yield
    await lsp_client.shutdown_session()
