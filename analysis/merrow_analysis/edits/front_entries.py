"""Edits of single entries of the front matter: one is added, replaced or removed, and nothing else changes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from copy import deepcopy
from typing import Any

from merrow_analysis.definitions.front_matter import FrontMatterDoc, read_front_matter
from merrow_analysis.definitions.settings import read_settings
from merrow_analysis.definitions.validation import Path
from merrow_analysis.definitions.yaml.yaml_text import read_bounded_yaml
from merrow_analysis.edits.front_matter import Entries, entry_additions, entry_removals, new_front_matter
from merrow_analysis.edits.yaml_write import block_text, flow, quoted
from merrow_analysis.syntax.parser import parse_diagram
from merrow_analysis.syntax.tree import Block, FrontMatter
from merrow_analysis.text import Position, Range, TextEdit, apply_edits, split_lines

Front = tuple[FrontMatter, Block]


def declare_workflow(front: Front | None) -> TextEdit | None:
    """The edit that writes ``workflow: true`` into the front matter; None where it has no place for it."""
    if front is None:
        return TextEdit(Range(Position(0, 0), Position(0, 0)), "---\nworkflow: true\n---\n")
    matter, block = front
    body = block.text[slice(*matter.body_span)]
    added = f"{matter.indent}workflow: true"
    added = f"{added}\n" if not body or body.endswith("\n") else f"\n{added}"
    if not read_settings(body + added, matter.indent).declared:
        return None
    end = block.position(matter.body_span[1])
    return TextEdit(Range(end, end), added)


def add_entry(
    front: Front | None, section: str | None, name: str, value: object, *, on_lines: bool = False
) -> TextEdit | None:
    """The edit that adds an entry to ``section`` of ``workflow`` (None: to ``workflow`` itself); None where the front matter has
    no place for it. With ``on_lines`` each key of the value, which is a mapping, has a line of its own where there is room.
    """
    written = flow(value)
    if written is None:
        return None
    keys = ("workflow",) if section is None else ("workflow", section)
    lines = value.items() if on_lines and isinstance(value, dict) else ()
    entry = Entries(keys, [(name, lambda indent: _ways(lines, written, indent))])
    if front is None:
        return next(new_front_matter(entry))
    document = read_front_matter(front[0].body, front[0].indent)
    if document.error is not None:
        return None
    if document.values.get("workflow") is True:
        return write_value(front, ("workflow",), {name: value} if section is None else {section: {name: value}})
    edits = entry_additions(*front, document, entry)
    edit = next(edits, None)
    if edit is None or _is_first(edit, front, document, keys, name, value):
        return edit
    wanted = deepcopy(document.values)
    inner: Any = wanted
    for key in entry.keys:
        if inner.get(key) is None:
            inner[key] = {}
        inner = inner[key]
        if not isinstance(inner, dict):
            return None
    inner[name] = value
    return next((candidate for candidate in (edit, *edits) if _says(candidate, front, wanted)), None)


def _is_first(edit: TextEdit, front: Front, document: FrontMatterDoc, keys: Path, name: str, value: object) -> bool:
    """Whether an edit adds an entry on lines of its own above the first one of a mapping: the others need not be read again,
    which would take as long as the text is, for each of many entries.
    """
    holder: object = document.values
    for key in keys:
        holder = holder.get(key) if isinstance(holder, dict) else None
    line = edit.new_text
    if not isinstance(holder, dict) or name in holder:
        return False
    return read_bounded_yaml(line.strip()).value == {name: value} and not _may_reach_on(line + front[0].body)


def _ways(lines: Collection[tuple[str, object]], written: str, indent: str) -> Iterator[str]:
    """Ways to write a value after its key: its entries on lines of their own, where there are such, and on one line."""
    if lines:
        inner = f"{indent}  "
        texts = [
            (key, block_text(value, inner) if isinstance(value, str) else None, flow(value)) for key, value in lines
        ]
        yield "".join(f"\n{indent}{key}: {block or line}" for key, block, line in texts)
    yield written


def remove_entry(front: Front, path: Path) -> TextEdit | None:
    """The edit that takes out the entry at a path, with the mapping around it where nothing else is in that; None where it
    can't be cut out. The key ``workflow`` stays.
    """
    document = read_front_matter(front[0].body, front[0].indent)
    while len(path) > 2 and len(_at(document.values, path[:-1])) == 1:
        path = path[:-1]
    places = document.places(*path)
    if places is None or not isinstance(path[-1], str):
        return None
    start = front[0].body_span[0]
    edits = entry_removals(front[1], start + places[0][0], start + max(places[0][1], places[1][1]))
    wanted: dict[str, Any] | None = None
    for edit in edits:
        if _is_apart(edit, front, document, path):
            return edit
        if wanted is None:
            wanted = deepcopy(document.values)
            del _at(wanted, path[:-1])[path[-1]]
        if _says(edit, front, wanted):
            return edit
    return None


def comment_entry(front: Front, path: Path) -> TextEdit | None:
    """The edit that makes the lines of an entry comments; None where it has but one line, or shares its lines with others."""
    edit = remove_entry(front, path)
    if edit is None or edit.new_text or edit.range.start.column or edit.range.end.column:
        return None
    first = edit.range.start.line - front[1].line
    lines = split_lines(front[1].text)[first : edit.range.end.line - front[1].line]
    if len(lines) < 2:
        return None
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    commented = TextEdit(
        edit.range, "".join(f"{line[:indent]}# {line[indent:]}" if line.strip() else line for line in lines)
    )
    document = read_front_matter(front[0].body, front[0].indent)
    wanted = deepcopy(document.values)
    holder = _at(wanted, path[:-1])
    if path[-1] not in holder:
        return None
    del holder[path[-1]]
    return commented if _says(commented, front, wanted) else None


def _is_apart(edit: TextEdit, front: Front, document: FrontMatterDoc, path: Path) -> bool:
    """Whether the lines that an edit takes out are an entry and nothing else, so that the rest need not be read again to know
    what it says: a reading takes as long as the text is, and there may be a fix for each of its lines.

    What follows must be no deeper, and not empty: it might become a part of the text before.
    """
    (matter, block), (begin, end) = front, edit.range
    above, last = document.places(*path[:-1]), matter.body_span[1]
    if begin.column or end.column or above is None or document.error is not None:
        return False
    if block.text.startswith(("{", "["), matter.body_span[0] + above[1][0]):
        return False
    first, after = block.offset(begin), block.offset(end)
    gone, line = block.text[first:after], block.text[after : block.text.find("\n", after, last) + 1 or last]
    # Another entry may name an anchor of this one.
    if "&" in gone or _may_reach_on(matter.body):
        return False
    if "\r" in (gone + line).replace("\r\n", "\n"):
        return False
    return after == last or (bool(line.strip()) and _depth(line) <= _depth(gone))


def _may_reach_on(body: str) -> bool:
    """Whether there may be a tag, in which quotes are read as others, wherever it began."""
    return "<" in body and '="' in body


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def write_value(front: Front, path: Path, value: object) -> TextEdit | None:
    """The edit that writes a value at a path in place of another one; None where it can't be written there."""
    document = read_front_matter(front[0].body, front[0].indent)
    places, written = document.places(*path), flow(value)
    if places is None or written is None:
        return None
    wanted = deepcopy(document.values)
    _at(wanted, path[:-1])[path[-1]] = value
    for edit in _writings(front, places[1], written):
        if _says(edit, front, wanted):
            return edit
    return None


