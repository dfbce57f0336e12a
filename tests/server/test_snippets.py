"""The mark below a source line stands where the range is, in terminal cells, whatever the line is made of."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from merrow_analysis.text import Position, Range
from merrow_server.rendering.snippet import marked_lines, visible

LETTERS = st.sampled_from([*'aB\t -é日本"[', "😀", "\ud800", "\x1b", "\u202e", "\x07"])


def drawn(text: str, *places: int) -> list[tuple[int | None, str, str]]:
    """Lines as shown; ``places`` are start line, start column, end line, end column."""
    a, b, c, d = places
    lines = text.splitlines(keepends=True)
    return [tuple(line) for line in marked_lines(lines, Range(Position(a, b), Position(c, d)))]


def test_one_caret_below_each_cell() -> None:
    assert drawn("A --> B", 0, 2, 0, 5) == [(1, "A --> B", "  ^^^")]


def test_an_empty_range_has_one_caret_also_at_the_end() -> None:
    assert drawn("A --> B\n", 0, 7, 0, 7) == [(1, "A --> B", "       ^")]


def test_wide_characters_take_two_cells() -> None:
    assert drawn("日本😀 x", 0, 4, 0, 5) == [(1, "日本😀 x", "       ^")]
    assert drawn("日本😀 x", 0, 1, 0, 3) == [(1, "日本😀 x", "  ^^^^")]


def test_tabs_reach_the_next_stop() -> None:
    assert drawn("\tA\t--> B", 0, 3, 0, 6) == [(1, "    A   --> B", "        ^^^")]


def test_a_long_line_is_cut_around_the_mark() -> None:
    [(number, text, mark)] = drawn("x" * 250_000 + "END" + "y" * 250_000, 0, 250_000, 0, 250_003)
    assert number == 1
    assert len(text) < 200
    assert text.startswith("...x")
    assert text.endswith("y...")
    assert text[len(mark) - 3 : len(mark)] == "END"


def test_several_lines_are_marked_each_where_their_text_is() -> None:
    assert drawn("ab\n  cd  \nef", 0, 1, 2, 1) == [(1, "ab", " ^"), (2, "  cd", "  ^^^^"), (3, "ef", "^")]


def test_many_lines_show_the_first_two_and_the_last() -> None:
    shown = drawn("line\n" * 5000, 0, 0, 4999, 4)
    assert [number for number, _, _ in shown] == [1, 2, None, 5000]


def test_a_range_that_ends_before_a_line_does_not_show_it() -> None:
    assert [number for number, _, _ in drawn("a\nb\nc\n", 0, 0, 1, 0)] == [1]


def test_control_characters_and_direction_marks_are_made_visible() -> None:
    assert visible("a\x1b[31m\u202eb\x07") == "a␛[31m�b␇"


@given(st.lists(LETTERS, max_size=30).map("".join), st.integers(0, 30), st.integers(0, 30))
def test_what_stands_before_the_mark_is_as_wide_as_the_blanks_below(line: str, a: int, b: int) -> None:
    start, end = sorted((min(a, len(line)), min(b, len(line))))
    [(_, text, mark)] = drawn(line or " ", 0, start, 0, end)
    blanks = len(mark) - len(mark.lstrip(" "))
    assert set(mark.lstrip(" ")) == {"^"}
    assert not any(letter in text for letter in "\x1b\x07\u202e\t\n")
    # A prefix of the shown text has exactly the width of the blanks.
    widths = {cell_len(text[:length]) for length in range(len(text) + 1)}
    assert blanks in widths or blanks > cell_len(text)
