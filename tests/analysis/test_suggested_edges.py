"""An edge that a message proposes, once it is drawn, leaves that message with nothing to say and breaks nothing."""

from __future__ import annotations

import re

import pytest
from tests.analysis.workflows import diagnose, errors, workflow

OPERATORS = """workflow:
  operators:
    Two:
      inputs: {left: Text, right: Text, remark?: Code}
      outputs: {taken: Text}
      prompt: Take them.
"""
MAIN = "PROBLEM --> B[Custom] --> J[Custom] --> RETURN"
EXTRA = "EXTRA([e]):::Interface"
CASES = {
    "nothing leads to a node of one port": (("A[Custom] --> J", MAIN), "PROBLEM --> A"),
    "nothing leads to a node of several": (("A[Programmer] --> J", MAIN), "PROBLEM -->|problem| A"),
    "an input of its own feeds nothing": (("A[Custom] --> J", EXTRA, MAIN), "EXTRA --> A"),
    "nothing feeds the first port": (("V[Two] --> J", EXTRA, MAIN, "B -->|right| V"), "EXTRA -->|left| V"),
    "nothing feeds the second port": (("V[Two] --> J", EXTRA, MAIN, "B -->|left| V"), "EXTRA -->|right| V"),
    "both ports are fed, of another node one": (
        ("V[Two] --> J", "W[Two] --> J", EXTRA, MAIN, "B -->|left| V & W", "B -->|right| V"),
        "EXTRA -->|right| W",
    ),
    "all ports are fed": (("V[Two] --> J", EXTRA, MAIN, "B -->|left| V", "B -->|right| V"), "EXTRA --> B"),
    "only a port of another type is open": (
        ("V[Two] --> J", EXTRA, MAIN, "B -->|left| V", "PROBLEM -->|right| V"),
        "EXTRA --> B",
    ),
    "a chain is broken": (("PROBLEM --> A[Custom]", "B[Custom] --> RETURN"), "A --> B"),
    "nothing follows": (("PROBLEM --> A[Custom]",), "A --> RETURN"),
}


def off_path(text: str) -> list[str]:
    return [one.message for one in diagnose(text) if one.code == "MW102"]


@pytest.mark.parametrize(("lines", "proposed"), CASES.values(), ids=CASES)
def test_a_proposed_edge_fixes_what_it_is_proposed_for(lines: tuple[str, ...], proposed: str | None) -> None:
    text = workflow(*lines, front=OPERATORS if "[Two]" in str(lines) else "")
    messages = off_path(text)
    found = {edge for message in messages for edge in re.findall(r"`(\w+ -->(?:\|\w+\|)? \w+)`", message)}
    assert messages
    assert found == ({proposed} if proposed else set()), messages
    if proposed is not None:
        drawn = text + proposed + "\n"
        assert off_path(drawn) == []
        assert set(errors(drawn)) <= set(errors(text))


@pytest.mark.parametrize(
    ("count", "named"),
    [
        (2, "N0 and N1 lead nowhere"),
        (3, "N0, N1 and N2 lead nowhere"),
        (5, "N0, N1, N2, N3 and N4 lead nowhere"),
        (6, "N0, N1, N2, N3 and 2 more lead nowhere"),
        (40, "N0, N1, N2, N3 and 36 more lead nowhere"),
    ],
)
def test_a_message_names_five_nodes_at_most(count: int, named: str) -> None:
    text = workflow(*(f"PROBLEM --> N{number}[Custom]" for number in range(count)))
    [message] = off_path(text)
    assert named in message
