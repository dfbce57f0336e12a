"""Servers of tools that others wrote, as users start them: by their package, over standard streams and over HTTP.

``make test-all`` installs them: those of npm in ``tests/tools/servers``, that of pip in ``.venv-servers``.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.server.program import in_process
from tests.tools.mails import CLASS

from merrow_runtime.people.answering import answer, open_questions
from merrow_runtime.store.database import Store

ROOT = Path(__file__).resolve().parents[2]
NPM = Path(__file__).with_name("servers") / "node_modules" / "@modelcontextprotocol"
TIME = ROOT / ".venv-servers" / "bin" / "mcp-server-time"
NODE = shutil.which("node") or "node"
BY_NPM = pytest.mark.skipif(
    not NPM.is_dir(), reason="the servers are not in tests/tools/servers, where `make test-all` installs them"
)
BY_PIP = pytest.mark.skipif(
    not TIME.exists(), reason="the server is not in .venv-servers, where `make test-all` installs it"
)

pytestmark = pytest.mark.slow


def of_npm(name: str, *words: str) -> list[str]:
    return [NODE, str(NPM / f"server-{name}" / "dist" / "index.js"), *words]


@pytest.fixture(autouse=True)
def _workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))


def settings(*lines: str) -> None:
    Path("config").mkdir(exist_ok=True)
    Path("config/config.toml").write_text(
        "\n".join(("[servers.real]", "allow = true", f"timeout = {PATIENCE}", *lines, ""))
    )


def flow(tool: str, port: str, output: str, constants: str = "") -> None:
    given = f", with: '{constants}'" if constants else ""
    Path("flow.mmd").write_text(
        f"""---
workflow:
  tools: [real.{tool}]
---
flowchart TD
    PROBLEM([Given]):::Interface
    RETURN([Result]):::Interface
    USE[["Tool<br/>(tool: real.{tool}{given})"]]
    PROBLEM -->|{port}| USE
    USE -->|{output}:result| RETURN
"""
        + CLASS
    )


def ran(capsys: pytest.CaptureFixture[str], tool: str, value: str) -> str:
    """What a run gives, after the tool was pinned, and is the same when the server is asked again."""
    assert in_process(capsys, "tools", "pull", "real", tool, "--accept").code == 0
    assert in_process(capsys, "tools", "check").code == 0
    outcome = in_process(capsys, "run", "flow.mmd", "--input", f"PROBLEM={value}")
    assert outcome.code == 0, outcome.err + outcome.out
    return outcome.out


@BY_PIP
def test_the_time_server_of_pip(capsys: pytest.CaptureFixture[str]) -> None:
    settings(f"command = {json.dumps([str(TIME)])}")
    flow("convert_time", "time", "target", "source_timezone: UTC, target_timezone: Asia/Tokyo")
    assert "T21:00:00+09:00" in ran(capsys, "convert_time", "12:00")


@BY_NPM
def test_the_file_server_of_npm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "note.txt").write_text("what is in it")
    settings(f"command = {json.dumps(of_npm('filesystem', str(tmp_path)))}")
    flow("read_text_file", "path", "content")
    assert ran(capsys, "read_text_file", str(tmp_path / "note.txt")) == "what is in it\n"


@BY_NPM
def test_the_memory_server_of_npm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "memory.jsonl").write_text(
        json.dumps({"type": "entity", "name": "Ann", "entityType": "person", "observations": ["likes tea"]}) + "\n"
    )
    monkeypatch.setenv("MEMORY_FILE_PATH", str(tmp_path / "memory.jsonl"))
    settings(f"command = {json.dumps(of_npm('memory'))}", 'env = ["MEMORY_FILE_PATH"]')
    flow("search_nodes", "query", "entities")
    assert "likes tea" in ran(capsys, "search_nodes", "Ann")


@BY_NPM
def test_the_server_of_everything_asks_within_its_call(capsys: pytest.CaptureFixture[str]) -> None:
    settings(f"command = {json.dumps(of_npm('everything'))}")
    tool = "trigger-elicitation-request"
    assert in_process(capsys, "tools", "pull", "real", tool).code == 0
    Path("flow.mmd").write_text(
        f"""---
workflow:
  tools: [real.{tool}]
---
flowchart TD
    PROBLEM([Given]):::Interface
    RETURN([Result]):::Interface
    USE[["Tool<br/>(tool: real.{tool})"]]
    PROBLEM -->|after| USE
    USE --> RETURN
"""
        + CLASS
    )
    command = [sys.executable, "-m", "merrow_server", "run", "flow.mmd", "--input", "PROBLEM=x"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    answered = False
    end = time.monotonic() + PATIENCE
    while not answered and process.poll() is None and time.monotonic() < end:
        with closing(Store.open()) as store:
            for run in store.runs(1):
                for ask in open_questions(store, run.id):
                    answer(store, run.id, ask.visit.name, {"name": "Ann"})
                    answered = True
        time.sleep(0.05)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, out
    assert b"Ann" in out


@pytest.fixture
def everything() -> Iterator[str]:
    """The address of the server of everything over HTTP."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serving = subprocess.Popen(
        of_npm("everything", "streamableHttp"),
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}/mcp"
    serving.kill()
    serving.wait()


@BY_NPM
def test_the_server_of_everything_over_http(everything: str, capsys: pytest.CaptureFixture[str]) -> None:
    settings(f'url = "{everything}"')
    flow("echo", "message", "result")
    assert ran(capsys, "echo", "hello") == "Echo: hello\n"
