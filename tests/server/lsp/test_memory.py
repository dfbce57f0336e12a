"""The memory of a server's process: what an hour of use takes comes back, however often something is asked."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.server.lsp.editor import MODERN
from tests.server.lsp.wire import Json, Wire, message

NODES = 2_000
MENUS = 12


def _mebibytes(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")) / 1024


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_menus_and_edits_leave_no_memory_behind(tmp_path: Path) -> None:
    nodes = [f'    N{number}["Custom<br/>(role: solver_{number})"]' for number in range(NODES)]
    edges = [f"    N{number} -->|input| N{number + 1}" for number in range(NODES - 1)]
    lines = ["flowchart TD", "    PROBLEM([P]) -->|input| N0", *nodes, *edges, f"    N{NODES - 1} --> RETURN([R])", ""]
    document = {"uri": (tmp_path / "f.mmd").as_uri()}
    row = 2 + NODES + NODES // 2
    end = len(lines[row])
    asked = count(1)
    with Wire() as server:

        def request(method: str, params: Json) -> Any:
            identifier = next(asked)
            server.send(message(method, params, identifier))
            return server.answer(identifier)["result"]

        def change(version: int, start: int, stop: int, text: str) -> None:
            place = {"start": {"line": row, "character": start}, "end": {"line": row, "character": stop}}
            changes = [{"range": place, "text": text}]
            versioned = {**document, "version": version}
            server.send(message("textDocument/didChange", {"textDocument": versioned, "contentChanges": changes}))

        def use(number: int) -> None:
            change(2 * number + 2, end, end, "ZZ")
            here = {"line": row, "character": 6}
            menu = {"range": {"start": here, "end": here}, "context": {"diagnostics": [], "triggerKind": 1}}
            assert request("textDocument/codeAction", {"textDocument": document, **menu})
            change(2 * number + 3, end, end + 2, "")
            request("textDocument/semanticTokens/full", {"textDocument": document})

        able = {"textDocument": MODERN["textDocument"]}
        request("initialize", {"processId": None, "rootUri": None, "capabilities": able})
        opened = {**document, "languageId": "mermaid", "version": 1, "text": "\n".join(lines)}
        server.send(message("initialized", {}), message("textDocument/didOpen", {"textDocument": opened}))
        for number in range(2):
            use(number)
        before = _mebibytes(server.process.pid)
        for number in range(2, MENUS):
            use(number)
        after = _mebibytes(server.process.pid)
    assert after < 1.3 * before, (before, after)
