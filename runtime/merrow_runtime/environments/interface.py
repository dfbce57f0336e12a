"""What an environment is: the five values of Gymnasium for each action."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Protocol

from merrow_runtime.records import record


class EpisodeError(ValueError):
    """An environment can't do what is asked; its text is a sentence for the user, in which foreign text is quoted already."""


@record(frozen=True, slots=True)
class EnvironmentStep:
    """What an environment says after a reset or an action, as Gymnasium has it: ``terminated`` where the task is over,
    ``truncated`` where it was broken off.
    """

    observation: str
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    info: Mapping[str, Any] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        return self.terminated or self.truncated

    def to_json(self) -> dict[str, Any]:
        """As the journal and recordings have it."""
        info = {"info": dict(self.info)} if self.info else {}
        return {
            "observation": self.observation,
            "reward": self.reward,
            "terminated": self.terminated,
            "truncated": self.truncated,
            **info,
        }

    @staticmethod
    def from_json(plain: Mapping[str, Any]) -> EnvironmentStep:
        """Raises KeyError, TypeError or ValueError where the record is damaged."""
        observation, info = plain["observation"], plain.get("info", {})
        if not isinstance(observation, str) or not isinstance(info, dict):
            raise TypeError(observation)
        terminated, truncated = plain["terminated"], plain["truncated"]
        if not isinstance(terminated, bool) or not isinstance(truncated, bool):
            raise TypeError(terminated)
        return EnvironmentStep(observation, float(plain["reward"]), terminated, truncated, info)


class EnvironmentSession(Protocol):
    """One life of an environment, from a reset to its end."""

    async def reset(self, task: Any) -> EnvironmentStep:
        """Begin with a task, None where nothing says one. Raises `EpisodeError`."""
        ...

    async def step(self, action: str) -> EnvironmentStep:
        """Act. Raises `EpisodeError`."""
        ...

    async def close(self) -> None:
        """Release what it holds."""
        ...
