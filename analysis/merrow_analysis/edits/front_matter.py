"""Edits of the front matter: a prompt added or taken out, everything else as it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields

from merrow_analysis.definitions.front_matter import FrontMatterDoc
from merrow_analysis.definitions.settings import WorkflowSettings, read_settings
from merrow_analysis.definitions.templates import Template
from merrow_analysis.edits.replacements import CannotWriteError
from merrow_analysis.edits.yaml_write import block_text, quoted, word
from merrow_analysis.syntax.parser import Diagram, parse_diagram
from merrow_analysis.syntax.tree import Block, FrontMatter
from merrow_analysis.text import (
    Position,
    Range,
    TextEdit,
    apply_edits,
    equal_ends,
    line_ending,
    split_lines,
    with_line_ending,
)

_TOP = Range(Position(0, 0), Position(0, 0))
_STEP = "  "
_BODY = "flowchart TD\n"
"""What a front matter needs below it to be read by itself."""


def add_prompt(diagram: Diagram, name: str, text: str) -> TextEdit | None:
    """The edit that gives the workflow a prompt; None where the front matter has no place for it."""
    front = diagram.front_matter
    if front is None:
        return next((edit for edit in _new_front_matter(name, text) if _gives(edit, "", name, text)), None)
    matter, block = front
    before = read_settings(matter.body, matter.indent)
    if before.document.error is not None or name in before.prompts:
        return None
    wanted = {**before.prompts, name: text}
    for edit in _additions(matter, block, before.document, name, text):
        if _reads_as(edit, block, before, wanted):
            return edit
    return None


def remove_prompt(diagram: Diagram, name: str) -> TextEdit | None:
    """The edit that takes a prompt out of the front matter; None where it can't be cut out."""
    front = diagram.front_matter
    if front is None:
        return None
    matter, block = front
    before = read_settings(matter.body, matter.indent)
    if name not in before.prompts:
        return None
    alone = len(before.prompts) == 1
    path: tuple[str, ...] = ("workflow", "prompts") if alone else ("workflow", "prompts", name)
    wanted = {key: text for key, text in before.prompts.items() if key != name}
    for edit in _removals(matter, block, before.document, path):
        if _reads_as(edit, block, before, wanted):
            return edit
    return None


Prompts = Iterable[tuple[str, str]]
"""Prompts by their names."""


def gain_prompt(diagram: Diagram, name: str, text: str) -> TextEdit:
    """As `add_prompt`. Raises `CannotWriteError` where there is no place for the prompt."""
    edit = add_prompt(diagram, name, text)
    if edit is None:
        raise CannotWriteError(f"The prompt {name} can't be written into the front matter.")
    return edit


def lose_prompt(diagram: Diagram, name: str) -> TextEdit:
    """As `remove_prompt`. Raises `CannotWriteError` where the prompt can't be cut out."""
    edit = remove_prompt(diagram, name)
    if edit is None:
        raise CannotWriteError(f"The prompt {name} can't be taken out of the front matter.")
    return edit


def exchange_prompts(front: str, gained: Prompts, lost: Iterable[str], eol: str = "\n") -> str:
    """The text of a front matter, fences and all, with more prompts and without others. Raises `CannotWriteError`."""
    # What comes goes first: a front matter without any prompt would lose the place for them.
    for name, text in gained:
        edit = gain_prompt(parse_diagram(front + _BODY), name, text)
        front = apply_edits(front, [with_line_ending(edit, eol)])
    for name in lost:
        front = apply_edits(front, [lose_prompt(parse_diagram(front + _BODY), name)])
    return front


def add_prompts(front: tuple[FrontMatter, Block] | None, prompts: Sequence[tuple[str, str]]) -> TextEdit | None:
    """The edit that gives the workflow with this front matter several prompts, in their order; None where it can't be written."""
    before = "" if front is None else front[1].text
    old = split_lines(before)
    eol = line_ending(old)
    try:
        # Each one becomes the first.
        new = split_lines(exchange_prompts(before, reversed(prompts), (), eol))
    except CannotWriteError:
        return None
    first, last = equal_ends(old, new)
    top = 0 if front is None else front[1].line
    place = Range(Position(top + first, 0), Position(top + len(old) - last, 0))
    return TextEdit(place, "".join(new[first : len(new) - last]))


def _texts(text: str, indent: str) -> Iterator[str]:
    """Ways to write a prompt after its key."""
    if isinstance(text, Template):
        yield f"{{text: {quoted(text)}, template: true}}"
        return
    block = block_text(text, indent)
    if block is not None:
        yield block
    yield quoted(text)
    yield quoted(text, in_statement=True)


def _key(name: str) -> str:
    written = word(name)
    return written if written is not None else quoted(name)


def _entry(name: str, text: str, indent: str) -> Iterator[str]:
    for value in _texts(text, indent + _STEP):
        yield f"{indent}{_key(name)}: {value}\n"


def _new_front_matter(name: str, text: str) -> Iterator[TextEdit]:
    for entry in _entry(name, text, _STEP * 2):
        yield TextEdit(_TOP, f"---\nworkflow:\n{_STEP}prompts:\n{entry}---\n")


def _gives(edit: TextEdit, rest: str, name: str, text: str) -> bool:
    front = parse_diagram(f"{edit.new_text}flowchart TD\n{rest}").front_matter
    return front is not None and read_settings(front[0].body, front[0].indent).prompts == {name: text}


