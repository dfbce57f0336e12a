"""Environments of servers of tools: `reset(task)` begins a session, and `step(session, action)` acts in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from merrow_runtime.calls.tool_servers import ToolServers
from merrow_runtime.environments.interface import EnvironmentStep, EpisodeError
from merrow_runtime.models.redaction import quoted
from merrow_runtime.program.tool_parameters import environment_tool
from merrow_runtime.requests import EnvironmentAction, ToolCall, ToolQuestions, ToolResult
from merrow_runtime.values import from_json

_LONGEST_SESSION = 1_000


class ServedSession:
    """`merrow_runtime.environments.interface.EnvironmentSession` with a server. ``action`` is any one for its environment."""

    def __init__(self, tools: ToolServers, action: EnvironmentAction) -> None:
        self._tools, self._name, self._of = tools, action.env, action.of
        self._session: str | None = None

    async def reset(self, task: Any) -> EnvironmentStep:
        fields = await self._called("reset", {} if task is None else {"task": task})
        session = fields.get("session")
        if not isinstance(session, str) or not 0 < len(session) <= _LONGEST_SESSION:
            raise self._wrong("gave no `session` at a reset, a text by which its steps are known")
        self._session = session
        return self._step(fields)

    async def step(self, action: str) -> EnvironmentStep:
        return self._step(await self._called("step", {"session": self._session, "action": action}))

    async def close(self) -> None:
        """Its server knows itself when a session is over, and ends with the run."""

    async def _called(self, call: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a server answers. Raises `EpisodeError`, or `merrow_runtime.errors.ToolFailure`."""
        tool = environment_tool(self._of, call)
        assert tool is not None  # noqa: S101 (others are shipped)
        request = ToolCall(*tool, arguments)
        await self._tools.prepare(request)
        result = await self._tools.call(request, None)
        if isinstance(result, ToolQuestions):
            raise self._wrong("asks a person, which an environment can't")
        if result.failed:
            raise EpisodeError(f"The environment {self._name} failed. It says: {quoted(result.text)}")
        return self._fields(result)

    def _fields(self, result: ToolResult) -> Mapping[str, Any]:
        fields: object = result.fields
        if fields is None:
            try:
                fields = from_json(result.text)
            except (ValueError, RecursionError):
                fields = None
        if not isinstance(fields, dict):
            raise self._wrong("did not answer with an object")
        return fields

    def _step(self, fields: Mapping[str, Any]) -> EnvironmentStep:
        observation, info = fields.get("observation"), fields.get("info") or {}
        reward = fields.get("reward", 0)
        terminated, truncated = fields.get("terminated", False), fields.get("truncated", False)
        if not isinstance(observation, str):
            raise self._wrong("gave no `observation`, which is a text")
        if isinstance(reward, bool) or not isinstance(reward, (int, float)) or not -1e300 < reward < 1e300:
            raise self._wrong("gave a `reward` that is not a number")
        if not (isinstance(terminated, bool) and isinstance(truncated, bool) and isinstance(info, dict)):
            raise self._wrong("has to give true or false as `terminated` and `truncated`, and an object as `info`")
        return EnvironmentStep(observation, float(reward), terminated, truncated, info)

    def _wrong(self, what: str) -> EpisodeError:
        return EpisodeError(f"The environment {self._name} {what}.")
