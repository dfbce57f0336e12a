"""What an evaluation may use is shared out to its workers: never more is used, and nothing is left where items still need it."""

from __future__ import annotations

import sys

import pytest
from tests.server.program import merrow
from tests.server.workers.cluster import Shared, made_again, newest, rows_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a cluster of processes")


def used(evaluation: str) -> int:
    usage = merrow("show", evaluation, "--format", "json").json["usage"]
    return int(usage["prompt_tokens"] + usage["completion_tokens"])


def test_workers_stop_together_at_a_budget_and_a_greater_one_continues(at: Shared) -> None:
    # All answers have 640 tokens.
    stopped = at.evaluate("--fresh", "--chunk", "4", "--budget-tokens", "300")
    evaluation = newest()
    assert stopped.code == 1, stopped.out
    assert "--budget-tokens" in stopped.err
    assert 0 < used(evaluation) <= 300
    assert 0 < len(at.server.requests) < 120
    done = merrow(
        "resume", evaluation, "--budget-tokens", "1000000", "--engine", "dask", "--scheduler", at.cluster.address
    )
    assert done.code == 0, done.err
    assert made_again(at.server.requests) == (0, [])
    assert len(rows_of(evaluation)) == 40


def test_a_budget_that_is_enough_for_all_is_enough_although_shares_are_too_small(at: Shared) -> None:
    done = at.evaluate("--fresh", "--chunk", "4", "--budget-tokens", "1500")
    assert done.code == 0, done.err
    assert used(newest()) <= 1500
    assert made_again(at.server.requests) == (0, [])
    assert len(rows_of(newest())) == 40
