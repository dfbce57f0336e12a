"""What arrives at the nodes of a frame: over its edges, from outside of it, and from earlier turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

from merrow_analysis.definitions.operators import ASKED_ABOUT
from merrow_analysis.graph.bare.conditions import NEVER
from merrow_analysis.graph.decisions import KIND
from merrow_analysis.graph.live_state import LiveState
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_runtime.frontier.layout import EdgeSource, Layout
from merrow_runtime.frontier.outcomes import Chose, Failed, Gave, Inputs
from merrow_runtime.frontier.parts import Part
from merrow_runtime.operators.base import Given
from merrow_runtime.values import VALUE, Value, list_apart, part_of

Told = Gave | Chose | Failed
F = TypeVar("F")


class Back(NamedTuple, Generic[F]):
    """What an `again` edge brings, and the frame that it comes from."""

    source: EdgeSource
    frame: F
    given: Sequence[Given]


class Counting(Protocol):
    """A composite that has begun."""

    def counted(self) -> Iterable[Any]:
        """The frames whose values go out."""
        ...


class Inflow:
    """What is known of a frame, as far as it says what arrives at its nodes.

    ``around`` is the frame that the composite runs in and ``number`` which turn or item this is. ``again`` has what earlier turns
    bring to ports, by node and port; ``told`` what came of nodes, ``passed`` what asking Decisions pass on, ``lists`` what
    Maps bring, by the number of the source, and ``runs`` the composites that have begun.
    """

    __slots__ = ("again", "around", "graph", "layout", "lists", "live", "number", "part", "passed", "runs", "told")

    around: Self | None
    again: Mapping[tuple[int, str], Sequence[Back[Self]]]
    graph: TypedGraph
    layout: Layout
    part: Part
    live: LiveState
    number: int
    told: dict[int, Told]
    passed: dict[int, list[Sequence[Given]]]
    lists: dict[int, list[Value]]
    runs: dict[str, Any]

    def arrived(self, node: TypedNode) -> Inputs:
        """What the live edges bring to each port of a node before which all is settled."""
        inputs: Inputs = {}
        for name, sources, again, many in self.layout.fed[node.index]:
            back = [given for back_value in self.back(node.index, name) for given in back_value.given] if again else []
            values: list[Given] = []
            if many or not back:
                for source in sources:
                    if not (back and source.first):
                        values += self.brought(source)
            values += back if many else back[-1:]
            if values:
                inputs[name] = values
        return inputs

    def back(self, handle: int, port: str) -> list[Back[Self]]:
        """What `again` edges bring to a port in this frame, of outer composites first."""
        backs: list[Back[Self]] = []
        frame: Self | None = self
        while frame is not None:
            backs[:0] = frame.again.get((handle, port), ())
            frame = frame.around
        return backs

    def brought(self, source: EdgeSource) -> Sequence[Given]:
        """What one edge brings to one port, where that is live."""
        number, handle, name, output, type_, title, feed, each, raised, _, keys, kind = source
        if handle not in self.part.unit:
            assert self.around is not None  # noqa: S101 (all nodes are in the frame of the whole workflow)
            given = self.around.brought(source)
            if each is None or each != self.part.box:
                return given
            apart = [(value, *list_apart(value.value, keys)) for value in given]
            return [
                Given(value.node, value.output, type_, part_of(items[self.number - 1], inner), value.title, None)
                for value, items, inner in apart
                if isinstance(items, list) and self.number <= len(items)
            ]
        if raised and number in self.lists:
            if self.live.alive(feed) is False:
                return ()
            return (Given(name, output, type_, self.lists[number], title, None),)
        outcome = self.told.get(handle)
        if isinstance(outcome, Gave):
            if feed.over is not None and self.live.alive(feed) is False:
                return ()
            outputs = outcome.outputs
            port = output or next(iter(outputs))
            if keys and each is None:  # else the field is that of each item
                field = ".".join((port, *keys))
                return (Given(name, field, type_, part_of(outputs[port], keys), title, outcome.visit.path),)
            return (Given(name, port, type_, outputs[port], title, outcome.visit.path),)
        if isinstance(outcome, Chose) and self.live.alive(feed) is not False:
            if (keys and each is None) or kind is not None:
                return _carried(outcome.value, source)
            return outcome.value if feed.passed is None else self.passed[handle][feed.passed]
        return ()

    def frames_with(self, handle: int) -> Iterator[Self]:
        """The frames in which a node ran as far as it counts for this one: several where a Map is between."""
        frame = self.frame_with(handle)
        unit = frame.part.unit[handle]
        if isinstance(unit, int):
            yield frame
        elif unit in frame.runs:
            for inner in frame.runs[unit].counted():
                yield from inner.frames_with(handle)

    def frame_with(self, handle: int) -> Self:
        """This frame, or the innermost around it that has the node."""
        frame = self
        while handle not in frame.part.unit and frame.around is not None:
            frame = frame.around
        return frame

    def passed_on(self, handle: int, sources: Sequence[Sequence[EdgeSource]]) -> list[Sequence[Given]]:
        """What a Decision that asks passes on: all that arrived, but for what came back. In a graph that is read as a drawing the
        newest alone, and what came back is newer than what came from before: people draw there what was made better.
        """
        if not self.graph.core.loose:
            return [self._brought_as_one(handle, number, ones) for number, ones in enumerate(sources)]
        back = [given for back_value in self.back(handle, ASKED_ABOUT.name) for given in back_value.given]
        places = self.graph.shape.places
        arrived = sorted((source for ones in sources for source in ones), key=lambda source: places[source.handle])
        brought = [given for source in arrived for given in self.brought(source)]
        return [(back or brought)[-1:] for _ in sources]

    def _brought_as_one(self, handle: int, number: int, sources: Sequence[EdgeSource]) -> Sequence[Given]:
        """What these bring together. While choices are left open, as in a dry run, one of what never arrives together stands for
        all of it.
        """
        if len(sources) == 1:
            return self.brought(sources[0])
        brought = [given for source in sources for given in self.brought(source)]
        live = self.graph.combinations.live
        apart = live is not None and live.passed[handle][number][1] == NEVER
        return brought[:1] if apart else brought


def _carried(value: Sequence[Given], source: EdgeSource) -> Sequence[Given]:
    """What a case edge makes of its Decision's value: of a union the value of the edge's kind, of a record a field."""
    keys = source.keys if source.each is None else ()
    if source.kind:
        keys = (VALUE, *keys)
        value = [given for given in value if isinstance(given.value, dict) and given.value.get(KIND) == source.kind]
    return [
        Given(
            given.node,
            given.output and ".".join((given.output, *keys)),
            source.type,
            part_of(given.value, keys),
            given.title,
            given.path,
        )
        for given in value[:1]
    ]
