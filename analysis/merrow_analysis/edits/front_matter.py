"""Edits of the front matter: a prompt added or taken out, everything else as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial

from merrow_analysis.definitions.front_matter import FrontMatterDoc
from merrow_analysis.definitions.settings import WorkflowSettings, read_settings
from merrow_analysis.definitions.templates import PromptTemplate
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

Prompts = Iterable[tuple[str, str]]
Gained = Sequence[tuple[str, str]]
"""Prompts by their names."""
Texts = Callable[[str], Iterator[str]]
"""Ways to write a value, whose further lines have an indentation."""

_TOP = Range(Position(0, 0), Position(0, 0))
_STEP = "  "
_BODY = "flowchart TD\n"
"""What a front matter needs below it to be read by itself."""


def add_prompt(diagram: Diagram, name: str, text: str) -> TextEdit | None:
    """The edit that gives the workflow a prompt; None where the front matter has no place for it."""
    return _added(diagram, [(name, text)])


def _added(diagram: Diagram, prompts: Gained) -> TextEdit | None:
    """The edit that gives the workflow prompts before those that it has, in this order; None where there is no place for them."""
    front, gained = diagram.front_matter, dict(prompts)
    if len(gained) < len(prompts):
        return None
    entries = _prompts(prompts)
    if front is None:
        return next((edit for edit in new_front_matter(entries) if _gives(edit, "", gained)), None)
    matter, block = front
    before = read_settings(matter.body, matter.indent)
    if before.document.error is not None or not gained.keys().isdisjoint(before.prompts):
        return None
    wanted = {**before.prompts, **gained}
    for edit in entry_additions(matter, block, before.document, entries):
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
        raise CannotWriteError(f"The prompt {name} can't be removed from the front matter.")
    return edit


def exchange_prompts(front: str, gained: Prompts, lost: Iterable[str], eol: str = "\n") -> str:
    """The text of a front matter, fences and all, with more prompts and without others. Raises `CannotWriteError`."""
    # What comes goes first: a front matter without any prompt would lose the place for them.
    # Each one becomes the first.
    prompts = list(gained)[::-1]
    if prompts:
        edit = _added(parse_diagram(front + _BODY), prompts)
        if edit is None:
            names = ", ".join(name for name, _ in prompts)
            raise CannotWriteError(f"The front matter has no place for {names}.")
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
        new = split_lines(exchange_prompts(before, reversed(prompts), (), eol))
    except CannotWriteError:
        return None
    first, last = equal_ends(old, new)
    top = 0 if front is None else front[1].line
    place = Range(Position(top + first, 0), Position(top + len(old) - last, 0))
    return TextEdit(place, "".join(new[first : len(new) - last]))


def _texts(text: str, indent: str) -> Iterator[str]:
    """Ways to write a prompt after its key; the lines of a longer one are indented by ``indent``."""
    if isinstance(text, PromptTemplate):
        yield f"{{text: {quoted(text)}, template: true}}"
        return
    block = block_text(text, indent)
    if block is not None:
        yield block
    yield quoted(text)
    yield quoted(text, in_statement=True)


@dataclass(frozen=True)
class Entries:
    """Entries to write below ``keys``: their names, and ways to write their values, the likeliest of each first."""

    keys: tuple[str, ...]
    values: Sequence[tuple[str, Texts]]

    def lines(self, depth: int, indent: str) -> Iterator[str]:
        """The lines of the entries below the first ``depth`` keys, which are there already."""
        missing = self.keys[depth:]
        head = "".join(f"{indent}{_STEP * number}{key}:\n" for number, key in enumerate(missing))
        inner = indent + _STEP * len(missing)
        for written in self._ways(inner + _STEP):
            yield head + "".join(f"{inner}{entry}\n" for entry in written)

    def inline(self, depth: int) -> Iterator[str]:
        """The entries on one line, as `lines`."""
        for written in self._ways("", in_line=True):
            inner = ", ".join(written)
            for key in reversed(self.keys[depth:]):
                inner = f"{key}: {{{inner}}}"
            yield inner

    def _ways(self, indent: str, *, in_line: bool = False) -> Iterator[list[str]]:
        keyed_texts = [
            (_key(name), [text for text in texts(indent) if not (in_line and "\n" in text)])
            for name, texts in self.values
        ]
        for number in range(
            max(len(texts) for _, texts in keyed_texts) if all(texts for _, texts in keyed_texts) else 0
        ):
            ways = [(key, texts[min(number, len(texts) - 1)]) for key, texts in keyed_texts]
            yield [f"{key}:{text}" if text.startswith("\n") else f"{key}: {text}" for key, text in ways]


def _prompts(prompts: Gained) -> Entries:
    return Entries(("workflow", "prompts"), [(name, partial(_texts, text)) for name, text in prompts])


def _key(name: str) -> str:
    written = word(name)
    return written if written is not None else quoted(name)


def new_front_matter(entries: Entries) -> Iterator[TextEdit]:
    """Edits that may write a front matter with some entries above a text without one."""
    for lines in entries.lines(0, ""):
        yield TextEdit(_TOP, f"---\n{lines}---\n")


def _gives(edit: TextEdit, rest: str, prompts: dict[str, str]) -> bool:
    front = parse_diagram(f"{edit.new_text}flowchart TD\n{rest}").front_matter
    return front is not None and read_settings(front[0].body, front[0].indent).prompts == prompts


def entry_additions(
    matter: FrontMatter, block: Block, document: FrontMatterDoc, entries: Entries
) -> Iterator[TextEdit]:
    """Edits that may add entries: as the first ones of the innermost mapping that there is already."""
    source, start = block.text, matter.body_span[0]
    keys = entries.keys
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
        for inner in entries.inline(depth):
            place = block.position(at + 1)
            yield TextEdit(Range(place, place), inner + comma)
        return
    empty = next((key for key in missing if key in value), None)
    if empty is not None:
        # The key is there without a value: its own line goes on below it.
        yield from _below(block, document, start, (*keys[:depth], empty), entries)
        return
    first = next(iter(value), None)
    if first is None:
        place = block.position(start)
        for lines in entries.lines(depth, matter.indent):
            yield TextEdit(Range(place, place), lines)
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
    for lines in entries.lines(depth, indent):
        yield TextEdit(Range(place, place), lines)


def _below(
    block: Block, document: FrontMatterDoc, start: int, path: tuple[str, ...], entries: Entries
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
    for lines in entries.lines(len(path), indent + _STEP):
        yield TextEdit(Range(place, place), lines)


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
