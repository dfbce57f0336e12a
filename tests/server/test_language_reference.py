"""docs/language.md shows all that the language knows: each key, operator, word and type in an example that is checked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from merrow_analysis.definitions.operators import BUILT_IN_OPERATORS
from merrow_analysis.definitions.schema import EDGE_KEYS, MERMAID_NODE_KEYS, schema
from merrow_analysis.definitions.types import BUILT_IN

TEXT = (Path(__file__).parents[2] / "docs" / "language.md").read_text("utf-8")
EXAMPLES = "\n".join(re.findall(r"^```\w+\n(.*?)^```$", TEXT, re.M | re.S))
CODE = "\n".join([EXAMPLES, *re.findall(r"`[^`\n]+`", TEXT)])

MERMAIDS = {*MERMAID_NODE_KEYS, *EDGE_KEYS, "displayMode"}
"""What Mermaid reads and Merrow leaves alone: named, and not explained."""


def keys(fragment: dict[str, Any]) -> Iterator[str]:
    """All keys that a schema names, at any depth."""
    for key, value in fragment.get("properties", {}).items():
        yield key
        yield from keys(value)
    for part in ("anyOf", "additionalProperties", "items"):
        inside = fragment.get(part, ())
        for one in inside if isinstance(inside, list) else [inside]:
            if isinstance(one, dict):
                yield from keys(one)


def words(fragment: dict[str, Any]) -> Iterator[str]:
    """All words that a schema lets someone choose from."""
    yield from fragment.get("enum", ())
    for part in (*fragment.get("properties", {}).values(), *fragment.get("anyOf", ())):
        yield from words(part)


PARTS = [schema(part) for part in ("front-matter", "node", "subgraph", "library")]
KEYS = sorted({key for part in PARTS for key in keys(part)} - MERMAIDS)


def test_the_schemas_are_read_to_their_ends() -> None:
    assert {"many", "usd", "last", "until", "on_no_tests", "type"} <= set(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_every_key_is_shown_by_an_example(key: str) -> None:
    assert re.search(rf"(?<!\w){key}:(?=\s|$)", EXAMPLES, re.M), key


@pytest.mark.parametrize("key", sorted(MERMAIDS - {"displayMode"}))
def test_every_key_of_mermaid_is_named(key: str) -> None:
    assert re.search(rf"\b{key}\b", CODE), key


@pytest.mark.parametrize("word", sorted({word for part in PARTS for word in words(part)}))
def test_every_word_that_a_key_takes_is_named(word: str) -> None:
    assert re.search(rf"\b{word}\b", CODE), word


@pytest.mark.parametrize("name", [operator.name for operator in BUILT_IN_OPERATORS])
def test_every_operator_is_shown_by_an_example(name: str) -> None:
    assert re.search(rf'op: {name}\b|"{name}<br/>|:::{name}Op', EXAMPLES), name


@pytest.mark.parametrize("word", ["again", "over", "each", "first", "after", "else"])
def test_every_word_of_edges_is_shown(word: str) -> None:
    assert re.search(rf"\|([\w ]+:)?{word}(:[\w:]+)?\|", EXAMPLES) or word == "first", word
    assert f"`{word}`" in TEXT or f":{word}" in TEXT


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_every_type_is_named(name: str) -> None:
    assert f"`{name}`" in TEXT, name
