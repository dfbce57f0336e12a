"""Twice the text takes about twice the steps, whatever the text looks like and whichever door it goes through.

Each shape of text is given to each door at three sizes. What the second doubling adds may be at most 2.3 times what the first one
added, and a little more for what does not come evenly. Steps are counted, so the outcome is the same on each machine.

``MERROW_GROWTH=1`` runs every shape through every door, at larger sizes, and compares CPU time besides: that sees loops in C.
Without it some of the shapes go through a few doors, which change from shape to shape.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from tests.growth.doors import DOORS, Opened
from tests.growth.exceptions import exception
from tests.growth.shapes import SHAPES, Shape
from tests.growth.steps import forget, lines, steps

from merrow_analysis.check import analyse

WHOLE = bool(os.environ.get("MERROW_GROWTH"))
GROWTH = 2.3
SMALLEST = 64 if WHOLE else 32
SIZES = (SMALLEST, 2 * SMALLEST, 4 * SMALLEST)
MOST_SECONDS = 2.0
"""CPU time beyond which doubling is tried no further."""
LEAST_SECONDS = 0.05
"""CPU time below which a ratio says nothing."""
_FEW = 3
"""Doors that each shape goes through in a push."""
UNEVEN = 3000
"""Steps that may come at once, such as those of a list of suggestions."""
_NAMES = list(SHAPES)
_ALWAYS = (
    "suppressions of a file",
    "comments that ignore a rule",
    "label parameters",
    "broken words",
    "Decisions side by side",
    "declared operators",
    "diamonds that lead to the next two",
)
"""Shapes that were once quadratic or worse, which every push tries."""
_TRIED = [shape for number, shape in enumerate(SHAPES.values()) if WHOLE or number % 16 == 0 or shape.name in _ALWAYS]
_DOORS = list(DOORS)


def _doors(shape: Shape) -> list[str]:
    """The doors that a shape goes through."""
    if WHOLE:
        return _DOORS
    if shape.name in _ALWAYS:
        return ["check", "edit a line in the middle", "rename", "code actions of all"]
    first = _NAMES.index(shape.name) * _FEW
    return [_DOORS[(first + step) % len(_DOORS)] for step in range(_FEW)]


@contextmanager
def _opened(shape: Shape, size: int) -> Iterator[Opened]:
    it = Opened(shape, size)
    try:
        it.open()
        yield it
    finally:
        it.close()


def _counts(shape: Shape, doors: list[str], sizes: tuple[int, ...]) -> dict[str, list[int]]:
    """The steps of each door at some sizes."""
    found: dict[str, list[int]] = {door: [] for door in doors}
    for size in sizes:
        with _opened(shape, size) as it:
            for door in doors:
                forget()
                found[door].append(steps(lambda door=door, it=it: DOORS[door](it)))  # type: ignore[misc]
    return found


def _is_linear(small: float, middle: float, large: float, slack: float) -> bool:
    return large - middle <= GROWTH * max(middle - small, 0) + slack


@pytest.mark.parametrize("shape", _TRIED, ids=lambda shape: shape.name)
@pytest.mark.thinned(2)
def test_steps_grow_with_the_text(shape: Shape) -> None:
    """In a push only some of the shapes, and those in `_ALWAYS` through the doors at which they were quadratic.

    What looks steep is doubled once more: a limit that is passed on the way (of suggestions, of what a search looks at) makes one
    doubling steep, and what is quadratic stays so.
    """
    for door, (small, middle, large) in _counts(shape, _doors(shape), SIZES).items():
        if exception(shape.name, door) is None and not _is_linear(small, middle, large, UNEVEN + middle / 10):
            (larger,) = _counts(shape, [door], (2 * SIZES[-1],))[door]
            assert _is_linear(middle, large, larger, UNEVEN + large / 10), (shape.name, door, middle, large, larger)


@pytest.mark.parametrize("name", ["broken words", "suppressions of a file", "label parameters"])
def test_lines_run_by_a_check_grow_with_the_text(name: str) -> None:
    """Loops that call nothing are no steps: where they were quadratic, the lines are counted that run."""
    found: list[int] = []
    for size in (100, 200, 400):
        text = SHAPES[name].make(size)
        forget()
        found.append(lines(lambda text=text: analyse(text)))  # type: ignore[misc]
    assert _is_linear(*found, found[1] / 10), found


def _seconds(call: Callable[[], object]) -> float:
    forget()
    gc.collect()
    gc.disable()
    start = time.process_time()
    try:
        call()
    finally:
        gc.enable()
    return time.process_time() - start


@pytest.mark.skipif(not WHOLE, reason="takes hours; set MERROW_GROWTH=1")
@pytest.mark.parametrize("shape", SHAPES.values(), ids=lambda shape: shape.name)
def test_time_grows_with_the_text(shape: Shape) -> None:
    """The only test that looks at a clock, and never in a push: nothing is wrong unless it is so four times."""
    late: dict[str, list[float]] = {}
    doors = [door for door in _DOORS if exception(shape.name, door) is None]
    before: dict[str, float] = {}
    size = max(shape.most // 8, 8)
    while size <= shape.most and doors:
        with _opened(shape, size) as it:
            for door in list(doors):
                taken = _seconds(lambda door=door, it=it: DOORS[door](it))  # type: ignore[misc]
                allowed = GROWTH * max(before.get(door, taken), LEAST_SECONDS / 2)
                tries = 0
                while taken > max(allowed, LEAST_SECONDS) and tries < 3:
                    taken = min(taken, _seconds(lambda door=door, it=it: DOORS[door](it)))  # type: ignore[misc]
                    tries += 1
                if taken > max(allowed, LEAST_SECONDS):
                    late[door] = [before.get(door, 0.0), taken, size]
                    doors.remove(door)
                elif taken > MOST_SECONDS:
                    doors.remove(door)
                before[door] = taken
        size *= 2
    assert not late, late


def test_a_quadratic_door_is_noticed() -> None:
    """The measure itself: a door that looks at all lines for each line fails, one that looks at each once does not."""

    def counted(per_line: Callable[[int], int]) -> list[int]:
        return [1000 + size * 40 + per_line(size) for size in (SMALLEST, 2 * SMALLEST, 4 * SMALLEST)]

    once, all_lines = counted(lambda size: size * 10), counted(lambda size: size * size)
    assert _is_linear(*once, UNEVEN + once[1] / 10)
    assert not _is_linear(*all_lines, UNEVEN + all_lines[1] / 10)
