"""All that the journal has, whatever its kind: one list, and one way to find what an id means."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.program import merrow

from merrow_runtime.store.contract import RunRecord
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import EvaluationRecord
from merrow_runtime.store.extractions import ExtractionRecord
from merrow_runtime.store.optimizations import OptimizationRecord


@pytest.fixture(autouse=True)
def one_of_each() -> None:
    """The oldest is the run; nobody works on the evaluation any more."""
    store = Store.open()
    store.begin(RunRecord("abrun", "/w.mmd", "finished", 1.0, snapshot={}))
    plan: dict[str, object] = {"semantic": "s"}
    store.evaluations.begin(EvaluationRecord("abeval", "/w.mmd", "running", 2.0, "d", "all", "exact", "m", 0, 1, plan))
    begun: Any = ("cdsearch", "/w.mmd", "stopped", 3.0, "d", "all", "exact", "m", "climb", "moves", 0, 1, {})
    store.optimizations.begin(OptimizationRecord(*begun), "test", "s")
    store.extractions.begin(
        ExtractionRecord("efextract", "/c.jsonl", "cancelled", 4.0, "d", "all", "exact", "m", "g", 0, {})
    )
    store.close()


def test_everything_is_listed_the_newest_first() -> None:
    listed = merrow("runs", "--kind", "all", "--format", "json").json
    assert [(one["kind"], one["id"], one["status"], one["file"]) for one in listed] == [
        ("extraction", "efextract", "cancelled", "/c.jsonl"),
        ("search", "cdsearch", "stopped", "/w.mmd"),
        ("evaluation", "abeval", "interrupted", "/w.mmd"),
        ("run", "abrun", "finished", "/w.mmd"),
    ]
    assert merrow("runs", "--kind", "all", "--format", "json", "--limit", "2").json == listed[:2]
    assert merrow("runs", "--kind", "all", "--format", "json", "--workflow", "/w.mmd").json == listed[1:]
    lines = merrow("runs", "--kind", "all").out.splitlines()
    assert [line.split()[:3] for line in lines] == [[one["id"], one["status"], one["kind"]] for one in listed]
    refused = merrow("runs", "--kind", "all", "--prune", "0")
    assert (refused.code, "add --kind run" in refused.err) == (2, True)
    assert merrow("runs", "--kind", "all", "--format", "json").json == listed


@pytest.mark.parametrize("command", ["cancel", "show", "resume"])
def test_a_beginning_of_several_kinds_is_refused_and_names_both(command: str) -> None:
    done = merrow(command, "ab")
    assert done.code == 2
    assert "'ab' is the beginning of the ids of evaluation abeval and run abrun" in done.err
    known = merrow(command, "abe") if command != "resume" else merrow(command, "abe", "--jobs", "1")
    assert "beginning" not in known.err


def test_a_search_is_a_kind_by_both_of_its_names() -> None:
    asked = [merrow("runs", "--kind", kind, "--delete", "cdsearch").code for kind in ("search", "optimization")]
    assert asked == [0, 2], "it is gone once it was deleted"
    assert [one["kind"] for one in merrow("runs", "--kind", "all", "--format", "json").json] == [
        "extraction",
        "evaluation",
        "run",
    ]
