"""An endpoint that refuses a parameter answers by its own choice: repeats, the cache and reports know it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step, serving
from tests.server.program import in_process

FLOW = """\
---
workflow: {model: m%s}
---
flowchart TD
    PROBLEM([Problem]):::Interface -->|input| A["Custom<br/>(prompt: 'Only the number.')"]:::CustomOp
    A --> RETURN([Answer]):::Interface
    classDef Interface fill:#eee
    classDef CustomOp fill:#ddd
"""
TWO = """\
---
workflow: {model: m}
---
flowchart TD
    PROBLEM([Problem]):::Interface --> A & B --> M --> RETURN([Answer]):::Interface
    A@{op: Custom, prompt: "p"}
    B@{op: Custom, prompt: "p"}
    M@{op: Custom, prompt: "m"}
    classDef Interface fill:#eee
"""
DATA = ("--dataset", "own.jsonl", "--metric", "numeric", "--map", "problem=problem", "--gold", "answer")
REFUSAL = (
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    rows = [{"id": str(n), "problem": f"What is {n} plus {n}?", "answer": "2"} for n in (1, 2)]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "one.mmd").write_text(FLOW % "", encoding="utf-8")
    return tmp_path


class Chooses:
    """Refuses a temperature, and answers a question rightly every other time."""

    def __init__(self) -> None:
        self.answered: Counter[str] = Counter()

    def __call__(self, request: Received) -> Step:
        if "temperature" in request.body:
            return Status(400, REFUSAL, "unsupported_value", "temperature", "invalid_request_error")
        self.answered[request.prompt] += 1
        return Reply("2" if self.answered[request.prompt] % 2 else "0")


def evaluated(capsys: pytest.CaptureFixture[str], server: OpenAIServer, *more: str) -> dict[str, Any]:
    done = in_process(
        capsys, "evaluate", "one.mmd", *DATA, "--repeat", "4", "--format", "json", "--base-url", server.base_url, *more
    )
    assert done.code == 0, done.err
    found: dict[str, Any] = done.json
    return found


@pytest.mark.parametrize("concurrency", ["1", "8"])
def test_each_repeat_is_asked_of_an_endpoint_that_refuses_the_temperature(
    capsys: pytest.CaptureFixture[str], concurrency: str
) -> None:
    chooses = Chooses()
    with serving(chooses) as server:
        report = evaluated(capsys, server, "--concurrency", concurrency)
        assert sum(chooses.answered.values()) == report["usage"]["calls"] == 8
        assert (report["score"], report["flaky"]) == (0.5, ["1", "2"])
        assert report["refused"] == {"m": ["temperature"]}
        shown = in_process(capsys, "show", report["evaluation"])
        assert "refused `temperature` for m" in shown.out
        assert "2 flaky" in shown.out
        # What was answered is known, repeat by repeat; what is planned counts all of them.
        assert evaluated(capsys, server)["usage"]["calls"] == 0
        fresh = ("--fresh", "--dry-run")
        assert evaluated(capsys, server, *fresh)["calls"]["least"] == 8
        assert (
            "At temperature 0"
            not in in_process(capsys, "evaluate", "one.mmd", *DATA, "--repeat", "4", "--base-url", server.base_url).err
        )


def test_equal_nodes_each_ask_an_endpoint_that_refuses_the_temperature(
    capsys: pytest.CaptureFixture[str], state: Path
) -> None:
    (state / "two.mmd").write_text(TWO, encoding="utf-8")
    chooses = Chooses()
    with serving(chooses) as server:
        done = in_process(capsys, "run", "two.mmd", "--input", "problem=x", "--base-url", server.base_url)
        assert done.code == 0, done.err
        assert sorted(chooses.answered.values()) == [1, 2]
        done = in_process(capsys, "run", "two.mmd", "--input", "problem=x", "--base-url", server.base_url)
        assert (done.code, sorted(chooses.answered.values())) == (0, [1, 2])


def test_a_report_says_which_other_parameters_were_refused(capsys: pytest.CaptureFixture[str], state: Path) -> None:
    (state / "one.mmd").write_text(FLOW % ", seed: 7, max_tokens: 9, temperature: 0.5", encoding="utf-8")

    def answer(request: Received) -> Step:
        for name in ("seed", "max_tokens", "max_completion_tokens"):
            if name in request.body:
                return Status(400, f"Unsupported parameter: '{name}'.", "unsupported_parameter", name)
        return Reply("2")

    with serving(answer) as server:
        assert evaluated(capsys, server)["refused"] == {"m": ["max_tokens", "seed"]}
