"""An environment as a server: its sessions, by the tools `reset` and `step`, on the standard streams."""

from __future__ import annotations

import json
import os
import traceback
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from merrow_runtime.environments.interface import EnvironmentStep, EpisodeError
from merrow_runtime.outside.local_runner import serve

MOST_SESSIONS = 200
"""Sessions that are open at a time; beyond it the one that has not been acted in for longest is closed."""

_GIVES = {
    "observation": {"type": "string"},
    "reward": {"type": "number"},
    "terminated": {"type": "boolean"},
    "truncated": {"type": "boolean"},
    "info": {"type": "object"},
}
_TOOLS: list[dict[str, Any]] = [
    {
        "name": "reset",
        "description": "Begins an episode with a task, and gives the session in which it is played.",
        "inputSchema": {"type": "object", "properties": {"task": {}}},
        "outputSchema": {
            "type": "object",
            "properties": {"session": {"type": "string"}, **_GIVES},
            "required": ["session", "observation"],
        },
    },
    {
        "name": "step",
        "description": "Takes an action in a session, and gives what is seen then.",
        "inputSchema": {
            "type": "object",
            "properties": {"session": {"type": "string"}, "action": {"type": "string"}},
            "required": ["session", "action"],
        },
        "outputSchema": {"type": "object", "properties": _GIVES, "required": ["observation"]},
    },
]


class HostedEnvironment(Protocol):
    """One life of an environment, as a host has it."""

    def reset(self, task: Any) -> EnvironmentStep:
        """Begin. Raises `EpisodeError`."""
        ...

    def step(self, action: str) -> EnvironmentStep:
        """Act. Raises `EpisodeError`."""
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...


class EnvironmentHost:
    """The sessions of a server. ``make`` makes an environment for each."""

    def __init__(self, make: Callable[[], HostedEnvironment]) -> None:
        self._make = make
        self._sessions: OrderedDict[str, HostedEnvironment] = OrderedDict()
        self._begun = 0

    def called(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The result of a call, as the protocol has it."""
        try:
            if tool == "reset":
                return _result(self._reset(arguments.get("task")))
            if tool == "step":
                return _result(self._step(str(arguments.get("session")), str(arguments.get("action"))))
            return _failed(f"There is no tool {tool}.")
        except EpisodeError as problem:
            return _failed(str(problem))
        except Exception as problem:  # noqa: BLE001 (an environment is a program of others)
            traceback.print_exc()
            return _failed(f"{type(problem).__name__}: {problem}")

    def _reset(self, task: Any) -> dict[str, Any]:
        environment = self._make()
        step = environment.reset(task)
        self._begun += 1
        session = f"s{self._begun}"
        self._sessions[session] = environment
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)[1].close()
        return {"session": session, **step.to_json()}

    def _step(self, session: str, action: str) -> dict[str, Any]:
        environment = self._sessions.get(session)
        if environment is None:
            raise EpisodeError(f"There is no session {session[:100]}; it is over, or had too many others beside it.")
        self._sessions.move_to_end(session)
        step = environment.step(action)
        if step.done:
            self._sessions.pop(session).close()
        return step.to_json()


def host(name: str, make: Callable[[], HostedEnvironment]) -> None:
    """Serve an environment on the standard streams until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # What an environment prints is no message.
    os.dup2(2, 1)
    serve(answers, {"name": name, "version": "1"}, _TOOLS, EnvironmentHost(make).called)


def _result(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(fields)}], "structuredContent": dict(fields)}


def _failed(why: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": why}], "isError": True}
