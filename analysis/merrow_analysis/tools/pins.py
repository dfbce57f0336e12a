"""The pins of tools: what the servers of a workspace said of their tools when somebody last looked, kept in `PINS_FILE`.

A workflow is checked and run against these descriptions only. A server that says something else is refused until a person has
seen the difference. Nothing here starts or reaches a server; what it said is the text of others, and bounded.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from merrow_analysis.bounded.allowance import Allowance, TooMuchError, size_of
from merrow_analysis.difference import line_edits

PINS_FILE = "merrow.tools.json"
"""The file in which a workspace keeps its pins."""

LOCAL = "local"
"""The server of tools that are files of the workspace; their pins have the hash of the file as well."""

LARGEST_FILE = 4_000_000
"""Characters of a file of pins."""

LARGEST_TOOL = 200_000
"""About as many characters does one tool have at most, written as JSON."""

DEEPEST = 50
"""How deep the schemas of a tool nest at most."""

MOST_TOOLS = 2_000
"""Tools in one file."""

_VERSION = 1
_SERVER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_TOOL = re.compile(r"[A-Za-z0-9_./-]{1,128}")
_HASH = re.compile(r"[0-9a-f]{64}")
_SAID = ("title", "description", "inputSchema", "outputSchema", "annotations")
"""What is pinned of a tool beside its name, in the order in which it is written."""

_TEXTS = frozenset({"title", "description"})
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that take no ink, though they are letters, marks or symbols."""

_EMOJI_STYLE = "\ufe0f"
_PLAIN = frozenset("\n\t\r")
_MOST_HIDDEN = 20
_CONTEXT = 2
"""Unchanged lines that a difference shows before and after each change."""


class PinsError(ValueError):
    """A file of pins, or what a server says of a tool, that can't be used; the message is a sentence for the user."""


@dataclass(frozen=True, slots=True)
class PinnedTool:
    """A tool as its server described it. ``said`` has what is written of `_SAID`: plain JSON. ``sha256`` is the hash that the
    pin has, ``file`` that of the file of a local tool.
    """

    server: str
    name: str
    said: Mapping[str, Any]
    sha256: str
    file: str | None = None

    @property
    def full_name(self) -> str:
        """Its name in workflows, such as ``web.search``."""
        return f"{self.server}.{self.name}"

    @property
    def is_whole(self) -> bool:
        """Whether it says what it said when it was pinned: its hash is that of what is written."""
        return self.sha256 == _hash_of(self.name, self.said)

    @property
    def title(self) -> str:
        """What people may call it; empty where the server says nothing."""
        return str(self.said.get("title", ""))

    @property
    def description(self) -> str:
        """What its server says of it: the text of others."""
        return str(self.said.get("description", ""))

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """The JSON Schema of its arguments."""
        schema: Mapping[str, Any] = self.said["inputSchema"]
        return schema

    @property
    def output_schema(self) -> Mapping[str, Any] | None:
        """The JSON Schema of its structured result; None where it only answers with text."""
        return self.said.get("outputSchema")

    @property
    def annotations(self) -> Mapping[str, Any]:
        """The server's hints, such as ``readOnlyHint``. They may add caution and never remove it."""
        hints: Mapping[str, Any] = self.said.get("annotations", {})
        return hints

    @property
    def same(self) -> tuple[str, str, str, str | None]:
        """Equal for pins that stand for the same."""
        return self.server, self.name, self.sha256, self.file

    def lines(self) -> list[str]:
        """What is pinned, as lines of JSON in which nothing hides."""
        return _seen(json.dumps(self.entry(), indent=2, ensure_ascii=False)).split("\n")

    def entry(self) -> dict[str, Any]:
        """What is pinned, as the file has it below the tool's name."""
        said = {key: self.said[key] for key in _SAID if key in self.said}
        return said | ({} if self.file is None else {"file": self.file}) | {"sha256": self.sha256}


def pinned(server: str, tool: Mapping[str, Any], file: str | None = None) -> PinnedTool:
    """The pin of a tool as its server lists it: ``name``, and what there is of `_SAID`; other keys and those that are null are
    left out. ``file`` is the SHA-256 of the file of a local tool. Raises `PinsError`.
    """
    name = tool.get("name")
    said = {key: tool[key] for key in _SAID if tool.get(key) is not None}
    made = PinnedTool(server, _checked_name(server, name), said, "", file)
    _check(made)
    return replace(made, sha256=_hash_of(made.name, said))


