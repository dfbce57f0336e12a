"""Positions: code points inside, UTF-16 outside, and nothing lost between the two."""

from hypothesis import given
from hypothesis import strategies as st

from merrow_analysis.text import Position, Range, split_lines
from merrow_server.positions import (
    Encoding,
    character_at,
    from_utf16,
    position_from_wire,
    range_from_wire,
    to_utf16,
    units,
    utf16_length,
    wire_position,
    wire_range,
)

LETTERS = st.sampled_from([*"aB\t -é日本", "😀", "👩‍💻", "\u200d", "\ud800", "\udc00", "\U0010ffff"])
LINES = st.lists(LETTERS, max_size=12).map("".join)
ENDINGS = st.sampled_from(["\n", "\r\n", "\r"])
TEXTS = st.lists(st.tuples(LINES, ENDINGS), max_size=6).map(lambda parts: "".join(a + b for a, b in parts))


@given(LINES)
def test_the_length_is_that_of_the_encoded_text(line: str) -> None:
    assert utf16_length(line) == len(line.encode("utf-16-le", "surrogatepass")) // 2


@given(LINES, st.integers(0, 20))
def test_a_column_comes_back(line: str, column: int) -> None:
    assert from_utf16(line, to_utf16(line, column)) == min(column, len(line))


@given(LINES, st.integers(0, 40))
def test_an_offset_comes_back_or_moves_to_the_beginning_of_its_character(line: str, character: int) -> None:
    there = to_utf16(line, from_utf16(line, character))
    assert there <= character
    assert min(character, utf16_length(line)) - there <= 1


@given(TEXTS, st.data())
def test_every_place_of_a_text_comes_back(text: str, data: st.DataObject) -> None:
    lines = split_lines(text)
    number = data.draw(st.integers(0, max(0, len(lines) - 1)))
    content = lines[number].rstrip("\r\n") if lines else ""
    position = Position(number, data.draw(st.integers(0, len(content))))
    wire = wire_position(lines, position)
    assert position_from_wire(lines, wire) == position
    place = Range(Position(number, 0), position)
    assert range_from_wire(lines, wire_range(lines, place)) == place


@given(LINES, st.integers(1, 60), ENDINGS, st.integers(0, 700), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_a_place_in_a_line_of_any_length_is_counted_from_its_beginning(
    piece: str, times: int, ending: str, column: int, encoding: Encoding
) -> None:
    line = piece * times
    assert character_at(["", line + ending], Position(1, column), encoding) == units(line[:column], encoding)


def test_an_emoji_counts_two_and_a_tab_one() -> None:
    assert to_utf16('\tA["😀"] --> B', 5) == 6
    assert to_utf16('\tA["😀"] --> B', 4) == 4


def test_a_place_outside_the_text_is_moved_inside() -> None:
    assert from_utf16("abc", 99) == 3
    assert from_utf16("a😀", 99) == 2
    assert wire_position(["abc\r\n"], Position(0, 99)) == {"line": 0, "character": 3}
    assert wire_position([], Position(7, 3)) == {"line": 7, "character": 0}
