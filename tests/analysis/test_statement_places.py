"""Every statement lies within its block, and one mistake is reported once, whatever stands on two lines."""

from __future__ import annotations

from itertools import product

import pytest

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.ide.semantic_tokens import semantic_tokens
from merrow_analysis.syntax.tree import Broken, Comment

FIRST = [
    "direction TB", "direction TB;", "A;", ";", "end", "subgraph x", "style A fill:#fff", "classDef a fill:#fff", "class A b",
    'click A href "x"', "linkStyle 0 stroke:#fff", "accTitle: x", "accDescr: x", "accDescr { x }", "A-->B", "A[x", "A & B",
    "A@{ shape: rect }", "A e1@--> B", "A:::c", "%% comment",
]  # fmt: skip
SECOND = [
    "--", "-->", "-->|x|", "-- x", "==>", "~~~", "--> B", "-.->", "x--x", "<-->", "|x|", "& B", "  --", "%%c\n--", ":::c",
    "@{ a: b }", "[x]", "end", "]",
]  # fmt: skip
ENDINGS = ["\n", "\r\n"]


def _check(text: str) -> Analysis:
    analysis = analyse(text)
    for block in analysis.diagram.blocks:
        for statement in block.statements:
            spans = [statement.span, *([statement.problem.span] if isinstance(statement, Broken) else [])]
            for start, end in spans:
                assert 0 <= start <= end <= len(block.text), (text, statement)
    semantic_tokens(analysis)
    return analysis


@pytest.mark.parametrize("first", FIRST)
def test_statements_and_what_is_wrong_with_them_lie_within_their_block(first: str) -> None:
    for before, second, ending in product(("", "A --> B\n"), SECOND, ENDINGS):
        _check(f"flowchart TD\n{before}{first}\n{second}".replace("\n", ending))
        _check(f"flowchart TD\n{before}{first}\n{second}\nC --> D\n".replace("\n", ending))


@pytest.mark.parametrize("first", ["direction TB", "style A fill:#fff", "accTitle: x", "class A b", "A;"])
def test_an_arrow_without_nodes_after_another_statement_is_reported_once(first: str) -> None:
    analysis = _check(f"flowchart TD\n{first}\n--\n")
    assert [one.range.start.line for one in analysis.diagnostics if one.code == "MW001"] == [2]


def test_each_directive_that_fills_its_lines_is_one_comment() -> None:
    text = '%%{init: {"theme": "a"}}%%\nflowchart TD\n    %%{wrap}%%\n    A --> B\n    %%{init: {\n  "theme": "b"}}%%\n'
    found = [
        (block.line, statement.text)
        for block in analyse(text).diagram.blocks
        for statement in block.statements
        if isinstance(statement, Comment) and statement.directive
    ]
    assert found == [(0, '{init: {"theme": "a"}}'), (2, "{wrap}"), (4, '{init: {\n  "theme": "b"}}')]
