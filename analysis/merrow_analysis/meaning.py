"""Edits that must not change what a diagram means: which of them keep that promise."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields, is_dataclass, replace

from merrow_analysis.definitions.labels.title_text import spaced_title
from merrow_analysis.difference import single_edit
from merrow_analysis.document import Document
from merrow_analysis.syntax.parser import Diagram, parse_diagram
from merrow_analysis.syntax.tree import (
    Block,
    Broken,
    EmptyStatement,
    Header,
    Label,
    Statement,
    SubgraphEnd,
    SubgraphStart,
)
from merrow_analysis.text import Position, Range, TextEdit, apply_edits, split_lines

_MOST_ATTEMPTS = 8
"""How often the edited text is read to find the edits at fault, before all are given up."""


def harmless_edits(document: Document, edits: dict[int, TextEdit]) -> list[TextEdit]:
    """Those of the edits, each of one block by its number, that together leave the meaning of the text as it is.

    What is between the first and the last of them is read once more, and a few times more where an edit is not harmless.
    """
    diagram = document.diagram
    before = list(_meaning(diagram))
    for attempt in range(_MOST_ATTEMPTS):
        if not edits:
            break
        after = list(_meaning(_edited(document, edits.values())))
        changed = _first_difference(before, after)
        if changed is None:
            return list(edits.values())
        if attempt == 0:
            edits = {n: edit for n, edit in edits.items() if _harmless_alone(diagram.blocks[n], edit)}
        else:
            suspect = before[min(changed, len(before) - 1)][1] if before else 0
            kept = {n: edit for n, edit in edits.items() if abs(n - suspect) > 1}
            edits = kept if len(kept) < len(edits) else {}
    return []


def _edited(document: Document, edits: Collection[TextEdit]) -> Diagram:
    """The diagram of a text after some edits, as one edit: so many small ones would each copy the list of blocks."""
    other = document.fork()
    edit = single_edit(other.lines, split_lines(apply_edits(other.text, edits)))
    if edit is not None:
        other.edit(edit)
    return other.diagram


def _harmless_alone(block: Block, edit: TextEdit) -> bool:
    """Whether the block by itself still means the same."""
    text = "" if any(isinstance(s, Header) for s in block.statements) else "flowchart TD\n"
    offset = 1 if text else 0
    start, end = edit.range
    moved = Range(
        Position(start.line - block.line + offset, start.column), Position(end.line - block.line + offset, end.column)
    )
    old = text + block.text
    new = apply_edits(old, [TextEdit(moved, edit.new_text)])
    return _first_difference(list(_meaning(parse_diagram(old))), list(_meaning(parse_diagram(new)))) is None


def _meaning(diagram: Diagram) -> Iterator[tuple[Statement, int]]:
    """The statements that mean something, each with the number of its block."""
    depth = 0
    for number, block in enumerate(diagram.blocks):
        for statement in block.statements:
            if isinstance(statement, SubgraphStart):
                depth += 1
            elif isinstance(statement, SubgraphEnd):
                depth = max(0, depth - 1)
            # A lone semicolon means nothing, except inside a subgraph, where Mermaid takes it for a node.
            if depth or not isinstance(statement, EmptyStatement):
                yield statement, number


def _first_difference(before: list[tuple[Statement, int]], after: list[tuple[Statement, int]]) -> int | None:
    for number, ((old, _), (new, _)) in enumerate(zip(before, after, strict=False)):
        if not _same(old, new):
            return number
    return None if len(before) == len(after) else min(len(before), len(after))


def _same(old: object, new: object) -> bool:
    """Whether two parts of a syntax tree are equal but for their places."""
    if old is new:
        return True
    if type(old) is not type(new):
        return False
    if isinstance(old, Broken) and isinstance(new, Broken):
        return (old.problem.flaw, old.problem.message) == (new.problem.flaw, new.problem.message)
    if isinstance(old, tuple) and isinstance(new, tuple):
        return len(old) == len(new) and all(map(_same, old, new))
    if isinstance(old, SubgraphStart) and isinstance(new, SubgraphStart):
        return _same(old.id, new.id) and _same(_spaced(old.title), _spaced(new.title))
    if is_dataclass(old):
        names = (field.name for field in fields(old) if not field.name.endswith("span"))
        return all(_same(getattr(old, name), getattr(new, name)) for name in names)
    return old == new


def _spaced(title: Label | None) -> Label | None:
    """A subgraph's title; spaces between the parameters of a Loop or a Map mean nothing."""
    return None if title is None else replace(title, text=spaced_title(title.text))
