"""What an evaluation of many items has in memory: ids and where their items are, and neither items nor rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.server.program import write

pytestmark = pytest.mark.skipif(not hasattr(os, "wait4"), reason="the memory of a process is measured as POSIX has it")
NO_OP = "flowchart TD\n    PROBLEM([Problem]):::Interface\n    RETURN([Answer]):::Interface\n    PROBLEM --> RETURN\n"
FEW, MANY = 500, 5_500
LEAST = 300
"""Bytes in which an item fits as a text, which its parts in memory don't."""


def peak(*arguments: str) -> int:
    """The bytes that a process of Merrow had at most; what it prints goes nowhere."""
    command = [sys.executable, "-m", "merrow_server", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@pytest.mark.slow
def test_neither_items_nor_rows_of_an_evaluation_are_in_memory_together() -> None:
    write("flow.mmd", NO_OP)
    peaks: dict[int, dict[str, int]] = {}
    for count in (FEW, MANY):
        rows = ({"id": f"own{n}", "problem": f"{n} is {'x' * LEAST}", "answer": "x"} for n in range(count))
        write("own.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
        given = ("flow.mmd", "--dataset", "own.jsonl", "--gold", "answer", "--metric", "contains")
        peaks[count] = {"evaluate": peak("evaluate", *given, "--format", "json")}
        (newest, *_) = json.loads(
            subprocess.check_output([sys.executable, "-m", "merrow_server", "evaluations", "--format", "json"])
        )
        for form in ("text", "json", "csv", "junit", "html"):
            peaks[count][form] = peak("show", newest["evaluation"], "--format", form)
    grown = {what: (most - peaks[FEW][what]) / (MANY - FEW) for what, most in peaks[MANY].items()}
    assert max(grown.values()) < 1_400, grown
