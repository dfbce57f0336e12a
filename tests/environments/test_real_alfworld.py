"""ALFWorld as it is: the package alfworld plays games of ours at our server, and a scripted model solves them.

``make test-all`` installs the package in ``.venv-alfworld``, beside Merrow; it is no dependency.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.openai_server import Received, Reply, serving
from tests.server.program import Outcome, in_process

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-alfworld" / "bin" / "python"
GAMES = Path(__file__).with_name("alfworld_game.py")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PYTHON.exists(),
        reason="the package alfworld is not in .venv-alfworld, where `make test-all` installs it",
    ),
]

FETCH = ["go to drawer 1", "open drawer 1", "take mug 1 from drawer 1"]
SOLVED = {
    "put a mug in shelf": [*FETCH, "go to shelf 1", "move mug 1 to shelf 1"],
    "put a clean mug in desk": [
        *FETCH,
        *("go to sinkbasin 1", "clean mug 1 with sinkbasin 1"),
        *("go to desk 1", "move mug 1 to desk 1"),
    ],
    "put a mug in desk": [*FETCH, "go to desk 1", "move mug 1 to desk 1"],
}
FLOW = """---
workflow:
  memory: {last: 20}
  environments: {house: {server: alfworld}}
  prompts: {act: Give the next command.}
---
flowchart TD
    PROBLEM([Task]):::Interface
    RETURN([Result]):::Interface
    SHOW["Environment<br/>(env: house)"]
    subgraph EPISODE["Loop (max: 9)"]
        HOUSE["Environment<br/>(env: house)"]
        DONE{Done?}
        ACT["Custom<br/>(role: act)"]
    end
    PROBLEM -->|task| SHOW & HOUSE
    SHOW -->|input| ACT
    HOUSE --> DONE
    DONE -->|yes| RETURN
    DONE -->|no:input| ACT
    ACT -.->|again:action| HOUSE
    HOUSE -->|over| RETURN
    classDef Interface fill:#eee
