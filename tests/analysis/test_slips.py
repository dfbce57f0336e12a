"""An operator's name with one slip in a label means that operator; with two it is text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.analysis.workflows import diagnose, typed, workflow

NAMES = ("Programmer", "AnswerGenerate", "ScEnsemble", "Review")


def slips(word: str) -> Iterator[str]:
    """Every letter missing, doubled, wrong, preceded by another, or swapped with the next; and one too many at the end."""
    for at in range(len(word)):
        yield word[:at] + word[at + 1 :]
        yield word[:at] + word[at] + word[at:]
        yield word[:at] + "q" + word[at + 1 :]
        yield word[:at] + "q" + word[at:]
        if word[at : at + 2] != word[at : at + 2][::-1]:
            yield word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]
    yield word + "q"


def two_slips(word: str) -> Iterator[str]:
    for at in range(len(word) - 3):
        yield word[:at] + "q" + word[at + 1 : at + 3] + "q" + word[at + 4 :]
        yield word[:at] + "qq" + word[at:]
        yield word[:at] + word[at + 2 :]


def beside_a_class(label: str) -> str:
    """A node whose class says Custom, and whose label says ``label``."""
    return workflow(f'V["{label}<br/>more"]:::CustomOp', "PROBLEM --> V --> RETURN")


@pytest.mark.parametrize("name", NAMES)
def test_one_slip_in_a_label_still_names_the_operator(name: str) -> None:
    for word in dict.fromkeys([name, *slips(name)]):
        if len(word) < 6:
            continue  # It is taken for what it says.
        text = beside_a_class(word)
        assert typed(text).by_id["V"].kind == "unknown", word
        (message,) = (one.message for one in diagnose(text) if one.code == "MW107")
        assert f"its class says Custom and its label says {name}." in message, word


@pytest.mark.parametrize("name", NAMES)
def test_a_label_with_two_slips_is_text(name: str) -> None:
    for word in sorted({*two_slips(name)} - {name, *slips(name)}):
        text = beside_a_class(word)
        assert typed(text).by_id["V"].operator == "Custom", word
        assert "MW107" not in {one.code for one in diagnose(text)}, word
