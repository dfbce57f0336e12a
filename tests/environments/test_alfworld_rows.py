"""The rows of A2Flow that are played in ALFWorld: which games they are of, and when they are not run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.server.program import in_process

SERVER = """[servers.alfworld]
command = ["nothing-is-started-for-a-plan"]
allow = ["reset", "step"]
repeatable = ["reset", "step"]
"""
ROW = "a2flow-games-alfworld-seen"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(SERVER)
    return tmp_path


def games(home: Path, count: int) -> None:
    for number in range(count):
        folder = home / "data" / "json_2.1.1" / "valid_seen" / f"pick-Mug-Desk-{number}" / "trial"
        folder.mkdir(parents=True)
        (folder / "game.tw-pddl").write_text(json.dumps({"solvable": True}))


def planned(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    plan = in_process(
        capsys, "reproduce", "a2flow", "--rows", ROW, "--data", "data", "--simulate", "--plan", "--format", "json"
    )
    found: dict[str, Any] = json.loads(plan.out)
    return found


@pytest.mark.parametrize(("count", "searched"), [(140, 33), (20, 10), (2, 1)])
def test_some_games_are_searched_with_and_the_others_are_the_test(
    home: Path, capsys: pytest.CaptureFixture[str], count: int, searched: int
) -> None:
    games(home, count)
    (row,) = planned(capsys)["rows"]
    assert (row["row"], row["missing"]) == (ROW, [])
    files = {path.name: path.read_text().splitlines() for path in (home / "state" / "alfworld").iterdir()}
    assert sorted(files) == [f"seen_of_{count}_test.jsonl", f"seen_of_{count}_validate.jsonl"]
    tasks = {name: [json.loads(json.loads(line)["problem"]) for line in lines] for name, lines in files.items()}
    validate, test = tasks[f"seen_of_{count}_validate.jsonl"], tasks[f"seen_of_{count}_test.jsonl"]
    assert (len(validate), len(test)) == (searched, count - searched)
    assert {task["split"] for task in validate + test} == {"seen"}
    numbers = [task["game"] for task in validate + test]
    assert sorted(numbers) == list(range(count))
    # Drawn, and not the first ones; the same each time.
    assert count < 20 or [task["game"] for task in validate] != list(range(searched))
    before = dict(files)
    planned(capsys)
    assert {path.name: path.read_text().splitlines() for path in (home / "state" / "alfworld").iterdir()} == before


@pytest.mark.parametrize("count", [0, 1])
def test_without_two_games_a_row_is_not_run_and_says_what_to_do(
    home: Path, capsys: pytest.CaptureFixture[str], count: int
) -> None:
    games(home, count)
    (row,) = planned(capsys)["rows"]
    (lack,) = row["missing"]
    assert ("valid_seen" in lack["what"], "merrow env alfworld --data data" in lack["get"]) == (True, True)


def test_without_a_server_that_may_be_repeated_a_row_is_not_run(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    games(home, 2)
    (home / "config" / "config.toml").write_text(SERVER.replace('repeatable = ["reset", "step"]\n', ""))
    (row,) = planned(capsys)["rows"]
    assert "`repeatable`" in row["missing"][0]["what"]
    (home / "config" / "config.toml").write_text("")
    (row,) = planned(capsys)["rows"]
    assert "alfworld" in row["missing"][0]["what"]
