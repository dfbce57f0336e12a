"""What is slow to import is imported only by what needs it: the package that reaches endpoints takes most of a second."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.patience import PATIENCE
from tests.runtime.openai_server import Reply, serving
from tests.server.lsp.client import message
from tests.server.program import write

FLOW = """\
flowchart LR
    PROBLEM([Question]):::Interface
    SAY["Custom<br/>(prompt: Name a bird.)"]
    RETURN([Answer]):::Interface
    PROBLEM -->|input| SAY --> RETURN
    classDef Interface fill:#e2e2f2
"""
DRAWN = """\
flowchart LR
    a([Letter]) --> b[Answer it]
    b --> c{Is it kind?}
    c -->|no| b
    c -->|yes| d([Answer])
"""
CLIENT = ("openai", "httpx2", "aiohttp", "pydantic", "mcp")
ANALYSIS = ("merrow_analysis.check", "merrow_analysis.graph.nodes", "lark")
SCRIPT = """
import atexit, sys
from merrow_server.cli import main
atexit.register(lambda: sys.stderr.write("\\n".join(["", *sys.modules, ""])))
sys.exit(main(sys.argv[1:]))
"""


def imported(*arguments: str, entered: bytes = b"") -> set[str]:
    """What a command has imported by its end."""
    command = [sys.executable, "-c", SCRIPT, *arguments]
    done = subprocess.run(command, input=entered, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr.decode()
    found = set(done.stderr.decode().split("\n"))
    assert "merrow_server.cli" in found
    return found


LANGUAGE_SERVER = (
    message("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1)
    + message("shutdown", None, 2)
    + message("exit")
)


@pytest.mark.parametrize(
    ("command", "without"),
    [
        ("--help", ("merrow_analysis.syntax", "merrow_analysis.text", "rich", "lark")),
        *((f"{name} --help", ANALYSIS) for name in ("graph", "metrics", "mutate", "crossover", "render")),
        ("fmt --diff flow.mmd", ANALYSIS[:2]),
        ("check flow.mmd", (*CLIENT, "rich", "pygls", "http", "asyncio", "pathspec")),
        ("check --as-workflow drawn.mmd", ("lark",)),
        ("metrics flow.mmd", CLIENT),
        ("run flow.mmd --input problem=x --dry-run --model m --base-url http://127.0.0.1:9/v1", CLIENT),
        ("run flow.mmd --input problem=x --base-url offline", CLIENT),
        ("tools list", CLIENT),
        ("serve", CLIENT),
    ],
)
def test_what_a_command_does_without_is_not_imported(command: str, without: tuple[str, ...]) -> None:
    write("flow.mmd", FLOW)
    write("drawn.mmd", DRAWN)
    assert not {*without} & imported(*command.split(), entered=LANGUAGE_SERVER if command == "serve" else b"")


def test_a_run_imports_it_and_its_replay_does_not() -> None:
    write("flow.mmd", FLOW)
    with serving(lambda _: Reply("Heron")) as server:
        run = ("run", "flow.mmd", "--input", "problem=x", "--model", "m", "--base-url", server.base_url)
        assert {"openai", "aiohttp"} <= imported(*run, "--record", "calls.jsonl")
    assert not {*CLIENT} & imported(*run, "--replay", "calls.jsonl")
