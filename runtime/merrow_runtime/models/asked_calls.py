"""The calls of tools in an endpoint's answer, whole or streamed, read as endpoints write them.

Arguments may come as an object in place of a text; ids may be missing or equal; a stream may give all its calls the same index,
where a new id or name begins the next one. Ids are given anew, so that each is there once: who answers goes by them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from merrow_runtime.models.own_fields import of_call
from merrow_runtime.requests import LONGEST_ARGUMENTS, AskedCall

MOST_CALLS = 100
"""Calls of one answer that are read; what comes after these is left out."""
_LONGEST_NAME = 200


def call_id(number: int) -> str:
    """The id of the ``number``-th call of an answer, from 1: nine letters and digits, which every endpoint takes."""
    return f"call{number:05}"


@dataclass(slots=True)
class _Begun:
    """A call as far as it has come. ``size`` are the characters of its arguments that are kept."""

    id: str
    index: object
    name: str
    size: int = 0
    pieces: list[str] = field(default_factory=list)
    own: dict[str, Any] = field(default_factory=dict)

    def add(self, arguments: object) -> None:
        if isinstance(arguments, (dict, list)):
            arguments = json.dumps(arguments, ensure_ascii=False)
        if isinstance(arguments, str) and arguments and self.size <= LONGEST_ARGUMENTS:
            piece = arguments[: LONGEST_ARGUMENTS + 1 - self.size]
            self.pieces.append(piece)
            self.size += len(piece)


@dataclass(slots=True)
class AskedCalls:
    """The calls that have come so far."""

    _begun: list[_Begun] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self._begun)

    def add(self, message: Mapping[str, Any]) -> None:
        """Take in a message, or a chunk of one."""
        calls = message.get("tool_calls")
        if isinstance(calls, list):
            for call in calls[: MOST_CALLS + 1]:
                if isinstance(call, Mapping):
                    self._add(call)
        elif isinstance(message.get("function_call"), Mapping):
            self._add({"index": 0, "function": message["function_call"]})

    def _add(self, call: Mapping[str, Any]) -> None:
        function = call.get("function")
        if not isinstance(function, Mapping):
            function = call
        own, name, index = _text(call.get("id")), _text(function.get("name")), call.get("index")
        begun = self._continued(own, name, index)
        if begun is None:
            if len(self._begun) >= MOST_CALLS:
                return
            begun = _Begun(own, index, name)
            self._begun.append(begun)
        begun.add(function.get("arguments", function.get("parameters")))
        begun.own |= of_call(call)

    def _continued(self, own: str, name: str, index: object) -> _Begun | None:
        """The call that a part continues; None where it begins one."""
        if index is None:
            return self._begun[-1] if self._begun and not (own or name) else None  # Else it is whole.
        last = next((begun for begun in reversed(self._begun) if begun.index == index), None)
        if last is None or (own and own != last.id):
            return None
        if name and (name != last.name or not own) and last.name:
            return None
        last.name = last.name or name
        return last

    @property
    def calls(self) -> tuple[AskedCall, ...]:
        """The calls, as many as are read, with ids of their own."""
        return tuple(
            AskedCall(call_id(number), begun.name[:_LONGEST_NAME], "".join(begun.pieces) or "{}")
            for number, begun in enumerate(self._named, 1)
        )

    @property
    def own(self) -> list[dict[str, Any]]:
        """What the endpoint adds of its own to each of the calls."""
        return [begun.own for begun in self._named]

    @property
    def _named(self) -> list[_Begun]:
        return [begun for begun in self._begun if begun.name]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
