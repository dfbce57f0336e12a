"""At a local address, where an answer ends if nothing says so: what is forecast, reserved and sent are one figure."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.runtime.openai_server import OpenAIServer, Reply, serving
from tests.server.program import Outcome, in_process, write

Capture = pytest.CaptureFixture[str]
SHORT, LONG = 701, 5_003
FLOW = """\
---
workflow: {model: m}
---
flowchart LR
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "solve", samples: 2, temperature: 0.7}
    B@{op: Custom, prompt: "shorten", max_tokens: 50}
    RETURN([Return]):::Interface
    PROBLEM --> A --> B --> RETURN
"""
DATA = ("--dataset", "sums.jsonl", "--map", "problem=problem", "--gold", "answer", "--metric", "numeric")
COMMANDS = {
    "run": (("run", "flow.mmd", "--input", "PROBLEM=x"), 2),
    "plan": (("plan", "Write a letter.", "-n", "2", "--optimizer-model", "m"), 9),
    "evaluate": (("evaluate", "flow.mmd", *DATA), 24),
    "optimize": (("optimize", "flow.mmd", *DATA, "--budget-evaluations", "48", "--small"), 2),
    "suggest": (("suggest", "flow.mmd", "--optimizer-model", "m"), 0),
    "extract": (("extract", *DATA[1:], "--solution", "answer", "--model", "m", "--optimizer-model", "m"), 0),
}
"""Each command, and how many of its calls, at most, say nothing of how long their answer may be: of one item for `optimize`."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    write("flow.mmd", FLOW)
    rows = ({"problem": f"{n} + 1?", "answer": str(n + 1)} for n in range(12))
    write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    with serving(lambda _: Reply("1")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield server


def ends_after(tokens: int) -> None:
    write("config/config.toml", f"[models]\nmax_tokens = {tokens}\n")


def most(done: Outcome) -> int:
    """The tokens that a dry run says are used at most."""
    assert done.code == 0, done.err
    shown = done.json
    if "stages" in shown:
        return sum(stage["tokens"]["most"] for stage in shown["stages"])
    return int(shown.get("item", shown)["tokens"]["most"])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_dry_run_reckons_with_the_answers_that_may_be_sent(
    server: OpenAIServer, capsys: Capture, command: str
) -> None:
    words, open_calls = COMMANDS[command]
    forecasts = []
    for tokens in (SHORT, LONG):
        ends_after(tokens)
        as_json = ("--json",) if command == "run" else ("--format", "json")
        forecasts.append(most(in_process(capsys, *words, "--dry-run", *as_json)))
    assert forecasts[1] - forecasts[0] == open_calls * (LONG - SHORT)
    assert server.requests == []
    in_process(capsys, *words, *(("--yes",) if command == "suggest" else ()))
    sent = {body["max_tokens"] for body in server.bodies}
    assert (LONG in sent, None not in sent) == (open_calls > 0, True)


def test_a_budget_reserves_what_is_sent(server: OpenAIServer, capsys: Capture) -> None:
    """Two of the three calls could begin together: their prompts fit, and their answers if they were shorter."""
    for tokens, at_once in ((100, 2), (LONG, 1)):
        ends_after(tokens)
        server.most_at_once = 0
        server.answer = lambda _: Reply("yes", delay=0.3)
        text = FLOW.replace("{model: m}", f"{{model: m, budget: {{tokens: {LONG}}}}}").replace("solve", f"of {tokens}")
        write("flow.mmd", text)
        done = in_process(capsys, "run", "flow.mmd", "--input", "PROBLEM=x")
        assert done.code == 0, done.err
        assert server.most_at_once == at_once
