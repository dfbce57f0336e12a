"""What is known to grow faster than the text, each with its reason: nothing else may."""

from __future__ import annotations

_ALL_BEFORE = "a plain step is shown all the results before it, so that what a run would ask grows so itself"

_ALL_AROUND = "for each node the boxes around it are listed, innermost first, and here these are half of all boxes"

_LABEL_READ_AGAIN = "each fix of a label or metadata has all of that one node's read again"

KNOWN: dict[tuple[str | None, str | None], str] = {
    ("a chain of plain steps", "dry run"): _ALL_BEFORE,
    ("a long fence", "dry run"): _ALL_BEFORE,
    ("many nodes with emoji on a line", "dry run"): _ALL_BEFORE,
    ("plain steps of the same words", "dry run"): _ALL_BEFORE,
    ("plain steps with words at their arrows", "dry run"): _ALL_BEFORE,
    ("plain steps in subgraphs", "dry run"): _ALL_BEFORE,
    ("diamonds that lead to the next two", "dry run"): _ALL_BEFORE,
    ("two cases to the next diamond", "dry run"): _ALL_BEFORE,
    ("diamonds with a step in one case", "dry run"): _ALL_BEFORE,
    ("arrows back to the step before", "dry run"): _ALL_BEFORE,
    ("label parameters", "repair"): _LABEL_READ_AGAIN,
    ("metadata parameters", "repair"): _LABEL_READ_AGAIN,
    ("metadata parameters", "code actions"): _LABEL_READ_AGAIN,
    ("Loops inside one another", "compile"): _ALL_AROUND,
    ("Loops inside one another", "dry run"): _ALL_AROUND,
}
"""(shape, door), None for all of them, to the reason."""


def exception(shape: str, door: str) -> str | None:
    """Why a shape may grow faster at a door; None where it may not."""
    for key in ((shape, door), (shape, None), (None, door)):
        if key in KNOWN:
            return KNOWN[key]
    return None
