"""Writing a change of the graph as edits of the text that follow the file's habits and leave all else as it is."""

from __future__ import annotations

import re

from merrow_analysis.check import analyse
from merrow_analysis.graph.flow import FlowEdge
from merrow_analysis.ide.front_edit import add_prompt, remove_prompt
from merrow_analysis.syntax.tree import LinkStyle
from merrow_analysis.text import TextEdit, apply_edits, split_lines
from merrow_optimizer.mutations.base import Splice
from merrow_optimizer.mutations.change import Change, Link
from merrow_optimizer.mutations.edge_writing import write_edges
from merrow_optimizer.mutations.manuscript import CannotWriteError, Manuscript, Written
from merrow_optimizer.mutations.node_writing import (
    write_added,
    write_definitions,
    write_removed,
    write_substituted,
)

_NUMBERS = re.compile(r"(linkStyle[ \t]+)(\d[\d, \t]*?)(?=[ \t]+[^\d, \t])")


def write(change: Change) -> list[Splice]:
    """The edits of the text, by offset, that make a change. Raises `CannotWriteError` with a sentence."""
    manuscript = change.subject.remembered(Manuscript)
    edges = write_edges(manuscript, change)
    found = [
        *_front_matter(manuscript, change),
        *write_removed(manuscript, change),
        *write_substituted(manuscript, change),
        *write_added(manuscript, change),
        *write_definitions(manuscript, change),
        *edges.splices,
        *_link_styles(manuscript, edges.order),
    ]
    return [splice for splice in found if splice.start != splice.end or splice.new]


def _front_matter(manuscript: Manuscript, change: Change) -> list[Splice]:
    """Prompts that come and go in the front matter: one edit of it, since they may stand side by side."""
    gained = change.gained_prompts
    if not gained and not change.lost_prompts:
        return []
    if gained and change.lost_prompts:
        return [_exchanged(manuscript, change)]
    edits: list[TextEdit] = []
    for name in change.lost_prompts:
        edit = remove_prompt(change.subject.analysis, name)
        if edit is None:
            raise CannotWriteError(f"The prompt {name} can't be taken out of the front matter.")
        edits.append(edit)
    for name, text in gained:
        edit = add_prompt(change.subject.analysis, name, text)
        if edit is None:
            raise CannotWriteError(f"The prompt {name} can't be written into the front matter.")
        edits.append(edit)
    eol = manuscript.eol
    places = manuscript.places
    return [
        Splice(
            places.offset(edit.range.start),
            places.offset(edit.range.end),
            edit.new_text if eol == "\n" else edit.new_text.replace("\n", eol),
        )
        for edit in edits
    ]


def _exchanged(manuscript: Manuscript, change: Change) -> Splice:
    """Prompts that come and go at once, one after another, since one may take the place of another; as one edit."""
    front = change.subject.analysis.diagram.front_matter
    before = "" if front is None else front[1].text
    after = before
    # What comes goes first: a front matter without any prompt would lose the place for them.
    for name, text in change.gained_prompts:
        edit = add_prompt(analyse(after + _BODY), name, text)
        if edit is None:
            raise CannotWriteError(f"The prompt {name} can't be written into the front matter.")
        new = edit.new_text if manuscript.eol == "\n" else edit.new_text.replace("\n", manuscript.eol)
        after = apply_edits(after, [TextEdit(edit.range, new)])
    for name in change.lost_prompts:
        edit = remove_prompt(analyse(after + _BODY), name)
        if edit is None:
            raise CannotWriteError(f"The prompt {name} can't be taken out of the front matter.")
        after = apply_edits(after, [edit])
    old, new_lines = split_lines(before), split_lines(after)
    start = 0
    while start < min(len(old), len(new_lines)) and old[start] == new_lines[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new_lines)) - start and old[-1 - end] == new_lines[-1 - end]:
        end += 1
    first = len("".join(old[:start]))
    return Splice(
        first, len(before) - len("".join(old[len(old) - end :])), "".join(new_lines[start : len(new_lines) - end])
    )


_BODY = "flowchart TD\n"
"""What a front matter needs below it to be read by itself."""


def _link_styles(manuscript: Manuscript, order: list[tuple[Link, FlowEdge | None]]) -> list[Splice]:
    """Count the edges of ``linkStyle`` anew, so that each style stays with its edge."""
    numbers: dict[int, int] = {}
    for number, (_, edge) in enumerate(order):
        if edge is not None:
            numbers[edge.index] = number
    found: list[Splice] = []
    for written in manuscript.statements(LinkStyle):
        targets = written.statement.targets
        if targets is None:
            continue
        new = [numbers[old] for old in targets if old in numbers]
        if new == list(targets) or any(old >= len(manuscript.subject.flow.edges) for old in targets):
            continue
        found.append(manuscript.without(written) if not new else _renumbered(manuscript, written, new))
    return found


def _renumbered(manuscript: Manuscript, written: Written, numbers: list[int]) -> Splice:
    match = _NUMBERS.match(manuscript.text, written.start)
    if match is None:
        raise CannotWriteError("A `linkStyle` can't be counted anew.")
    return Splice(match.start(2), match.end(2), ",".join(map(str, numbers)))
