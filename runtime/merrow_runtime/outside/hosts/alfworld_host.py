"""ALFWorld as a server: the games of its data, played by the package alfworld, which the user has installed."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from merrow_runtime.environments.interface import EnvironmentStep, EpisodeError
from merrow_runtime.outside.hosts.hosting import host

SPLITS = {"seen": "valid_seen", "unseen": "valid_unseen", "train": "train"}
"""The parts of the published data, by the names that tasks have for them, each with its folder."""
GAME = "game.tw-pddl"
MISSING = "The package alfworld is not installed in the Python that Merrow runs in: pip install alfworld"
_TASK = "A task of ALFWorld is {split: seen, game: 0}"
_LEFT_OUT = ("movable", "Sliced")
"""Words in the folders of games that the package does not support."""


class AlfworldEnvironment:
    """One game."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._environment: Any = None

    def reset(self, task: Any) -> EnvironmentStep:
        self._environment = _opened(self._game(task))
        seen, info = self._environment.reset()
        return EnvironmentStep(str(seen).strip(), info=_info(info))

    def step(self, action: str) -> EnvironmentStep:
        lines = [line.strip(" \t`*>") for line in action.splitlines()]
        command = next((line for line in reversed(lines) if line), "look")
        seen, _, done, info = self._environment.step(command)
        won = bool(info.get("won"))
        return EnvironmentStep(
            str(seen).strip(), float(won), terminated=won, truncated=bool(done) and not won, info=_info(info)
        )

    def close(self) -> None:
        if self._environment is not None:
            self._environment.close()

    def _game(self, task: Any) -> Path:
        """The file of the game that a task means. Raises `EpisodeError`."""
        if isinstance(task, str):
            try:
                task = json.loads(task)
            except (ValueError, RecursionError):
                raise EpisodeError(f"{_TASK}.") from None
        said = task if isinstance(task, dict) else {"game": task}
        split, number = said.get("split", "seen"), said.get("game")
        if split not in SPLITS or set(said) - {"split", "game"}:
            raise EpisodeError(f"{_TASK}; the splits are {', '.join(SPLITS)}.")
        found = games(self._data, split)
        if isinstance(number, bool) or not isinstance(number, (int, float)) or number != int(number):
            raise EpisodeError(f"{_TASK}, with a whole number as its game.")
        if not 0 <= number < len(found):
            raise EpisodeError(f"There are {len(found)} games in {SPLITS[split]} below {self._data}.")
        return found[int(number)]


@cache
def games(data: Path, split: str) -> list[Path]:
    """The games of a part that the package supports and that can be solved, in the order of their paths."""
    found: list[Path] = []
    for folder, folders, names in os.walk(data):
        folders.sort()
        place = Path(folder)
        in_part = SPLITS[split] in place.relative_to(data).parts
        if in_part and GAME in names and not any(word in folder for word in _LEFT_OUT):
            try:
                game = json.loads((place / GAME).read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue
            if isinstance(game, dict) and game.get("solvable"):
                found.append(place / GAME)
    return found


def _opened(game: Path) -> Any:
    """The package's environment of one game. Raises `EpisodeError`."""
    try:
        import textworld
        import textworld.gym
        from alfworld.agents.environment.alfred_tw_env import AlfredDemangler, AlfredInfos
    except ImportError:
        raise EpisodeError(MISSING) from None
    asks = textworld.EnvInfos(won=True, admissible_commands=True, extras=["gamefile"])
    name = textworld.gym.register_game(str(game), asks, wrappers=[AlfredDemangler(shuffle=False), AlfredInfos])
    return textworld.gym.make(name)


def _info(info: Any) -> dict[str, Any]:
    """What is kept beside the observation: whether it is won, and the commands that the game would take."""
    commands = info.get("admissible_commands") or []
    return {"won": bool(info.get("won")), "commands": [str(command) for command in commands]}


def serve_alfworld(data: Path) -> None:
    """Serve the games below ``data`` on the standard streams until the input ends."""
    host("alfworld", lambda: AlfworldEnvironment(data))