@dataclass(frozen=True, slots=True)
class Pins:
    """All pins of a workspace: by server, then by the tool's name."""

    servers: Mapping[str, Mapping[str, PinnedTool]] = field(default_factory=dict)

    def find(self, full_name: str) -> PinnedTool | None:
        """The tool with this name in workflows; None where no pin has it."""
        server, _, name = full_name.partition(".")
        return self.servers.get(server, {}).get(name)

    def all(self) -> Iterator[PinnedTool]:
        """Every pinned tool, by server and name."""
        for server in sorted(self.servers):
            yield from (self.servers[server][name] for name in sorted(self.servers[server]))

    def names(self) -> list[str]:
        """The names of all tools in workflows, sorted."""
        return [tool.full_name for tool in self.all()]

    def with_tools(self, tools: Iterable[PinnedTool]) -> Pins:
        """These pins with those of ``tools`` added or replaced. A pin that stands for the same stays as it is written."""
        servers = {server: dict(known) for server, known in self.servers.items()}
        for tool in tools:
            known = servers.setdefault(tool.server, {})
            before = known.get(tool.name)
            if before is None or before.same != tool.same or not before.is_whole:
                known[tool.name] = tool
        return Pins(servers)

    def without(self, full_names: Iterable[str]) -> Pins:
        """These pins without some tools, and without servers that then have none."""
        gone = set(full_names)
        kept = {
            server: {name: tool for name, tool in known.items() if tool.full_name not in gone}
            for server, known in self.servers.items()
        }
        return Pins({server: known for server, known in kept.items() if known})

    def text(self) -> str:
        """The file: servers and tools sorted, characters that can't be seen escaped, a newline at the end."""
        servers: dict[str, dict[str, dict[str, Any]]] = {}
        for tool in self.all():
            servers.setdefault(tool.server, {"tools": {}})["tools"][tool.name] = tool.entry()
        return _seen(json.dumps({"version": _VERSION, "servers": servers}, indent=2, ensure_ascii=False)) + "\n"


def text_of_entries(entries: Mapping[str, object]) -> str:
    """A file of pins that has these tools: what `PinnedTool.entry` gave, by the tools' names in workflows. It may be anything:
    `read_pins` says what is wrong with it.
    """
    servers: dict[str, dict[str, dict[str, object]]] = {}
    for full_name, entry in entries.items():
        server, _, name = full_name.partition(".")
        servers.setdefault(server, {"tools": {}})["tools"][name] = entry
    return json.dumps({"version": _VERSION, "servers": servers})


NO_PINS = Pins(MappingProxyType({}))


def may_name(server: str, tool: str) -> bool:
    """Whether a server and a tool of it can have these names."""
    return _SERVER.fullmatch(server) is not None and _TOOL.fullmatch(tool) is not None


def read_pins(text: str) -> Pins:
    """The pins in a file. Raises `PinsError` where it is not such a file. Whether a tool `is_whole` is not looked at."""
    if len(text) > LARGEST_FILE:
        raise PinsError(f"{PINS_FILE} has more than {LARGEST_FILE:,} characters; pin only the tools that you use.")
    file = _mapping(_json(text), "the file")
    if file.get("version") != _VERSION:
        raise PinsError(f"{PINS_FILE} does not have version {_VERSION}; pin the tools again with this Merrow.")
    servers: dict[str, dict[str, PinnedTool]] = {}
    count = 0
    for server, body in _mapping(file.get("servers"), "`servers`").items():
        tools = _mapping(_mapping(body, f"server {_named(server)}").get("tools"), f"`tools` of server {_named(server)}")
        count += len(tools)
        if count > MOST_TOOLS:
            raise PinsError(f"{PINS_FILE} has more than {MOST_TOOLS:,} tools; pin only those that you use.")
        servers[server] = {name: _read_tool(server, name, entry) for name, entry in tools.items()}
    return Pins(servers)


def _read_tool(server: str, name: str, entry: object) -> PinnedTool:
    body = _mapping(entry, f"tool {_named(server)}.{_named(name)}")
    said = {key: body[key] for key in _SAID if key in body}
    tool = PinnedTool(server, _checked_name(server, name), said, str(body.get("sha256")), body.get("file"))
    _check(tool)
    if not _HASH.fullmatch(tool.sha256):
        raise PinsError(f"{PINS_FILE}: tool {tool.full_name} has no `sha256`; pin it again.")
    return tool


def _check(tool: PinnedTool) -> None:
    """Raises `PinsError` where a tool does not say what it must, or too much."""
    if tool.file is not None and not (isinstance(tool.file, str) and _HASH.fullmatch(tool.file)):
        raise PinsError(f"Tool {tool.full_name}: `file` is not the SHA-256 of a file.")
    if (tool.file is not None) != (tool.server == LOCAL):
        raise PinsError(f"Tool {tool.full_name}: tools of the server {LOCAL}, and only these, have a `file`.")
    for key, value in tool.said.items():
        if not isinstance(value, str if key in _TEXTS else dict):
            raise PinsError(f"Tool {tool.full_name}: `{key}` is not {'a text' if key in _TEXTS else 'an object'}.")
    if "inputSchema" not in tool.said:
        raise PinsError(f"Tool {tool.full_name} has no `inputSchema`.")
    try:
        size_of(tool.said, Allowance(LARGEST_TOOL, ""))
    except TooMuchError:
        raise PinsError(f"Tool {tool.full_name} describes itself with more than {LARGEST_TOOL:,} characters.") from None
    level: list[object] = [tool.said]
    for _ in range(DEEPEST + 2):
        level = [part for value in level for part in _parts(value)]
    if level:
        raise PinsError(f"Tool {tool.full_name} has a schema that nests more than {DEEPEST} levels deep.")
    try:
        _hash_of(tool.name, tool.said)
    except (TypeError, ValueError):
        raise PinsError(f"Tool {tool.full_name} describes itself with values that JSON does not have.") from None


