"""Servers of tools as the user's settings describe them: what starts or reaches each, and what may be done with its tools."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from merrow_analysis.tools.pins import LOCAL
from merrow_runtime.models.origins import origin_of

TIMEOUT = 60.0
"""Seconds in which a server must start, and in which it must answer a call."""
LONGEST_TIMEOUT = 86_400.0
MAX_RESULT = 200_000
"""Bytes of the text of a result."""
LARGEST_MAX_RESULT = 4_000_000
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}")
"""What the names of servers and of environment variables are made of."""

_VARIABLE_IN_TEXT = re.compile(r"\$\{env:([^}]{0,256})\}")


@dataclass(frozen=True, slots=True)
class ToolServer:
    """A server of tools. It has a ``command``, a program with its arguments, or a ``url``. ``env`` has the names of the
    environment variables that the program gets, beside PATH, HOME and LANG. ``timeout`` is in seconds, ``max_result`` in bytes.
    ``repeatable`` has the tools that may be called twice with the same arguments, ``allow`` those that may be called without
    asking a person; True stands for all of them.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str | None = None
    env: tuple[str, ...] = ()
    cwd: str | None = None
    timeout: float = TIMEOUT
    repeatable: frozenset[str] | bool = False
    allow: frozenset[str] | bool = False
    max_result: int = MAX_RESULT

    def may_repeat(self, tool: str) -> bool:
        """Whether the user says that calling this tool again does no harm."""
        return self.repeatable is True or (self.repeatable is not False and tool in self.repeatable)

    def may_call(self, tool: str) -> bool:
        """Whether the user says that nobody need be asked before this tool is called."""
        return self.allow is True or (self.allow is not False and tool in self.allow)

    @property
    def place(self) -> str:
        """What is started or reached, in a few words without arguments or paths of an address, which may have keys in them."""
        return origin_of(self.url) if self.url is not None else self.command[0]

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that it needs, each once: those that it gets, and those in ``${env:NAME}``."""
        texts = (*self.command, *(text for text in (self.url, self.cwd) if text is not None))
        named = (name for text in texts for name in _VARIABLE_IN_TEXT.findall(text))
        return tuple(dict.fromkeys((*self.env, *named)))

    def under(self, other: ToolServer) -> ToolServer:
        """This one with what the user lets tools of another one do, and what those may take."""
        return replace(
            self,
            timeout=other.timeout,
            repeatable=other.repeatable,
            allow=other.allow,
            max_result=other.max_result,
        )

    def definition(self) -> dict[str, Any]:
        """All that decides what is started or reached, as JSON."""
        shown = {"command": list(self.command), "url": self.url, "env": sorted(self.env), "cwd": self.cwd}
        return {key: value for key, value in shown.items() if value}


def with_variables(text: str, environment: Mapping[str, str]) -> str:
    """A text with each ``${env:NAME}`` replaced. Raises `KeyError` with the name of a variable that is not set."""
    return _VARIABLE_IN_TEXT.sub(lambda match: environment[match[1]], text)


def digest(definition: Mapping[str, Any]) -> str:
    """The SHA-256 of a definition, as sorted compact JSON."""
    text = json.dumps(definition, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def read_servers(value: object, table: str) -> Mapping[str, ToolServer]:
    """The table ``[servers.NAME]`` of the user's settings. Raises `ValueError`, or `UsageFailure` for an address; no sentence
    repeats a value, which may be a key.
    """
    if not isinstance(value, dict) or not all(isinstance(entry, dict) for entry in value.values()):
        raise ValueError(f"`[{table}]` has a table for each server: [{table}.NAME]")
    return {name: _server(name, entry, f"{table}.{name}") for name, entry in value.items()}


def shown_name(name: str) -> str:
    """A name of others, as a sentence may have it."""
    shown = ascii(name)[1:-1]
    return f"`{shown if len(shown) <= 100 else shown[:100] + '...'}`"


def check_name(name: str) -> str:
    """The name of a server. Raises `ValueError` for one that no workflow can write."""
    if not NAME.fullmatch(name):
        raise ValueError(f"{shown_name(name)} can't name a server of tools: use letters, digits, `_` and `-`")
    if name == LOCAL:
        raise ValueError(f"`{LOCAL}` names the tools that are files in the folder `tools`: choose another name")
    return name


def _server(name: str, entry: Mapping[str, Any], table: str) -> ToolServer:
    if name == LOCAL:
        return _local(entry, table)
    check_name(name)
    if unknown := entry.keys() - _READERS.keys() - {"args"}:
        known = ", ".join(f"`{key}`" for key in _READERS)
        raise ValueError(f"`[{table}]` has no setting {shown_name(min(unknown))}; the settings are {known}")
    read: dict[str, Any] = {
        key: _READERS[key](value, f"{table}.{key}") for key, value in entry.items() if key != "args"
    }
    if "args" in entry:
        if not isinstance(entry.get("command"), str):
            raise ValueError(f"`{table}.args` belongs to a `command` that is a text")
        read["command"] += _texts(entry["args"], f"{table}.args")
    if ("command" in read) == ("url" in read):
        raise ValueError(f"`[{table}]` must have either a `command` or a `url`")
    if "url" in read and read.keys() & {"env", "cwd"}:
        raise ValueError(f"`[{table}]` has a `url`; `env` and `cwd` are for a `command`")
    return ToolServer(name, **read)


def _local(entry: Mapping[str, Any], table: str) -> ToolServer:
    """What holds for the tools that are files, each of which is a program of its own."""
    if unknown := entry.keys() - _OF_LOCAL:
        known = ", ".join(f"`{key}`" for key in _OF_LOCAL)
        raise ValueError(
            f"`[{table}]` is for the tools that are files in the folder `tools`, and has no setting {shown_name(min(unknown))};"
            f" the settings are {known}"
        )
    return ToolServer(LOCAL, **{key: _READERS[key](value, f"{table}.{key}") for key, value in entry.items()})


def _command(value: object, name: str) -> tuple[str, ...]:
    words = (value,) if isinstance(value, str) else _texts(value, name)
    if not words or not words[0].strip():
        raise ValueError(f'`{name}` must be a program with its arguments, such as ["npx", "-y", "some-server"]')
    return words


def _texts(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) and "\0" not in word for word in value):
        raise ValueError(f"`{name}` is not a list of texts")
    return tuple(value)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError(f"`{name}` is not a text")
    return value


def _url(value: object, name: str) -> str:
    url = _text(value, name).strip()
    origin_of(url, f"`{name}`")
    return url


def _variables(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) and VARIABLE.fullmatch(word) for word in value):
        raise ValueError(
            f"`{name}` is not a list of names of environment variables (a key itself doesn't belong in a file)"
        )
    return tuple(value)


def _seconds(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= LONGEST_TIMEOUT:
        raise ValueError(f"`{name}` is not a number of seconds above 0, at most {LONGEST_TIMEOUT:,.0f}")
    return float(value)


def _bytes(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= LARGEST_MAX_RESULT:
        raise ValueError(f"`{name}` is not a number of bytes above 0, at most {LARGEST_MAX_RESULT:,}")
    return value


def _tools(value: object, name: str) -> frozenset[str] | bool:
    return value if isinstance(value, bool) else frozenset(_texts(value, name))


_READERS: Mapping[str, Callable[[object, str], Any]] = {
    "command": _command,
    "url": _url,
    "env": _variables,
    "cwd": _text,
    "timeout": _seconds,
    "repeatable": _tools,
    "allow": _tools,
    "max_result": _bytes,
}
_OF_LOCAL = ("timeout", "repeatable", "allow", "max_result")
