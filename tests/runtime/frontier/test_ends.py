"""What ends a whole run: nothing begins any more, wherever it would."""

from __future__ import annotations

from tests.runtime.frontier.test_revised_boxes import Told, items

from merrow_runtime.errors import NodeFailure, UsageFailure
from merrow_runtime.frontier import Ended, Failed


def under_way() -> Told:
    run = Told(items(title="Map (on_error: skip)"))
    run.gave("PROBLEM")
    assert run.gave("LIST", ["a", "b", "c"]) == ["+M[1] of 3", "M[1]/A", "+M[2] of 3", "M[2]/A"]
    return run


def test_a_fatal_failure_ends_the_run_whatever_is_done_with_items_that_fail() -> None:
    run = under_way()
    run.follow(run.frontier.tell(Failed(run.starts["M[1]/A"].visit, NodeFailure("no"), ends=True, fatal=True)))
    run.gave("M[2]/A")
    assert set(run.starts) == {"PROBLEM", "LIST", "M[1]/A", "M[2]/A"}
    assert run.frontier.is_over


def test_nothing_begins_after_a_run_was_cancelled() -> None:
    run = under_way()
    assert run.frontier.tell(Ended(None)) == []
    run.gave("M[1]/A")
    assert set(run.starts) == {"PROBLEM", "LIST", "M[1]/A", "M[2]/A"}
    assert run.frontier.is_over


def test_why_a_run_ended_is_kept_when_it_changes_afterwards() -> None:
    run = under_way()
    run.follow(run.frontier.tell(Ended(UsageFailure("The budget is used up."))))
    assert run.revised(items(title="Map (on_error: skip)", end="Custom (prompt: OTHER)")) == []
    assert str(run.frontier.failure) == "The budget is used up."
    assert run.frontier.is_over
