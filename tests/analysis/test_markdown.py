"""Diagrams in Markdown: the fences that CommonMark sees, places mapped there and back, edits that stay in the fence."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from merrow_analysis.markdown import DiagramFence, find_fences
from merrow_analysis.text import Position, Range, TextEdit, apply_edits, line_content, split_lines

_REFERENCE = MarkdownIt("commonmark")
_DEEP_QUOTE_MARK = re.compile(r" {4}>|\t *>")
"""A quote mark indented by four columns, which continues a quote for the reference, but not in the specification."""

LINE_STARTS = ["", "", " ", "  ", "    ", "\t", "> ", ">", "- ", "* ", "1. ", "2) ", "-", ">\t", "-\t", "   > "]
LINE_TEXTS = [
    *("```mermaid", "~~~mermaid", "```` Mermaid title", "```", "~~~", "````", "```python", "```mermaid`"),
    *("A --> B", 'A["x"]', "text", "", " ", "# heading", "---", "===", "***", "\tA", "é😀", "mermaid"),
    *("<div>", "</div>", "<!-- x", "x -->", "<b>"),
]
MARKS = [
    *(("", ""), ("  ", "  "), ("- ", "  "), ("> ", "> "), ("> - ", ">   "), ("1. > ", "   > "), ("-\t", "\t")),
    *(("- - ", "    "), (">\t", ">\t"), ("   ", " "), (">", ">")),
]
lines = st.lists(
    st.tuples(st.lists(st.sampled_from(LINE_STARTS), max_size=3), st.sampled_from(LINE_TEXTS)), max_size=14
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    ending = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    text = ending.join("".join(starts) + rest for starts, rest in draw(lines))
    return text + draw(st.sampled_from(["", ending]))


@st.composite
def one_fence(draw: st.DrawFn) -> str:
    """A document with one fence in a list or quote, its lines now and then with less or more in front of them."""
    ending = draw(st.sampled_from(["\n", "\r\n"]))
    first, rest = draw(st.sampled_from(MARKS))
    mark = draw(st.sampled_from(["```", "~~~~"]))
    body = draw(st.lists(st.sampled_from(["A --> B", "", "  C[é😀]", "\tD", "%% note"]), max_size=5))
    written = [first + mark + "mermaid"]
    written += [(rest + line if line else draw(st.sampled_from([rest, rest.rstrip()]))) for line in body]
    if draw(st.booleans()):
        written.append(rest + mark)
        written += draw(st.sampled_from([[], ["after"]]))
    return ending.join(written) + draw(st.sampled_from(["", ending]))


def fence_of(text: str) -> DiagramFence:
    fences = find_fences(text)
    assert len(fences) == 1
    return fences[0]


@given(documents())
@example("> ```mermaid\nA")
@example("-\n\n  ```mermaid\n  A")
@example("a\n2. ```mermaid\nb\n```")
def test_the_fences_are_those_of_the_reference_implementation(text: str) -> None:
    assume(not _DEEP_QUOTE_MARK.search(text))
    expected = [
        (_content(token.content), token.map[0] + 1)
        for token in _REFERENCE.parse(text)
        if token.type == "fence" and token.map and token.info.split()[:1] in (["mermaid"], ["Mermaid"])
    ]
    assert [(_content(fence.text), fence.line) for fence in find_fences(text)] == expected


def _content(text: str) -> list[str]:
    """The lines of a fence up to its last ink; the reference keeps a tab whole of which a quote mark took a column."""
    lines = [line_content(line) for line in split_lines(text.rstrip())]
    return [line.lstrip() if line[:1] in ("\t", " ") else line for line in lines]


@given(documents() | one_fence())
def test_places_map_to_the_file_and_back(text: str) -> None:
    hosts = split_lines(text)
    for fence in find_fences(text):
        for number, line in enumerate(split_lines(fence.text)):
            for column in range(len(line_content(line)) + 1):
                host = fence.to_host(Position(number, column))
                if line_content(line)[:column].strip(" "):
                    assert fence.from_host(host) == Position(number, column)
                if column < len(line_content(line)) and line[column] not in " \t":
                    assert hosts[host.line][host.column] == line[column]
                    assert fence.from_host(host) == Position(number, column)
        assert fence.from_host(Position(fence.line - 1, 0)) is None


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, DiagramFence, list[TextEdit]]:
    text = draw(one_fence())
    fences = find_fences(text)
    assume(len(fences) == 1)
    content = split_lines(fences[0].text)
    places = [
        Position(number, column) for number, line in enumerate(content) for column in range(len(line_content(line)) + 1)
    ]
    if not content or content[-1] != line_content(content[-1]):
        places.append(Position(len(content), 0))
    cuts = sorted(draw(st.lists(st.integers(0, len(places) - 1), min_size=2, max_size=6)))
    new_texts = st.sampled_from(["", "x", "\n", "X --> Y\n", "  q\n\nr", "\n\n", "é", "  "])
    edits = [
        TextEdit(Range(places[low], places[high]), draw(new_texts))
        for low, high in zip(cuts[::2], cuts[1::2], strict=False)
    ]
    return text, fences[0], edits


@given(edited())
def test_edits_in_the_fence_do_to_its_text_what_they_say_and_nothing_else(
    case: tuple[str, DiagramFence, list[TextEdit]],
) -> None:
    text, fence, edits = case
    expected = apply_edits(fence.text, edits)
    after = fence_of(apply_edits(text, fence.edits_to_host(edits)))

    assert _lines_of(after.text) == _lines_of(expected)
    assert after.line == fence.line
    host_before, host_after = split_lines(text), split_lines(apply_edits(text, fence.edits_to_host(edits)))
    assert host_after[: fence.line - 1] == host_before[: fence.line - 1]
    assert host_after[after.range.end.line + 1 :] == host_before[fence.range.end.line + 1 :]


def _lines_of(text: str) -> list[str]:
    """The lines of a diagram; white space on a blank line and at the very end is free."""
    return [line_content(line) if line.strip() else "" for line in split_lines(text.rstrip())]


@pytest.mark.parametrize(
    "info", ["mermaid", "MERMAID", " mermaid", "{mermaid}", "{.mermaid}", "mermaid title", "mermaid {x}"]
)
def test_words_that_name_the_language(info: str) -> None:
    assert fence_of(f"```{info}\nA\n```\n").text == "A\n"


@pytest.mark.parametrize("info", ["mermaid-example", "mermaidjs", "js mermaid", "", "{mermaids}"])
def test_words_that_do_not(info: str) -> None:
    assert find_fences(f"```{info}\nA\n```\n") == []


def test_the_options_of_a_directive_are_no_part_of_the_diagram() -> None:
    fence = fence_of("```{mermaid}\n:align: center\n:name: x\nflowchart TD\n```\n")
    assert (fence.text, fence.line) == ("flowchart TD\n", 3)


@pytest.mark.parametrize(
    ("text", "edit", "expected"),
    [
        ("> ```mermaid\n> A\n> ```\n", ((1, 0), (1, 0), "B\n\nC\n"), "> ```mermaid\n> A\n> B\n>\n> C\n> ```\n"),
        ("- ```mermaid\n  A\n\n  B\n  ```\n", ((1, 0), (2, 0), ""), "- ```mermaid\n  A\n  B\n  ```\n"),
        ("- ```mermaid\n\n  ```\n", ((0, 0), (0, 0), "A"), "- ```mermaid\n  A\n  ```\n"),
        ("```mermaid", ((0, 0), (0, 0), "A\n"), "```mermaid\nA\n"),
        ("  ```mermaid\n  A\n  ```", ((0, 1), (1, 0), "B"), "  ```mermaid\n  AB\n  ```"),
        ("-\t```mermaid\n\tA --> B\n", ((0, 6), (0, 7), "C"), "-\t```mermaid\n\tA --> C\n"),
    ],
)
def test_new_lines_get_the_marks_of_the_fence(
    text: str, edit: tuple[tuple[int, int], tuple[int, int], str], expected: str
) -> None:
    start, end, new_text = edit
    edits = fence_of(text).edits_to_host([TextEdit(Range(Position(*start), Position(*end)), new_text)])
    assert apply_edits(text, edits) == expected


@pytest.mark.parametrize(
    ("hostile", "found"),
    [
        (">" * 50_000, ["A\n"]),
        ("- " * 50_000, ["A\n"]),
        ("> ```\nb\n" * 20_000, ["A\n"]),
        ("[" * 100_000, ["A\n"]),
        ("- a\n" * 30_000, ["A\n"]),
        ("<a" + " b" * 50_000, ["A\n"]),
        # A comment that never ends takes in everything behind it.
        ("<!--\n" * 20_000, []),
    ],
)
def test_hostile_texts_are_survived(hostile: str, found: list[str]) -> None:
    fences = find_fences(hostile + "\n\n```mermaid\nA\n```\n")
    assert [fence.text for fence in fences] == found


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("```mmd", "```"),
        ("~~~ MMD", "~~~"),
        ("::: mermaid", ":::"),
        (":::mermaid", ":::"),
        ("::::{.mermaid}", "::::"),
        ("```{mmd}", "```"),
    ],
)
@pytest.mark.parametrize("mark", ["", "> ", "  "])
def test_other_usual_fences_are_diagrams(opening: str, closing: str, mark: str) -> None:
    text = f"# Plan\n\nwords\n{mark}{opening}\n{mark}A --> B\n{mark}{closing}\nmore\n"
    fence = fence_of(text)
    assert (fence.text, fence.line) == ("A --> B\n", 4)
    assert fence.range == Range(Position(3, len(mark)), Position(5, len(mark + closing)))
    edited = apply_edits(text, fence.edits_to_host([TextEdit(Range(Position(1, 0), Position(1, 0)), "B --> C\n")]))
    assert fence_of(edited).text == "A --> B\nB --> C\n"


def test_a_container_of_colons_is_markdown_with_fences_in_it() -> None:
    text = "::: tip\n```mermaid\nA --> B\n```\n:::\n::: mermaidish\nA\n:::\n```mmdc\nA\n```\n::mermaid\nA\n::\n"
    assert [fence.text for fence in find_fences(text)] == ["A --> B\n"]
