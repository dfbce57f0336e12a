"""What editors draw into a text: colours, semantic tokens, inlay hints, the figures above the header."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.ide.cursor import drawn, slice_of

from merrow_analysis.check import analyse
from merrow_analysis.ide.code_lens import figures, header_range
from merrow_analysis.ide.colors import colors, presentations
from merrow_analysis.ide.css_colors import NAMED, Color, hexadecimal, read_color
from merrow_analysis.ide.inlay_hints import inlay_hints
from merrow_analysis.ide.semantic_tokens import Token, semantic_tokens
from merrow_analysis.text import Position, Range, apply_edits

WHOLE = Range(Position(0, 0), Position(10_000, 0))


def place_of(token: Token) -> Range:
    return Range(Position(token.line, token.column), Position(token.line, token.column + token.length))


def test_tokens_are_drawn() -> None:
    text = """\
---
workflow:
  prompts: {solver: Solve.}
---
flowchart LR
  %% who
  PROBLEM([Custom]):::Interface -->|input| A["Custom<br/>(role: solver, temperature: 0.5)"]
  B@{
      op: Test
      samples: 3
      format: "a
  b"
  }
  CHECK{ok?}:::DecisionOp -- yes --> RETURN
  linkStyle 0 stroke:red
"""
    tokens = semantic_tokens(analyse(text))
    assert (
        drawn(text, [(place_of(token), " ".join([token.kind, *token.modifiers])) for token in tokens])
        == """\
  prompts: {solver: Solve.}
            ^^^^^^ prompt definition
flowchart LR
^^^^^^^^^ keyword
          ^^ keyword
  %% who
  ^^^^^^ comment
  PROBLEM([Custom]):::Interface -->|input| A["Custom<br/>(role: solver, temperature: 0.5)"]
  ^^^^^^^ node declaration
           ^^^^^^ string
                      ^^^^^^^^^ class
                                ^^^^ arrow
                                    ^^^^^ port
                                         ^ arrow
                                           ^ node declaration
                                              ^^^^^^ operator built-in
                                                    ^^^^^^ string
                                                          ^^^^ parameter
                                                              ^ string
                                                                ^^^^^^ prompt
                                                                      ^ string
                                                                        ^^^^^^^^^^^ parameter
                                                                                   ^ string
                                                                                     ^^^ number
                                                                                        ^ string
  B@{
  ^ node declaration
      op: Test
      ^^ parameter
          ^^^^ operator built-in
      samples: 3
      ^^^^^^^ parameter
               ^ number
      format: "a
      ^^^^^^ parameter
              ^^ string
  b"
  ^^ string
  CHECK{ok?}:::DecisionOp -- yes --> RETURN
  ^^^^^ node declaration
        ^^^ string
               ^^^^^^^^^^ class
                          ^^ arrow
                             ^^^ case
                                 ^^^ arrow
                                     ^^^^^^ node
  linkStyle 0 stroke:red
  ^^^^^^^^^ keyword
            ^ number
              ^^^^^^ property"""
    )


def test_tokens_of_a_range() -> None:
    text = "flowchart TD\nA --> B\nB --> C\nC --> D\n"
    analysis = analyse(text)
    some = semantic_tokens(analysis, Range(Position(2, 3), Position(2, 4)))
    assert [token for token in semantic_tokens(analysis) if token.line == 2] == some


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#f00", Color(1, 0, 0)),
        ("#F00C", Color(1, 0, 0, 0.8)),
        ("#00ff00", Color(0, 1, 0)),
        ("#0000ff80", Color(0, 0, 1, 128 / 255)),
        ("RebeccaPurple", Color(0x66 / 255, 0x33 / 255, 0x99 / 255)),
        ("rgb(255, 0, 51)", Color(1, 0, 0.2)),
        ("rgba(100% 0% 20% / 50%)", Color(1, 0, 0.2, 0.5)),
        ("hsl(120, 100%, 50%)", Color(0, 1, 0)),
        ("hsl(0.5turn 100% 50% / 0.25)", Color(0, 1, 1, 0.25)),
        ("transparent", Color(0, 0, 0, 0)),
        ("#12345", None),
        ("#ggg", None),
        ("rgb(1,2)", None),
        ("rgb(a,b,c)", None),
        ("reddish", None),
    ],
)
def test_css_colours(text: str, expected: Color | None) -> None:
    found = read_color(text)
    if expected is None or found is None:
        assert found is expected
    else:
        for name in ("red", "green", "blue", "alpha"):
            assert abs(getattr(found, name) - getattr(expected, name)) < 1e-9


def test_there_are_all_named_colours() -> None:
    assert len(NAMED) == 148
    assert all(len(digits) == 6 for digits in NAMED.values())


@given(st.tuples(*[st.integers(0, 255)] * 4))
@settings(deadline=None, database=None)
def test_hexadecimal_colours_come_back(parts: tuple[int, ...]) -> None:
    color = Color(*(part / 255 for part in parts))
    assert read_color(hexadecimal(color)) == color


def test_colours_in_a_file() -> None:
    text = """\
flowchart TD
  classDef red fill:#f00,stroke: navy,stroke-width:2px
  style A color:tomato,font-family:tan
  linkStyle 0,1 stroke:#12345678
  style B fill:rgb(1, 2, 3),stroke:#fff
  A["fill:#0f0"] --> red
"""
    assert [slice_of(text, place.range) for place in colors(analyse(text))] == [
        "#f00", "navy", "tomato", "#12345678", "rgb(1, 2, 3)", "#fff",
    ]  # fmt: skip


def test_presentations_are_what_mermaid_reads() -> None:
    assert presentations(Color(1, 0, 0)) == ["#ff0000", "red"]
    for color in (Color(1, 0, 0), Color(0.2, 0.4, 0.6, 0.5)):
        for written in presentations(color):
            analysis = analyse(f"flowchart TD\nA\nstyle A fill:{written}\n")
            assert not analysis.diagnostics
            assert [place.color for place in colors(analysis)] == [read_color(written)]


HINTS = """\
---
workflow:
  types: {Draft: Text}
  operators:
    Planner: {inputs: {problem: Text, old?: Draft}, outputs: {plan: Draft}}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Return]):::Interface
    A["Custom<br/>(role: a)"]
    B[Makes a plan]
    class A CustomOp
    class B PlannerOp
    classDef Interface fill:#eee
    classDef CustomOp fill:#eee
    classDef PlannerOp fill:#eee
    PROBLEM --> A
    A --> B
    B -->|result| RETURN
