"""Whatever a text looks like and wherever the cursor is, each request is answered or refused in words; none fails in Merrow."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from tests.breakage import broken
from tests.examples import SAME, examples
from tests.growth.doors import DOORS, Opened
from tests.growth.shapes import SHAPES, Shape
from tests.server.lsp.editor import Json

ROOT = Path(__file__).resolve().parents[3]
FIRST = 0 if SAME else int(os.environ["MERROW_SEED"]) * 1000
_PARTS = 4
_PLACES = 6
_FILES = sorted(path for path in (ROOT / "examples").rglob("*.m*") if path.suffix in (".md", ".mmd"))


class _AnyPlaces(Opened):
    """A text whose requests come from places drawn at random."""

    def __init__(self, shape: Shape, random: Random) -> None:
        super().__init__(shape, random.randint(1, 3))
        self._random = random

    def places(self) -> list[Json]:
        lines = self._random.choices(range(len(self.lines)), k=_PLACES)
        return [{"line": line, "character": self._random.randint(0, len(self.lines[line]))} for line in lines]


def _shape(random: Random) -> Shape:
    """An example or one of the shapes of the growth sweep, mostly broken."""
    if random.random() < 0.5:
        path = random.choice(_FILES)
        shape = Shape(path.name, lambda _: path.read_text("utf-8"), markdown=path.suffix == ".md")
    else:
        shape = random.choice(list(SHAPES.values()))
    if random.random() < 0.3:
        return shape
    return Shape(shape.name, lambda size: broken(shape.make(size), random), markdown=shape.markdown)


@pytest.mark.parametrize("part", range(_PARTS))
def test_each_request_is_answered(part: int) -> None:
    for number in range(part, examples(48, least=_PARTS), _PARTS):
        random = Random(FIRST + number)
        it = _AnyPlaces(_shape(random), random)
        try:
            it.open()
            for door in random.sample(list(DOORS), len(DOORS)):
                try:
                    DOORS[door](it)
                except Exception as problem:
                    raise AssertionError(f"“{door}” failed, seed {FIRST + number}: {problem}\n{it.text}") from problem
        finally:
            it.close()
