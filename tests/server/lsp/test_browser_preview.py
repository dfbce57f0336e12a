"""``merrow/preview``: the page of an open document, by a real server process and a client of HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import LanguageClient
from tests.patience import PATIENCE
from tests.server.lsp.client import message
from tests.server.program import GOOD

CHANGED = GOOD.replace("Problem", "Task")


async def events(http: httpx2.AsyncClient, path: str) -> AsyncIterator[tuple[str, Any]]:
    async with http.stream("GET", path) as answer:
        assert answer.status_code == 200
        name = ""
        async for line in answer.aiter_lines():
            key, _, value = line.partition(": ")
            if key == "event":
                name = value
            elif key == "data":
                yield name, json.loads(value)


def opened(client: LanguageClient, uri: str, text: str = GOOD) -> None:
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "mermaid", 1, text)))


def changed(client: LanguageClient, uri: str, version: int, text: str) -> None:
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(uri=uri, version=version),
            [types.TextDocumentContentChangeWholeDocument(text)],
        )
    )


async def asked(client: LanguageClient, **given: Any) -> str:
    answer = await client.protocol.send_request_async("merrow/preview", given)
    return str(answer["url"])


async def test_a_document_is_shown_as_it_is_in_the_editor(client: LanguageClient, tmp_path: Path) -> None:
    uri = (tmp_path / "flow.mmd").as_uri()
    opened(client, uri)
    url = await asked(client, uri=uri)
    found = re.fullmatch(r"(http://127\.0\.0\.1:\d+)(/[\w-]{43})/file/1", url)
    assert found is not None
    assert await asked(client, uri=uri) == url
    assert await asked(client, uri=uri, diagram=2) == f"{url}?diagram=2"
    untitled = "untitled:<b>other.mmd"
    opened(client, untitled)
    assert await asked(client, uri=untitled) == f"{found[1]}{found[2]}/file/2"
    async with httpx2.AsyncClient(base_url=found[1], timeout=PATIENCE) as http:
        assert (await http.get("/file/1")).status_code == 403
        other = await http.get(f"{found[2]}/file/2")
        assert "<b>" not in other.text
        assert "&lt;b&gt;other.mmd" in other.text
        async with contextlib.aclosing(events(http, f"{found[2]}/watch/1")) as told, asyncio.timeout(PATIENCE):
            graphs = (data for name, data in [await anext(told)] if name == "graph")
            assert next(graphs)["text"] == GOOD
            # Nothing of this is on disk.
            changed(client, uri, 2, CHANGED)
            async for name, data in told:
                if name == "graph" and data["text"] == CHANGED:
                    break
            client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
            async for name, data in told:
                if name == "problem":
                    assert data == "flow.mmd is closed in the editor; the page continues when it is open again."
                    break
            opened(client, uri)
            async for name, data in told:
                if name == "graph":
                    assert data["text"] == GOOD
                    break


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "merrow/preview needs `uri`, a text."),
        ({"uri": "untitled:x.mmd"}, "merrow/preview shows a document that is open; untitled:x.mmd is not."),
        ({"uri": "untitled:flow.mmd", "diagram": 0}, "must be a number from 1"),
        ({"uri": "untitled:flow.mmd", "diagram": True}, "must be a number from 1"),
    ],
)
def test_what_is_wrongly_asked_for_is_refused(editor: Any, given: dict[str, Any], words: str) -> None:
    editor.open(GOOD)
    with pytest.raises(JsonRpcException, match=re.escape(words)):
        editor.request("merrow/preview", given)


def test_the_pages_end_with_the_server_also_while_one_listens() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "merrow_server", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    item = {"uri": "untitled:flow.mmd", "languageId": "mermaid", "version": 1, "text": GOOD}
    try:
        process.stdin.write(
            message("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1)
            + message("initialized", {})
            + message("textDocument/didOpen", {"textDocument": item})
            + message("merrow/preview", {"uri": "untitled:flow.mmd"}, 2)
        )
        process.stdin.flush()
        said = b""
        while b'"url"' not in said:
            said += process.stdout.read1()
        found = re.search(rb'"url":\s*"([^"]+)"', said)
        assert found is not None
        url = found[1].decode()
        with httpx2.stream("GET", url.replace("/file/", "/watch/"), timeout=PATIENCE) as told:
            assert next(told.iter_lines()) == "event: graph"
            process.stdin.write(message("shutdown", None, 3) + message("exit"))
            process.stdin.flush()
            process.stdout.read()
            assert process.wait(PATIENCE) == 0
        with pytest.raises(httpx2.TransportError):
            httpx2.get(url, timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
