"""`merrow serve` as a command: its log file, its port, and what it says where it can't start."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.server.lsp.wire import Wire, message
from tests.server.program import merrow, write


@pytest.mark.slow
def test_a_log_is_written_to_the_file_that_is_named_and_to_no_other() -> None:
    Path("old.log").write_text("what stood here\n", "utf-8")
    for arguments, log in (((), None), (("--log-file", "new.log"), "new.log"), (("--log-file", "old.log"), "old.log")):
        before = {path.name for path in Path().iterdir()}
        with Wire(*arguments) as wire:
            wire.initialize()
            wire.send(message("textDocument/didClose", {"textDocument": {"uri": "untitled:none"}}))
            assert wire.notification("window/logMessage")["message"] == "untitled:none was closed, which is not open."
            wire.send(message("shutdown", None, 1), message("exit"))
            assert wire.exit_code() == 0
        assert {path.name for path in Path().iterdir()} == before | ({log} if log else set())
        if log is not None:
            (line,) = Path(log).read_text("utf-8").removeprefix("what stood here\n").splitlines()
            assert line.endswith("WARNING merrow_server.lsp.server: untitled:none was closed, which is not open.")
    assert Path("old.log").read_text("utf-8").startswith("what stood here\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["no-folder/merrow.log", "file/merrow.log"])
def test_a_log_that_cannot_be_written_is_one_sentence(name: str) -> None:
    write("file", "")
    outcome = merrow("serve", "--log-file", name)
    assert (outcome.code, outcome.out) == (2, "")
    (line,) = outcome.err.splitlines()
    assert f"The log file {name} can't be written: " in line


def test_a_port_that_is_taken_is_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        outcome = merrow("serve", "--tcp", str(taken.getsockname()[1]))
    assert (outcome.code, outcome.out) == (2, "")
    (line,) = outcome.err.splitlines()
    assert "The language server can't start: " in line


@pytest.mark.slow
def test_the_exit_code_says_whether_the_client_asked_for_the_end() -> None:
    for asked, code in ((True, 0), (False, 1)):
        begin = message("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1)
        end = [message("shutdown", None, 2)] if asked else []
        done = subprocess.run(
            [sys.executable, "-m", "merrow_server", "serve", "--stdio"],
            input=b"".join([begin, *end, message("exit")]),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (done.returncode, done.stderr) == (code, b"")


@pytest.mark.slow
def test_the_log_says_that_the_clients_process_is_gone() -> None:
    with (
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as parent,
        Wire("--log-file", "a.log") as wire,
    ):
        wire.initialize(parent.pid)
        parent.communicate(b"\n")
        assert wire.exit_code() == 1
    assert "The client's process is gone." in Path("a.log").read_text("utf-8")
