"""Twice the text takes about twice the steps, whatever the text looks like and whichever door it goes through.

Each shape of text is given to each door at three sizes. What the second doubling adds may be at most 2.3 times what the first one
added, and a little more for what does not come evenly. Steps are counted, so the outcome is the same on each machine.

`make test-all` has each shape go through a few doors, others than the shape before it; `make test` does so with some shapes.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from tests.growth.doors import DOORS, Opened
from tests.growth.shapes import SHAPES, Shape
from tests.growth.steps import forget, lines, steps

from merrow_analysis.check import analyse

GROWTH = 2.3
SMALLEST = 32
SIZES = (SMALLEST, 2 * SMALLEST, 4 * SMALLEST)
LARGEST = 16 * SMALLEST
"""Size at which what is still steep fails."""
_FEW = 2
"""Doors that each shape goes through."""
_DEAR = 25_000
"""Steps at the smallest size beyond which a door begins at half of it."""
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
    "arrows back to the step before",
    "nested subgraphs with nodes",
)
"""Shapes that were once quadratic or worse, which every run tries."""
_TRIED = [shape for shape in SHAPES.values() if shape.name not in _ALWAYS]
_DOORS = list(DOORS)


def _doors(shape: Shape) -> list[str]:
    """The doors that a shape goes through."""
    if shape.name in _ALWAYS:
        return ["check", "edit a line in the middle", "rename", "code actions of all"]
    first = _NAMES.index(shape.name) * _FEW
    return [_DOORS[(first + step) % len(_DOORS)] for step in range(_FEW)]


@contextmanager
def _opened(shape: Shape, size: int) -> Iterator[Opened]:
    gc.freeze()  # What is there already is not looked at again at each collection.
    it = Opened(shape, size)
    try:
        it.open()
        yield it
    finally:
        it.close()
        gc.collect()  # Else the next one's freeze would keep what is left.


def _counts(shape: Shape, doors: list[str], sizes: tuple[int, ...]) -> dict[str, list[int]]:
    """The steps of each door at some sizes."""
    found: dict[str, list[int]] = {door: [] for door in doors}
    for size in sizes if doors else ():
        with _opened(shape, size) as it:
            for door in doors:
                forget()
                found[door].append(steps(lambda door=door, it=it: DOORS[door](it)))  # type: ignore[misc]
    return found


def _is_linear(small: float, middle: float, large: float, slack: float) -> bool:
    return large - middle <= GROWTH * max(middle - small, 0) + slack


@pytest.mark.parametrize("name", _ALWAYS)
def test_what_was_quadratic_once_grows_with_the_text(name: str) -> None:
    _check_growth(SHAPES[name])


@pytest.mark.parametrize(
    "name",
    [
        "steps in Loops inside one another",
        "a Decision that asks with many cases",
        "an operator that lacks many inputs",
        "an operator with many open ports",
    ],
)
def test_a_check_of_what_was_slow_once_grows_with_the_text(name: str) -> None:
    """The steps of a check, at sizes at which what is quadratic outweighs the rest."""
    counts = _counts(SHAPES[name], ["check"], (128, 256, 512))["check"]
    assert _is_linear(*counts, UNEVEN + counts[1] / 10), counts


@pytest.mark.parametrize("shape", _TRIED, ids=lambda shape: shape.name)
@pytest.mark.thinned(16)
def test_steps_grow_with_the_text(shape: Shape) -> None:
    _check_growth(shape)


def _check_growth(shape: Shape) -> None:
    """What looks steep is doubled once more, up to the largest size. A limit that is passed on the way (of suggestions, of what a
    search looks at), and what a door imports when it is first used, make one doubling steep, while what is quadratic stays so.
    """
    doors = _doors(shape)
    counts = _counts(shape, doors, (SMALLEST,))
    dear = [door for door in doors if counts[door][0] > _DEAR]
    for door, (small, large) in _counts(shape, dear, (SMALLEST // 2, 2 * SMALLEST)).items():
        counts[door] = [small, *counts[door], large]
    for door, further in _counts(shape, [door for door in doors if door not in dear], SIZES[1:]).items():
        counts[door] += further
    for door, found in counts.items():
        size = 2 * SMALLEST if door in dear else SIZES[-1]
        while not _grows_evenly(found):
            size *= 2
            assert size <= LARGEST, (shape.name, door, found)
            found += _counts(shape, [door], (size,))[door]


def _grows_evenly(counts: list[int]) -> bool:
    small, middle, large = counts[-3:]
    # Where more text took fewer steps, a limit was passed before, and only the last doubling says something.
    is_past_limit = len(counts) > 3 and small < counts[-4] and large <= GROWTH * middle
    return is_past_limit or _is_linear(small, middle, large, UNEVEN + middle / 10)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["broken words", "suppressions of a file", "label parameters"])
def test_lines_run_by_a_check_grow_with_the_text(name: str) -> None:
    """Loops that call nothing are no steps: where they were quadratic, the lines are counted that run."""
    found: list[int] = []
    for size in (100, 200, 400):
        text = SHAPES[name].make(size)
        forget()
        found.append(lines(lambda text=text: analyse(text)))  # type: ignore[misc]
    assert _is_linear(*found, found[1] / 10), found


def test_a_quadratic_door_is_noticed() -> None:
    """The measure itself: a door that looks at all lines for each line fails, one that looks at each once does not."""

    def counted(per_line: Callable[[int], int]) -> list[int]:
        return [1000 + size * 40 + per_line(size) for size in (SMALLEST, 2 * SMALLEST, 4 * SMALLEST)]

    dear = [size * 500 + size * size * 12 for size in (SMALLEST // 2, SMALLEST, 2 * SMALLEST)]
    assert not _is_linear(*dear, UNEVEN + dear[1] / 10)
    once, all_lines = counted(lambda size: size * 10), counted(lambda size: size * size)
    assert _is_linear(*once, UNEVEN + once[1] / 10)
    assert not _is_linear(*all_lines, UNEVEN + all_lines[1] / 10)
