"""What messages about ports name: the port, what would fit it, and who could give it."""

from __future__ import annotations

import re

import pytest
from tests.analysis.workflows import diagnose, workflow

DRAFT = ("A[Custom]", "PROBLEM --> A")
CODE = ("G[CustomCodeGenerate]", "PROBLEM -->|problem| G")
VOTE = (*DRAFT, "B[Custom]", "PROBLEM --> B", "A & B --> E[ScEnsemble]")
LIST = ("A@{op: Custom, samples: 3}", "PROBLEM --> A")
ENTRY = ("ENTRY_POINT([e]):::Interface", "ENTRY_POINT -->|entry_point| G[CustomCodeGenerate]", "PROBLEM -->|problem| G")

# The lines beside `V --> RETURN`, the code, and what stands in backticks in its messages.
CASES: dict[str, tuple[tuple[str, ...], str, list[list[str]]]] = {
    "a label that is nearly a port, which does not take it": (
        (*DRAFT, "V[Programmer]", "A -->|problm| V", "PROBLEM -->|problem| V"),
        "MW201",
        [["problm", "problem", "problem", "analysis"]],
    ),
    "a label that is an output": (
        (*DRAFT, "V[Programmer]", "A -->|response| V", "PROBLEM -->|problem| V"),
        "MW201",
        [["response", "response", "response:port", "problem", "analysis"]],
    ),
    "a label that says nothing, where one port fits": (
        (*DRAFT, "V[Programmer]", "A -->|xyzzy| V", "PROBLEM -->|problem| V"),
        "MW201",
        [["xyzzy", "analysis", "problem", "analysis"]],
    ),
    "a label that says nothing, where two ports fit": (
        (*DRAFT, "V[Format]", "A -->|xyzzy| V"), "MW201", [["xyzzy", "solution", "problem"]]
    ),
    "a label that says nothing, where what fits is fed": (
        (*DRAFT, "V[Programmer]", "A -->|analysis| V", "A -->|xyzzy| V"), "MW201", [["xyzzy", "problem", "analysis"]]
    ),
    "a value of another type, that its node may promise": (
        (*DRAFT, "V[Programmer]", "A -->|problem| V"),
        "MW206",
        [["response", "problem", "analysis", "returns: Problem"]],
    ),
    "a value of another type, of an ensemble": (
        (*VOTE, "V[Programmer]", "E -->|problem| V"), "MW206", [["response", "problem", "analysis"]]
    ),
    "a value of another type, of an operator with types of its own": (
        (*CODE, "V[Programmer]", "G -->|problem| V"), "MW206", [["response", "problem", "analysis"]]
    ),
    "a list": ((*LIST, "V[Programmer]", "A -->|problem| V"), "MW206", [["response", "problem"]]),
    "a text for code": (
        (*DRAFT, "V[Test]", "A -->|solution| V", "PROBLEM -->|problem| V"),
        "MW206",
        [["response", "solution", "returns: Code"]],
    ),
    "a text for an entry point": (
        (*DRAFT, "V[Test]", "A -->|entry_point| V"),
        "MW206",
        [["response", "entry_point", "problem", "returns: EntryPoint"]],
    ),
    "a port that nothing feeds": (
        (*DRAFT, "V[Programmer]", "A -->|analysis| V"), "MW204", [["problem", "PROBLEM -->|problem| V"]]
    ),
    "ports that nothing feeds, and no input could": (
        ("V[Test]", "PROBLEM -->|problem| V"),
        "MW204",
        [["entry_point", "ENTRY_POINT -->|entry_point| V"], ["solution", "X -->|solution| V"]],
    ),
    "a port that another input could feed": (
        (*ENTRY, "V[Test]", "PROBLEM -->|problem| V", "G -->|solution| V"),
        "MW204",
        [["entry_point", "ENTRY_POINT -->|entry_point| V"]],
    ),
    "a text port, which an entry point is not meant for": (
        (*ENTRY, "V[Format]", "G -->|solution| V"), "MW204", [["problem", "PROBLEM -->|problem| V"]]
    ),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "code", "named"), CASES.values(), ids=CASES)
def test_a_message_names_what_is_wrong_and_what_would_do(
    lines: tuple[str, ...], code: str, named: list[list[str]]
) -> None:
    found = [one.message for one in diagnose(workflow(*lines, "V --> RETURN")) if one.code == code]
    assert sorted(re.findall(r"`([^`]+)`", message) for message in found) == named, found


def test_edges_of_two_types_are_each_told_their_own_ports() -> None:
    """Edges of the same type are placed alike, one after another; those of another type are not."""
    operators = (
        "  operators:\n    Join:\n      inputs: {a: Text, b: Text, c: Code, d: Code}\n      outputs: {all: Text}\n"
    )
    text = f"""---
workflow:
{operators}---
flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Answer]):::Interface
    T1@{{ op: Custom, prompt: one }}
    T2@{{ op: Custom, prompt: two }}
    G1@{{ op: CustomCodeGenerate }}
    G2@{{ op: CustomCodeGenerate }}
    J@{{ op: Join }}
    PROBLEM -->|input| T1 & T2
    PROBLEM -->|problem| G1 & G2
    T1 --> J
    T2 --> J
    G1 --> J
    G2 --> J
    J --> RETURN
    classDef Interface fill:#eee
"""
    found = {
        one.message.split()[1]: re.findall(r"`(\w)`", one.message) for one in diagnose(text) if "fits" in one.message
    }
    assert found == {"T1": ["a", "b"], "T2": ["a", "b"], "G1": ["c", "d"], "G2": ["c", "d"]}
