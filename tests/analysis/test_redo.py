"""`redo` in the front matter: what it may name, what an editor knows of it."""

from __future__ import annotations

import pytest

from merrow_analysis.check import analyse
from merrow_analysis.definitions.schema import schema
from merrow_analysis.definitions.settings import read_settings
from merrow_analysis.places.occurrences import occurrences_of
from merrow_analysis.places.symbols import symbol

TEXT = """---
workflow:
  redo:
    SAID
---
flowchart TD
    PROBLEM([Problem]):::Interface
    LIST["Custom (prompt: list, returns: list[Text])"]:::CustomOp
    subgraph PARTS["Map ()"]
        PART["Custom (prompt: do)"]:::CustomOp
    end
    subgraph AGAIN["Loop (max: 2)"]
        TURN["Custom (prompt: better)"]:::CustomOp
    end
    END["Custom (prompt: end)"]:::CustomOp
    RETURN([Answer]):::Interface
    PROBLEM -->|input| LIST
    LIST -->|each:input| PART
    PART -->|input| TURN
    TURN -->|again:input| TURN
    TURN -->|input| END --> RETURN
    classDef Interface fill:#e2e2f2
    classDef CustomOp fill:#d0e1f9
"""


def found(said: str) -> list[str]:
    return [
        one.message
        for one in analyse(TEXT.replace("SAID", said.replace(", ", "\n    "))).diagnostics
        if one.code == "MW321"
    ]


@pytest.mark.parametrize("said", ["END: 1", "END: 0, LIST: 2", "PARTS[3]/PART: 1", "PART: 1", "TURN: 1"])
def test_nodes_and_items_may_be_made_again(said: str) -> None:
    assert found(said) == []


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("EMD: 1", "did you mean `END`"),
        ("PROBLEM: 1", "asks and computes nothing"),
        ("AGAIN[1]/TURN: 1", "a single turn can't be made again; write `TURN`"),
        ("PART[3]/PART: 1", "write it as `PARTS[1]/PART`"),
        ("PARTS[0]/PART: 1", "write it as `PARTS[1]/PART`"),
        ("PARTS[1]/END: 1", "write it as `END`"),
    ],
)
def test_what_can_not_be_made_again_is_said(said: str, words: str) -> None:
    (message,) = found(said)
    assert words in message


def test_numbers_below_zero_and_words_are_no_redo() -> None:
    settings = read_settings("workflow:\n  redo: {A: 1, B: -1, C: two}\n")
    assert settings.redo == {"A": 1}
    assert len(settings.violations) == 2
    assert schema()["properties"]["workflow"]["anyOf"][0]["properties"]["redo"]["type"] == "object"


def test_a_node_is_renamed_in_redo_too() -> None:
    text = TEXT.replace("SAID", "END: 1\n    PARTS[2]/PART: 1")
    analysis = analyse(text)
    for node in ("END", "PART"):
        lines = [one.block.line for one in occurrences_of(analysis, symbol("node", node))]
        assert 0 in lines, node
