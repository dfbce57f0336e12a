"""`merrow serve` as a command: its log file, its port, and what it says where it can't start."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from lsprotocol import types
from tests.server.lsp.client import exit_code, server_process, session
from tests.server.program import merrow, write


@pytest.mark.slow
async def test_a_log_is_written_to_the_file_that_is_named_and_to_no_other() -> None:
    Path("old.log").write_text("what stood here\n", "utf-8")
    for arguments, log in (((), None), (("--log-file", "new.log"), "new.log"), (("--log-file", "old.log"), "old.log")):
        before = {path.name for path in Path().iterdir()}
        async with server_process(*arguments) as client:
            await client.initialize_session(session())
            client.text_document_did_close(
                types.DidCloseTextDocumentParams(types.TextDocumentIdentifier("untitled:none"))
            )
            await client.wait_for_notification("window/logMessage")
            assert [one.message for one in client.log_messages] == ["untitled:none was closed, which is not open."]
            await client.shutdown_session()
            assert await exit_code(client) == 0
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
