"""An edited document is always what a cold reading of its text would be."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merrow_analysis.document import Document
from merrow_analysis.syntax.parser import Diagram, parse_diagram
from merrow_analysis.text import Position, Range, TextEdit, apply_edits

START = """---
title: t
---
flowchart TD
  %% a comment
  A["Custom<br/>(role: x)"]
  B(["é😀 \u2028 x"]):::cls

  A --> |in|B & C
  subgraph one [Title]
    C@{ shape: rect, label: "two
      lines" }
  end
  class A,B CustomOp
  C
  -->|more| D{ok?}
  D -- yes --> E;F;
"""
LONG = "flowchart TD\n" + "  A --> B & C\n  %% a comment\n\n  class A cls\n" * 25
"""So long that the lexer does not get all of it where an edit is read again, and nothing in it ends an open quote or bracket."""

PIECES = [
    *(
        "\n",
        "\r\n",
        "\r",
        " ",
        "\t",
        '"',
        "`",
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        "|",
        "-->",
        "--",
        "-.->",
        "==>",
        "~~~",
        "&",
    ),
    *(
        ";",
        "%% note\n",
        "%%{init: {}}%%",
        "%%{",
        "}%%",
        "@{",
        "@{ a: 1 }",
        "end",
        "end\n",
        "subgraph q\n",
        "A",
        "😀",
        "é",
    ),
    *(
        "A --> B\n",
        "--> Z\n",
        "\n--> Z",
        'X["t"]\n',
        "click A call ",
        "accDescr {",
        "direction LR\n",
        "---\n",
        "flowchart TD\n",
    ),
    *('<a href="x">', "class A b\n", "\u2028", "\ufeff", "#quot;", "style A fill:#fff;", "e1@-->", "\x00"),
]


def picture(diagram: Diagram) -> object:
    return (
        diagram.kind,
        diagram.line_count,
        None if diagram.header is None else (diagram.header[0], diagram.header[1].line),
        None if diagram.front_matter is None else (diagram.front_matter[0], diagram.front_matter[1].line),
        [(b.line, b.line_count, b.text, b.statements) for b in diagram.blocks],
    )


@st.composite
def edits(draw: st.DrawFn, count: int) -> list[tuple[float, float, str]]:
    return [
        (
            draw(st.floats(0, 1)),
            draw(st.sampled_from([0.0, 0.0, 0.0, 0.01, 0.03, 0.2])),
            "".join(draw(st.lists(st.sampled_from(PIECES), max_size=3))),
        )
        for _ in range(count)
    ]


@settings(max_examples=100, deadline=None)
@given(
    st.data(),
    st.sampled_from([START, LONG, "", "flowchart TD\nA-->B", START.replace("\n", "\r\n"), "graph LR;A-->B;\n"]),
)
def test_edits_give_what_a_cold_reading_gives(data: st.DataObject, start: str) -> None:
    document = Document(start)
    text = start
    for where, length, new in data.draw(edits(8)):
        lines = document.lines
        line = min(int(where * (len(lines) + 1)), len(lines))
        content = len(lines[line].rstrip("\r\n")) if line < len(lines) else 0
        begin = Position(line, int(where * 7919) % (content + 1))
        last = min(line + int(length * len(lines)), len(lines))
        last_content = len(lines[last].rstrip("\r\n")) if last < len(lines) else 0
        end = Position(last, last_content if last > line else min(begin.column + int(length * 100), content))
        edit = TextEdit(Range(begin, end), new)
        text = apply_edits(text, [edit])
        document.edit(edit)
        assert document.text == text
        assert picture(document.diagram) == picture(parse_diagram(text))


@pytest.mark.parametrize("last", ["three] --> B", "three --> B"])
def test_a_label_that_ends_lines_below_is_read_to_its_end(last: str) -> None:
    texts = [f"flowchart TD\nA[One (x)\ntwo\n{line}\nC --> D\nE --> F\n" for line in ("three", last)]
    document = Document(texts[0])
    document.edit(TextEdit(Range(Position(3, 0), Position(3, 5)), last))
    assert document.text == texts[1]
    assert picture(document.diagram) == picture(parse_diagram(texts[1]))


def test_a_description_that_ends_far_below_is_read_to_its_end() -> None:
    document = Document(LONG + "}\nC --> D\n")
    document.edit(TextEdit(Range(Position(3, 0), Position(3, 0)), "accDescr {\n"))
    cold = parse_diagram(document.text)
    assert picture(document.diagram) == picture(cold)
    assert len(cold.blocks) < 10