"""


def test_hints_are_drawn() -> None:
    hints = inlay_hints(analyse(HINTS), WHOLE)
    assert [(hint.position.line, hint.text) for hint in hints] == [
        (10, ": Planner"),
        (16, "input: Problem"),
        (17, "problem: Text"),
    ]
    assert hints[0].parts[1].target is not None
    assert "Planner by class PlannerOp" in hints[0].tooltip
    assert hints[1].tooltip == "PROBLEM feeds `input` of A (Custom)."
    assert "    A -->|problem| B\n" in apply_edits(HINTS, hints[2].edits)


def test_hints_can_be_switched_off_and_cut_to_a_range() -> None:
    analysis = analyse(HINTS)
    assert [hint.text for hint in inlay_hints(analysis, WHOLE, ports=False)] == [": Planner"]
    assert len(inlay_hints(analysis, WHOLE, operators=False)) == 2
    assert inlay_hints(analysis, WHOLE, ports=False, operators=False) == []
    some = Range(Position(16, 0), Position(16, 99))
    assert [hint.text for hint in inlay_hints(analysis, some)] == ["input: Problem"]
    assert inlay_hints(analyse("flowchart TD\nA --> B\n"), WHOLE) == []


def test_accepting_every_hint_leaves_no_inferred_port() -> None:
    analysis = analyse(HINTS)
    edits = [edit for hint in inlay_hints(analysis, WHOLE) for edit in hint.edits]
    after = analyse(apply_edits(HINTS, edits))
    assert [hint.text for hint in inlay_hints(after, WHOLE)] == [": Planner"]
    assert {d.code for d in after.diagnostics} <= {d.code for d in analysis.diagnostics}


def test_figures() -> None:
    analysis = analyse(HINTS)
    found = figures(analysis)
    assert found is not None
    assert found.title == "2 subtasks · 1 edge · 2 steps · up to 1 at once"
    assert "2 subtasks with 1 edge among them." in found.text
    place = header_range(analysis)
    assert place is not None
    assert slice_of(HINTS, place) == "flowchart TD"
    plain = analyse("flowchart TD\nA --> B\n")
    assert figures(plain) is None
    assert header_range(plain) is None
