"""Searches and extractions: workflows that act are searched as any other, and operators are extracted from solved episodes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.environments.play import REACT, player, solution
from tests.people.flows import PATTERNS
from tests.runtime.openai_server import Received, Reply, serving
from tests.server.program import in_process
from tests.server.test_extract_command import plain_answer

from merrow_analysis.check import analyse
from merrow_optimizer.evaluation.data.data_set import read_items
from merrow_optimizer.evaluation.data.names import shipped_file
from merrow_runtime.environments.textcraft.game import TextCraft
from merrow_runtime.environments.textcraft.recipes import shipped_book
from merrow_runtime.environments.textcraft.tasks import make_task

pytestmark = pytest.mark.slow
SEARCH = ["--dataset", "textcraft", "--part", "validate", "--small", "--limit", "4", "--budget-evaluations", "16"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    return tmp_path


def acts(text: str) -> list[tuple[str, Any]]:
    """The nodes that act, with the boxes around them."""
    graph = analyse(text).typed
    assert graph is not None
    inside = graph.composites.inside
    return sorted(
        (node.id, inside.get(node.id)) for node in graph.nodes if node.spec is not None and node.spec.is_environment
    )


def searched(capsys: pytest.CaptureFixture[str], home: Path, text: str, *more: str) -> list[dict[str, Any]]:
    """What a search said of itself; all its candidates are valid, and act where the start does."""
    (home / "game.mmd").write_text(text)
    done = in_process(capsys, "optimize", "game.mmd", *SEARCH, "--out", "found", *more, "--format", "json")
    assert done.code == 0, done.err
    candidates = sorted((home / "found").glob("round_*.mmd"))
    assert len(candidates) > 1
    for candidate in candidates:
        assert in_process(capsys, "check", str(candidate), "--format", "json").code == 0
        assert acts(candidate.read_text()) == acts(text)
    return [json.loads(line) for line in done.out.splitlines()]


def scores(said: list[dict[str, Any]]) -> list[float]:
    """Of each time that a workflow was scored, the start first."""
    return [one["score"] for one in said if one["event"] == "draw"]


def played() -> list[str]:
    items = read_items(shipped_file("textcraft"), part="validate", limit=4).items
    return [item.inputs["problem"] for item in items]


@pytest.mark.parametrize("name", ["react_textcraft", "a2flow_textcraft"])
def test_the_patterns_are_searched_with_the_embedded_model(
    home: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    said = searched(capsys, home, (PATTERNS / f"{name}.mmd").read_text("utf-8"), "--base-url", "offline")
    assert scores(said) == [0.0] * 4


def test_a_search_scores_episodes_by_their_reward(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = [json.loads(task) for task in played()]
    play, given_up = player(*tasks), [make_task(shipped_book(), task).goal for task in tasks[:2]]

    def answer(asked: Received) -> Reply:
        """Who plays two of the four tasks, and has nothing to say where a search asks something else."""
        found = re.findall(r"Goal: craft (.*)\.", asked.prompt)
        try:
            return Reply("inventory") if not found or found[-1] in given_up else play(asked)
        except IndexError:
            return Reply("inventory")

    with serving(answer) as server:
        said = searched(capsys, home, REACT, "--base-url", server.base_url)
    assert scores(said)[0] == 0.5
    assert set(scores(said)) <= {0.0, 0.25, 0.5}
    assert said[-1]["told"] == said[-1]["start_told"] == 0.5


def solved_episodes() -> list[dict[str, str]]:
    """Episodes that ended well: the observation that begins one, and its commands."""
    rows = []
    for number in range(10):
        task = {"seed": number, "depth": 2}
        rows.append(
            {
                "id": str(number),
                "problem": TextCraft(shipped_book()).reset(task).observation,
                "commands": "\n".join(solution(task)),
            }
        )
    return rows


def test_operators_are_extracted_from_solved_episodes(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "solved.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in solved_episodes()))
    (home / "out").mkdir()
    mapped = ["--map", "problem=problem", "--gold", "commands", "--solution", "commands", "--metric", "exact"]
    with serving(plain_answer) as server:
        models = ["--model", "m", "--optimizer-model", "big", "--base-url", server.base_url]
        done = in_process(
            capsys, "extract", "solved.jsonl", *mapped, *models, "-o", "out/operators.yaml", "--format", "json"
        )
    assert done.code == 0, done.err
    report = json.loads(done.out)["report"]
    assert report["cases"]["unusable"] == []
    assert {one["gives"] for one in report["operators"]} == {"Answer", "Analysis"}
    assert in_process(capsys, "check", "out/cases", "out/start").code == 0
