"""Where no terminal shows how far a long command is, it says so once a minute."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from tests.runtime.openai_server import Hang, OpenAIServer, Received, Reply, Step, serving
from tests.server.program import merrow, write

import merrow_runtime
from merrow_runtime.calls.gate import traffic
from merrow_runtime.options import RunOptions
from merrow_runtime.store.memory import MemoryStore

FLOW = """\
---
workflow: {model: m}
---
flowchart LR
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "solve", samples: 6, temperature: 0.7}
    RETURN([Return]):::Interface
    PROBLEM --> A --> RETURN
"""
DATA = ("--dataset", "sums.jsonl", "--map", "problem=problem", "--gold", "answer", "--metric", "numeric")
ASKS = ("--optimizer-model", "m")
COMMANDS = {
    "run": ("run", "flow.mmd", "--input", "PROBLEM=x"),
    "events": ("run", "flow.mmd", "--input", "PROBLEM=x", "--json"),
    "evaluate": ("evaluate", "flow.mmd", *DATA),
    "optimize": ("optimize", "flow.mmd", *DATA, "--budget-evaluations", "60", "--small"),
    "plan": ("plan", "Write a letter.", "-n", "2", *ASKS),
    "suggest": ("suggest", "flow.mmd", "--yes", *ASKS),
    "extract": ("extract", *DATA[1:], "--solution", "answer", "--model", "m", *ASKS, "--budget-tokens", "300000"),
}
SAYS = {
    "run": r"1 of 3 nodes ended, waits for A; 4 calls on their way, 2 queued",
    "events": r"1 of 3 nodes ended, waits for A; 4 calls on their way, 2 queued",
    "evaluate": r"0 of 12 answers, \$0; 4 calls on their way, \d+ queued",
    "optimize": r"0 of 60 answers, nothing scored yet, \$0; 4 calls on their way, \d+ queued",
    "plan": r"asking for 2 plans \(1 of at most \d steps\); 2 calls on their way",
    "suggest": r"asking for candidates \(1 of at most \d steps\); 1 call on its way",
    "extract": r"asking for the steps of cases \(0 of \d+\); 4 calls on their way, \d+ queued",
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """One that never answers, with four places."""
    monkeypatch.chdir(tmp_path)
    for name, value in (("STATE_DIR", "state"), ("CONFIG_DIR", "config")):
        monkeypatch.setenv(f"MERROW_{name}", str(tmp_path / value))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("MERROW_CONCURRENCY", "4")
    write("flow.mmd", FLOW)
    rows = ({"problem": f"{n} + 1?", "answer": str(n + 1)} for n in range(12))
    write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    with serving(lambda _: Hang()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield server


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_long_command_says_what_it_waits_for(server: OpenAIServer, command: str) -> None:
    env = {**os.environ, "MERROW_PROGRESS_SECONDS": "0.05"}
    with subprocess.Popen(
        [sys.executable, "-m", "merrow_server", *COMMANDS[command]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=env,
        text=True,
    ) as process:
        assert process.stderr is not None
        said = []
        for line in islice(process.stderr, 200):
            said.append(line)
            if re.fullmatch(rf"After [\d.]+ \w+: {SAYS[command]}\n", line):
                break
        else:
            process.kill()
            pytest.fail("".join(said))
        process.send_signal(signal.SIGINT)
        process.stderr.read()
    assert process.returncode == 130


def test_what_was_answered_and_paid_is_said(server: OpenAIServer) -> None:
    left = iter(range(3))

    def some(_: Received) -> Step:
        return Reply("1") if next(left, None) is not None else Hang()

    server.answer = some
    write("config/config.toml", f'[prices."{server.origin}"."*"]\ninput = 1e6\noutput = 1e6\n')
    done = merrow(*COMMANDS["evaluate"], "--budget-seconds", "5", env={"MERROW_PROGRESS_SECONDS": "0.5"})
    assert done.code == 1
    assert re.search(r"^After .*; 3 answers, \d+ tokens, \$\d+\.\d+, 4 calls on their way", done.err, re.MULTILINE), (
        done.err
    )


async def test_what_runs_were_answered_is_counted_when_they_are_over(server: OpenAIServer) -> None:
    """As those of a search are, one after another: nothing that belongs to one of them is there any more."""
    server.answer = lambda _: Reply("1")
    options = RunOptions(base_url=server.base_url)
    for _ in range(2):
        done = await merrow_runtime.run("flow.mmd", {"problem": "x"}, options=options, store=MemoryStore())
        assert done.status == "finished"
        del done
        gc.collect()
    assert (traffic().answers, traffic().sent, traffic().waiting) == (12, 0, 0)


def test_it_is_quiet_where_the_user_wants_that(server: OpenAIServer) -> None:
    server.answer = lambda _: Reply("1", delay=0.2)
    done = merrow(*COMMANDS["run"], env={"MERROW_PROGRESS_SECONDS": "0"})
    assert done.code == 0, done.err
    assert "After " not in done.err
