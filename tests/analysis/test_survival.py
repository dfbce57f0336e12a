"""Whatever the text, there is an answer: no exception, no end of the stack, no endless loop.

The repeated pieces are far more than the stack is deep. `make test-all` repeats them more often and makes the long
lines and the large file several times longer.
"""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.sizes import ALL, sized
from tests.strategies import MARKS, any_flowcharts

from merrow_analysis.check import Analyser, analyse
from merrow_analysis.syntax.structure import parse_record
from merrow_analysis.text import Position, Range, TextEdit

pytestmark = pytest.mark.thinned(8, "survival")

OPENERS = sized(3_000, 10_000)
FENCES = sized(2_000, 5_000)
LINE_LENGTH = sized(40_000, 250_000)
REPEATED_LINES = sized(11_000, 110_000)
HANGING = sized(600, 3_600)
"""Seconds after which a test counts as hung: far beyond what any of them needs on any machine."""


@pytest.fixture(autouse=True)
def watchdog() -> Iterator[None]:
    faulthandler.dump_traceback_later(HANGING, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def survives(text: str) -> None:
    """Both doors answer; the checker's places lie in the text."""
    record = parse_record(text)
    assert isinstance(record["ok"], bool)
    analysis = analyse(text)
    lines = text.count("\n") + text.count("\r") + 1
    for diagnostic in analysis.diagnostics:
        start, end = diagnostic.range
        assert start <= end
        assert end.line <= lines


surviving = settings(
    deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@given(st.binary(max_size=400))
@surviving
def test_random_bytes(data: bytes) -> None:
    survives(data.decode("latin-1"))
    survives("flowchart TD\n" + data.decode("utf-8", "surrogateescape"))


@given(st.lists(st.text() | st.sampled_from(MARKS), max_size=40).map("".join))
@surviving
def test_random_text_after_a_header(text: str) -> None:
    survives("flowchart TD\n" + text)


@given(any_flowcharts)
@surviving
def test_flowcharts_broken_in_all_ways(text: str) -> None:
    survives(text)


@given(any_flowcharts, st.floats(0, 1))
@example("flowchart TD\nA[\nd\n\n]", 0.95)
@surviving
def test_a_text_typed_in_two_pieces_is_read_as_one(text: str, share: float) -> None:
    cut = int(len(text) * share)
    typed = Analyser(text[:cut])
    typed.analysis()
    end = Position(len(text), 0)
    typed.edit(TextEdit(Range(end, end), text[cut:]))
    assert typed.analysis().diagnostics == analyse(text).diagnostics


@given(st.text(alphabet=st.sampled_from("ab->\n ;[]{}()|\"'`%@#&:,\\/\0\ud800\udfff\u2028\u0085\ufeff"), max_size=60))
@surviving
def test_nul_and_lone_surrogates(text: str) -> None:
    survives("flowchart TD\nA" + text)


@given(st.text(alphabet=st.sampled_from("<>/ab=& \"'#;!-\0\ud800\udfff\ue000\U0010f000"), max_size=30))
@surviving
def test_odd_characters_in_markup(label: str) -> None:
    survives(f"flowchart TD\nA[<{label}>] -- <b>{label} --> B")


REPEATED = [
    *(
        "[",
        "(",
        "{",
        "((",
        "(((",
        "([",
        "[[",
        "[(",
        "{{",
        ">",
        "[/",
        "[\\",
        "(-",
        "|",
        '"',
        '"`',
        "@{",
        "<",
        "%%{",
        "]",
    ),
    *(
        "A[",
        "A(",
        "A{",
        'A["',
        "A@{",
        'A@{label: "',
        "-- ",
        "A -- ",
        "A --> ",
        "A & ",
        "e1@",
        ":::",
        "<b>",
        "&",
        ";",
        "-",
    ),
    *(
        "click A ",
        "subgraph ",
        "accDescr {",
        "style A ",
        "direction LR ",
        "linkStyle 0,",
        "class A ",
        "A-->|",
        "A ~~~ ",
    ),
]


@pytest.mark.parametrize("piece", REPEATED)
def test_many_openers(piece: str) -> None:
    survives("flowchart TD\n" + piece * OPENERS)
    survives("flowchart TD\n" + f"{piece}\n" * (OPENERS // 10))


@pytest.mark.parametrize("closed", [True, False])
def test_nested_subgraphs(closed: bool) -> None:
    opened = "".join(f"subgraph s{number}\n" for number in range(5_000))
    survives(f"flowchart TD\n{opened}A --> B\n{'end' + chr(10) if closed else ''}" + "end\n" * (4_999 if closed else 0))


def _bomb(levels: int) -> str:
    """YAML whose aliases unfold to 9 to the power of ``levels`` values."""
    aliases = (f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, levels))
    return "\n".join(["a0: &a0 [x, x, x, x, x, x, x, x, x]", *aliases])


@pytest.mark.parametrize(
    "text",
    [
        f"---\n{_bomb(12)}\n---\nflowchart TD\nA",
        f"---\nworkflow:\n  prompts: *x\n{_bomb(12)}\n---\nflowchart TD\nA",
        "flowchart TD\nA@{\n" + _bomb(12).replace("{", "") + "\n}",
        "flowchart TD\nA@{ a: " + "[" * 20_000 + " }",
        "flowchart TD\nA@{\n" + "".join(" " * n + "a:\n" for n in range(2_000)) + "}",
        "---\n" + "".join(" " * n + "a:\n" for n in range(2_000)) + "---\nflowchart TD\nA",
        "---\na: " + "[" * 20_000 + "\n---\nflowchart TD\nA",
        "---\n" + "a: &a [*a]\n" + "---\nflowchart TD\nA",
        "---\n" + "- " * 20_000 + "\n---\nflowchart TD\nA",
        "---\n" + "? " * 20_000 + "\n---\nflowchart TD\nA",
    ],
    ids=["front matter", "prompts", "metadata", "flow", "blocks", "deep", "brackets", "itself", "dashes", "questions"],
)
def test_yaml_bombs(text: str) -> None:
    survives(text)


@pytest.mark.parametrize(
    "fence", ["---\n", "--- \n", "---\n\n", "  ---\n", "---\na: 1\n", "%%{init: {\n", "\n", " \n", "%%\n"]
)
def test_many_fences_and_directives(fence: str) -> None:
    survives(fence * FENCES + "flowchart TD\nA --> B\n" + fence * FENCES)


@pytest.mark.parametrize(
    "unit", ["A --> B & C ", "x", "A[x] ", "😀", "A -- text --> ", "direction ", "@ ", "&amp; ", "a: b, "]
)
def test_a_very_long_line(unit: str) -> None:
    survives("flowchart TD\n" + unit * (LINE_LENGTH // len(unit)))
    survives("flowchart TD\nA[" + unit * (LINE_LENGTH // len(unit)) + "]")


def test_a_large_file() -> None:
    lines = [
        "    A --> B\n",
        '    B["two<br/>lines"] -->|x| C\n',
        "%% a comment that is rather long\n",
        "    class A,B k\n",
    ]
    text = "flowchart TD\n" + "".join(lines) * REPEATED_LINES + "    C[\n"
    assert len(text) > (10_000_000 if ALL else 1_000_000)
    survives(text)
