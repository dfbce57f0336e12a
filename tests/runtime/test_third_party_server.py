"""Whole runs against a server of the OpenAI protocol that others wrote (npm ``@copilotkit/aimock``), on loopback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from tests.patience import PATIENCE
from tests.server.program import in_process

HERE = Path(__file__).parent / "third_party"
EXAMPLE = Path(__file__).parents[2] / "examples" / "gsm8k.mmd"
TEXT = "4 * 42 = 168\n5 * (168 + 198) - 380 = 1450\n1450"
PROGRAM = "```python\ndef solve():\n    return 5 * (4 * 42 + 18 * 11) - 380\n```"
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}

Capture = pytest.CaptureFixture[str]


class ThirdParty:
    """The server's process, which is spoken to by lines."""

    def __init__(self, process: subprocess.Popen[str], answers: list[Any]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._to: IO[str] = process.stdin
        self._from: IO[str] = process.stdout
        self.base_url = f"{self._said(json.dumps(answers))}/v1"

    @property
    def requests(self) -> list[dict[str, Any]]:
        return list(json.loads(self._said("requests")))

    def _said(self, line: str) -> str:
        self._to.write(f"{line}\n")
        self._to.flush()
        return self._from.readline().strip()


def says(words: str, text: str, **more: Any) -> dict[str, Any]:
    return {"match": {"systemMessage": words, **more}, "response": {"content": text, "usage": USAGE}}


ANSWERS = [
    {
        "match": {"systemMessage": "Solve the problem step by step", "sequenceIndex": 0},
        "response": {
            "error": {"message": "Slow down.", "type": "rate_limit_error"},
            "status": 429,
            "retryAfter": 0,
        },
    },
    says("Solve the problem step by step", TEXT),
    says("Write a Python 3 program", PROGRAM),
    says("Find the result that most", json.dumps({"thought": "Both say 1450.", "choice": "B"})),
]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThirdParty]:
    """Where it isn't installed the test is skipped, or fails if ``CI`` or ``MERROW_REQUIRE_AIMOCK`` is set."""
    node = shutil.which("node")
    if node is None or not (HERE / "node_modules" / "@copilotkit" / "aimock").exists():
        say = pytest.fail if os.environ.get("CI") or os.environ.get("MERROW_REQUIRE_AIMOCK") else pytest.skip
        say("aimock is not installed; `cd tests/runtime/third_party && npm ci` installs it (Node 20.15 or newer)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    process = subprocess.Popen(
        [node, "server.mjs"], cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    )
    try:
        yield ThirdParty(process, ANSWERS)
    finally:
        process.communicate(timeout=PATIENCE)


def run(capture: Capture, server: ThirdParty, *arguments: str) -> Any:
    command = ["run", str(EXAMPLE), "--input", "problem=How much is left?", "--base-url", server.base_url, *arguments]
    return in_process(capture, *command)


@pytest.mark.slow
def test_a_run_gets_its_answers_counts_their_tokens_and_waits_as_it_is_told(
    server: ThirdParty, capsys: Capture
) -> None:
    outcome = run(capsys, server)
    assert (outcome.out, outcome.code) == ("1450\n", 0), outcome.err
    assert "SOLVE tries again" in outcome.err
    assert "HTTP 429: Slow down" in outcome.err
    assert "3 calls, 360 tokens" in outcome.err
    assert sorted(request["status"] for request in server.requests) == [200, 200, 200, 429]
    assert not any(request["stream"] for request in server.requests)
    assert TEXT in server.requests[-1]["messages"][-1]["content"]


@pytest.mark.slow
def test_answers_are_streamed_and_their_tokens_counted(server: ThirdParty, capsys: Capture) -> None:
    outcome = run(capsys, server, "--json")
    events = [json.loads(line) for line in outcome.out.splitlines()]
    assert events[-1]["event"] == "run_finished", events[-1]
    assert events[-1]["outputs"] == {"RETURN": "1450"}
    usage = events[-1]["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["calls"]) == (300, 60, 3)
    assert "estimated" not in usage
    pieces = [event["text"] for event in events if event["event"] == "node_output" and event["node"] == "SOLVE"]
    assert len(pieces) > 2
    assert "".join(pieces) == TEXT
    waits = [event["wait"] for event in events if event["event"] == "node_retrying"]
    assert len(waits) == 1
    assert 0 <= waits[0] <= 1, "without the header the first wait is between one and two seconds"
    assert all(request["stream"] for request in server.requests)
