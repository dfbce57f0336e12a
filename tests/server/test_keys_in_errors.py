"""A key that an endpoint repeats in its errors is in nothing that a command prints, and in no file that it leaves."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tests.patience import PATIENCE
from tests.runtime.openai_server import Received, Status, Step, serving
from tests.server.program import merrow, write
from tests.server.test_up_command import up

KEY = "hush-7f3Q9zL2mW8pV5xD"
FORMS = (
    KEY,
    KEY.upper(),
    " ".join(KEY),
    KEY[::-1],
    KEY.encode().hex(),
    base64.b64encode(f"Bearer {KEY}".encode()).decode(),
)
FLOW = """\
---
workflow: {model: m-1}
---
flowchart TD
    PROBLEM([Problem]) -->|input| A@{ op: Custom, prompt: "Solve it." }
    A --> RETURN([Answer])
"""
DATA = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "exact")
DOORS = {
    "run": ["run", "flow.mmd", "--input", "problem=x"],
    "run as JSON": ["run", "flow.mmd", "--input", "problem=x", "--json"],
    "run with a recording": ["run", "flow.mmd", "--input", "problem=x", "--record", "calls.jsonl"],
    "test": ["test", "flow.mmd", "--record"],
    "evaluate": ["evaluate", "flow.mmd", *DATA],
    "optimize": ["optimize", "flow.mmd", *DATA, "--small", "--budget-evaluations", "60", "--out", "found"],
    "suggest": ["suggest", "flow.mmd", "--yes"],
    "plan": ["plan", "Write a book.", "--all", "plans"],
    "extract": [
        "extract",
        "own.jsonl",
        "--gold",
        "answer",
        "--metric",
        "exact",
        "--solution",
        "answer",
        "-o",
        "o.yaml",
    ],
}


def repeats(request: Received) -> Step:
    """An error with the header as it came, and in the forms in which servers show what they were sent."""
    assert request.headers["authorization"] == f"Bearer {KEY}"
    return Status(400, f"No entry for {request.headers['authorization']} among {' | '.join(FORMS)}")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with serving(repeats) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        write("flow.mmd", FLOW)
        write("flow.cases.yaml", "cases:\n  - {id: one, inputs: {problem: x}, expect: {exact: y}}\n")
        rows = [{"id": f"q{n}", "problem": f"What is {n}?", "answer": str(n)} for n in range(12)]
        write("own.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        yield tmp_path
        assert server.requests


def check(said: str, folder: Path) -> None:
    """Nothing of the key is in a text or in a file."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.suffix.startswith(".sqlite") or "journal" in path.name for path in files), files
    texts = {"what is printed": said.encode()} | {str(path): path.read_bytes() for path in files}
    for name, text in texts.items():
        for form in FORMS:
            assert form.encode() not in text, (name, form)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.thinned(16)
def test_a_key_in_an_error_is_neither_printed_nor_kept(door: str, folder: Path) -> None:
    done = merrow(*DOORS[door])
    said = done.out + done.err
    if door == "evaluate":
        [one] = merrow("evaluations", "--format", "json").json
        said += merrow("show", one["evaluation"], "--format", "json").out
    elif door.startswith("run"):
        said += merrow("show").out
    assert "[hidden]" in said
    check(said, folder)


@pytest.mark.slow
def test_a_key_in_an_error_is_not_in_an_answer_of_a_service(folder: Path) -> None:
    with up() as service:
        answer = service.post({"PROBLEM": "x"})
        assert answer.status_code == 500
        run = answer.json()["run"]
        events = service.client.get(f"/runs/{run}/events").text
        again = service.client.get(f"/runs/{run}").text
        called = httpx2.post(
            f"{service.url}/mcp",
            headers={**service.headers, "Accept": "application/json, text/event-stream"},
            json={
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "flow", "arguments": {"PROBLEM": "x"}},
            },
            timeout=PATIENCE,
        ).text
        service.end()
        for said in (answer.text, events, again):
            assert "[hidden]" in said
        check(answer.text + events + again + called + service.told, folder)


@pytest.mark.slow
def test_a_key_in_an_error_is_not_shown_by_a_compiled_program(folder: Path) -> None:
    assert merrow("compile", "flow.mmd", "-o", "flow.py").code == 0
    done = subprocess.run([sys.executable, "-I", "flow.py", "--input", "PROBLEM=x"], capture_output=True, text=True)
    assert done.returncode
    assert "[hidden]" in done.stdout + done.stderr, done
    for form in FORMS:
        assert form not in done.stdout + done.stderr
