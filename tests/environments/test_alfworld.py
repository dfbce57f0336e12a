"""The server of ALFWorld's games, over a stand-in of the package's interface, which is too large to be installed for tests."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tests.server.program import in_process

from merrow_runtime.environments.interface import EpisodeError
from merrow_runtime.outside.hosts.alfworld_host import GAME, MISSING, AlfworldEnvironment, games
from merrow_runtime.outside.hosts.hosting import EnvironmentHost


class Game:
    """What `textworld.gym.make` gives, as alfworld 0.4.2 uses it."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.said: list[str] = []
        self.closed = False

    def reset(self) -> tuple[str, dict[str, Any]]:
        return f"\nYou are in a room of {Path(self.file).parent.name}.\n", {
            "won": False,
            "admissible_commands": ["look"],
        }

    def step(self, command: str) -> tuple[str, int, bool, dict[str, Any]]:
        self.said.append(command)
        won, lost = command.startswith("move"), command == "quit"
        return f" {command}: done \n", int(won), won or lost, {"won": won, "admissible_commands": ["look", "inventory"]}

    def close(self) -> None:
        self.closed = True


class AlfredDemangler:
    def __init__(self, shuffle: bool) -> None:
        assert not shuffle


class AlfredInfos:
    pass


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Game]:
    found: list[Game] = []

    def register_game(file: str, asks: Any, wrappers: list[Any]) -> str:
        assert asks.said == {"won": True, "admissible_commands": True, "extras": ["gamefile"]}
        assert [type(one).__name__ if not isinstance(one, type) else one.__name__ for one in wrappers] == [
            "AlfredDemangler",
            "AlfredInfos",
        ]
        found.append(Game(file))
        return f"tw-{len(found) - 1}"

    textworld, gym = ModuleType("textworld"), ModuleType("textworld.gym")
    textworld.EnvInfos = lambda **said: SimpleNamespace(said=said)  # type: ignore[attr-defined]
    textworld.gym = gym  # type: ignore[attr-defined]
    gym.register_game = register_game  # type: ignore[attr-defined]
    gym.make = lambda name: found[int(name.removeprefix("tw-"))]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "textworld", textworld)
    monkeypatch.setitem(sys.modules, "textworld.gym", gym)
    own = ModuleType("alfworld.agents.environment.alfred_tw_env")
    own.AlfredDemangler, own.AlfredInfos = AlfredDemangler, AlfredInfos  # type: ignore[attr-defined]
    for name in ("alfworld", "alfworld.agents", "alfworld.agents.environment"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, own.__name__, own)
    return found


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Games as `alfworld-download` places them; of some the package says that it does not support them."""
    for place, game in {
        "valid_seen/pick-Mug-Desk-1/trial_b": {"solvable": True},
        "valid_seen/pick-Mug-Desk-1/trial_a": {"solvable": True},
        "valid_seen/pick-Mug-Shelf-2/trial_c": {"solvable": False},
        "valid_seen/pick-Mug-movable-3/trial_d": {"solvable": True},
        "valid_seen/pick-MugSliced-3/trial_e": {"solvable": True},
        "valid_seen/pick-Mug-4/trial_f": {},
        "valid_unseen/heat-Egg-5/trial_g": {"solvable": True},
    }.items():
        folder = tmp_path / "json_2.1.1" / place
        folder.mkdir(parents=True)
        (folder / GAME).write_text(json.dumps(game))
    broken = tmp_path / "json_2.1.1/valid_seen/zz"
    broken.mkdir()
    (broken / GAME).write_text("{")
    return tmp_path


def test_the_games_of_a_part_are_those_that_can_be_played_in_order(data: Path) -> None:
    assert [game.parent.name for game in games(data, "seen")] == ["trial_a", "trial_b"]
    assert [game.parent.name for game in games(data, "unseen")] == ["trial_g"]
    assert games(data, "train") == []


def test_a_game_is_played_to_its_end(data: Path, made: list[Game]) -> None:
    environment = AlfworldEnvironment(data)
    begun = environment.reset({"split": "seen", "game": 1.0})
    assert (begun.observation, begun.done) == ("You are in a room of trial_b.", False)
    assert begun.info == {"won": False, "commands": ["look"]}
    step = environment.step("I need the mug.\n> `take mug 1 from desk 1`\n")
    assert (step.observation, step.reward, step.done) == ("take mug 1 from desk 1: done", 0.0, False)
    end = environment.step("move mug 1 to shelf 1")
    assert (end.reward, end.terminated, end.truncated) == (1.0, True, False)
    assert made[0].said == ["take mug 1 from desk 1", "move mug 1 to shelf 1"]
    lost = environment.step("quit")
    assert (lost.reward, lost.terminated, lost.truncated) == (0.0, False, True)
    environment.step(" \n")
    assert made[0].said[-1] == "look"
    environment.close()
    assert made[0].closed


@pytest.mark.parametrize(
    "task",
    [
        None,
        "x",
        "[" * 999,
        {"game": 2},
        {"game": -1},
        {"game": True},
        {"game": 0.5},
        {"split": "all", "game": 0},
        {"games": 0},
    ],
)
def test_anything_else_is_no_task(data: Path, made: list[Game], task: object) -> None:
    with pytest.raises(EpisodeError):
        AlfworldEnvironment(data).reset(task)
    assert made == []


def test_a_host_keeps_sessions_apart_and_closes_those_that_are_over(data: Path, made: list[Game]) -> None:
    host = EnvironmentHost(lambda: AlfworldEnvironment(data))
    first = host.called("reset", {"task": '{"split": "unseen", "game": 0}'})["structuredContent"]["session"]
    second = host.called("reset", {"task": 0})["structuredContent"]["session"]
    host.called("step", {"session": second, "action": "look"})
    assert (made[0].said, made[1].said) == ([], ["look"])
    assert host.called("step", {"session": first, "action": "move egg 1 to table 1"})["structuredContent"]["terminated"]
    assert (made[0].closed, made[1].closed) == (True, False)
    for wrong in (("step", {"session": first, "action": "look"}), ("reset", {"task": 7}), ("dance", {})):
        assert host.called(*wrong)["isError"]


def test_without_the_package_a_sentence_says_so(data: Path) -> None:
    with pytest.raises(EpisodeError) as problem:
        AlfworldEnvironment(data).reset(0)
    assert str(problem.value) == MISSING


def test_the_command_wants_a_folder_and_lists_what_there_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    listed = in_process(capsys, "env")
    assert "textcraft" in listed.out
    assert "merrow env alfworld --data" in listed.out
    assert json.loads(in_process(capsys, "env", "--format", "json").out)["shipped"].keys() == {"textcraft"}
    for wrong in (
        ["alfworld"],
        ["alfworld", "--data", str(tmp_path / "none")],
        ["zoo"],
        ["--data", str(tmp_path)],
        ["textcraft", "--data", str(tmp_path)],
    ):
        refused = in_process(capsys, "env", *wrong)
        assert refused.code == 2
        assert refused.out == ""
