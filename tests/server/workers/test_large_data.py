"""A data set of many lines: what is wrong with it is said before the first call."""

from __future__ import annotations

import json
import sys

import pytest
from tests.server.program import merrow, write
from tests.server.workers.cluster import OWN, Shared

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the cluster of these tests is for POSIX")


@pytest.mark.parametrize("lines", [1_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("broken", ['{"id": "broken", "problem": ', '{"id": "q0", "problem": "twice", "answer": "2"}'])
def test_a_line_before_the_last_that_is_wrong_is_named_before_the_first_call(
    at: Shared, lines: int, broken: str
) -> None:
    rows = [
        json.dumps({"id": f"q{number}", "problem": f"What is twice {number}?", "answer": str(2 * number)})
        for number in range(lines)
    ]
    rows[lines - 2] = broken
    write("own.jsonl", "\n".join(rows) + "\n")
    before = merrow("evaluations", "--format", "json").json
    for done in (at.evaluate("--fresh"), merrow("evaluate", "flow.mmd", *OWN, "--fresh")):
        assert done.code != 0
        assert f"own.jsonl:{lines - 1}:" in done.err, done.err[:500]
        assert done.out == ""
    assert at.server.requests == []
    assert merrow("evaluations", "--format", "json").json == before
