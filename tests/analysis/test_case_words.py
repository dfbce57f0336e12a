"""Which words of a Decision's cases are reported: a misspelled one once, a missing one unless a case was meant for it."""

from __future__ import annotations

import pytest
from tests.analysis.workflows import diagnose, workflow

FRONT = "workflow:\n  types: {Route: [sum, product, quotient]}\n  prompts: {critic: Be strict.}"
UNKNOWN, UNCOVERED, COVERED = "MW211", "MW212", "MW213"


def codes(*cases: str) -> list[str]:
    """What is reported of a Decision with these cases."""
    nodes = [f"N{number}[Custom]" for number in range(len(cases))]
    edges = [f"D -- {case} --> N{number} --> RETURN" for number, case in enumerate(cases)]
    inputs = [f"PROBLEM --> N{number}" for number in range(len(cases))]
    head = ("A@{op: Custom, returns: Route}", "PROBLEM --> A --> D{kind?}:::DecisionOp")
    found = diagnose(workflow(*head, *nodes, *inputs, *edges, front=FRONT))
    return sorted(one.code for one in found if one.code.startswith("MW21") and one.code != "MW216")


@pytest.mark.parametrize(
    ("cases", "found"),
    [
        (("sum", "product", "quotient"), []),
        (("sum", "else"), []),
        (("sum", "product"), [UNCOVERED]),
        (("sum",), [UNCOVERED]),
        (("sum", "prodct", "quotient"), [UNKNOWN]),
        (("sum", "xyzzy", "quotient"), [UNKNOWN]),
        (("sum", "xyzzy", "prodct"), [UNKNOWN, UNKNOWN]),
        (("sum", "prodct"), [UNKNOWN, UNCOVERED]),
        (("sum", "product", "quotient", "xyzzy"), [UNKNOWN]),
        (("sum", "product", "quotient", "else"), [COVERED]),
        (("sum", "product", "prodct", "else"), [UNKNOWN, COVERED]),
    ],
)
def test_each_word_is_reported_once(cases: tuple[str, ...], found: list[str]) -> None:
    assert codes(*cases) == found
