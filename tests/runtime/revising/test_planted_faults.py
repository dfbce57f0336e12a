"""Faults that are planted in revisions on purpose: each is noticed by a test that is green without it.

They are the mistakes that carrying finished work over to a changed graph invites. The tests that notice them are those of this
folder; run here against the broken program, they must fail.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.revising import test_revised_runs as runs
from tests.runtime.revising import test_revisers as revisers

from merrow_runtime.frontier import Failed, fold
from merrow_runtime.frontier.past import Past
from merrow_runtime.revising.redo import Redo
from merrow_runtime.running.node_recorder import NodeRecorder
from merrow_runtime.visit import Visit


def _keys_by_id(kinds: tuple[str, ...]) -> Callable[..., Any]:
    """Keys that are the id of a node, for nodes of some kinds; for others what they should be."""
    made = fold._keys

    def keys(*given: Any) -> Callable[..., Hashable]:
        key = made(*given)
        return lambda frame, node, inputs: node.id if node.kind in kinds else key(frame, node, inputs)

    return keys


def carry_by_id(planted: pytest.MonkeyPatch) -> None:
    """What has the id of something finished has its result."""
    planted.setattr(fold, "_keys", _keys_by_id(("operator", "decision")))


def choices_kept(planted: pytest.MonkeyPatch) -> None:
    """A Decision keeps what it has chosen, whatever it is about by now."""
    planted.setattr(fold, "_keys", _keys_by_id(("decision",)))


def results_shared(planted: pytest.MonkeyPatch) -> None:
    """A result that another node has taken stays with its first one, too."""
    move = Past.move

    def moved(self: Past, visit: Visit, to: Visit) -> Any:
        outcome, work = self.outcomes[visit], self._work[visit]
        place = self._begun[work][visit]
        told = move(self, visit, to)
        self.outcomes[visit] = outcome
        self.add(visit, work, place)
        return told

    planted.setattr(Past, "move", moved)


def rows_apart(planted: pytest.MonkeyPatch) -> None:
    """How nodes have ended isn't committed with a revision."""
    planted.setattr(NodeRecorder, "write", lambda *_: None)


def redo_ignored(planted: pytest.MonkeyPatch) -> None:
    """What is asked for again is found again."""
    planted.setattr(Redo, "of", lambda *_: 0)


def work_dropped(planted: pytest.MonkeyPatch) -> None:
    """What runs is cancelled by any revision, and begun anew."""
    planted.setattr(
        fold.Frontier, "obsolete", lambda self: list(self._shared.past.running()) if self._shared.past else []
    )


def failures_tried_again(planted: pytest.MonkeyPatch) -> None:
    """A revision forgets what has failed."""
    keep = fold.keep

    def kept(past: Past, *given: Any) -> None:
        keep(past, *given)
        past.forget([visit for visit, outcome in past.outcomes.items() if isinstance(outcome, Failed)])

    planted.setattr(fold, "keep", kept)


NOTICED: dict[Callable[[pytest.MonkeyPatch], None], Callable[[Path], None]] = {
    carry_by_id: lambda _: runs.test_what_is_finished_is_kept_and_what_is_changed_is_made_again_with_what_follows(),
    choices_kept: lambda _: runs.test_a_decision_is_decided_again(),
    results_shared: lambda _: runs.test_equal_voters_never_share_an_answer(),
    rows_apart: runs.test_what_has_ended_is_committed_with_the_revision,
    redo_ignored: lambda _: runs.test_what_is_asked_for_again_is_made_again_past_the_cache(),
    work_dropped: lambda _: runs.test_going_back_costs_nothing(),
    failures_tried_again: lambda _: revisers.test_a_failure_that_is_not_mended_is_not_tried_again_and_ends_the_run(),
}


@pytest.mark.parametrize("plant", NOTICED, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_noticed(
    plant: Callable[[pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as planted:
        plant(planted)
        with pytest.raises(AssertionError):
            NOTICED[plant](tmp_path)
