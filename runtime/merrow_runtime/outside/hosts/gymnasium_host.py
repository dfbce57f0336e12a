"""An environment of the package gymnasium as a server: ``python -m ...gymnasium_host ID``."""

from __future__ import annotations

import json
import sys
from typing import Any

from merrow_runtime.environments.interface import EnvironmentStep, EpisodeError
from merrow_runtime.outside.hosts.hosting import host

_LONGEST_ACTION = 10_000
MISSING = "The package gymnasium is not installed in the Python that Merrow runs in: pip install gymnasium"


class GymnasiumEnvironment:
    """One life of an environment. A task is null, a seed, or ``{seed, ...}`` with the options of its `reset`."""

    def __init__(self, name: str) -> None:
        try:
            import gymnasium
        except ImportError:
            raise EpisodeError(MISSING) from None
        self._environment: Any = gymnasium.make(name)

    def reset(self, task: Any) -> EnvironmentStep:
        if isinstance(task, str):
            task = _json(task, "A task")
        said = task if isinstance(task, dict) else {} if task is None else {"seed": task}
        options = {key: value for key, value in said.items() if key != "seed"}
        seed = said.get("seed")
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, (int, float)) or seed != int(seed)):
            raise EpisodeError("The seed of a task must be a whole number.")
        seen, info = self._environment.reset(seed=None if seed is None else int(seed), options=options or None)
        return EnvironmentStep(_text(seen), info=_plain_info(info))

    def step(self, action: str) -> EnvironmentStep:
        try:
            taken = self._action(action.strip())
        except EpisodeError as problem:
            return EnvironmentStep(str(problem))  # Nothing was done; a model can try another one.
        seen, reward, terminated, truncated, info = self._environment.step(taken)
        return EnvironmentStep(_text(seen), float(reward), bool(terminated), bool(truncated), _plain_info(info))

    def close(self) -> None:
        self._environment.close()

    def _action(self, text: str) -> Any:
        """An action of the environment's space: a text where it takes texts, else what its last line says as JSON."""
        space = self._environment.action_space
        if type(space).__name__ == "Text":
            return text
        if len(text) > _LONGEST_ACTION:
            raise EpisodeError(f"An action has at most {_LONGEST_ACTION:,} characters.")
        lines = [line for line in text.splitlines() if line.strip()]
        value = _json(lines[-1] if lines else "", "An action of this environment")
        try:
            action = space.from_jsonable([value])[0]
        except (TypeError, ValueError, KeyError, IndexError):
            action = None
        if action is None or not space.contains(action):
            raise EpisodeError(f"The action is not in {space}: {text[:200]}")
        return action


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise EpisodeError(f"{what} is written as JSON, such as 0 or [0.5, 1]: {text[:200]}") from None


def _text(seen: Any) -> str:
    return seen if isinstance(seen, str) else json.dumps(_plain(seen))


def _plain(value: Any) -> Any:
    """A value as JSON has it: what numpy has as lists and numbers."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def _plain_info(info: Any) -> dict[str, Any]:
    plain = _plain(info)
    return plain if isinstance(plain, dict) else {}


if __name__ == "__main__":
    host("gymnasium", lambda: GymnasiumEnvironment(sys.argv[1]))
