"""The fast path reads a line as the lexer and the grammar do, or leaves it to them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import SHARED

from merrow_analysis.shared_values import RecentValues
from merrow_analysis.syntax import parser
from merrow_analysis.syntax.fast import read_line
from merrow_analysis.syntax.tree import Statement

HEAD = "flowchart TD\n"


def by_the_grammar(line: str) -> tuple[Statement, ...]:
    """The statements of a line, read with the fast path out of the way."""
    with patch.object(parser, "read_line", lambda _: None), patch.object(parser, "READ_BEFORE", RecentValues(1)):
        return parser.parse_diagram(f"{HEAD}{line}\n").blocks[1].statements


def disagreements(lines: Iterable[str]) -> tuple[int, list[str]]:
    """How many lines the fast path reads, and those that it reads differently from the grammar."""
    read, wrong = 0, []
    for line in lines:
        fast = read_line(line)
        if fast:
            read += 1
            if fast != by_the_grammar(line):
                wrong.append(line)
    return read, wrong


@pytest.mark.slow
@pytest.mark.shared("conformance")
def test_every_line_of_the_shared_texts() -> None:
    lines: set[str] = set()
    with (SHARED / "conformance" / "flowchart.jsonl").open(encoding="utf-8") as rows:
        for row in rows:
            lines.update(json.loads(row)["text"].replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    for path in (SHARED / "corpus").rglob("*.mmd"):
        lines.update(path.read_text(encoding="utf-8").split("\n"))
    read, wrong = disagreements(sorted(lines))
    assert wrong == []
    assert read > 3000


PIECES = [
    *(
        "A",
        "B1",
        "v",
        "end",
        "1end",
        "class",
        "class ",
        "classDef ",
        "style ",
        "subgraph ",
        "x",
        "o",
        "_self",
        "default",
    ),
    *(
        "-->",
        "---",
        "--- ",
        "-.->",
        "==>",
        "--x",
        "--o",
        "|t|",
        '|"t"|',
        " ",
        "  ",
        "&",
        " & ",
        ";",
        ":::",
        "k",
        ",",
        "@{",
    ),
    *(
        "a: 1",
        "}",
        "[",
        "]",
        '["',
        '"]',
        "(",
        ")",
        "([",
        "])",
        "{",
        "}",
        "[[",
        "]]",
        "((",
        "))",
        "{{",
        "}}",
        "text",
        "-",
        "/",
    ),
    *(
        "fill:#fff",
        "stroke-width:2px",
        "fill: #fff",
        "#quot;",
        "%%",
        "~~~",
        "direction TB",
        "é",
        "<br/>",
        "\t",
        "\u00a0",
    ),
]


@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
def test_made_up_lines(line: str) -> None:
    assert disagreements([line])[1] == []
