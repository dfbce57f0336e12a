"""Writing a change of the graph as edits of the text that follow the file's habits and leave all else as it is."""

from __future__ import annotations

import re

from merrow_analysis.graph.flow import FlowEdge
from merrow_analysis.ide.front_edit import add_prompt, remove_prompt
from merrow_analysis.syntax.tree import LinkStyle
from merrow_analysis.text import TextEdit
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
    manuscript = Manuscript(change.subject)
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
    if len({edit.range.start for edit in edits}) < len(edits) and change.lost_prompts:
        raise CannotWriteError("The prompts of the front matter can't be exchanged in place.")
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
