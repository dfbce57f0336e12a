"""What a shape of text is, and the ways in which most of them are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

Make = Callable[[int], str]


@dataclass(frozen=True)
class Shape:
    """A kind of text. ``make(n)`` has about ``n`` of its thing."""

    name: str
    make: Make
    markdown: bool = False


SHAPES: dict[str, Shape] = {}


def shape(name: str, *, markdown: bool = False) -> Callable[[Make], Make]:
    def register(make: Make) -> Make:
        assert name not in SHAPES, name
        SHAPES[name] = Shape(name, make, markdown)
        return make

    return register


def repeated(name: str, line: str, head: str = "flowchart TD\nA-->B\n") -> None:
    """A shape of ``n`` lines; ``{i}`` in a line is its number, ``{j}`` the next one's."""
    SHAPES[name] = Shape(name, lambda n: head + "".join(numbered(line, i) for i in range(n)))


def long(name: str, before: str, piece: str, after: str) -> None:
    """A shape with ``n`` pieces on one line."""
    SHAPES[name] = Shape(name, lambda n: before + "".join(numbered(piece, i) for i in range(n)) + after)


def numbered(template: str, number: int) -> str:
    """A line with its number, and the next one's, filled in."""
    return template.replace("{i}", str(number)).replace("{j}", str(number + 1))


START = "flowchart TD\nPROBLEM([Problem]):::Interface\nRETURN([Return]):::Interface\n"
_CLASSES = "".join(
    f"classDef {name} fill:#d0e1f9\n" for name in ("Interface", "CustomOp", "ScEnsembleOp", "DecisionOp", "TestOp")
)


def workflow(lines: Iterable[str], front: str = "") -> str:
    return front + START + "\n".join(lines) + "\n" + _CLASSES


def front_matter(settings: str) -> str:
    return f"---\nworkflow:\n{settings}---\n"
