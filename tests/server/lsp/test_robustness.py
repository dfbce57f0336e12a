"""Clients that err, die or send what is no message: an error or a clean end, never a hang, and everything else goes on."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types
from tests.runtime.workflows import CHAIN
from tests.server.lsp.editor import Editor, ServerError
from tests.server.lsp.test_sync import BROKEN
from tests.server.lsp.wire import WAIT, Wire, frame, message

from merrow_server.lsp import transport
from merrow_server.lsp.transport import Frames

pytestmark = pytest.mark.thinned(8, "robustness")


def test_a_request_before_initialize_is_refused(open_editor: Callable[..., Editor]) -> None:
    with Wire() as wire:
        wire.send(message("textDocument/hover", {}, 7))
        assert wire.answer(7)["error"]["code"] == -32002
        wire.send(message("textDocument/didOpen", {}), message("textDocument/hover", {}, 6))
        assert wire.receive()["id"] == 6  # A notification has no answer.
        assert "capabilities" in wire.initialize()["result"]
        wire.send(message("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 8))
        assert wire.answer(8)["error"]["code"] == -32600
        wire.send(message("shutdown", None, 9))
        assert wire.answer(9)["result"] is None
        wire.send(message("textDocument/hover", {}, 10))
        assert wire.answer(10)["error"]["code"] == -32600
        wire.send(message("exit"))
        assert wire.exit_code() == 0


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
def test_what_is_no_message_is_answered_and_passed_over(piece: bytes, code: int) -> None:
    with Wire() as wire:
        wire.initialize()
        wire.send(piece, message("merrow/unknown", None, 5))
        refused = wire.answer(3 if b'"id": 3' in piece else None)
        assert refused["error"]["code"] == code
        assert wire.answer(5)["error"]["code"] == -32601


def test_shutdown_while_commands_wait_for_answers_of_the_client(tmp_path: Path) -> None:
    uri = (tmp_path / "flow.mmd").as_uri()
    with Wire() as wire:
        capabilities = {"experimental": {"merrowInput": True}}
        wire.send(message("initialize", {"processId": None, "rootUri": None, "capabilities": capabilities}, 0))
        wire.answer(0)
        document = {"uri": uri, "languageId": "merrow", "version": 1, "text": CHAIN}
        wire.send(message("initialized", {}), message("textDocument/didOpen", {"textDocument": document}))
        for number in (1, 2):
            asked = {"command": "merrow.run", "arguments": [{"uri": uri, "ask": True}]}
            wire.send(message("workspace/executeCommand", asked, number))
            assert wire.notification("merrow/input")["uri"] == uri
        wire.send(message("shutdown", None, 9))
        for number in (1, 2):
            assert wire.answer(number)["error"]["code"] == -32800
        assert wire.answer(9)["result"] is None
        wire.send(message("exit"))
        assert wire.exit_code() == 0


def test_exit_without_shutdown_is_an_error() -> None:
    with Wire() as wire:
        wire.initialize()
        wire.send(message("exit"))
        assert wire.exit_code() == 1


@pytest.mark.parametrize("initialized", [False, True])
def test_the_server_ends_with_its_input(initialized: bool) -> None:
    with Wire() as wire:
        if initialized:
            wire.initialize()
        wire.close_input()
        assert wire.exit_code() == 1


@pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX")
@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP"])
def test_a_signal_ends_the_server_as_the_end_of_its_client_does(number: str) -> None:
    with Wire() as wire:
        wire.initialize()
        wire.process.send_signal(getattr(signal, number))
        assert wire.exit_code() == 1


def test_the_server_ends_with_the_clients_process() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as parent, Wire() as wire:
        wire.initialize(parent.pid)
        parent.communicate(b"\n")
        assert wire.exit_code() == 1


def test_a_client_that_stops_reading_ends_the_server_quietly() -> None:
    command = [sys.executable, "-m", "merrow_server", "serve"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdin.write(message("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 0))
        server.stdin.flush()
        assert server.stdout.read(1)
        # The input stays open: only the next answer can't be written.
        server.stdout.close()
        server.stdin.write(message("merrow/unknown", None, 5))
        server.stdin.flush()
        try:
            assert server.wait(WAIT) == 1
        finally:
            server.kill()
        assert server.stderr.read() == b""


def test_a_client_on_a_port() -> None:
    with Wire("--tcp", "0") as wire:
        assert wire.process.stderr is not None
        port = int(wire.process.stderr.readline().strip(b".\r\n").rpartition(b":")[2])
        with socket.create_connection(("127.0.0.1", port), WAIT) as connection:
            connection.settimeout(WAIT)
            connection.sendall(message("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1))
            frames, answers = Frames(), list[bytes]()
            while not answers:
                answers += frames.feed(connection.recv(4096))
            assert "capabilities" in json.loads(answers[0])["result"]
        assert wire.exit_code() == 1


def test_a_port_that_is_taken_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, Wire("--tcp", str(taken.getsockname()[1])) as wire:
        assert wire.exit_code() == 2
        assert wire.process.stderr is not None
        said = wire.process.stderr.read().decode()
        assert said.count("\n") == 1
        assert "Traceback" not in said


def test_a_log_tells_of_a_crash_and_not_what_documents_say(tmp_path: Path) -> None:
    log = tmp_path / "merrow.log"
    program = (
        "import sys; from merrow_analysis.check import Analyser\n"
        "def fail(*_): raise KeyError('a secret of the document')\n"
        "Analyser.analysis = fail\n"
        "from pathlib import Path; from merrow_server.lsp.start import serve\n"
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
        timeout=WAIT * 2,
    )
    assert process.returncode == 0
    answers = {answer.get("id"): answer for answer in map(json.loads, Frames().feed(process.stdout))}
    assert answers[2]["error"]["code"] == -32603
    assert "MW105" in answers[3]["result"]
    written = log.read_text()
    assert "KeyError" in written
    assert "textDocument/diagnostic failed" in written
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
    for arguments in ([], ["untitled:none"], [5], [None, {}]):
        for command in ("merrow.fix", "merrow.metrics", "merrow.graph", "merrow.explain"):
            with pytest.raises(ServerError) as raised:
                editor.request("workspace/executeCommand", {"command": command, "arguments": arguments})
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


LATE = {"jsonrpc": "2.0", "id": "late", "method": "textDocument/diagnostic"}


def test_a_request_that_is_cancelled_before_it_began(editor: Editor) -> None:
    request = {**LATE, "params": {"textDocument": {"uri": editor.open(BROKEN)}}}
    cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "late"}}
    editor.send_bytes(json.dumps(request).encode(), json.dumps(cancel).encode())
    assert editor.answers["late"]["error"]["code"] == -32800  # type: ignore[index]


@pytest.mark.parametrize("params", ["null", "[]", "{}", '{"id": ["late"]}', '"late"', '{"id": "late"'])
def test_a_cancellation_that_names_no_request_takes_no_other_message_with_it(editor: Editor, params: str) -> None:
    request = {**LATE, "params": {"textDocument": {"uri": editor.open(BROKEN)}}}
    cancel = f'{{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {params}}}'
    editor.send_bytes(json.dumps(request).encode(), cancel.encode())
    editor.until(lambda: "late" in editor.answers)
    assert "result" in editor.answers["late"]


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