def _parts(value: object) -> Iterable[object]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _checked_name(server: str, name: object) -> str:
    if not _SERVER.fullmatch(server):
        raise PinsError(f"{_named(server)} can't name a server of tools: use letters, digits, `_` and `-`.")
    if not isinstance(name, str) or not _TOOL.fullmatch(name):
        raise PinsError(f"A tool of server {server} has the name {_named(name)}, which no workflow can write.")
    return name


def _named(name: object) -> str:
    text = ascii(name)
    return text if len(text) <= 100 else f"{text[:100]}..."


def _mapping(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise PinsError(f"{PINS_FILE} can't be read: {what} is not an object.")
    return value


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        raise PinsError(f"{PINS_FILE} is not JSON: line {problem.lineno}, column {problem.colno}.") from None
    except (ValueError, RecursionError):
        raise PinsError(f"{PINS_FILE} can't be read: it nests or counts too far.") from None


def _hash_of(name: str, said: Mapping[str, Any]) -> str:
    """The SHA-256 of what a tool says, as JSON without spaces, its keys sorted, in ASCII."""
    text = json.dumps({**said, "name": name}, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


# What a person sees of it


def hidden_in(tool: PinnedTool) -> list[str]:
    """The characters in what a tool says that can't be seen, or that turn the direction of writing: where each is, and what it
    is. Empty where nothing hides; at most 20.
    """
    found: list[str] = []
    waiting: list[tuple[str, object]] = [(key, tool.said[key]) for key in _SAID if key in tool.said]
    for place, value in waiting:  # It grows meanwhile.
        if isinstance(value, str):
            found += dict.fromkeys(f"{place}: {_name_of(char)}" for char in _hidden(value))
        elif isinstance(value, dict):
            found += dict.fromkeys(f"{place}: {_name_of(char)}" for key in value for char in _hidden(key))
            waiting += [(f"{place}.{_shown_key(key)}", part) for key, part in value.items()]
        elif isinstance(value, list):
            waiting += [(place, part) for part in value]
        if len(found) >= _MOST_HIDDEN:
            return found[:_MOST_HIDDEN]
    return found


def shown(text: str) -> str:
    """What a server said, with what can't be seen in it as escapes."""
    return _seen(text)


def difference(before: PinnedTool | None, after: PinnedTool | None) -> str:
    """What is different in a tool, as text in which nothing hides: lines that are gone begin with ``-``, new ones with ``+``.
    None stands for a tool that is not there; empty for pins that say the same.
    """
    old = [] if before is None else before.lines()
    new = [] if after is None else after.lines()
    lines: list[str] = []
    at = 0
    for edit in line_edits("".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new)):
        first, last = edit.range.start.line, edit.range.end.line
        start = max(at, first - _CONTEXT)
        if at:
            end = min(at + _CONTEXT, start)
            lines += _marked(" ", old[at:end])
            if end < start:
                lines.append("...")
        elif start:
            lines.append("...")
        lines += _marked(" ", old[start:first])
        lines += _marked("-", old[first:last])
        lines += _marked("+", edit.new_text.split("\n")[:-1])
        at = last
    if lines:
        lines += _marked(" ", old[at : at + _CONTEXT])
        lines += ["..."] if at + _CONTEXT < len(old) else []
    return "\n".join(lines)


def _marked(mark: str, lines: list[str]) -> list[str]:
    return [f"{mark} {line}" for line in lines]


def _seen(text: str) -> str:
    """A text of JSON with what can't be seen in it as JSON's escapes."""
    return text.translate({ord(char): json.dumps(char)[1:-1] for char in set(_hidden(text))})


def _hidden(text: str) -> Iterator[str]:
    if text.isascii() and text.isprintable():
        return
    before = ""
    for char in text:
        if _is_unseen(char) and not (char == _EMOJI_STYLE and before and unicodedata.category(before) == "So"):
            yield char
        before = char


def _is_unseen(char: str) -> bool:
    if char in _PLAIN or (char.isascii() and char.isprintable()):
        return False
    return (
        unicodedata.category(char) in _UNSEEN_CATEGORIES
        or char in _UNSEEN
        or "\ufe00" <= char <= _EMOJI_STYLE
        or "\U000e0100" <= char <= "\U000e01ef"
    )


def _name_of(char: str) -> str:
    return f"U+{ord(char):04X} {unicodedata.name(char, 'without a name')}"


def _shown_key(key: str) -> str:
    return key if len(key) <= 40 and not any(_hidden(key)) else ascii(key[:40])
