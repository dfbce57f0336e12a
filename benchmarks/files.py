"""The test file: N nodes with a declaration and a class line each, 1.5 edges a node, half of them labelled."""

from __future__ import annotations

import random


def workflow_text(nodes: int, *, seed: int = 0, metadata: bool = False) -> str:
    """A valid workflow of ``nodes`` nodes; another ``seed`` gives a text with no line of a node or an edge in common.

    ``metadata``: every node says what it is in a block ``@{ ... }`` instead of in its label.
    """
    chance = random.Random(seed)  # noqa: S311  # a reproducible text, no secret
    names = [f"N{seed}_{index}" for index in range(nodes)]
    lines = ["flowchart TD", "    PROBLEM([Problem])", "    RETURN([Return response & cost])"]
    for index, name in enumerate(names):
        role = f"solver_{index % 20}"
        lines.append(
            f'    {name}@{{ op: Custom, role: {role}, label: "Custom {index}" }}'
            if metadata
            else f'    {name}["Custom<br/>(role: {role})"]'
        )
    lines.append("    classDef CustomOp fill:#d0e1f9,stroke:#4378a2,stroke-width:2px")
    lines.append("    classDef Interface fill:#e2e2f2,stroke:#333")
    lines += [f"    class {name} CustomOp" for name in names]
    lines.append("    class PROBLEM,RETURN Interface")
    for index, (source, target) in enumerate(_edges(names, chance)):
        labelled = index % 2 and target != "RETURN"
        lines.append(f"    {source} -->|input| {target}" if labelled else f"    {source} --> {target}")
    return "\n".join(lines) + "\n"


def _edges(names: list[str], chance: random.Random) -> list[tuple[str, str]]:
    """A graph without cycles in which every node lies on a path from PROBLEM to RETURN."""
    count = len(names)
    chosen: dict[tuple[int, int], None] = {}
    for target in range(1, count):
        chosen[chance.randrange(max(0, target - 10), target), target] = None
    with_target = {source for source, _ in chosen}
    for source in range(count - 1):
        if source not in with_target:
            chosen[source, chance.randrange(source + 1, min(count, source + 11))] = None
    while count > 3 and len(chosen) < count * 3 // 2 - 2:
        source = chance.randrange(count - 1)
        chosen[source, chance.randrange(source + 1, min(count, source + 11))] = None
    edges = [(names[source], names[target]) for source, target in chosen]
    return [("PROBLEM", names[0]), *edges, (names[-1], "RETURN")]
