"""Loops and Maps in the text: another number of turns, or a mere group in the place of a Loop."""

from __future__ import annotations

from merrow_analysis.edits.change import GraphChange, Wrapping
from merrow_analysis.edits.manuscript import Manuscript, Written
from merrow_analysis.edits.replacements import CannotWriteError, Replacement
from merrow_analysis.graph.boxes.composites import Composite
from merrow_analysis.places.box_places import title_parameters
from merrow_analysis.places.node_places import metadata_value_range
from merrow_analysis.syntax.tree import Label, SubgraphStart


def write_boxes(manuscript: Manuscript, change: GraphChange) -> list[Replacement]:
    """The edits of the titles and metadata of boxes. Raises `CannotWriteError`."""
    boxes = manuscript.graph.composites.boxes
    found = [with_parameter(manuscript, boxes[name], "max", most) for name, most in sorted(change.turns.items())]
    found += [_as_group(manuscript, boxes[name]) for name in sorted(change.unwrapped)]
    return [*found, *(edit for name, box in sorted(change.wrapped.items()) for edit in _around(manuscript, name, box))]


def _around(manuscript: Manuscript, name: str, box: Wrapping) -> list[Replacement]:
    """A box around the declaration of a node; what is written below the declaration for new nodes comes before its end."""
    place = manuscript.declaration(manuscript.flow.nodes[box.around])
    if place is None or len(place.statement.groups[0]) != 1 or manuscript.text[place.end : place.end + 1] == ";":
        raise CannotWriteError(f"{box.around} has no line of its own.")
    manuscript.refuse_suppressed(place)
    return [manuscript.above(place, [f'subgraph {name}["{box.title}"]']), manuscript.below(place, ["end"])]


def with_parameter(manuscript: Manuscript, box: Composite, key: str, value: int) -> Replacement:
    """The edit that writes a number for a parameter of a box, where it is said or else in the title. Raises
    `CannotWriteError`.
    """
    said = box.parameters.get(key)
    if said is not None and said.block is not None:
        metadata, block = manuscript.flow.subgraphs[box.id].metadata[said.block]
        place = metadata_value_range(metadata, block, key)
        return Replacement(manuscript.places.offset(place.start), manuscript.places.offset(place.end), str(value))
    written, title = _title(manuscript, box)
    parameters = list(title_parameters(written.block, title))
    for parameter, (_, end) in parameters:
        if parameter.key == key:
            start = end - (parameter.value_span[1] - parameter.value_span[0])
            return _edit(manuscript, written, start, end, str(value))
    opened = written.block.text.find("(", *title.span)
    if opened == -1:
        raise CannotWriteError(f"The title of {box.id} has no parameters.")
    return _edit(manuscript, written, opened + 1, opened + 1, f"{key}: {value}{', ' if parameters else ''}")


def _as_group(manuscript: Manuscript, box: Composite) -> Replacement:
    """The id as a title, which makes a group of a box that only its title makes one."""
    group = manuscript.flow.subgraphs[box.id]
    if group.classes or group.metadata:
        raise CannotWriteError(f"{box.id} has classes or metadata of its own.")
    written, title = _title(manuscript, box)
    at = written.block.text.find(title.text, *title.span)
    if at == -1 or not title.text.strip():
        raise CannotWriteError(f"The title of {box.id} can't be rewritten.")
    return _edit(manuscript, written, at, at + len(title.text), box.id)


def _title(manuscript: Manuscript, box: Composite) -> tuple[Written, Label]:
    for written in manuscript.statements(SubgraphStart):
        head: SubgraphStart = written.statement
        if head.id is not None and head.id.text == box.id and head.title is not None:
            return written, head.title
    raise CannotWriteError(f"The title of {box.id} can't be rewritten.")


def _edit(manuscript: Manuscript, written: Written, start: int, end: int, text: str) -> Replacement:
    manuscript.refuse_suppressed(written)
    return Replacement(manuscript.offset(written.block, start), manuscript.offset(written.block, end), text)
