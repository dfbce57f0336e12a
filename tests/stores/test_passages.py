"""Evaluations say how often the right passage was looked up, beside the score of the answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.server.program import in_process
from tests.stores.flows import asks
from tests.stores.test_runs import space

__all__ = ["space"]

ROOT = Path(__file__).parents[2]
Capture = pytest.CaptureFixture[str]


def test_the_pattern_finds_most_passages_of_the_data_that_comes_with_merrow(
    space: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern = str(ROOT / "examples/patterns/answer_from_documents.mmd")
    arguments = ("--dataset", "handbook", "--base-url", "offline")
    outcome = in_process(capsys, "evaluate", pattern, *arguments, "--format", "json")
    report = json.loads(outcome.out)
    assert report["passages"] == {"count": 30, "found": 29, "recall": 29 / 30}
    assert report["items"] == 30
    shown = in_process(capsys, "show", report["evaluation"])
    assert "The right passage was looked up for 29 of 30 answers (recall 0.967)." in shown.out
    assert "looked up for 29 of 30" in in_process(capsys, "show", report["evaluation"], "--format", "html").out
    again = json.loads(in_process(capsys, "evaluate", pattern, *arguments, "--format", "json").out)
    assert (again["usage"]["calls"], again["passages"]) == (0, report["passages"])


def test_a_passage_is_named_by_its_source_or_place_or_both(space: Path, capsys: Capture) -> None:
    Path("flow.mmd").write_text(asks("manual: {file: manual.jsonl}", "store: manual, k: 1"))
    rows = (
        {"PROBLEM": "button", "passage": "manual"},
        {"PROBLEM": "button", "passage": "p. 4"},
        {"PROBLEM": "button", "passage": ["other", "manual, p. 4"]},
        {"PROBLEM": "doors", "passage": "manual"},
        {"PROBLEM": "zebra", "passage": "manual"},
        {"PROBLEM": "doors", "passage": ""},
    )
    Path("data.jsonl").write_text("\n".join(json.dumps({"answer": "x", **row}) for row in rows))
    arguments = (
        "flow.mmd",
        "--dataset",
        "data.jsonl",
        "--gold",
        "answer",
        "--metric",
        "contains",
        "--base-url",
        "offline",
    )
    report = json.loads(in_process(capsys, "evaluate", *arguments, "--format", "json").out)
    assert report["passages"] == {"count": 5, "found": 3, "recall": 3 / 5}


def test_nothing_is_said_where_nothing_is_looked_up(space: Path, capsys: Capture) -> None:
    Path("flow.mmd").write_text(
        'flowchart TD\n    PROBLEM([P]):::Interface\n    A["Custom<br/>(prompt: Say it.)"]\n    RETURN([R]):::Interface\n'
        "    PROBLEM -->|input| A --> RETURN\n    classDef Interface fill:#eee\n"
    )
    outcome = in_process(
        capsys,
        "evaluate",
        "flow.mmd",
        "--dataset",
        "handbook",
        "--limit",
        "2",
        "--base-url",
        "offline",
        "--format",
        "json",
    )
    assert "passages" not in json.loads(outcome.out)
