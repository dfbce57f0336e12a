"""The graphs that all schedulers are given: as lists of predecessors, and as Merrow's text."""

from __future__ import annotations

from dataclasses import dataclass

MODEL = "simulated"


@dataclass(frozen=True)
class Shape:
    """A graph. ``before`` has for each node its predecessors, every one of them earlier in it; ``depth`` is how many nodes
    stand on the longest path.
    """

    name: str
    before: dict[str, list[str]]
    depth: int

    @property
    def nodes(self) -> int:
        return len(self.before)

    def ideal(self, seconds: float) -> float:
        """The wall-clock seconds of a run in which nothing but the model takes time, ``seconds`` a node."""
        return self.depth * seconds

    def text(self) -> str:
        """The workflow: every node a Custom operator with a prompt of its own, so that no two ask the same."""
        lines = ["---", "workflow:", f"  model: {MODEL}", "---", "flowchart TD", "    PROBLEM([Problem]):::Interface"]
        edges: list[str] = []
        for name, sources in self.before.items():
            lines.append(f'    {name}@{{ op: Custom, prompt: "You are {name}.", shape: rect }}')
            edges += [f"    {source} -->|input| {name}" for source in sources or ["PROBLEM"]]
        last = next(reversed(self.before))
        end = [f"    {last} --> RETURN", "    classDef Interface fill:#eee", ""]
        return "\n".join([*lines, "    RETURN([Answer]):::Interface", *edges, *end])


def chain(length: int) -> Shape:
    """One node after another."""
    return Shape(f"chain {length}", {f"N{n}": [f"N{n - 1}"] if n else [] for n in range(length)}, length)


def fan_out(width: int) -> Shape:
    """One node, ``width`` nodes that it feeds, and one that joins them."""
    middle = {f"N{n}": ["FIRST"] for n in range(width)}
    return Shape(f"fan-out {width}", {"FIRST": [], **middle, "LAST": list(middle)}, 3)


def layered(depth: int, width: int) -> Shape:
    """Layers in which each node is fed by two of the layer before, and one node that joins the last."""
    before: dict[str, list[str]] = {}
    for layer in range(depth):
        for place in range(width):
            sources = (place, (place + 1) % width) if layer else ()
            before[f"N{layer}_{place}"] = [f"N{layer - 1}_{source}" for source in sources]
    before["LAST"] = [f"N{depth - 1}_{place}" for place in range(width)]
    return Shape(f"layered {depth}x{width}", before, depth + 1)


SHAPES = (chain(200), fan_out(500), layered(10, 50))
