"""Completion and hover in a cases file."""

from __future__ import annotations

import re
from collections.abc import Iterable

from merrow_analysis.cases.cases_reader import CasesFile
from merrow_analysis.cases.checking import CasesContext
from merrow_analysis.cases.schema import CASE_KEYS, CASES, DEFAULT_KEYS, EXPECTATION_KEYS
from merrow_analysis.definitions.schema import Fragment
from merrow_analysis.ide.completion.items import Completion, ItemKind
from merrow_analysis.ide.cursor.yaml_place import entry_at, yaml_place
from merrow_analysis.ide.hover import Hover
from merrow_analysis.ide.texts.markup import CodeSpan, Markup
from merrow_analysis.text import Position, Range, TextEdit, split_lines

_TAGS = re.compile(r"^[ \t-]*tags:[ \t]*\[([^\]\n#]*)\]", re.MULTILINE)
"""The tags of a line, also where the text can't be read as YAML while a line of it is being typed."""
_WORD = re.compile(r"[\w.-]+")
_FILE: Fragment = {"description": "A text file, from the folder of the cases file."}


def complete(file: CasesFile, position: Position, beside: CasesContext | None) -> list[Completion]:
    """What could be written at a position: keys, metrics, inputs, outputs, tags."""
    lines = split_lines(file.text)
    if position.line > len(lines):
        return []
    offset = sum(len(line) for line in lines[: position.line]) + position.column
    place = yaml_place(file.text, offset)
    if place.in_text:
        return []
    line = lines[position.line] if position.line < len(lines) else ""
    typed = offset - place.start
    end = position.column
    while end < len(line) and (line[end].isalnum() or line[end] in "_-"):
        end += 1
    where = Range(Position(position.line, position.column - typed), Position(position.line, end))
    followed = line[end:].lstrip().startswith(":")
    path = place.path
    if path[-1:] == ("inputs",) and place.is_key:
        return _keys(_inputs(beside), where, followed=followed)
    # At `- ` both a key and a whole value may follow.
    listed = not place.is_key and line[: position.column - typed].rstrip().endswith(("-", "["))
    if place.is_key or (listed and path in (("cases",), ("cases", "expect"))):
        return _keys(_keys_at(path), where, followed=followed)
    return _values(file, path, beside, where)


def _keys_at(path: tuple[str, ...]) -> dict[str, Fragment]:
    if path == ():
        return dict(CASES["properties"])
    if path == ("defaults",):
        return dict(DEFAULT_KEYS)
    if path == ("cases",):
        return dict(CASE_KEYS)
    if path == ("cases", "expect"):
        return dict(EXPECTATION_KEYS)
    return {"file": _FILE} if len(path) > 1 and path[-2] == "inputs" else {}


def _inputs(beside: CasesContext | None) -> dict[str, Fragment]:
    names = {} if beside is None or beside.inputs is None else beside.inputs
    return {
        name: {"description": f"An input of {beside.workflow}{', with a default' if optional else ''}."}
        for name, optional in names.items()
        if beside is not None
    }


def _keys(keys: dict[str, Fragment], where: Range, *, followed: bool) -> list[Completion]:
    return [
        Completion(
            name,
            "key",
            TextEdit(where, name if followed else f"{name}: "),
            f"{number:03}",
            detail=str(fragment.get("description", "")),
        )
        for number, (name, fragment) in enumerate(keys.items())
    ]


def _values(file: CasesFile, path: tuple[str, ...], beside: CasesContext | None, where: Range) -> list[Completion]:
    if path == ("defaults", "metric"):
        return _words(DEFAULT_KEYS["metric"]["enum"], "value", where)
    if path[-1:] == ("tags",):
        return _words(
            sorted({word for match in _TAGS.finditer(file.text) for word in _WORD.findall(match[1])}), "value", where
        )
    if path[-1:] == ("output",):
        return _words(() if beside is None else beside.outputs, "node", where)
    if path == ("cases", "xfail"):
        return _words(("true", "false"), "value", where)
    return []


def _words(words: Iterable[str], kind: ItemKind, where: Range) -> list[Completion]:
    return [Completion(word, kind, TextEdit(where, word), f"{number:03}") for number, word in enumerate(words)]


def hover(file: CasesFile, position: Position, beside: CasesContext | None) -> Hover | None:
    """What a key means: a metric, an option, an input of the workflow; None elsewhere."""
    lines = split_lines(file.text)
    if position.line >= len(lines):
        return None
    offset = sum(len(line) for line in lines[: position.line]) + position.column
    entry = entry_at(file.text, offset)
    if entry is None:
        return None
    (*around, key), span = entry
    path = tuple(around)
    keys = _inputs(beside) if path[-1:] == ("inputs",) else _keys_at(path)
    fragment = keys.get(key)
    if fragment is None:
        folded = {name.casefold(): value for name, value in keys.items()} if path[-1:] == ("inputs",) else {}
        fragment = folded.get(key.casefold())
    if fragment is None or "description" not in fragment:
        return None
    text = Markup().say(CodeSpan(key), ": ", str(fragment["description"]))
    if "default" in fragment:
        text.say("Without it: ", CodeSpan(str(fragment["default"])), ".")
    return Hover(text, file.range(span))
