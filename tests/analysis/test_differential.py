"""Our parser against the real Mermaid, on texts made up on the spot; Hypothesis shrinks what they disagree on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scripts.conformance import OUTSIDE, disagreement
from tests.judge import Mermaid, mermaid
from tests.strategies import broken_flowcharts, flowcharts

from merrow_analysis.syntax.sanitise import sanitise_label
from merrow_analysis.syntax.structure import parse_record

compared = settings(
    max_examples=75,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


@pytest.fixture(scope="module")
def judge() -> Iterator[Mermaid]:
    with mermaid() as process:
        yield process


def assert_same_reading(judge: Mermaid, text: str) -> None:
    expected = judge.judge(text)
    assume(expected["kind"] not in OUTSIDE)
    differs = disagreement(text, expected, parse_record(text))
    assert differs is None, f"{differs.aspect}: expected {differs.expected}, got {differs.got}"


@given(text=flowcharts())
@compared
def test_flowcharts_are_read_as_mermaid_reads_them(judge: Mermaid, text: str) -> None:
    assert_same_reading(judge, text)


@given(text=broken_flowcharts())
@compared
def test_broken_flowcharts_are_refused_where_mermaid_refuses_them(judge: Mermaid, text: str) -> None:
    assert_same_reading(judge, text)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["end\n", "end ", "B\nend\n", "subgraph A\nend\nend\n%% c\n"])
def test_what_follows_a_subgraph_without_a_name_is_looked_at_first(judge: Mermaid, end: str) -> None:
    """Mermaid breaks down at the end of such a subgraph, without a line, unless it gives up at the next word before."""
    following = [
        "flowchart TD",
        "--> B",
        "x--x",
        "}",
        "^",
        '"',
        '"q"',
        ":::a",
        "B --> C",
        "B --> -->",
        "subgraph",
        "end",
        "; }",
        "",
    ]
    for words in (*following, "class A b", "classDef", "click A", "direction TD", "@{", "_self"):
        text = f"flowchart TD\nsubgraph\n{end}{words}\n"
        expected, got = judge.judge(text), parse_record(text)
        assert (got["ok"], got["line"]) == (expected["ok"], expected["line"]), text


PIECES = [
    *("<br/>", "<br>", "</br>", "<b>", "</b>", "<i>", "<p>", "</p>", "<div>", "</div>", "<ul><li>", "</ul>", "a", "b "),
    *(
        " & ",
        "&amp;",
        "&lt;",
        "<",
        ">",
        "x<y",
        '"',
        "'",
        "<!-- c -->",
        "<script>x</script>",
        "<foo>",
        "</foo>",
        "<int>",
    ),
    *(
        "<a href='http://x.y/?a=b&c=d'>",
        "</a>",
        "<a href='javascript:x'>",
        "<a target=_blank href=x>",
        "<i class='fa'>",
    ),
    *(
        "<img src='x.png'/>",
        "<img src='x' onerror='y'>",
        "<span style='color:red'>",
        "</span>",
        "#quot;",
        "&nbsp;",
        "<-",
    ),
    *(
        "<sub>2</sub>",
        "<code>",
        "<T>",
        "List<int>",
        "<style>b{}</style>",
        "<hr>",
        "\u00a0",
    ),
]


@given(label=st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join).map(str.strip))
@compared
def test_labels_are_sanitised_as_mermaid_sanitises_them(judge: Mermaid, label: str) -> None:
    assert sanitise_label(label) == judge.sanitise(label)