def _additions(matter: FrontMatter, block: Block, document: FrontMatterDoc, name: str, text: str) -> Iterator[TextEdit]:
    """Edits that may add a prompt: as the first entry of the innermost mapping that there is already."""
    source, start = block.text, matter.body_span[0]
    keys = ("workflow", "prompts")
    value: object = document.values
    depth = 0
    while depth < len(keys) and isinstance(value, dict) and value.get(keys[depth]) is not None:
        value = value[keys[depth]]
        depth += 1
    missing = keys[depth:]
    if value is True and depth == 1:
        return
    if not isinstance(value, dict):
        return
    opened = document.places(*keys[:depth]) if depth else ((0, 0), (0, len(matter.body)))
    if opened is None:
        return
    at = start + opened[1][0]
    while depth == 0 and source[at : at + 1].isspace():
        at += 1
    if source[at : at + 1] == "{":
        comma = ", " if value else ""
        for written in _texts(text, ""):
            if "\n" not in written:
                inner = f"{_key(name)}: {written}"
                for key in reversed(missing):
                    inner = f"{key}: {{{inner}}}"
                place = block.position(at + 1)
                yield TextEdit(Range(place, place), inner + comma)
        return
    empty = next((key for key in missing if key in value), None)
    if empty is not None:
        # The key is there without a value: its own line goes on below it.
        yield from _below(block, document, start, (*keys[:depth], empty), missing[1:], name, text)
        return
    first = next(iter(value), None)
    if first is None:
        place = block.position(start)
        for entry in _nested(missing, name, text, matter.indent):
            yield TextEdit(Range(place, place), entry)
        return
    places = document.places(*keys[:depth], first)
    if places is None:
        return
    key_at = start + places[0][0]
    line_start = max(source.rfind("\n", 0, key_at), source.rfind("\r", 0, key_at)) + 1
    indent = source[line_start:key_at]
    if indent.strip():
        return
    place = block.position(line_start)
    for entry in _nested(missing, name, text, indent):
        yield TextEdit(Range(place, place), entry)


def _nested(missing: tuple[str, ...], name: str, text: str, indent: str) -> Iterator[str]:
    """The lines of a prompt below the keys that are missing."""
    head = "".join(f"{indent}{_STEP * number}{key}:\n" for number, key in enumerate(missing))
    for entry in _entry(name, text, indent + _STEP * len(missing)):
        yield head + entry


def _below(
    block: Block,
    document: FrontMatterDoc,
    start: int,
    path: tuple[str, ...],
    missing: tuple[str, ...],
    name: str,
    text: str,
) -> Iterator[TextEdit]:
    places = document.places(*path)
    if places is None:
        return
    source, key_at = block.text, start + places[0][0]
    line_start = source.rfind("\n", 0, key_at) + 1
    indent = source[line_start:key_at]
    line_end = source.find("\n", key_at)
    if indent.strip() or line_end == -1:
        return
    place = block.position(line_end + 1)
    for entry in _nested(missing, name, text, indent + _STEP):
        yield TextEdit(Range(place, place), entry)


def _removals(matter: FrontMatter, block: Block, document: FrontMatterDoc, path: tuple[str, ...]) -> Iterator[TextEdit]:
    """Edits that may take an entry out: its lines, or in brackets the entry with the comma after or before it."""
    places = document.places(*path)
    if places is None:
        return
    shift = matter.body_span[0]
    yield from entry_removals(block, shift + places[0][0], shift + max(places[0][1], places[1][1]))


def entry_removals(block: Block, begin: int, end: int) -> Iterator[TextEdit]:
    """Edits that may take an entry out of a mapping, the likeliest first; which of them does, only reading can tell."""
    source = block.text
    line_start = source.rfind("\n", 0, begin) + 1
    line_end = source.find("\n", max(begin, end - 1))
    if not source[line_start:begin].strip() and line_end != -1 and _ends_entry(source[end:line_end]):
        yield TextEdit(Range(block.position(line_start), block.position(line_end + 1)), "")
    yield from _cut_from_brackets(block, begin, end)


def _ends_entry(rest: str) -> bool:
    """Whether the rest of an entry's last line says nothing."""
    return rest.strip() in ("", ",") or rest.lstrip().startswith("#")


def _cut_from_brackets(block: Block, begin: int, end: int) -> Iterator[TextEdit]:
    """Edits that take an entry between commas out of a mapping in brackets."""
    source = block.text
    after = end
    while after < len(source) and source[after] in " \t":
        after += 1
    if source[after : after + 1] == ",":
        after += 1
        while after < len(source) and source[after] in " \t":
            after += 1
        yield TextEdit(block.range((begin, after)), "")
        return
    before = begin
    while before > 0 and source[before - 1] in " \t":
        before -= 1
    if source[before - 1 : before] == ",":
        before -= 1
    yield TextEdit(block.range((before if source[before : before + 1] == "," else begin, end)), "")


def _reads_as(edit: TextEdit, block: Block, before: WorkflowSettings, prompts: dict[str, str]) -> bool:
    """Whether the front matter after an edit has these prompts and says the same otherwise."""
    start, end = edit.range
    moved = Range(Position(start.line - block.line, start.column), Position(end.line - block.line, end.column))
    front = parse_diagram(apply_edits(block.text, [TextEdit(moved, edit.new_text)]) + "\nflowchart TD\n").front_matter
    if front is None:
        return False
    after = read_settings(front[0].body, front[0].indent)
    if after.prompts != prompts or after.document.error is not None:
        return False
    same = (field.name for field in fields(WorkflowSettings) if field.name not in ("document", "prompts", "declared"))
    return all(getattr(after, name) == getattr(before, name) for name in same)
