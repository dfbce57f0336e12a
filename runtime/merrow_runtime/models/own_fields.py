"""What endpoints add of their own to calls of tools, and refuse the next request without: kept as it came, and sent back.

Signatures of thoughts are such fields (``extra_content`` at a call), and so are thoughts themselves, where a model thinks between
calls. Nobody else reads them. Fields of a call are known by where they are, whatever their names; beside a message's text those
are kept that endpoints are known to want back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from merrow_runtime.requests import Message, OwnFields
from merrow_runtime.values import canonical, is_deeper

LARGEST = 500_000
"""Characters of such fields in one answer; of a larger one none is kept."""

OF_MESSAGES = (_EXTRA, _THOUGHTS, _DETAILS) = "extra_content", "reasoning_content", "reasoning_details"
"""Fields beside a message's text that are sent back."""

_OF_CALLS = frozenset({"id", "type", "index", "function", "name", "arguments", "parameters"})
"""What the protocol, or a habit of endpoints, has of a call."""

_MOST_FIELDS = 20
_LONGEST_NAME = 100
_DEEPEST = 20
_IN_PIECES = frozenset({"text", "summary", "data"})
"""Parts of an entry of the details of reasoning that come in pieces."""


@dataclass(slots=True)
class GivenFields:
    """The own fields of an answer that is being read, whole or in pieces."""

    _fields: dict[str, Any] = field(default_factory=dict)
    _thoughts: list[str] = field(default_factory=list)
    _details: list[Any] = field(default_factory=list)

    def add(self, message: Mapping[str, Any]) -> None:
        """Take in a message, or a chunk of one."""
        thoughts, details = message.get(_THOUGHTS), message.get(_DETAILS)
        if isinstance(thoughts, str) and thoughts:
            self._thoughts.append(thoughts)
        if isinstance(details, list):
            self._details += details
        if message.get(_EXTRA) is not None:
            self._fields[_EXTRA] = message[_EXTRA]

    def kept(self, origin: str, calls: Iterable[Mapping[str, Any]]) -> OwnFields | None:
        """All that is to be sent back to ``origin``, with what its ``calls`` have; None where there is nothing, or too much."""
        message = dict(self._fields)
        if self._thoughts:
            message[_THOUGHTS] = "".join(self._thoughts)
        if self._details:
            message[_DETAILS] = _joined(self._details)
        listed = list(calls)
        if not message and not any(listed):
            return None
        value = {"message": message, "calls": listed}
        if is_deeper(value, _DEEPEST):
            return None
        try:
            text = canonical(value)
            text.encode()  # Else nothing could send it.
        except ValueError:
            return None
        return OwnFields(origin, text) if len(text) <= LARGEST else None


def of_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """The own fields of a call as an endpoint wrote it, or of a piece of it."""
    own = {
        name: value
        for name, value in call.items()
        if name not in _OF_CALLS and value is not None and len(name) <= _LONGEST_NAME
    }
    return own if len(own) <= _MOST_FIELDS else {}


def sent_back(message: Message, origin: str) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """The own fields of a message, and those of each of its calls, as the endpoint at ``origin`` gets them back: only what came
    from there.
    """
    nothing: tuple[Mapping[str, Any], list[Mapping[str, Any]]] = {}, [{} for _ in message.calls]
    if message.own is None or message.own.origin != origin or len(message.own.text) > LARGEST:
        return nothing
    try:
        read = json.loads(message.own.text)
        # A recording may be anybody's: nothing of it takes the place of what is sent.
        whole: Mapping[str, Any] = {name: value for name, value in read["message"].items() if name in OF_MESSAGES}
        calls: list[Mapping[str, Any]] = [of_call(call) for call in read["calls"]]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return nothing
    if len(calls) != len(message.calls):
        return nothing
    return whole, calls


def _joined(entries: Iterable[Any]) -> list[Any]:
    """The entries of a list that came in pieces; those of one entry come one after another, with its index."""
    whole: list[Any] = []
    pieces: dict[str, list[str]] = {}
    for entry in entries:
        if not isinstance(entry, Mapping):
            pieces = {}
            whole.append(entry)
            continue
        last = whole[-1] if whole else None
        if not (isinstance(last, dict) and _is_piece(entry, last)):
            last, pieces = {}, {}
            whole.append(last)
        for name, value in entry.items():
            if name in _IN_PIECES and isinstance(value, str):
                pieces.setdefault(name, []).append(value)
                last[name] = pieces[name]
            elif value is not None:
                last[name] = value
    return [
        {
            name: "".join(value) if name in _IN_PIECES and isinstance(value, list) else value
            for name, value in one.items()
        }
        if isinstance(one, dict)
        else one
        for one in whole
    ]


def _is_piece(entry: Mapping[str, Any], last: Mapping[str, Any]) -> bool:
    if "index" not in entry:
        return False
    return all(entry.get(name) == last.get(name) for name in ("type", "index"))
