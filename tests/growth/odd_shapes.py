"""Shapes of comments that silence findings, and of drawings with diamonds, whose values and loops must not multiply."""

from __future__ import annotations

from tests.growth.shape import SHAPES, START, Shape, front_matter, long, numbered, repeated, shape

# Suppressions

for _name, _text in {
    "comments that ignore all": "%% merrow: ignore\nclassDef U{i} fill:#fff\n",
    "comments that ignore a rule": "%% merrow: ignore[MW404] why\nclassDef U{i} fill:#fff\n",
    "comments that ignore a group": "%% merrow: ignore[MW4,MW1]\nclassDef U{i} fill:#fff\n",
    "comments that ignore a name": "%% merrow: ignore[unused-class]\nclassDef U{i} fill:#fff\n",
    "unused suppressions": "%% merrow: ignore[MW201]\nN{i}\n",
    "suppressions above one statement": "%% merrow: ignore[MW404]\n",
    "suppressions of a file": "%% merrow: ignore-file[MW404]\nclassDef U{i} fill:#fff\n",
    "suppressions of a file for all": "%% merrow: ignore-file\n",
    "suppressions of a file that are unused": "%% merrow: ignore-file[MW201]\n",
    "suppressions of unknown rules": "%% merrow: ignore[MWX{i}]\nN{i}\n",
    "suppressions that can't be read": "%% merrow: ignor[MW404]\nN{i}\n",
    "suppressions of nothing": "%% merrow: ignore[]\nN{i}\n",
}.items():
    repeated(_name, _text, START)
long("a suppression of many rules", START + "%% merrow: ignore[MW404", ",MW1", "]\nclassDef U fill:#fff\n")
long("a suppression of many unknown rules", START + "%% merrow: ignore-file[MW404", ",no-{i}", "]\n")

# Drawings with diamonds, whose values and loops must not multiply


def _drawn(name: str, line: str, head: str, end: str) -> None:
    """A drawing that is read as a workflow: ``n`` times the line, then the end, in which ``{i}`` is n."""
    SHAPES[name] = Shape(
        name,
        lambda n: (
            front_matter("  model: m\n")
            + "flowchart TD\n"
            + head
            + "".join(numbered(line, i) for i in range(n))
            + numbered(end, n)
        ),
    )


_ENDS = "A{i} -->|a| X[Write]\nA{i} -->|b| Y[Say]\n"


@shape("diamonds that lead to the next two")
def _next_two(n: int) -> str:
    ways = (f"A{i} -->|a| A{i + 1}{{q?}}\nA{i} -->|b| A{i + 2}{{q?}}\n" for i in range(n))
    ends = numbered(_ENDS, n) + numbered(_ENDS, n + 1)
    return front_matter("  model: m\n") + "flowchart TD\nS[Read] --> A0{q?}\n" + "".join(ways) + ends


_drawn(
    "diamonds in two rows",
    "A{i} -->|a| A{j}{q?}\nA{i} -->|b| B{j}{r?}\nB{i} -->|a| A{j}\nB{i} -->|b| B{j}\n",
    "S[Read] --> A0{q?} & B0{r?}\n",
    _ENDS + "B{i} -->|a| X\nB{i} -->|b| Y\n",
)
_drawn("two cases to the next diamond", "A{i} -->|a| A{j}{q?}\nA{i} -->|b| A{j}\n", "S[Read] --> A0{q?}\n", _ENDS)
_drawn(
    "diamonds with a step in one case",
    "A{i} -->|a| P{i}[Do it] --> A{j}{q?}\nA{i} -->|b| A{j}\n",
    "S[Read] --> A0{q?}\n",
    _ENDS,
)
_drawn(
    "arrows back to the first step",
    "B{i} --> A{i}{ok?}\nA{i} -->|no| B0\nA{i} -->|yes| B{j}[Do it]\n",
    "S[Read] --> B0[Do it]\n",
    "B{i} --> X[End]\n",
)
_drawn(
    "arrows back to the step before",
    "B{i} --> A{i}{ok?}\nA{i} -->|no| B{i}\nA{i} -->|yes| B{j}[Do it]\n",
    "S[Read] --> B0[Do it]\n",
    "B{i} --> X[End]\n",
)
