"""Evaluations on a full disk, and their progress on a terminal."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

import pytest
from tests.runtime.openai_server import OpenAIServer
from tests.server.program import merrow
from tests.server.terminal import terminals
from tests.server.test_evaluate_command import data, evaluate, posix, server, table

pytestmark = pytest.mark.thinned(8, "robustness")

__all__ = ["server"]


@posix
@pytest.mark.parametrize("room", [500_000, 700_000])
@pytest.mark.thinned(32, "killed anywhere")
def test_on_a_full_disk_it_stops_and_keeps_what_is_finished(server: OpenAIServer, room: int) -> None:
    """A limit of a file's size, which anybody can set: SQLite meets it as it meets a full disk."""
    data(150)
    limited = (
        f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}));"
        "from merrow_server.cli import main; raise SystemExit(main())"
    )
    own = ["evaluate", "flow.mmd", "--dataset", "own.jsonl", "--gold", "answer", "--metric", "numeric"]
    stopped = subprocess.run(
        [sys.executable, "-c", limited, *own, "--concurrency", "4"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert stopped.returncode == 1, stopped.stderr
    assert "is full" in stopped.stderr
    assert "merrow resume" in stopped.stderr
    assert "Traceback" not in stopped.stderr, stopped.stderr
    before = len(server.requests)
    assert before < 300
    [one] = merrow("evaluations", "--format", "json").json
    # What was paid for items in flight is kept, too, without an answer.
    kept = [row for row in table(one["evaluation"]) if row[2] != "unanswered"]
    assert kept
    done = merrow("resume", one["evaluation"])
    assert done.code == 0, done.err
    asked = Counter(request.prompt for request in server.requests)
    assert len(asked) == 300
    assert sum(asked.values()) - len(asked) <= 8  # what was in flight, of four runs
    assert set(kept) <= set(table(one["evaluation"]))
    assert table(one["evaluation"]) == table(evaluate("--fresh", "--format", "json").json["evaluation"])


@posix
def test_a_terminal_shows_how_far_it_is(server: OpenAIServer) -> None:
    with terminals() as terminal:
        shown = terminal("evaluate", "flow.mmd", "--dataset", "own.jsonl", "--gold", "answer", "--metric", "numeric")
    counts = [int(count) for count in re.findall(r"(\d+)/12", shown)]
    assert counts == sorted(counts)
    assert counts[-1] == 12
    assert "score 0.917, cost unknown" in shown
    assert "\x1b[?25l" in shown  # the cursor is hidden meanwhile,
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # and there again
    assert shown.index("12 items of") < shown.index("/12") < shown.index("0.917 [0.646")
