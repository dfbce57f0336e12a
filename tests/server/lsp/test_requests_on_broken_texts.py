"""Whatever a text looks like and wherever the cursor is, each request is answered or refused in words; none fails in Merrow."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.breakage import broken
from tests.growth.doors import DOORS, Opened
from tests.growth.shapes import SHAPES, Shape
from tests.server.lsp.editor import Json, ServerError
from tests.sizes import sized

ROOT = Path(__file__).resolve().parents[3]
INTERNAL_ERROR = -32603
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
    for number in range(part, sized(12, 24), _PARTS):
        random = Random(number)
        it = _AnyPlaces(_shape(random), random)
        try:
            it.open()
            for door in random.sample(list(DOORS), len(DOORS)):
                try:
                    DOORS[door](it)
                except Exception as problem:
                    raise AssertionError(f"“{door}” failed, seed {number}: {problem}\n{it.text}") from problem
        finally:
            it.close()


def _odd(uri: str) -> list[Any]:
    """Arguments of commands that no client of ours sends."""
    there = {"uri": uri, "version": 1, "diagram": 1}
    place = {"start": {"line": -1, "character": 2**40}, "end": {"line": 0, "character": 0}}
    return [
        *(uri, f"{uri}x", "", "\0", "x" * 5000, None, 5, -1, 1.5, True, [], {}, [uri], there),
        *({"uri": other} for other in (5, None, "", "file:///\0", "http://x", f"{uri}/../x", f"{uri}{'x' * 300}")),
        *(there | {"version": version} for version in (0, "1", None)),
        *(there | {"diagram": number} for number in (0, 99, -1, "1", None, 10**30)),
        *(there | {"range": it} for it in (place, {}, 7)),
        *(there | {"node": node} for node in ("", "NOBODY", [], 7)),
        *(there | {"cursor": cursor} for cursor in ("1.2.3", "a.b.c", 9)),
        *(there | {"budget": budget} for budget in ({"usd": "x"}, {"usd": -1}, [], "x")),
        *(there | {"inputs": inputs} for inputs in ([1], {"PROBLEM": []}, "x")),
        *({key: "../../x", **there} for key in ("id", "run", "search", "record", "replay", "dataset", "strategy")),
        *({key: [], **there} for key in ("id", "run", "search", "record", "replay", "dataset", "strategy")),
        *({key: 10**30, **there} for key in ("count", "seed", "samples", "jobs", "rounds")),
    ]


def test_each_command_refuses_odd_arguments() -> None:
    path = ROOT / "examples" / "vote.mmd"
    it = _AnyPlaces(Shape(path.name, lambda _: path.read_text("utf-8")), Random(0))
    it.open()
    odd = _odd(it.uri)
    commands = it.editor.capabilities_of_server["executeCommandProvider"]["commands"]
    assert len(commands) > 30
    for number, command in enumerate(commands):
        random = Random(number)
        for _ in range(4):
            arguments = random.choices(odd, k=random.choice((0, 1, 1, 1, 2, 3)))
            try:
                it.ask("workspace/executeCommand", {"command": command, "arguments": arguments})
            except ServerError as problem:
                # There are more refusals than those of a text, such as that it has changed meanwhile.
                if problem.code == INTERNAL_ERROR:
                    raise AssertionError(f"{command} failed with {arguments}: {problem}") from problem
    it.close()
