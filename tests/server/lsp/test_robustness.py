"""Clients that err, die or send what is no message: an error or a clean end, never a hang, and everything else goes on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types
from pytest_lsp import LanguageClient
from tests.patience import PATIENCE
from tests.runtime.workflows import CHAIN
from tests.server.lsp.client import (
    Json,
    Recording,
    exit_code,
    frame,
    make_client,
    message,
    on,
    process_of,
    send,
    server_process,
    session,
)
from tests.server.lsp.editor import Editor, ServerError
from tests.server.lsp.test_sync import BROKEN

from merrow_server.lsp import transport
from merrow_server.lsp.transport import Frames

pytestmark = pytest.mark.thinned(8, "robustness")


async def asked(client: LanguageClient, method: str, params: Any = None) -> int:
    """The code by which a request is refused."""
    with pytest.raises(ServerError) as refused:
        await asyncio.wait_for(asyncio.wrap_future(client.protocol.send_request(method, params)), PATIENCE)
    return refused.value.code


async def test_a_request_at_the_wrong_time_is_refused() -> None:
    async with server_process() as client:
        client.protocol.notify("textDocument/didOpen", {})
        assert await asked(client, "textDocument/hover", {}) == -32002
        assert len(cast(Recording, client.protocol).answers) == 1  # A notification has no answer.
        assert (await client.initialize_session(session())).capabilities
        assert await asked(client, "initialize", {"processId": None, "rootUri": None, "capabilities": {}}) == -32600
        assert await client.shutdown_async(None) is None
        assert await asked(client, "textDocument/hover", {}) == -32600
        client.exit(None)
        assert await exit_code(client) == 0


@pytest.mark.parametrize(
    ("piece", "code"),
    [
        (b"this is no header\r\n\r\n", -32700),
        (b"Content-Length: many\r\n\r\n", -32700),
        (b"Content-Length: 99999999999\r\n\r\n", -32700),
        (b"x" * 40_000, -32700),
        (frame(b"{not json"), -32700),
        (frame(b"\xff\xfe{}"), -32700),
        (frame(b"[" * 100_000), -32700),
        (frame([1, 2, 3]), -32600),
        (frame({"id": 3}), -32600),
        (frame({"jsonrpc": "2.0", "id": None, "method": 5}), -32600),
        (frame({"jsonrpc": "2.0", "id": [1], "method": "shutdown"}), -32600),
        (frame({"jsonrpc": "2.0", "id": {}, "method": "merrow/unknown"}), -32600),
    ],
    ids=[
        "header",
        "length",
        "huge",
        "garbage",
        "json",
        "bytes",
        "deep",
        "array",
        "version",
        "method",
        "list",
        "object",
    ],
)
@pytest.mark.thinned(24)
async def test_what_is_no_message_is_answered_and_passed_over(piece: bytes, code: int) -> None:
    async with server_process() as client:
        await client.initialize_session(session())
        send(client, piece)
        assert await asked(client, "merrow/unknown") == -32601
        refused = cast(Recording, client.protocol).answers[3 if b'"id": 3' in piece else None]
        assert refused["error"]["code"] == code


async def test_shutdown_while_commands_wait_for_answers_of_the_client(tmp_path: Path) -> None:
    uri = (tmp_path / "flow.mmd").as_uri()
    async with server_process() as client:
        questions: asyncio.Queue[Json] = asyncio.Queue()
        over = asyncio.Event()

        async def too_late(question: Json) -> None:
            questions.put_nowait(question)
            await over.wait()

        on(client, "merrow/input", too_late)
        await client.initialize_session(session({"experimental": {"merrowInput": True}}))
        item = types.TextDocumentItem(uri, "merrow", 1, CHAIN)
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        running = []
        for _ in range(2):
            command = types.ExecuteCommandParams("merrow.run", [{"uri": uri, "ask": True}])
            running.append(asyncio.ensure_future(client.workspace_execute_command_async(command)))
            assert (await asyncio.wait_for(questions.get(), PATIENCE))["uri"] == uri
        await asyncio.wait_for(client.shutdown_async(None), PATIENCE)
        for ended in await asyncio.gather(*running, return_exceptions=True):
            assert isinstance(ended, ServerError)
            assert ended.code == -32800
        over.set()
        client.exit(None)
        assert await exit_code(client) == 0


@pytest.mark.parametrize("initialized", [False, True])
async def test_the_server_ends_with_its_input(initialized: bool) -> None:
    async with server_process() as client:
        if initialized:
            await client.initialize_session(session())
        client.protocol.writer.close()  # type: ignore[union-attr]
        assert await exit_code(client) == 1


@pytest.mark.parametrize("how", ["exit", "SIGTERM", "SIGHUP"])
async def test_what_ends_the_server_without_shutdown_ends_it_as_the_end_of_its_client_does(how: str) -> None:
    if how != "exit" and os.name != "posix":
        pytest.skip("signals are of POSIX")
    async with server_process() as client:
        await client.initialize_session(session())
        if how == "exit":
            client.exit(None)
        else:
            process_of(client).send_signal(getattr(signal, how))
        assert await exit_code(client) == 1


async def test_the_server_ends_with_the_clients_process() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as parent:
        async with server_process("--log-file", "a.log") as client:
            said = session()
            said.process_id = parent.pid
            await client.initialize_session(said)
            parent.communicate(b"\n")
            assert await exit_code(client) == 1
    assert "The client's process is gone." in Path("a.log").read_text("utf-8")


async def test_a_client_that_stops_reading_ends_the_server_quietly(capfd: pytest.CaptureFixture[str]) -> None:
    async with server_process() as client:
        await client.initialize_session(session())
        # The input stays open: only the next answer can't be written.
        process_of(client).stdout._transport.close()  # type: ignore[union-attr]
        client.protocol.send_request("merrow/unknown")
        assert await exit_code(client) == 1
    assert capfd.readouterr().err == ""


async def test_a_client_on_a_port() -> None:
    command = [sys.executable, "-m", "merrow_server", "serve", "--tcp", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as server:
        assert server.stderr is not None
        try:
            client = make_client()
            await client.start_tcp("127.0.0.1", int(server.stderr.readline().strip(b".\r\n").rpartition(b":")[2]))
            assert (await client.initialize_session(session())).capabilities
            client.protocol.writer.close()  # type: ignore[union-attr]
            assert await asyncio.to_thread(server.wait, PATIENCE) == 1
        finally:
            server.kill()


def test_a_log_tells_of_a_crash_and_not_what_documents_say(tmp_path: Path) -> None:
    log = tmp_path / "merrow.log"
    program = (
        "import sys; from merrow_analysis.check import Analyser\n"
        "def fail(*_): raise KeyError('a secret of the document')\n"
        "Analyser.analysis = fail\n"
        "from pathlib import Path; from merrow_server.language_server import serve\n"
        "sys.exit(serve(log_file=Path(sys.argv[1])))"
    )
    process = subprocess.run(
        [sys.executable, "-c", program, str(log)],
        input=b"".join(
            [
                message("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1),
                message("initialized", {}),
                message(
                    "textDocument/didOpen",
                    {
                        "textDocument": {
                            "uri": "untitled:a.mmd",
                            "languageId": "mermaid",
                            "version": 1,
                            "text": "secret",
                        }
                    },
                ),
                message("textDocument/diagnostic", {"textDocument": {"uri": "untitled:a.mmd"}}, 2),
                message("workspace/executeCommand", {"command": "merrow.explain", "arguments": ["MW105"]}, 3),
                message("shutdown", None, 4),
                message("exit"),
            ]
        ),
        capture_output=True,
        timeout=PATIENCE * 2,
    )
    assert process.returncode == 0
    answers = {answer.get("id"): answer for answer in map(json.loads, Frames().feed(process.stdout))}
    assert [one["code"] for one in answers[2]["result"]["items"]] == ["MW590"]
    assert "MW105" in answers[3]["result"]
    written = log.read_text()
    assert "KeyError" in written
    assert "Checking a diagram failed" in written
    assert "secret" not in written
    assert b"secret" not in process.stdout


def test_a_failing_feature_leaves_the_others_alive(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = editor.open(BROKEN)
    monkeypatch.setattr("merrow_analysis.formatting.document_edits", lambda *_: 1 / 0)
    with pytest.raises(ServerError) as raised:
        editor.request(
            "textDocument/formatting", {"textDocument": {"uri": uri}, "options": {"tabSize": 4, "insertSpaces": True}}
        )
    assert raised.value.code == -32603
    assert "zero" not in raised.value.message
    editor.change(uri, {"text": "flowchart TD\n"})
    assert "MW006" not in editor.codes(uri)


def test_unknown_documents_and_odd_positions(editor: Editor, caplog: pytest.LogCaptureFixture) -> None:
    uri = editor.open(BROKEN)
    for params in (
        {"textDocument": {"uri": "file:///no/such/file.mmd"}, "position": {"line": 0, "character": 0}},
        {"textDocument": {"uri": "nonsense"}, "position": {"line": 0, "character": 0}},
        {"textDocument": {"uri": uri}, "position": {"line": 10_000, "character": 10_000}},
        {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 10_000}},
    ):
        editor.server.locate(params["textDocument"]["uri"], _position(params["position"]))
        for method in ("textDocument/hover", "textDocument/definition", "textDocument/completion"):
            with contextlib.suppress(ServerError):
                editor.request(method, params)
    editor.notify(
        "textDocument/didChange", {"textDocument": {"uri": "untitled:other", "version": 2}, "contentChanges": []}
    )
    assert caplog.messages == ["A change of untitled:other came, which is not open."]
    editor.notify("textDocument/didClose", {"textDocument": {"uri": "untitled:other"}})
    far = {"start": {"line": 999, "character": 0}, "end": {"line": 9999, "character": 5}}
    editor.change(uri, {"range": far, "text": "    A --> B\n"})
    assert editor.server.diagrams(uri)[0].text == editor.texts[uri] == BROKEN + "    A --> B\n"


def _position(wire: dict[str, int]) -> types.Position:
    return types.Position(wire["line"], wire["character"])


def test_parameters_that_are_none(editor: Editor) -> None:
    with pytest.raises(ServerError) as raised:
        editor.request("textDocument/diagnostic", {"textDocument": 5})
    assert raised.value.code == -32602
    with pytest.raises(ServerError) as raised:
        editor.request("workspace/executeCommand", {"command": "merrow.nonsense"})
    assert raised.value.code == -32602


def test_versions_that_go_back_are_logged_and_the_text_is_the_clients(
    editor: Editor, caplog: pytest.LogCaptureFixture
) -> None:
    uri = editor.open(BROKEN)
    editor.versions[uri] = -5
    editor.change(uri, {"text": "flowchart TD\n    X --> Y\n"})
    assert editor.server.diagrams(uri)[0].text == "flowchart TD\n    X --> Y\n"
    assert caplog.messages == [f"A change of {uri} to version -4 came after version 1."]
    editor.change(uri, {"text": "flowchart TD\n"})
    assert len(caplog.messages) == 1


def test_a_request_that_is_cancelled_before_it_began(editor: Editor) -> None:
    params = {"textDocument": {"uri": editor.open(BROKEN)}}
    with editor.together():
        begun = editor.begin("textDocument/diagnostic", params)
        editor.cancel(begun)
    with pytest.raises(ServerError) as refused:
        editor.result(begun)
    assert refused.value.code == -32800


@pytest.mark.parametrize("params", ["null", "[]", "{}", '{"id": ["late"]}', '"late"', '{"id": "late"'])
def test_a_cancellation_that_names_no_request_takes_no_other_message_with_it(editor: Editor, params: str) -> None:
    asked = {"textDocument": {"uri": editor.open(BROKEN)}}
    with editor.together():
        begun = editor.begin("textDocument/diagnostic", asked)
        cancel = f'{{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {params.replace("late", begun)}}}'
        send(editor.client, frame(cancel.encode()))
    assert editor.result(begun)


HEADERS = st.sampled_from(
    [b"Content-Length: 2\r\n\r\n{}", b"Content-Length: x\r\n\r\n", b"Content-Length: 3\r\n\r\n", b"\r\n\r\n", b"\n\n"]
)


@given(st.lists(HEADERS | st.binary(max_size=60), max_size=12))
def test_any_bytes_mean_the_same_however_they_are_cut(pieces: list[bytes]) -> None:
    in_pieces, at_once = Frames(), Frames()
    bodies = [body for piece in pieces for body in in_pieces.feed(piece)]
    assert bodies == list(at_once.feed(b"".join(pieces)))
    assert in_pieces.broken == at_once.broken


def test_garbage_without_an_end_is_counted_once_and_forgotten() -> None:
    frames = Frames()
    assert list(frames.feed(b"x" * 16_384)) == []
    assert frames.broken == 0
    assert list(frames.feed(b"x")) == []
    for _ in range(3):
        assert list(frames.feed(b"x")) == []
    assert list(frames.feed(frame(b"{}"))) == [b"{}"]
    assert frames.broken == 1
    # A header that begins in it is not lost.
    assert list(frames.feed(b"x" * 20_000 + b"Content-Length")) == []
    assert list(frames.feed(b": 2\r\n\r\n{}")) == [b"{}"]
    assert frames.broken == 2


@settings(max_examples=50)
@given(st.lists(st.binary(max_size=80), min_size=1, max_size=8), st.lists(st.integers(1, 50), min_size=1, max_size=10))
def test_frames_are_cut_wherever_the_stream_is(bodies: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(frame(body) for body in bodies)
    frames, found, start = Frames(), list[bytes](), 0
    while start < len(stream):
        size = cuts[start % len(cuts)]
        found += frames.feed(stream[start : start + size])
        start += size
    assert found == bodies
    assert frames.broken == 0


def test_who_is_alive() -> None:
    assert transport.is_alive(os.getpid())
    assert not transport.is_alive(0)
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
        assert not transport.is_alive(process.pid)