"""


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alfworld")
    subprocess.run([PYTHON, GAMES, folder], check=True, timeout=300)
    return folder


@pytest.fixture
def home(tmp_path: Path, games: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    command = [str(PYTHON), "-m", "merrow_server", "env", "alfworld", "--data", str(games)]
    allowed = 'allow = ["reset", "step"]\nrepeatable = ["reset", "step"]\n'
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(f"[servers.alfworld]\ncommand = {json.dumps(command)}\n{allowed}")
    (tmp_path / "house.mmd").write_text(FLOW)
    return tmp_path


def solver(asked: Received) -> Reply:
    """The next command of the solution, after those that the prompt remembers."""
    task = next(task for task in SOLVED if f"Your task is to: {task}." in asked.prompt)
    said = asked.prompt.count("## Earlier result: act")
    return Reply(f"I know what to do.\n> {[*SOLVED[task], 'look'][said]}")


def ran(capsys: pytest.CaptureFixture[str], answer: Any, task: object) -> Outcome:
    with serving(answer) as server:
        given = ["run", "house.mmd", "--input", f"problem={json.dumps(task)}", "--base-url", server.base_url]
        return in_process(capsys, *given)


def turns(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    shown = json.loads(in_process(capsys, "show", "--format", "json").out)
    (episode,) = [one for one in shown["episodes"] if one["steps"]]
    found: list[dict[str, Any]] = episode["turns"]
    return found


def test_a_game_is_solved_by_a_scripted_model(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del home
    result = ran(capsys, solver, {"split": "seen", "game": 1})
    assert (result.code, result.out) == (0, "You move the mug 1 to the desk 1.\n"), result.err
    seen = turns(capsys)
    commands = SOLVED["put a clean mug in desk"]
    assert "you see a desk 1, a drawer 1, a shelf 1, and a sinkbasin 1." in seen[0]["observation"]
    assert [turn["action"].splitlines()[-1] for turn in seen[1:]] == [f"> {command}" for command in commands]
    assert seen[2]["observation"] == "You open the drawer 1. The drawer 1 is open. In it, you see a mug 1."
    assert [turn["reward"] for turn in seen] == [0.0] * len(commands) + [1.0]
    assert [turn["done"] for turn in seen] == [False] * len(commands) + [True]


def test_the_workflow_of_a2flow_solves_a_game(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pattern = ROOT / "examples" / "patterns" / "a2flow_alfworld.mmd"
    (home / "house.mmd").write_text(pattern.read_text("utf-8"))
    plans: list[str] = []
    commands = [*SOLVED["put a clean mug in desk"], "look"]

    def answer(asked: Received) -> Reply:
        if "Plan the steps" in asked.prompt:
            assert "put a clean mug in desk" in asked.prompt
            plans.append(asked.prompt)
            return Reply("Take the mug and put it on the desk." if len(plans) == 1 else "Clean it before.")
        if "Say what the plan lacks" in asked.prompt:
            return Reply(json.dumps({"feedback": "Clean the mug.", "good": len(plans) == 2}))
        return Reply(commands.pop(0))

    result = ran(capsys, answer, {"split": "seen", "game": 1})
    assert (result.code, result.out) == (0, "You move the mug 1 to the desk 1.\n"), result.err
    assert ["Clean the mug." in plan for plan in plans] == [False, True]
    assert turns(capsys)[-1]["reward"] == 1.0


def test_the_commands_of_published_prompts_do_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del home
    commands = [*FETCH, "go to shelf 1", "put mug 1 in/on shelf 1", "dance", "move mug 1 to shelf 1"]

    def answer(asked: Received) -> Reply:
        return Reply([*commands, "look"][asked.prompt.count("## Earlier result: act")])

    assert ran(capsys, answer, {"split": "seen", "game": 0}).code == 0
    seen = turns(capsys)
    assert [turn["observation"] for turn in seen[5:7]] == ["Nothing happens.", "Nothing happens."]
    assert seen[-1]["reward"] == 1.0


def test_games_are_evaluated_by_their_reward(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = [{"split": "seen", "game": 0}, {"split": "seen", "game": 1}, {"split": "unseen", "game": 0}]
    rows = [{"id": str(number), "problem": json.dumps(task)} for number, task in enumerate(tasks)]
    (home / "tasks.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def answer(asked: Received) -> Reply:
        return Reply("look") if "Your task is to: put a mug in desk." in asked.prompt else solver(asked)

    with serving(answer) as server:
        given = [
            "evaluate",
            "house.mmd",
            "--dataset",
            "tasks.jsonl",
            "--metric",
            "reward",
            "--base-url",
            server.base_url,
        ]
        found = json.loads(in_process(capsys, *given, "--format", "json").out)
    assert found["episodes"]["successes"] == 2
    assert {row["item"]: row["status"] for row in found["rows"]} == {"0": "right", "1": "right", "2": "wrong"}


def test_a_game_that_is_not_there_is_a_sentence(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del home
    result = ran(capsys, solver, {"split": "seen", "game": 2})
    assert result.code == 1
    assert "There are 2 games in valid_seen" in result.err


def test_the_rows_of_a2flow_are_played_where_their_games_are(
    home: Path, games: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The embedded model gives no commands, so that no game is solved."""
    given = ["reproduce", "a2flow", "--rows", "a2flow-games-alfworld-*", "--data", str(games), "--simulate"]
    plan = json.loads(in_process(capsys, *given, "--format", "json").out)
    assert [row["row"] for row in plan["rows"] if row["asks"]] == ["a2flow-games-alfworld-seen"]
    assert not (home / "repro").exists()
    done = json.loads(in_process(capsys, *given, "--items", "1", "--yes", "--format", "json").out)
    seen, unseen = done["rows"]
    assert (seen["status"], seen["ours"]["value"], seen["ours"]["items"]) == ("ended", 0.0, 1)
    assert (unseen["status"], unseen["ours"]) == ("not run", None)
    assert "one game" in unseen["why"]
    searched = json.loads(in_process(capsys, "show", "repro/a2flow/a2flow-games-alfworld-seen", "--format", "json").out)
    assert searched["metric"] == "reward"
