"""Evaluations of episodes: the tasks that are shipped, the reward as a score, and what is reused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.environments.play import CLASSES, ENDS, REACT, player, solution
from tests.runtime.openai_server import Received, Reply, serving
from tests.server.program import Outcome, in_process

from merrow_optimizer.evaluation.data.data_set import read_items
from merrow_optimizer.evaluation.data.names import shipped_file
from merrow_runtime.environments.textcraft.recipes import shipped_book
from merrow_runtime.environments.textcraft.tasks import make_task


def tasks(part: str, limit: int | None = None) -> list[dict[str, int]]:
    data = read_items(shipped_file("textcraft"), part=part, limit=limit)
    return [json.loads(item.inputs["problem"]) for item in data.items]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "react.mmd").write_text(REACT)
    return tmp_path


def evaluated(capsys: pytest.CaptureFixture[str], url: str, *more: str) -> Outcome:
    given = ["evaluate", "react.mmd", "--dataset", "textcraft", "--base-url", url, *more]
    return in_process(capsys, *given, "--format", "json")


def report(outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(outcome.out)
    return found


def test_the_parts_have_twenty_and_eighty_tasks_of_three_depths() -> None:
    validate, test = tasks("validate"), tasks("test")
    assert (len(validate), len(test)) == (20, 80)
    assert {task["depth"] for task in validate} == {task["depth"] for task in test} == {2, 3, 4}
    # All can be fulfilled within the turns of the workflows that are shipped.
    assert max(len(solution(task)) for task in validate + test) < 40


def test_success_is_an_end_with_a_reward(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del home
    chosen = tasks("validate", 4)
    play = player(*chosen)
    lazy = make_task(shipped_book(), chosen[0]).goal

    def answer(asked: Received) -> Reply:
        return Reply("inventory") if f"Goal: craft {lazy}." in asked.prompt else play(asked)

    with serving(answer) as server:
        outcome = evaluated(capsys, server.base_url, "--part", "validate", "--limit", "4")
        assert outcome.code == 0, outcome.err
        found = report(outcome)
        same = [task for task in chosen if make_task(shipped_book(), task).goal == lazy]
        successes = 4 - len(same)
        assert (found["metric"], found["items"], found["score"]) == ("reward", 4, successes / 4)
        steps = [59 if task in same else len(solution(task)) for task in chosen]
        assert found["episodes"] == {
            "count": 4,
            "successes": successes,
            "reward": successes / 4,
            "steps": sum(steps) / 4,
        }
        reads = {row["read"] for row in found["rows"]}
        assert "reward 0 after 59 steps" in reads
        assert f"reward 1 after {steps[1]} steps" in reads
        asked = len(server.requests)
        # The same answers are known, and scored from what is kept of their episodes.
        again = report(evaluated(capsys, server.base_url, "--part", "validate", "--limit", "4"))
        assert len(server.requests) == asked
        assert (again["score"], again["episodes"]) == (found["score"], found["episodes"])
        shown = in_process(capsys, "show", found["evaluation"])
        assert f"{successes} of 4 episodes ended with success; mean reward" in shown.out


def test_a_workflow_without_an_episode_has_no_reward(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "react.mmd").write_text(
        ENDS + '    A["Custom<br/>(prompt: x)"]\n    PROBLEM -->|input| A --> RETURN\n' + CLASSES
    )
    with serving(lambda _: Reply("x")) as server:
        found = report(evaluated(capsys, server.base_url, "--limit", "1"))
    assert found["answers"]["invalid"] == 1
    assert "episodes" not in found
    assert "no environment" in found["rows"][0]["reason"]
