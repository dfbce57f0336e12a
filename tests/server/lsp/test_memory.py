"""The memory of a server's process: what an hour of use takes comes back, however often something is asked."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.server.lsp.client import Json, process_of, server_process, session
from tests.server.lsp.editor import MODERN

NODES = 2_000
MENUS = 12


def _mebibytes(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")) / 1024


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
async def test_menus_and_edits_leave_no_memory_behind(tmp_path: Path) -> None:
    nodes = [f'    N{number}["Custom<br/>(role: solver_{number})"]' for number in range(NODES)]
    edges = [f"    N{number} -->|input| N{number + 1}" for number in range(NODES - 1)]
    lines = ["flowchart TD", "    PROBLEM([P]) -->|input| N0", *nodes, *edges, f"    N{NODES - 1} --> RETURN([R])", ""]
    document = {"uri": (tmp_path / "f.mmd").as_uri()}
    row = 2 + NODES + NODES // 2
    end = len(lines[row])
    async with server_process() as client:

        async def request(method: str, params: Json) -> Any:
            return await asyncio.wait_for(client.protocol.send_request_async(method, params), PATIENCE)

        def change(version: int, start: int, stop: int, text: str) -> None:
            place = {"start": {"line": row, "character": start}, "end": {"line": row, "character": stop}}
            changes = [{"range": place, "text": text}]
            versioned = {**document, "version": version}
            client.protocol.notify("textDocument/didChange", {"textDocument": versioned, "contentChanges": changes})

        async def use(number: int) -> None:
            change(2 * number + 2, end, end, "ZZ")
            here = {"line": row, "character": 6}
            menu = {"range": {"start": here, "end": here}, "context": {"diagnostics": [], "triggerKind": 1}}
            assert await request("textDocument/codeAction", {"textDocument": document, **menu})
            change(2 * number + 3, end, end + 2, "")
            await request("textDocument/semanticTokens/full", {"textDocument": document})

        able = {"textDocument": MODERN["textDocument"]}
        await client.initialize_session(session(able))
        opened = {**document, "languageId": "mermaid", "version": 1, "text": "\n".join(lines)}
        client.protocol.notify("textDocument/didOpen", {"textDocument": opened})
        for number in range(2):
            await use(number)
        before = _mebibytes(process_of(client).pid)
        for number in range(2, MENUS):
            await use(number)
        after = _mebibytes(process_of(client).pid)
    assert after < 1.3 * before, (before, after)
