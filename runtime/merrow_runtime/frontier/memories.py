"""What a node remembers: what its ancestors gave, as if all turns and items stood in one graph."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.frontier.frame import Frame
from merrow_runtime.frontier.outcomes import Inputs
from merrow_runtime.operators.base import Remembered
from merrow_runtime.values import as_text


def remembered(frame: Frame, node: TypedNode, inputs: Inputs) -> list[Remembered]:
    """The default outputs of the ancestors that ran, oldest first, without those that reach the node by an edge.

    Ancestors in earlier turns are those that `again` edges lead from. An entry of a turn says which, and one of another item
    than the node's own, too.
    """
    graph, titles = frame.shared.graph, frame.shared.layout.titles
    seen: dict[tuple[Frame, int], None] = {}
    pending = [(frame, node)]
    while pending:
        for giver in _before(*pending.pop()):
            if giver not in seen:
                seen[giver] = None
                pending.append((giver[0], graph.node(giver[1])))
    arrived = {(given.node, given.path) for values in inputs.values() for given in values}
    own = set(_chain(frame))
    entries: list[Remembered] = []
    for at, handle in sorted(seen, key=_place):
        ancestor = graph.node(handle)
        outputs = at.outputs(handle)
        if not outputs or ancestor.kind not in ("input", "operator") or (at is frame and handle == node.index):
            continue
        visit = at.told[handle].visit
        if (ancestor.id, visit.path) not in arrived and (ancestor.id, None) not in arrived:
            title = ", ".join([titles[handle], *_numbers(at, own)])
            entries.append(Remembered(ancestor.id, title, as_text(next(iter(outputs.values()))), visit))
    return entries


def _before(frame: Frame, node: TypedNode) -> Iterator[tuple[Frame, int]]:
    """The visits that a node of a frame comes directly after, each by its frame and node."""
    for edge in node.incoming:
        source = edge.source.index
        for at in frame.frames_with(source):
            if at.standing.get(source) != "finished":
                continue
            if edge.case is not None and at.chosen.get(source) not in (None, edge.case):
                continue
            if edge.word == "over" and _ran_out(at, edge.left[0]) is False:
                continue
            yield at, source
    if frame.around is not None:
        for port in frame.shared.layout.fed[node.index]:
            for back in frame.back(node.index, port.name) if port.again else ():
                handle = back.source.handle
                for at in back.frame.frames_with(handle):
                    if at.standing.get(handle) == "finished":
                        yield at, handle


def _ran_out(frame: Frame, loop: str) -> bool | None:
    return next((at.mores[loop] for at in _chain(frame) if loop in at.mores), None)


def _chain(frame: Frame | None) -> Iterator[Frame]:
    """A frame and those around it."""
    while frame is not None:
        yield frame
        frame = frame.around


def _place(visit: tuple[Frame, int]) -> tuple[int, ...]:
    """Where a visit is in the order of the run, for sorting."""
    frame, handle = visit
    place = [frame.part.places[handle]]
    for at in _chain(frame):
        if at.around is not None and at.part.box is not None:
            place += [at.number, at.around.part.places[at.part.box]]
    return tuple(reversed(place))


def _numbers(frame: Frame, own: set[Frame]) -> list[str]:
    """Which turns and items a frame is, outer ones first; ``own`` are the frames whose items need not be told."""
    boxes = frame.shared.layout.boxes
    numbers: list[str] = []
    for at in _chain(frame):
        if at.part.box is None:
            continue
        if boxes[at.part.box].composite.kind == "loop":
            numbers.append(f"turn {at.number}")
        elif at not in own:
            numbers.append(f"item {at.number}")
    return numbers[::-1]
