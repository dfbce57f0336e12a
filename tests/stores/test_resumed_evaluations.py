"""An evaluation that is continued has in the copy of an item what the item had added before it stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.runtime.openai_server import Received, Reply, Status, Step, serving
from tests.server.program import in_process
from tests.stores.flows import flow
from tests.stores.test_runs import kept, space

__all__ = ["space"]

FLOW = flow(
    "lessons: {keep: 9}",
    "KEEP@{ op: Remember, store: lessons }",
    'SAY["Custom<br/>(prompt: Say it.)"]',
    "FIND@{ op: Retrieve, store: lessons }",
    'END["Custom<br/>(prompt: Repeat it.)"]',
    "PROBLEM -->|text| KEEP",
    "KEEP -->|input| SAY",
    "SAY -->|query| FIND",
    "FIND -->|input| END",
    "END --> RETURN",
)


def test_what_an_item_added_is_there_when_it_is_continued(
    space: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    works: list[bool] = []

    def answer(request: Received) -> Step:
        return Reply(request.body["messages"][-1]["content"]) if works else Status(401)

    with serving(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        (space / "flow.mmd").write_text(FLOW)
        (space / "data.jsonl").write_text('{"id": "i", "PROBLEM": "look left", "answer": "look left"}')
        arguments = (
            "flow.mmd",
            "--dataset",
            "data.jsonl",
            "--gold",
            "answer",
            "--metric",
            "contains",
            "--format",
            "json",
        )
        first = in_process(capsys, "evaluate", *arguments)
        evaluation = json.loads(first.out)["evaluation"]
        works.append(True)
        assert in_process(capsys, "resume", evaluation).code == 0
        [row] = json.loads(in_process(capsys, "show", evaluation, "--format", "json").out)["rows"]
        assert (row["status"], kept(space)) == ("right", [])