def write_text(front: Front, path: Path, text: str) -> TextEdit | None:
    """As `write_value` for a text, whose lines are written below the key where the front matter has room for them."""
    document = read_front_matter(front[0].body, front[0].indent)
    places = document.places(*path)
    if places is None:
        return None
    wanted = deepcopy(document.values)
    _at(wanted, path[:-1])[path[-1]] = text
    matter, block = front
    start = matter.body_span[0] + places[0][0]
    line = block.text.rfind("\n", 0, start) + 1
    before = block.text[line:start]
    indent = before[: len(before) - len(before.lstrip())]
    for written in (block_text(text, f"{indent}  "), quoted(text), quoted(text, in_statement=True)):
        for edit in () if written is None else _writings(front, places[1], written):
            if _says(edit, front, wanted):
                return edit
    return None


def _writings(front: Front, span: tuple[int, int], written: str) -> Iterator[TextEdit]:
    matter, block = front
    start, end = (matter.body_span[0] + offset for offset in span)
    while end > start and block.text[end - 1].isspace():
        end -= 1
    yield TextEdit(block.range((start, end)), written)
    yield TextEdit(block.range((start, end)), f" {written}")


def _at(values: dict[str, Any], path: Path) -> Any:
    value: Any = values
    for step in path:
        value = value[step]
    return value


def _says(edit: TextEdit, front: Front, wanted: dict[str, object]) -> bool:
    """Whether the front matter after an edit says this; a mapping in which nothing is left may also be nothing."""
    block = front[1]
    (line, column), (last, end) = edit.range
    moved = Range(Position(line - block.line, column), Position(last - block.line, end))
    front_matter = parse_diagram(
        apply_edits(block.text, [TextEdit(moved, edit.new_text)]) + "\nflowchart TD\n"
    ).front_matter
    if front_matter is None:
        return False
    document = read_front_matter(front_matter[0].body, front_matter[0].indent)
    return document.error is None and _bare(document.values) == _bare(wanted)


def _bare(values: dict[str, object]) -> dict[str, object]:
    return {key: value or None for key, value in values.items() if key == "workflow"} | {
        key: value for key, value in values.items() if key != "workflow"
    }
