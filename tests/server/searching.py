"""Searches from the command line against an endpoint on loopback, whose answers follow from what it is asked alone."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step, serving
from tests.server.program import Outcome, merrow, write

FLOW = """\
---
workflow: {model: m-1}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "first"}
    B@{op: Custom, prompt: "second"}
    RETURN([Answer]):::Interface
    PROBLEM --> A --> B --> RETURN
"""
SINGLE = """\
flowchart TD
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "first", model: m-1}
    RETURN([Answer]):::Interface
    PROBLEM --> A --> RETURN
"""
OWN = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "contains")
LIMITED = (*OWN, "--strategy", "guided", "--budget-evaluations", "120")


def answer(request: Received) -> Step:
    """Yes or no for a number, the more often yes the longer the question has become; as JSON where that is asked for."""
    text = json.dumps(request.body["messages"])
    number = re.findall(r"\d+", request.body["messages"][-1]["content"])
    yes = crc32(text.encode()) % 100 < min(90, 30 + len(text) // 20)
    said = f"{'yes' if yes else 'no'}, {number[0] if number else 0}"
    wanted = request.body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    properties = wanted.get("properties")
    if properties:
        said = json.dumps({name: _filled(one, said) for name, one in properties.items()})
    return Reply(said, delay=0.001)


def lucky(request: Received) -> Step:
    """Rarely right by the first prompt alone, nearly always where anybody else has a look."""
    said = json.dumps(request.body["messages"])
    asked = re.search(r"What is (\d+)", said)
    if asked is None:  # What another one has answered is passed on.
        return Reply((re.findall(r"[\d.]*\d", said) or ["7.5"])[-1])
    luck = int(hashlib.sha256(said.encode()).hexdigest(), 16) % 100
    is_alone = request.body["messages"][0]["content"].startswith("first")
    return Reply(str(2 * int(asked[1])) if luck < (10 if is_alone else 97) else "7.5")


def question(request: Received) -> str:
    """All that is asked: several answers to the same prompt differ in temperature and seed."""
    return json.dumps(request.body, sort_keys=True)


def _filled(schema: dict[str, Any], said: str) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    return {"array": [], "integer": 1, "number": 1, "boolean": True}.get(schema.get("type", ""), said)


def data(count: int, name: str = "own.jsonl") -> None:
    rows = [{"id": f"q{n}", "problem": f"Is {n} a number?", "answer": "yes"} for n in range(count)]
    write(name, "".join(json.dumps(row) + "\n" for row in rows))


@contextmanager
def place(monkeypatch: pytest.MonkeyPatch, folder: Path, server: OpenAIServer) -> Iterator[None]:
    """A folder with a state of its own, a workflow and data."""
    folder.mkdir(exist_ok=True)
    with monkeypatch.context() as here:
        here.chdir(folder)
        here.setenv("MERROW_STATE_DIR", str(folder / "state"))
        here.setenv("MERROW_CONFIG_DIR", str(folder / "config"))
        here.setenv("OPENAI_BASE_URL", server.base_url)
        here.setenv("OPENAI_API_KEY", "sk-test")
        write("flow.mmd", FLOW)
        data(30)
        yield


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with serving(answer) as server, place(monkeypatch, tmp_path, server):
        yield server


def optimize(*more: str) -> Outcome:
    return merrow("optimize", "flow.mmd", *more)


def begun(*more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "merrow_server", "optimize", "flow.mmd", *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def newest() -> dict[str, Any]:
    found: dict[str, Any] = merrow("optimizations", "--format", "json").json[0]
    return found


_TIMES_AND_IDS = ("search", "started", "seconds", "folder", "workflow", "endpoint", "dataset", "run")


def record(search: str) -> str:
    """All of a search as it is shown, less times and ids."""
    shown = merrow("show", search, "--format", "json")
    assert shown.code == 0, shown.err
    lines = [json.dumps(_bare(json.loads(line))) for line in shown.out.splitlines()]
    return re.sub(r"127\.0\.0\.1:\d+", "ENDPOINT", "\n".join(lines))


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _bare(one) for name, one in value.items() if name not in _TIMES_AND_IDS}
    return [_bare(one) for one in value] if isinstance(value, list) else value
