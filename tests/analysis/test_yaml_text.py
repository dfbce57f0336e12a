"""YAML is read as js-yaml 4 reads it, with true places, whatever the text."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merrow_analysis.definitions.yaml.yaml_text import read_yaml

# Texts with what js-yaml 4.3 (as mermaid 12.3.0 bundles it) says of them by its JSON schema; no "value": no document.
RECORDED = [json.loads(line) for line in (Path(__file__).parent / "data" / "yaml_cases.jsonl").read_text().splitlines()]

WORDS = st.sampled_from(
    ["a", "key", "op", ": ", ":", ", ", "{", "}", "[", "]", '"', "'", "#", " #", "\n", "\n  ", "\t", "- ", "? ", "&a ",
     "*a", "!", "!!str ", "|\n", ">\n", "1", "0x1F", "~", "true", "\\", "\\n", "\r\n", "---", "\n...\n", "%", "é", "😀",
     "\ufeff"]
)  # fmt: skip


def as_recorded(case: dict[str, object]) -> bool:
    """Whether a text has the verdict and the value that js-yaml gives it."""
    result = read_yaml(str(case["text"]))
    if not case["ok"] or result.error is not None:
        return not case["ok"] and result.error is not None
    return result.is_empty == ("value" not in case) and bool(result.value == case.get("value"))


@pytest.mark.parametrize("part", range(15))
def test_verdict_and_value_are_those_of_js_yaml(part: int) -> None:
    others = [case for case in RECORDED[part::15] if not as_recorded(case)]
    assert [(case["text"], read_yaml(str(case["text"]))) for case in others] == []


@given(st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=25).map("".join)))
def test_any_text_is_answered_with_places_inside_it(text: str) -> None:
    result = read_yaml(text)
    if result.error is not None:
        assert 0 <= result.error.offset <= max(0, len(text) - 1)
        assert result.error.message.endswith((".", "?"))
    for mark in result.marks:
        places = result.place(mark.container, mark.key)
        assert places is not None
        for start, end in places:
            assert 0 <= start <= end <= len(text) + 1


PLAIN = st.from_regex(r"[a-z][a-z0-9]{0,6}", fullmatch=True).filter(lambda word: word not in ("null", "true", "false"))
SCALAR = st.one_of(
    PLAIN.map(lambda word: (word, word)),
    st.integers(-999, 999).map(lambda number: (str(number), number)),
    PLAIN.map(lambda word: (f'"{word}: é"', f"{word}: é")),
    PLAIN.map(lambda word: (f"'{word}, 😀'", f"{word}, 😀")),
)


@given(
    st.dictionaries(PLAIN, SCALAR, min_size=1, max_size=5), st.sampled_from(["{}", "flow", "block"]), st.integers(0, 3)
)
def test_each_key_and_value_stands_where_it_is_said_to(
    entries: dict[str, tuple[str, object]], form: str, spaces: int
) -> None:
    written = [f"{key}:{' ' * (spaces + 1)}{text}" for key, (text, _) in entries.items()]
    text = "\n".join(written) + "\n" if form == "block" else "{" + " , ".join(written) + "}"
    result = read_yaml(text)
    assert result.value == {key: value for key, (_, value) in entries.items()}
    for key, (source, _) in entries.items():
        places = result.places((key,))
        assert places is not None
        assert text[slice(*places[0])] == key
        assert text[slice(*places[1])] == source


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('a: "b', '"'),
        ("a: 'b", "'"),
        ("{a: [b, c}", "}"),
        ("{a: {b: c", "{b"),
        ("a: 1\nb: 2\na: 3", "a: 3"),
        ("a: *b", "*b"),
    ],
)
def test_an_error_points_at_its_cause(text: str, place: str) -> None:
    error = read_yaml(text).error
    assert error is not None
    assert text.startswith(place, error.offset)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "- " * 100_000,
        "a: " * 50_000,
        "? " * 50_000,
        "".join(f"{' ' * depth}a:\n" for depth in range(300)),
        "&a " * 50_000,
        "'" * 100_001,
        '"' + "\\" * 100_000,
        "#" * 100_000,
        "\n" * 100_000,
        "a: |\n" + " b\n" * 50_000,
        "{" + "a" * 200_000,
    ],
    ids=lambda text: text[:8],
)
def test_hostile_texts_are_survived(text: str) -> None:
    assert read_yaml(text) is not None


def test_aliases_share_and_never_multiply() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 90)]
    value = read_yaml("\n".join(lines)).value
    assert isinstance(value, dict)
    assert value["a89"][0] is value["a89"][1] is value["a88"]
    assert isinstance(read_yaml("a: &a [*a]").value, dict)


def test_reading_needs_little_of_the_stack() -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(600)
    try:
        assert read_yaml("[" * 90 + "]" * 90).error is None
    finally:
        sys.setrecursionlimit(limit)
