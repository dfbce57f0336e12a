"""The formatter: one layout, the same meaning, nothing lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import SHARED
from tests.strategies import broken_flowcharts, flowcharts

from merrow_analysis.definitions.labels.parameters import parse_label
from merrow_analysis.formatting import FormatOptions, format_edits, format_text
from merrow_analysis.syntax.structure import parse_record
from merrow_analysis.text import Position, Range, apply_edits, line_content, split_lines

CONFORMANCE = SHARED / "conformance" / "flowchart.jsonl"
WORKFLOWS = [*(SHARED / "corpus" / "mmd").glob("*.mmd"), *(SHARED / "corpus" / "mermaidflow").glob("*.mmd")]

options = st.builds(FormatOptions, indent_width=st.sampled_from([0, 2, 4]), keep_semicolons=st.booleans())


def assert_same_meaning_and_stable(text: str, chosen: FormatOptions = FormatOptions()) -> None:  # noqa: B008
    formatted = format_text(text, chosen)
    before, after = parse_record(text), parse_record(formatted)
    assert after["ok"] == before["ok"]
    assert after["structure"] == before["structure"]
    assert format_text(formatted, chosen) == formatted
    assert _ink(formatted) == _ink(text), "only white space and semicolons may come and go"


def _ink(text: str) -> str:
    return "".join(text.split()).replace(";", "")


@pytest.mark.slow
@pytest.mark.shared("conformance")
def test_conformance_texts_keep_their_meaning() -> None:
    with CONFORMANCE.open(encoding="utf-8") as rows:
        for row in rows:
            assert_same_meaning_and_stable(json.loads(row)["text"])


@pytest.mark.shared("corpus")
def test_published_workflows_come_out_in_house_style() -> None:
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        assert_same_meaning_and_stable(text)
        formatted = format_text(text)
        assert "--> |" not in formatted
        assert all(line == line.rstrip() for line in formatted.splitlines())
        assert formatted.endswith("\n")


@given(flowcharts() | broken_flowcharts(), options)
def test_any_flowchart_keeps_its_meaning(text: str, chosen: FormatOptions) -> None:
    assert_same_meaning_and_stable(text, chosen)


TOKENS = ["flowchart TD", "\n", "A", "-->", ";", "%%", "subgraph", "end", " ", "@{", "}", '"', "|", "["]


@given(st.text() | st.lists(st.sampled_from(TOKENS)).map("".join))
def test_any_text_is_survived_and_stable(text: str) -> None:
    assert_same_meaning_and_stable(text)


@given(flowcharts(), st.integers(0, 30), st.integers(0, 10))
def test_a_range_is_formatted_and_nothing_else(text: str, first: int, more: int) -> None:
    within = Range(Position(first, 0), Position(first + more, 0))
    some, every = format_edits(text, within=within), format_edits(text)
    assert parse_record(apply_edits(text, some))["structure"] == parse_record(text)["structure"]
    assert len(some) <= len(every)
    before = split_lines(text)
    assert split_lines(apply_edits(text, [e for e in some if e.range.start.line >= first]))[:first] == before[:first]


@given(flowcharts())
def test_edits_touch_only_lines_that_change(text: str) -> None:
    contents = [line_content(line) for line in split_lines(text)]
    for edit in format_edits(text):
        start, end = edit.range
        assert apply_edits(text, [edit]) != text
        assert start.column == 0
        assert end.column in (0, len(contents[end.line]) if end.line < len(contents) else 0)


@pytest.mark.parametrize(
    ("written", "formatted"),
    [
        ("A-->B", "A --> B"),
        ("A --> |input|B", "A -->|input| B"),
        ("A -->|input|   B   ", "A -->|input| B"),
        ("A-->| kept  as is |B", "A -->| kept  as is | B"),
        ("A -- some   text -->B", "A -- some   text --> B"),
        ("A   &   B-->C & D", "A & B --> C & D"),
        ("A-->B-->C", "A --> B --> C"),
        ("A e1@-->B", "A e1@--> B"),
        ("A[ two  words ]-->B((x)):::c", "A[ two  words ] --> B((x)):::c"),
        ("A-->B;", "A --> B"),
        ("A-->B; C-->D", "A --> B\n    C --> D"),
        ("A@{ shape:  rect }-->B", "A@{ shape:  rect } --> B"),
        ("classDef   c    fill:#fff,stroke:#000;", "classDef c fill:#fff,stroke:#000"),
        ("class  A,B    c;", "class A,B c"),
        ("style  A   fill:#fff", "style A fill:#fff"),
        ("linkStyle   0 stroke:red", "linkStyle 0 stroke:red"),
        ("%%   a   comment  ", "%%   a   comment"),
        ("A ~~~ B", "A ~~~ B"),
        ("A---oB", "A ---o B"),
        ('A["two\nlines"]-->B', 'A["two\nlines"] --> B'),
        ("A-->\n  B", "A-->\n  B"),
    ],
)
def test_statements(written: str, formatted: str) -> None:
    assert format_text(f"flowchart TD\n{written}\n") == f"flowchart TD\n    {formatted}\n"


def test_subgraphs_are_indented_one_in_another() -> None:
    text = "graph   LR;subgraph one;A-->B\nsubgraph   two [Title]\ndirection   TB\n%% note\nC\nend\nend\n  D"
    assert format_text(text) == (
        "graph LR\n    subgraph one\n        A --> B\n        subgraph two [Title]\n            direction TB\n"
        "            %% note\n            C\n        end\n    end\n    D\n"
    )


def test_comments_above_the_header_are_not_indented() -> None:
    text = "---\ntitle: x\n---\n  %% what it is for\n\n%% source\nflowchart TD\n%% below\nA\n"
    assert format_text(text) == (
        "---\ntitle: x\n---\n%% what it is for\n\n%% source\nflowchart TD\n    %% below\n    A\n"
    )


def test_very_deep_nesting_does_not_blow_up_the_text() -> None:
    text = "flowchart TD\n" + "subgraph a\n" * 3000 + "end\n" * 3000
    assert len(format_text(text)) < 50 * len(text)


def test_blank_lines_are_kept_but_not_in_runs_and_not_at_the_end() -> None:
    text = "flowchart TD\n\n\n \t\nA\n\n%% b\n\n\nB\n\n\n"
    assert format_text(text) == "flowchart TD\n\n    A\n\n    %% b\n\n    B\n"


def test_front_matter_directives_and_metadata_stay_byte_for_byte() -> None:
    head = "---\ntitle:   x\nworkflow:\n   model:  m \n\n\n---\n%%{init:  {'theme': 'dark'} }%%\n"
    node = "A@{\n      op:   Custom\n\n\n  prompt: |\n     a;  b\n}"
    text = f"{head}flowchart TD\n{node}\n"
    assert format_text(text) == f"{head}flowchart TD\n    {node}\n"


def test_statements_that_cannot_be_read_stay_byte_for_byte() -> None:
    text = "flowchart TD\nA-->B\n A[x-->   \nB-->C\n"
    assert format_text(text) == "flowchart TD\n    A --> B\n A[x-->   \n    B --> C\n"


def test_line_endings_are_kept_and_a_missing_one_is_added() -> None:
    assert (
        format_text("flowchart TD\r\nA-->B;C\r\n\r\n\r\nD") == "flowchart TD\r\n    A --> B\r\n    C\r\n\r\n    D\r\n"
    )
    assert format_text("flowchart TD\nA-->B\r\nC") == "flowchart TD\n    A --> B\r\n    C\n"


def test_settings() -> None:
    chosen = FormatOptions(indent_width=2, keep_semicolons=True)
    assert format_text("flowchart TD;\nA-->B ;\nC;;D\n", chosen) == "flowchart TD;\n  A --> B;\n  C;\n  D\n"


def test_space_that_means_something_stays() -> None:
    text = "flowchart TD\n    subgraph one  \n        A\n    end\n    style A fill:#fff \n"
    assert format_text(text) == text


def test_a_lone_semicolon_in_a_subgraph_is_a_node_and_stays() -> None:
    text = "flowchart TD\nsubgraph A;;end\n"
    assert format_text(text) == text


def test_a_line_under_a_suppression_stays_one_line() -> None:
    text = "flowchart TD\n    %% merrow: ignore[MW402] said twice\n    A-->B; B-->C\n"
    assert format_text(text) == text


@pytest.mark.parametrize("text", ["", "\n\n\n", "sequenceDiagram\n  A->>B:  x\n\n\n", "no diagram  \n\n\n"])
def test_what_is_no_flowchart_stays_as_it_is(text: str) -> None:
    assert format_text(text) == text


TITLES = [
    ("Loop(max:3)", "Loop (max: 3)"),
    ("Loop  ( max :  3 ,until: B.result )", "Loop (max: 3, until: B.result)"),
    ("Map ( parallel:4,max:9,on_error:skip )", "Map (parallel: 4, max: 9, on_error: skip)"),
    ("Loop (max: 3, budget: {calls: 3})", "Loop (max: 3, budget: {calls: 3})"),
    ("Loop (as:you, like:it)", None),
    ("Loop (max:3) of thoughts", None),
    ("Map(parallel:4,parallel:5)", None),
    ("Loop ()", None),
    ("The  Loop(max:3)", None),
]


@pytest.mark.parametrize(("title", "spaced"), TITLES)
def test_parameters_of_a_title(title: str, spaced: str | None) -> None:
    text = f'flowchart TD\n    subgraph BOX["{title}"]\n        A --> B\n    end\n'
    assert format_text(text) == text.replace(title, spaced or title)
    bare = f"flowchart TD\n    subgraph {title}\n        A --> B\n    end\n"
    assert title in format_text(bare)


@given(
    st.sampled_from(["Loop", "Map"]),
    st.lists(
        st.tuples(
            st.sampled_from(["max", "until", "parallel", "min", "best", "on_error", "odd", "budget"]),
            st.sampled_from(
                ["3", "B.result", "'a, b: c'", "skip", "", "{calls: 3}", "B.x == 'a,  b'", "#quot;x#quot;"]
            ),
        ),
        max_size=4,
    ),
    st.lists(st.sampled_from(["", " ", "  ", "\t", "<br/>"]), min_size=20, max_size=20),
)
def test_a_title_says_the_same_in_any_spacing(word: str, pairs: list[tuple[str, str]], gaps: list[str]) -> None:
    space = iter(gaps)
    inside = ",".join(f"{next(space)}{key}{next(space)}:{next(space)}{value}{next(space)}" for key, value in pairs)
    text = f'flowchart TD\n    subgraph BOX["{word}{gaps[-1]}({inside})"]\n        A --> B\n    end\n'
    once = format_text(text)
    assert format_text(once) == once
    before, after = (parse_label(one.partition('["')[2].partition('"]')[0]) for one in (text, once))
    assert {k: p.value for k, p in before.parameters.items()} == {k: p.value for k, p in after.parameters.items()}
    assert before.operator_word == after.operator_word
    assert len(before.problems) == len(after.problems)
