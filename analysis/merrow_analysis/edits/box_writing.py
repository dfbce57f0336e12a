"""Loops and Maps in the text: another number of turns, or a mere group in the place of a Loop."""

from __future__ import annotations

from merrow_analysis.edits.change import GraphChange, Wrapping
from merrow_analysis.edits.replacements import CannotWriteError, Replacement
from merrow_analysis.edits.workflow_text import WorkflowText, WrittenStatement
from merrow_analysis.graph.boxes.composites import Composite
from merrow_analysis.places.box_places import title_parameters
from merrow_analysis.places.node_places import metadata_value_range
from merrow_analysis.syntax.tree import Label, SubgraphStart


def write_boxes(workflow_text: WorkflowText, change: GraphChange) -> list[Replacement]:
    """The edits of the titles and metadata of boxes. Raises `CannotWriteError`."""
    boxes = workflow_text.graph.composites.boxes
    replacements = [
        with_parameter(workflow_text, boxes[name], "max", most) for name, most in sorted(change.turns.items())
    ]
    replacements += [_as_group(workflow_text, boxes[name]) for name in sorted(change.unwrapped)]
    return [
        *replacements,
        *(edit for name, box in sorted(change.wrapped.items()) for edit in _around(workflow_text, name, box)),
    ]


def _around(workflow_text: WorkflowText, name: str, box: Wrapping) -> list[Replacement]:
    """A box around the declaration of a node; what is written below the declaration for new nodes comes before its end."""
    place = workflow_text.declaration(workflow_text.flow.nodes[box.around])
    if place is None or len(place.statement.groups[0]) != 1 or workflow_text.text[place.end : place.end + 1] == ";":
        raise CannotWriteError(f"{box.around} has no line of its own.")
    workflow_text.refuse_suppressed(place)
    return [workflow_text.above(place, [f'subgraph {name}["{box.title}"]']), workflow_text.below(place, ["end"])]


def with_parameter(workflow_text: WorkflowText, box: Composite, key: str, value: int | str) -> Replacement:
    """The edit that writes a number or a word for a parameter of a box, where it is said or else in the title. Raises
    `CannotWriteError`.
    """
    existing = box.parameters.get(key)
    if existing is not None and existing.block is not None:
        metadata, block = workflow_text.flow.subgraphs[box.id].metadata[existing.block]
        place = metadata_value_range(metadata, block, key)
        return Replacement(workflow_text.places.offset(place.start), workflow_text.places.offset(place.end), str(value))
    written, title = _title(workflow_text, box)
    parameters = list(title_parameters(written.block, title))
    for parameter, (_, end) in parameters:
        if parameter.key == key:
            start = end - (parameter.value_span[1] - parameter.value_span[0])
            return _edit(workflow_text, written, start, end, str(value))
    opened = written.block.text.find("(", *title.span)
    if opened == -1:
        raise CannotWriteError(f"The title of {box.id} has no parameters.")
    return _edit(workflow_text, written, opened + 1, opened + 1, f"{key}: {value}{', ' if parameters else ''}")


def _as_group(workflow_text: WorkflowText, box: Composite) -> Replacement:
    """The id as a title, which makes a group of a box that only its title makes one."""
    group = workflow_text.flow.subgraphs[box.id]
    if group.classes or group.metadata:
        raise CannotWriteError(f"{box.id} has classes or metadata of its own.")
    written, title = _title(workflow_text, box)
    at = written.block.text.find(title.text, *title.span)
    if at == -1 or not title.text.strip():
        raise CannotWriteError(f"The title of {box.id} can't be rewritten.")
    return _edit(workflow_text, written, at, at + len(title.text), box.id)


def _title(workflow_text: WorkflowText, box: Composite) -> tuple[WrittenStatement, Label]:
    for written in workflow_text.statements(SubgraphStart):
        head: SubgraphStart = written.statement
        if head.id is not None and head.id.text == box.id and head.title is not None:
            return written, head.title
    raise CannotWriteError(f"The title of {box.id} can't be rewritten.")


def _edit(workflow_text: WorkflowText, written: WrittenStatement, start: int, end: int, text: str) -> Replacement:
    workflow_text.refuse_suppressed(written)
    return Replacement(workflow_text.offset(written.block, start), workflow_text.offset(written.block, end), text)
