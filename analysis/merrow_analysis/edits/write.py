"""Writing a change of the graph as edits of the text that follow the file's habits and leave all else as it is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from merrow_analysis.edits.box_writing import write_boxes
from merrow_analysis.edits.change import GraphChange, WantedEdge
from merrow_analysis.edits.edge_writing import write_edges
from merrow_analysis.edits.front_matter import Prompts, exchange_prompts, gain_prompt, lose_prompt
from merrow_analysis.edits.memory_writing import write_memories
from merrow_analysis.edits.node_writing import write_added, write_definitions, write_removed, write_substituted
from merrow_analysis.edits.replacements import Replacement
from merrow_analysis.edits.workflow_text import WorkflowText, WrittenStatement
from merrow_analysis.graph.flow import FlowEdge
from merrow_analysis.syntax.tree import LinkStyle
from merrow_analysis.text import equal_ends, split_lines


def write(workflow_text: WorkflowText, change: GraphChange) -> list[Replacement]:
    """The edits of the text, by offset, that make a change. Raises `CannotWriteError` with a sentence."""
    edges = write_edges(workflow_text, change)
    replacements = [
        *_front_matter(workflow_text, change),
        *write_removed(workflow_text, change),
        *write_substituted(workflow_text, change),
        *write_memories(workflow_text, change),
        *write_added(workflow_text, change),
        *write_boxes(workflow_text, change),
        *write_definitions(workflow_text, change),
        *edges.replacements,
        *_link_styles(workflow_text, edges.order),
    ]
    return _apart(
        [replacement for replacement in replacements if replacement.start != replacement.end or replacement.new]
    )


def _apart(replacements: list[Replacement]) -> list[Replacement]:
    """The same edits, with lines that come below one that goes in the place of that one."""
    lost = sorted(replacement for replacement in replacements if not replacement.new)
    instead = [""] * len(lost)
    kept: list[Replacement] = []
    for replacement in replacements:
        at = bisect_right(lost, replacement.start, key=_start) - 1
        if replacement.start == replacement.end and at >= 0 and lost[at].start < replacement.start < lost[at].end:
            instead[at] += replacement.new
        elif replacement.new:
            kept.append(replacement)
    # New lines begin with a line ending; what goes ends with one.
    return [*kept, *(replacement._replace(new=_turned(new)) for replacement, new in zip(lost, instead, strict=True))]


def _start(replacement: Replacement) -> int:
    return replacement.start


def _turned(lines: str) -> str:
    ending = lines[: len(lines) - len(lines.lstrip("\r\n"))]
    return lines.removeprefix(ending) + ending


def _front_matter(workflow_text: WorkflowText, change: GraphChange) -> list[Replacement]:
    """Prompts that come and go in the front matter. Where both do, one may take the place of another: that is one edit."""
    gained, lost = change.gained_prompts, workflow_text.lost_prompts(change)
    if gained and lost:
        return [_exchanged(workflow_text, gained, lost)]
    edits = [lose_prompt(workflow_text.diagram, name) for name in lost]
    edits += [gain_prompt(workflow_text.diagram, name, text) for name, text in gained]
    places = workflow_text.places
    return [
        Replacement(places.offset(start), places.offset(end), new.replace("\n", workflow_text.eol))
        for (start, end), new in edits
    ]


def _exchanged(workflow_text: WorkflowText, gained: Prompts, lost: Iterable[str]) -> Replacement:
    front = workflow_text.diagram.front_matter
    before = "" if front is None else front[1].text
    old, new = split_lines(before), split_lines(exchange_prompts(before, gained, lost, workflow_text.eol))
    first, last = equal_ends(old, new)
    start, end = len("".join(old[:first])), len("".join(old[: len(old) - last]))
    return Replacement(start, end, "".join(new[first : len(new) - last]))


def _link_styles(workflow_text: WorkflowText, order: list[tuple[WantedEdge, FlowEdge | None]]) -> list[Replacement]:
    """Count the edges of ``linkStyle`` again, so that each style stays with its edge."""
    numbers: dict[int, int] = {}
    for number, (_, edge) in enumerate(order):
        if edge is not None:
            numbers[edge.index] = number
    replacements: list[Replacement] = []
    for written in workflow_text.statements(LinkStyle):
        targets = written.statement.targets
        if targets is None:
            continue
        new = [numbers[old] for old in targets if old in numbers]
        if new == list(targets) or any(old >= len(workflow_text.flow.edges) for old in targets):
            continue
        replacements.append(workflow_text.without(written) if not new else _renumbered(written, new))
    return replacements


def _renumbered(written: WrittenStatement, numbers: list[int]) -> Replacement:
    shift = written.start - written.statement.span[0]
    start, end = written.statement.targets_span
    return Replacement(start + shift, end + shift, ",".join(map(str, numbers)))
