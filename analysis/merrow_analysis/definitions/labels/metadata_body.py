"""What stands between ``@{`` and ``}``, with entries taken out, replaced or added; everything else stays as it is.

All functions take and give the text of a body, and give None where it has a form that can't be edited so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from merrow_analysis.definitions.labels.metadata import parse_metadata

_INDENT = re.compile(r"\n([ \t]*)[^\s#]")
_COMMA_AFTER = re.compile(r"[ \t]*,[ \t]*")
_COMMA_BEFORE = re.compile(r",[ \t]*\Z")


def _span(body: str, key: str) -> tuple[int, int] | None:
    doc = parse_metadata(body)
    if key not in doc.values:
        return None
    first, last = doc.places(key)
    begin, end = first[0], max(first[1], last[1])
    while end > begin and body[end - 1] in "\r\n":
        end -= 1
    return begin, end


def without(body: str, key: str) -> str | None:
    """The body without an entry: without its lines, or without the comma that parts it from its neighbour."""
    span = _span(body, key)
    if span is None:
        return None
    begin, end = span
    if "\n" in body:
        line_start, line_end = body.rfind("\n", 0, begin), body.find("\n", end)
        line_end = len(body) if line_end == -1 else line_end
        if line_start == -1 or body[line_start:begin].strip() or body[end:line_end].strip():
            return None
        return body[:line_start] + body[line_end:]
    after = _COMMA_AFTER.match(body, end)
    if after is not None:
        return body[:begin] + body[after.end() :]
    before = _COMMA_BEFORE.search(body[:begin])
    return body[: begin if before is None else before.start()] + body[end:]


def replacing(body: str, key: str, entries: Mapping[str, str]) -> str | None:
    """The body with entries, written as YAML, in place of another one."""
    span = _span(body, key)
    if span is None:
        return None
    begin, end = span
    return body[:begin] + _joined(body, entries) + body[end:]


def with_entries(body: str, entries: Mapping[str, str]) -> str | None:
    """The body with entries, written as YAML, at its end."""
    content = body.rstrip()
    rest = body[len(content) :]
    if "\n" in body:
        indent = _INDENT.search(body)
        return None if indent is None else f"{content}\n{indent[1]}{_joined(body, entries)}{rest}"
    if not content.strip():
        return f" {_joined(body, entries)} "
    comma = " " if content.endswith(",") else ", "
    return content + comma + _joined(body, entries) + (rest or " ")


def _joined(body: str, entries: Mapping[str, str]) -> str:
    indent = _INDENT.search(body)
    between = f"\n{indent[1]}" if indent is not None else ", "
    return between.join(f"{key}: {value}" for key, value in entries.items())
