"""Signature help: the keys of an operator, and which of them is being typed."""

from __future__ import annotations

import pytest
from tests.analysis.ide.cursor import marked

from merrow_analysis.ide.completion.signature_help import SignatureHelp, signature_help

FLOW = "flowchart TD\nPROBLEM([P]):::Interface\nRETURN([R]):::Interface\nPROBLEM --> A --> RETURN\n"


def shown(line: str) -> SignatureHelp | None:
    here = marked(FLOW + line)
    return signature_help(here.analysis, here.position)


def active(line: str) -> str | None:
    """The key that is marked."""
    found = shown(line)
    assert found is not None
    return None if found.active is None else found.parameters[found.active].key


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('A["Custom<br/>(role: <|>', "role"),
        ('A["Custom<br/>(role: x, <|>', None),
        ('A["Custom<br/>(role: x, temperature: 0.<|>)"]', "temperature"),
        ('A["Custom<br/>(role: x, temperature<|>', "temperature"),
        ("A[\"Programmer<br/>(analysis: 'one, two<|>", "analysis"),
        ("A@{ <|>", None),
        ("A@{ op: Custom, role: <|> }", "role"),
        ("A@{\n  op: Custom\n  seed: <|>\n}", "seed"),
    ],
)
def test_the_active_key(line: str, key: str | None) -> None:
    assert active(line) == key


def test_the_label_shows_the_operators_own_keys_first() -> None:
    found = shown('A["Programmer<br/>(<|>')
    assert found is not None
    assert found.label.startswith("Programmer(analysis, ")
    for parameter in found.parameters:
        assert found.label[parameter.start : parameter.end] == parameter.key
        assert parameter.text.plain()


def test_metadata_of_an_edge() -> None:
    found = shown("A e1@--> RETURN\ne1@{ animate: <|>")
    assert found is not None
    assert found.label.startswith("edge(")
    assert found.parameters[found.active or 0].key == "animate"


@pytest.mark.parametrize(
    "line", ["A<|>", 'A["Cus<|>tom"]', "A --> <|>", "PROBLEM([some (words<|>", "class A <|>", "%% (x<|>", "A -->|(<|>"]
)
def test_none_elsewhere(line: str) -> None:
    assert shown(line) is None
