"""Every door answers for every drawing, also where arrows lead back, to the same step, and through steps with operators.

``MERROW_TIMES`` times 12 drawings go through all doors of `tests.growth.doors`, which raise what a server or a function raises.
"""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from tests.examples import examples
from tests.growth.doors import DOORS, Opened
from tests.growth.shapes import Shape
from tests.plain.drawings import knotted_drawings

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


@settings(max_examples=examples(12), suppress_health_check=list(HealthCheck))
@given(knotted_drawings())
def test_every_door_answers_for_any_drawing(text: str) -> None:
    go_through_all(text)


def test_every_door_answers_where_all_steps_of_a_loop_run_in_turns_of_their_own() -> None:
    go_through_all(f"---\nworkflow: true\n---\n{STEPS_IN_TURNS_WITHIN_TURNS}")
