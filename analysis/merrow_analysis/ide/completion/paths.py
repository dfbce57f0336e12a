"""Completion of the file that a Call runs: the workflows of the workspace, by their paths from the workflow's folder."""

from __future__ import annotations

import re
from collections.abc import Iterable

from merrow_analysis.definitions.callees import Callee
from merrow_analysis.ide.completion.items import Completion, CompletionItems, PathPlace
from merrow_analysis.ide.texts.describe import port_text
from merrow_analysis.text import Position, Range, TextEdit

_PATH_END = re.compile(r"[\w./-]*")
_QUOTED_END = re.compile(r"[^\"'\n]*?(?=[\"'])|[\w./-]*")


def path_place(items: CompletionItems, length: int, *, in_label: bool) -> PathPlace:
    """The path at the cursor, of which ``length`` characters stand before it."""
    line, column = items.line, items.position.column
    start = column - length
    quote = line[start - 1 : start] if line[start - 1 : start] in ("'", '"') else ""
    if in_label and line[start : start + 1] in ("'", '"'):
        quote, start = line[start], start + 1
    quote = "" if in_label and quote == '"' else quote
    end = (_QUOTED_END if quote else _PATH_END).match(line, column)
    last = column if end is None else end.end()
    place = Range(Position(items.position.line, start), Position(items.position.line, last))
    return PathPlace(place, line[start:column], not in_label and not quote)


def file_items(place: PathPlace, files: Iterable[Callee]) -> list[Completion]:
    """An item for each workflow; those that can be called come first, each part of the order as given."""
    items: list[Completion] = []
    dotted = place.typed.startswith("./")
    for callee in sorted(files, key=lambda callee: callee.problem is not None):
        path = f"./{callee.path}" if dotted and not callee.path.startswith("../") else callee.path
        text = f'"{path}"' if place.wants_quotes else path
        edit = TextEdit(place.range, text)
        detail = callee.problem or _signature(callee)
        items.append(Completion(path, "file", edit, f"{len(items):05}", detail, callee.title or "", filter_text=path))
    return items


def _signature(callee: Callee) -> str:
    inputs = ", ".join(map(port_text, callee.inputs or ()))
    return f"({inputs}) -> " + ", ".join(f"{port.name}: {port.type}" for port in callee.outputs or ())
