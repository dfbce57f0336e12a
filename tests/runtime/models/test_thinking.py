"""Thinking is taken out of answers in time linear in their length, and the same in however many pieces they come."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merrow_runtime.models.thinking import ThinkingFilter, split_thinking

MARKS = ("<think>", "</think>", "<thinking>", "</thinking>", "<THINK>", "</Think>")
WORDS = st.sampled_from([*MARKS, *"<>/ab \n\té", "think"])
TEXTS = st.lists(WORDS, max_size=14).map("".join)


@given(TEXTS, st.lists(st.integers(1, 9), max_size=12), st.sampled_from(["no", "marked", "implicit"]))
@settings(max_examples=75)
def test_what_is_shown_does_not_depend_on_how_an_answer_was_cut_into_pieces(
    text: str, sizes: list[int], thinks: str
) -> None:
    whole = ThinkingFilter(thinks)  # type: ignore[arg-type]
    expected = whole.feed(text) + whole.finish()
    pieces, rest = [], text
    for size in sizes:
        pieces.append(rest[:size])
        rest = rest[size:]
    cut = ThinkingFilter(thinks)  # type: ignore[arg-type]
    shown = "".join(map(cut.feed, [*pieces, rest])) + cut.finish()
    # Blanks after a closing mark are left out as far as they came in the same piece.
    assert "".join(shown.split()) == "".join(expected.split())


@given(TEXTS)
@settings(max_examples=75)
def test_no_character_is_lost_but_those_of_marks_and_blanks(text: str) -> None:
    def rest(part: str) -> list[str]:
        return sorted(letter for letter in part if letter not in "<>/" and letter.lower() not in "thinkg \n\t")

    split = split_thinking(text)
    assert rest(split.text + split.thinking) == rest(text)


@pytest.mark.parametrize(
    ("content", "text", "thinking", "thinks"),
    [
        ("<think>a</think> 42", "42", "a", "marked"),
        ("<think>a<think>b</think>c</think>d", "c</think>d", "a<think>b", "marked"),
        ("<think>a<thinking>b</thinking>c</think>d", "d", "a<thinking>b</thinking>c", "marked"),
        ("x<think>a</thinking>b</think>y<thinking>c</thinking>", "xy", "a</thinking>b\nc", "marked"),
        ("</think><think>a</think>b", "</think>b", "a", "marked"),
        ("<THINK>a</Think>b", "b", "a", "marked"),
        ("a</think>\nb", "b", "a", "implicit"),
        ("a\n</think> b", "b", "a", "implicit"),
        ("say </think> to end", "say </think> to end", "", "no"),
        ("b\n<think>a", "b", "a", "marked"),
        ("b <think>a", "b <think>a", "", "no"),
    ],
)
def test_what_is_thinking(content: str, text: str, thinking: str, thinks: str) -> None:
    split = split_thinking(content)
    assert (split.text, split.thinking, split.thinks) == (text, thinking, thinks)


@pytest.mark.parametrize("closing", ["</think>", "</thinking>", "</THINKING>"])
@pytest.mark.parametrize("opening", ["<think>", "<thinking>", " \n<Think>"])
def test_marks_that_come_letter_by_letter_are_marks(opening: str, closing: str) -> None:
    shown = ThinkingFilter("no")
    thought = "a long thought about <, </ and </thin "
    assert "".join(map(shown.feed, f"{opening}{thought}{closing}42")) + shown.finish() == "42"


BOMBS = [
    "<think>",
    "<thinking>",
    "</think> ",
    "<think></thinking>",
    "<think>a</think>",
    "\n \t",
    "\n<think",
    "think \n",
    "<",
]
PROGRAM = """
import sys
from merrow_runtime.models.thinking import ThinkingFilter, split_thinking
split_thinking("think" + sys.argv[1] * 100_000)
for thinks in ("no", "implicit"):
    shown = ThinkingFilter(thinks)
    for piece in [sys.argv[2], *[sys.argv[1]] * 100_000]:
        shown.feed(piece)
    shown.finish()
"""


@pytest.mark.slow
@pytest.mark.parametrize("bomb", BOMBS, ids=repr)
def test_a_model_in_a_repetition_loop_costs_no_more_than_its_length(bomb: str) -> None:
    # A second where each mark is looked at once, hours where each looks through all that follows.
    subprocess.run([sys.executable, "-c", PROGRAM, bomb, "<think>"], check=True, timeout=200)
