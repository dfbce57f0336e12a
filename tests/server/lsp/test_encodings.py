"""Position encodings: the client's choice counts, and what is beyond a line means its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.lsp.editor import MODERN, Editor

from merrow_analysis.text import Position, split_lines
from merrow_server.positions import Encoding, character_at, column_from_units, position_at, units

CODECS: dict[Encoding, tuple[str, int]] = {
    "utf-8": ("utf-8", 1),
    "utf-16": ("utf-16-le", 2),
    "utf-32": ("utf-32-le", 4),
}
TEXT = "flowchart TD\n    ü節 --> B[😀 (twice)]\n"


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (None, "utf-16"),
        ([], "utf-16"),
        (["utf-8", "utf-16"], "utf-8"),
        (["utf-32", "utf-8"], "utf-32"),
        (["utf-16"], "utf-16"),
        (["utf-7"], "utf-16"),
    ],
)
def test_the_client_chooses(open_editor: Callable[..., Editor], offered: list[str] | None, chosen: Encoding) -> None:
    general: dict[str, Any] = {} if offered is None else {"positionEncodings": offered}
    editor = open_editor(MODERN | {"general": general})
    assert editor.encoding == chosen
    uri = editor.open(TEXT)
    found = next(item for item in editor.published(uri) if item["code"] == "MW006")
    codec, width = CODECS[chosen]
    line = split_lines(TEXT)[1].encode(codec)
    start = found["range"]["start"]["character"] * width
    assert line[start : start + width].decode(codec) == "("
    fixed = editor.applied(editor.best_fix(uri, found)["edit"])
    assert fixed == {uri: TEXT.replace("[😀 (twice)]", '["😀 (twice)"]')}
    place = editor.find(uri, "😀 (", 1)
    editor.change(uri, {"range": {"start": place, "end": place}, "text": "ß"})
    assert editor.server.diagrams(uri)[0].text == editor.texts[uri] == TEXT.replace("😀 (", "😀ß (")


LINES = st.text(st.sampled_from("aß節😀e\u0301\t\u2028"), max_size=20)


@given(LINES, st.sampled_from(sorted(CODECS)))
def test_there_and_back(line: str, encoding: Encoding) -> None:
    codec, width = CODECS[encoding]
    for column in range(len(line) + 1):
        character = units(line[:column], encoding)
        assert character == len(line[:column].encode(codec)) // width
        assert column_from_units(line, character, encoding) == column


@given(LINES, st.sampled_from(sorted(CODECS)), st.integers(0, 100))
def test_within_a_character_means_its_beginning(line: str, encoding: Encoding, character: int) -> None:
    column = column_from_units(line, character, encoding)
    assert units(line[:column], encoding) <= character
    assert column == len(line) or units(line[: column + 1], encoding) > character


def test_beyond_the_line_and_the_text() -> None:
    lines = ["ab\r\n", "c😀"]
    for encoding in CODECS:
        assert position_at(lines, 0, 99, encoding) == Position(0, 2)
        assert position_at(lines, 1, 99, encoding) == Position(1, 2)
        assert position_at(lines, 7, 0, encoding) == Position(1, 2)
        assert position_at(["ab\n"], 5, 5, encoding) == Position(1, 0)
        assert position_at([], 5, 5, encoding) == Position(0, 0)
        assert character_at(lines, Position(9, 9), encoding) == 0
