"""A line that is read by its form has the statements that lexer and grammar read, or it is left to them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark
from lark import Lark
from tests.shared import SHARED

from merrow_analysis.shared_values import RecentValues
from merrow_analysis.syntax import forms, parser
from merrow_analysis.syntax.grammar import statement_grammar
from merrow_analysis.syntax.tree import Statement

HEAD = "flowchart TD\n"
Statements = tuple[Statement, ...]


def by_the_grammar(line: str) -> Statements:
    """The statements of a line in a file, read with the fast path out of the way."""
    with (
        patch.object(parser, "read_line", lambda *_: None),
        patch.object(parser, "READ_BEFORE", RecentValues(1)),
    ):
        return parser.parse_diagram(f"{HEAD}{line}\n").blocks[1].statements


def by_its_form(line: str) -> Statements | None:
    """The statements of a line, read by its form; the first line of a form is left to the grammar."""
    return [forms.read_line(line, parser.plan_of) for _ in range(3)][-1]


def disagreements(lines: Iterable[str]) -> tuple[int, list[str]]:
    """How many lines are read by their form, and those that are read differently from the grammar.

    Each is read without a pattern, and where the patterns of all lines before it are tried.
    """
    read, wrong = 0, []
    patterns: RecentValues[str, Any] = RecentValues(1_000)
    for line in lines:
        with patch.object(forms, "_COMMON", 1_000_000), patch.object(forms, "_BY_MARKS", RecentValues(1)):
            statements = by_its_form(line)
        with patch.object(forms, "_COMMON", 0), patch.object(forms, "_BY_MARKS", patterns):
            alike = by_its_form(line)
        expected = by_the_grammar(line) if statements or alike else None
        read += bool(statements)
        if (statements or expected) != expected or (alike or expected) != expected:
            wrong.append(line)
    return read, wrong


def lines_of(texts: Iterable[str]) -> list[str]:
    return sorted({line for text in texts for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")})


@pytest.mark.slow
@pytest.mark.shared("conformance")
def test_every_line_of_the_conformance_texts() -> None:
    with (SHARED / "conformance" / "flowchart.jsonl").open(encoding="utf-8") as rows:
        read, wrong = disagreements(lines_of(json.loads(row)["text"] for row in rows))
    assert wrong == []
    assert read > 3000


@pytest.mark.shared("corpus")
def test_every_line_of_the_corpus() -> None:
    texts = (path.read_text(encoding="utf-8") for path in (SHARED / "corpus").rglob("*.mmd"))
    read, wrong = disagreements(lines_of(texts))
    assert wrong == []
    assert read > 400


@pytest.mark.shared("field/drawings.jsonl")
def test_every_line_of_the_drawings() -> None:
    with (SHARED / "field" / "drawings.jsonl").open(encoding="utf-8") as rows:
        read, wrong = disagreements(lines_of(json.loads(row)["text"] for row in rows))
    assert wrong == []
    assert read > 3000


WORDS = st.one_of(
    st.from_regex(r"[A-Zaxov1][1_xov]{0,2}", fullmatch=True),
    st.sampled_from(
        ("end", "ends", "1end", "style", "class", "classDef", "subgraph", "default", "_self", "direction", "12")
    ),
    st.sampled_from(("mydirection", "foo-bar", "a.b", "x.y", "fill", "stroke-width", "é", "日本")),
)
SAID = st.one_of(
    st.sampled_from(
        ("text", "two words", " padded ", "end", "x", "12", "12 of", "a/b", "/a", "a/", "-a", "a-", "a#b", "#quot;")
    ),
    st.sampled_from(
        ("#35;b", "~~~", "a<br/>b", "日本", "a;b", "a@b", "direction TB", "a%%b", "--> B", "x-- y", "`md`", "^")
    ),
    st.sampled_from(("a:b", "=", "click me", "\u00a0a")),
)
SPACES = st.sampled_from([" ", " ", "  ", "\t"])
SIGNS = r"""
AMP &
BRKT #
CLASS class
CLASSDEF classDef
COLON :
COMMA ,
CYLINDER_END )]
CYLINDER_START [(
DEFAULT default
DIAMOND_START {
DIAMOND_STOP }
DOUBLECIRCLE_END )))
DOUBLECIRCLE_START (((
DOWN v
ELLIPSE_END -)
ELLIPSE_START (-
END end
GRAPH graph
INTERPOLATE interpolate
INVTRAP_END \]
INVTRAP_START [\
LINKSTYLE linkStyle
MINUS -
MULT *
PCT %
PE )
PIPE |
PS (
SQE ]
SQS [
STADIUM_END ])
STADIUM_START ([
STYLE style
SUBGRAPH subgraph
SUBROUTINE_END ]]
SUBROUTINE_START [[
TAGEND >
TAGSTART <
TRAP_END /]
TRAP_START [/
UNIT px
UP ^
VERTEX_WITH_PROPS_START [|
"""
TERMINALS = {
    "NODE_STRING": WORDS,
    "NUM": st.sampled_from(["0", "7", "42"]),
    "UNICODE_TEXT": st.sampled_from("éß日"),
    "TEXT": SAID,
    "EDGE_TEXT": SAID,
    "STR": SAID.map(lambda text: f'"{text}"'),
    "MD_STR": SAID.map(lambda text: f'"`{text}`"'),
    "SHAPE_DATA": st.sampled_from(["shape: rect", ' label: "a b" ', "w: 12,", ' x: "#1" ']),
    "SPACE": SPACES,
    "LINK": st.sampled_from(
        ["-->", " --> ", " ---", " -.-> ", "==>", " --x ", "--o", " <--> ", "x--x", " ~~~ ", "-..-", " ---> "]
    ),
    "START_LINK": st.sampled_from(["--", " -- ", " == ", " -. "]),
    "LINK_ID": st.sampled_from(["e1@", " e1@"]),
    "STYLE_SEPARATOR": st.just(":::"),
    "ACC_TITLE": st.just("accTitle: "),
    "ACC_DESCR": st.just("accDescr: "),
    "ACC_TITLE_VALUE": SAID,
    "ACC_DESCR_VALUE": SAID,
    "ACC_DESCR_BLOCK": SAID.map(lambda text: f"accDescr {{{text}}}"),
    "CALLBACKNAME": st.just(" call back"),
    "CALLBACKARGS": SAID.map(lambda text: f"({text})"),
    "CLICK": WORDS.map(lambda word: f"click {word} "),
    "HREF": st.just("href "),
    "LINK_TARGET": st.just("_self"),
    "DIR": st.sampled_from([" TD", " LR"]),
    **{f"DIRECTION_{way}": st.just(f"direction {way}") for way in ("TB", "BT", "RL", "LR", "TD")},
    **{name: st.just(text) for name, text in (pair.split() for pair in SIGNS.split("\n") if pair)},
}


def grammar() -> Lark:
    parsed, _ = statement_grammar()
    return parsed


MADE = st.tuples(st.sampled_from(["", " ", "\t"]), from_lark(grammar(), start="statement", explicit=TERMINALS)).map(
    "".join
)


@given(MADE, st.integers(0, 9), st.one_of(WORDS, SAID))
def test_lines_that_the_grammar_makes(line: str, number: int, other: str) -> None:
    """And with another word in it."""
    words = list(re.finditer(r"\w+", line))
    changed = line
    if words:
        word = words[number % len(words)]
        changed = line[: word.start()] + other + line[word.end() :]
    assert disagreements([line, changed])[1] == []


ALIKE = (
    *('subgraph "one"', 'subgraph "one two"', "subgraph one", "subgraph end", "A[one] --> B", "A[end] --> B"),
    *("max --> B", "max--> B", "x --> B", "x--> B", "A --ox", "A --> ox", "linkStyle 0,1 a:b", "linkStyle 3,4 a:b"),
    *("A[12 a]", "A[1]", "1end --> A", "12 --> A", "A[/a/]", "A[a/]", 'A["a"b"]', "class A,B end", "class A,B C"),
    *(
        "A --> B",
        "A --> end",
        "A --> click",
        "A --> default",
        "A --> direction TB",
        "A[a] --> B",
        "A[a direction TB] --> B",
    ),
    *("A --b --> C", "A --xa --> C", "A -- b--> C", "A -- max--> C", "A == b==> C", "A == box==> C", "A -. b.-> C"),
    *("A[a b]", "A[style a:#b;]", 'A["a b"]', 'A["style a:#b;"]', "A[a~~~b]", "A@{ a: b }", "A@{ a: b^c }", "A[a^b]"),
    *("style A a:b", "style A a:#b;", "classDef a b:c", "classDef default b:c", "A:::b", "A:::end", "A & B", "A & v"),
    *("accTitle: a", "click A b", "click [a b] c", "click [a] c", "A b", "direction TB", "graph TB", "%% a", "A %% b"),
)


def test_lines_of_one_form_may_differ_in_everything_else() -> None:
    """Also in what Mermaid treats in a way of its own."""
    assert disagreements(ALIKE + ALIKE)[1] == []


def test_common_lines_need_no_grammar() -> None:
    """What ``forms.tsv`` says of a form is what the grammar says of it today."""
    assert len(forms.known_plans()) > 100
    for form, plan in forms.known_plans().items():
        assert parser.plan_of(tuple(json.loads(form))) == json.loads(plan)
