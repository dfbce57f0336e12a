"""The package that reaches endpoints takes most of a second to import: only what calls one imports it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.patience import PATIENCE
from tests.runtime.openai_server import Reply, serving
from tests.server.program import write

FLOW = """\
flowchart LR
    PROBLEM([Question]):::Interface
    SAY["Custom<br/>(prompt: Name a bird.)"]
    RETURN([Answer]):::Interface
    PROBLEM -->|input| SAY --> RETURN
    classDef Interface fill:#e2e2f2
"""
HEAVY = ("openai", "httpx2", "aiohttp", "pydantic")
SCRIPT = f"""
import sys
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in {HEAVY!r}:
            sys.stderr.write(f"imported {{name}}\\n")
sys.meta_path.insert(0, Watch())
from merrow_server.cli import main
sys.exit(main(sys.argv[1:]))
"""


def imported(*arguments: str, entered: bytes = b"") -> set[str]:
    """Which of them a command imports, by its end."""
    command = [sys.executable, "-c", SCRIPT, *arguments]
    done = subprocess.run(command, input=entered, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return {name for name in HEAVY if f"imported {name}\n" in done.stderr.decode()}


def message(text: str) -> bytes:
    return f"Content-Length: {len(text)}\r\n\r\n{text}".encode()


LANGUAGE_SERVER = (
    message(
        '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"processId": null, "rootUri": null, "capabilities": {}}}'
    )
    + message('{"jsonrpc": "2.0", "id": 2, "method": "shutdown"}')
    + message('{"jsonrpc": "2.0", "method": "exit"}')
)


@pytest.mark.parametrize(
    "command",
    [
        ("check", "flow.mmd"),
        ("metrics", "flow.mmd"),
        ("run", "flow.mmd", "--input", "problem=x", "--dry-run", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"),
        ("run", "flow.mmd", "--input", "problem=x", "--base-url", "offline"),
        ("serve",),
    ],
    ids=" ".join,
)
def test_what_calls_no_endpoint_does_without(command: tuple[str, ...]) -> None:
    write("flow.mmd", FLOW)
    assert imported(*command, entered=LANGUAGE_SERVER if command == ("serve",) else b"") == set()


def test_a_run_imports_it_and_its_replay_does_not() -> None:
    write("flow.mmd", FLOW)
    with serving(lambda _: Reply("Heron")) as server:
        run = ("run", "flow.mmd", "--input", "problem=x", "--model", "m", "--base-url", server.base_url)
        assert {"openai", "aiohttp"} <= imported(*run, "--record", "calls.jsonl")
    assert imported(*run, "--replay", "calls.jsonl") == set()
