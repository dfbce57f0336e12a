"""Every door answers for every drawing, also where arrows lead back, to the same step, and through steps with operators.

Drawings go through all doors of `tests.growth.doors`, which raise what a server or a function raises.
"""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from tests.growth.doors import DOORS, Opened
from tests.growth.shapes import Shape
from tests.plain.drawings import knotted_drawings

from merrow_analysis.check import analyse
from merrow_analysis.text import Range
from merrow_server.positions import WirePosition, WireRange
from merrow_server.rendering.graph import graph_object

STEPS_IN_TURNS_WITHIN_TURNS = (
    "flowchart TD\nN0(Start) --> N1[Write] --> N1\nN1 --> N2[Check] --> N1\nN2 --> N2\nN2 --> N3(End)\n"
)


def go_through_all(text: str) -> None:
    it = Opened(Shape("a drawing", lambda _: text), 1)
    try:
        it.open()
        for door in DOORS.values():
            door(it)
    finally:
        it.close()


@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@given(knotted_drawings())
def test_every_door_answers_for_any_drawing(text: str) -> None:
    go_through_all(text)


def test_a_loop_is_where_the_first_of_its_steps_is() -> None:
    analysis = analyse(f"---\nworkflow: true\n---\n{STEPS_IN_TURNS_WITHIN_TURNS}")
    graph = analysis.typed
    assert graph is not None
    loops = graph_object(graph, analysis.settings, "flow.mmd", wire_range, 0)["composites"]
    nodes = {node.id: wire_range(node.flow.range) for node in graph.nodes if not node.implied}
    assert [loop["range"] for loop in loops] == [nodes["N1"]], "what goes on without a choice is one Loop"


def wire_range(place: Range) -> WireRange:
    start, end = (WirePosition(line=at.line, character=at.column) for at in (place.start, place.end))
    return WireRange(start=start, end=end)


def test_every_door_answers_where_all_steps_of_a_loop_run_in_turns_of_their_own() -> None:
    go_through_all(f"---\nworkflow: true\n---\n{STEPS_IN_TURNS_WITHIN_TURNS}")
