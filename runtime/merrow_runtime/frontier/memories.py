"""What a node remembers: what its ancestors gave, as if all turns and items stood in one graph."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.frontier.frame import Frame
from merrow_runtime.frontier.outcomes import Inputs
from merrow_runtime.operators.base import Remembered, Wants
from merrow_runtime.values import as_text


def remembered(frame: Frame, node: TypedNode, inputs: Inputs, wants: Wants | None = None) -> list[Remembered]:
    """The default outputs of the ancestors that ran, oldest first, without those that reach the node by an edge.

    Ancestors in earlier turns are those that `again` edges lead from. An entry of a turn says which, and one of another item
    than the node's own, too. ``wants`` is asked from the newest on, and the first that it does not want ends the list: what is
    older is not looked for.
    """
    arrived = {(given.node, given.path) for values in inputs.values() for given in values}
    own = set(_chain(frame))
    entries: list[Remembered] = []
    for at, handle in _ancestors(frame, node):
        ancestor = frame.shared.graph.node(handle)
        outputs = at.outputs(handle)
        if not outputs or ancestor.kind not in ("input", "operator") or (at is frame and handle == node.index):
            continue
        visit = at.told[handle].visit
        if (ancestor.id, visit.path) in arrived or (ancestor.id, None) in arrived:
            continue
        title = ", ".join([frame.shared.layout.titles[handle], *_numbers(at, own)])
        entry = Remembered(ancestor.id, title, as_text(next(iter(outputs.values()))), visit)
        if wants is not None and not wants(entry):
            break
        entries.append(entry)
    return entries[::-1]


def _ancestors(frame: Frame, node: TypedNode) -> Iterator[tuple[Frame, int]]:
    """The visits of all ancestors, the newest first: what a visit comes after has an earlier place than it, so that a heap knows
    the next one without those before it.
    """
    graph = frame.shared.graph
    seen: set[tuple[Frame, int]] = set()
    waiting: list[tuple[tuple[int, ...], int, tuple[Frame, int]]] = []

    def after(at: Frame, one: TypedNode) -> None:
        for giver in _before(at, one):
            if giver not in seen:
                seen.add(giver)
                # The number tells visits apart whose places are equal.
                heapq.heappush(waiting, (tuple(-part for part in _place(giver)), -len(seen), giver))

    after(frame, node)
    while waiting:
        _, _, (at, handle) = heapq.heappop(waiting)
        yield at, handle
        after(at, graph.node(handle))


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
