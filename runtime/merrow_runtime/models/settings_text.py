"""Changes to the text of the user's settings which keep everything else in it, comments too."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from merrow_analysis.bounded.toml import read_toml
from merrow_runtime.errors import UsageFailure
from merrow_runtime.models.origins import origin_of, origin_or_none
from merrow_runtime.models.tool_servers import ToolServer

_TABLE = re.compile(r"(?m)^[ \t]*\[")


def with_endpoint(text: str, base_url: str, model: str | None, concurrency: int, *, free: bool) -> str:
    """The settings ``text`` with this endpoint as the one to use. Where it is ``free`` and no price is known for its origin, its
    models cost nothing. A variable for the key of the endpoint before stays with that origin.

    Raises `UsageFailure` where the text can't be changed line by line; it says what to write by hand.
    """
    before = _read(text)
    origin = origin_of(base_url)
    values: dict[str, Any] = {"base_url": base_url, "model": model, "concurrency": concurrency}
    variable = before.get("api_key_env")
    if isinstance(variable, str) and isinstance(before.get("base_url"), str):
        values["api_key_env"] = {origin_of(before["base_url"]): variable}
    wanted = {key: value for key, value in {**before, **values}.items() if value is not None}
    changed = text
    for key, value in values.items():
        changed = _with_value(changed, key, value)
    prices = before.get("prices", {})
    if free and isinstance(prices, dict) and origin not in {origin_or_none(named) for named in prices}:
        changed = f"{changed.rstrip()}\n\n[prices.{_quoted(origin)}.{_quoted('*')}]\ninput = 0\noutput = 0\n"
        wanted["prices"] = {**prices, origin: {"*": {"input": 0, "output": 0}}}
    if _read(changed, broken={}) != wanted:
        lines = "; ".join(f"{key} = {_written(value)}" for key, value in values.items() if value is not None)
        raise UsageFailure(
            f"Your settings are written in a way that can't be changed safely. Write into them yourself: {lines}"
        )
    return changed


def with_server(text: str, server: ToolServer, place: str) -> str:
    """The settings ``text`` with a new server of tools at its end. Raises `UsageFailure` where ``place`` has one of this name, or
    can't be changed so.
    """
    before = _read(text)
    servers = before.get("servers", {})
    if isinstance(servers, Mapping) and server.name in servers:
        raise UsageFailure(
            f"There is a server `{server.name}` in {place} already. Change it there, or choose another name."
        )
    entry = server.definition()
    lines = "".join(f"{key} = {_written(value)}\n" for key, value in entry.items())
    head = f"{text.rstrip()}\n\n" if text.strip() else ""
    changed = f"{head}[servers.{server.name}]\n{lines}"
    wanted = {**before, "servers": {**(servers if isinstance(servers, Mapping) else {}), server.name: entry}}
    if _read(changed, broken={}) != wanted:
        raise UsageFailure(
            f"{place} is written in a way that can't be changed safely. Write `[servers.{server.name}]` yourself."
        )
    return changed


def _read(text: str, broken: Any = None) -> Any:
    try:
        return read_toml(text)
    except (tomllib.TOMLDecodeError, ValueError) as problem:
        if broken is not None:
            return broken
        raise UsageFailure(f"Your settings are not valid TOML: {problem}. Correct them first.") from None


def _with_value(text: str, key: str, value: Any) -> str:
    """``text`` with the line of a setting outside of tables written again, or added; without it where the value is None."""
    table = _TABLE.search(text)
    head, tail = (text, "") if table is None else (text[: table.start()], text[table.start() :])
    line = re.compile(
        rf"(?m)^(?P<key>[ \t]*{key}[ \t]*=[ \t]*)(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[\w.+-]+)(?P<rest>[^\n]*)(?:\n|\Z)"
    )
    match = line.search(head)
    if match is not None:
        new = "" if value is None else f"{match['key']}{_written(value)}{match['rest']}\n"
        return head[: match.start()] + new + head[match.end() :] + tail
    if value is None:
        return text
    lines = head.splitlines(keepends=True)
    place = len(lines)
    while tail and place and (not lines[place - 1].strip() or lines[place - 1].lstrip().startswith("#")):
        place -= 1  # what is written above a table belongs to it
    before = "".join(lines[:place])
    ended = "" if not before or before.endswith("\n") else "\n"
    after = "".join(lines[place:]) + tail
    blank = "\n" if after.strip() and after[:1] != "\n" else ""
    return f"{before}{ended}{key} = {_written(value)}\n{blank}{after}"


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_quoted(name)} = {_written(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    """A basic string of TOML, which has the escapes of JSON."""
    return json.dumps(text, ensure_ascii=False)
