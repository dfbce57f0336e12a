"""Half-typed lines: one finding, at the place where something is missing, in words that say what to write."""

from __future__ import annotations

import pytest

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Severity
from merrow_analysis.syntax.structure import parse_record
from merrow_analysis.text import apply_edits, split_lines

HEAD = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Answer]):::Interface
    A["Custom<br/>(role: one)"]
    PROBLEM --> A
"""
NODE_BELOW = """    B["Custom<br/>(role: two)"]
    A --> B --> RETURN
    classDef Interface fill:#e2e2f2
"""
STYLE_BELOW = """    classDef Interface fill:#e2e2f2
    A --> B --> RETURN
    B["Custom<br/>(role: two)"]
"""
CONTINUED = 'B & B["Custom<br/>(role: two)"]'
"""What follows `&` may be in the next line."""
TYPED = 5
"""The line that is being typed."""

ARROWS = ["-->", "==>", "-.->", "---", "--x", "--o", "<-->", "~~~", "--->", "====>", "-..->"]
LEADS_NOWHERE = "This arrow leads nowhere"
CONTINUES = "This arrow continues onto the next line"
UNFINISHED = "This arrow is unfinished"
NEVER_ENDS = "The text on this arrow never ends"

ANYWHERE: list[tuple[str, str, str, str, str | None]] = [
    ("B -", "MW001", "-", UNFINISHED, "B"),
    ("B ==", "MW001", "==", UNFINISHED, "B"),
    ("B -.", "MW001", "-.", UNFINISHED, "B"),
    ("B == in", "MW001", "==", NEVER_ENDS, "B ==> in"),
    ("B -. in", "MW001", "-.", NEVER_ENDS, "B -.-> in"),
    ("B -- in --", "MW001", "--", UNFINISHED, None),
    ("B -->|in|", "MW001", "-->|in|", LEADS_NOWHERE, "%% -->|in|"),
    ("B -->|", "MW002", "|", "never closed", "B"),
    ("B -->|in", "MW002", "|", "never closed", "%% -->|in"),
    ("B -->|in RETURN", "MW002", "|", "never closed", "B -->|in| RETURN"),
    ("B &", "MW001", "&", "“&” needs a node", "B"),
    ("B:::", "MW001", ":", "“:::” needs a class", None),
    ("B@", "MW001", "B@", "no statement begins so", None),
    ("B@{", "MW002", "@{", "never closed: add }", "B@{ }"),
    ("B@{ op:", "MW002", "@{", "never closed: add }", "B@{ op: }"),
    ("B@{ op: Custom", "MW002", "@{", "never closed: add }", "B@{ op: Custom }"),
    ('B@{ op: Custom, prompt: "x"', "MW002", "@{", "never closed: add }", 'B@{ op: Custom, prompt: "x" }'),
    ('B@{ op: Custom, prompt: "x', "MW003", '"', "quote is never closed", 'B@{ op: Custom, prompt: "x" }'),
    ("B[", "MW002", "[", "never closed: add ]", "B"),
    ("B[x", "MW002", "[", "never closed: add ]", "B[x]"),
    ("B(x", "MW002", "(", "never closed: add )", "B(x)"),
    ("B{x", "MW002", "{", "never closed: add }", "B{x}"),
    ("B[(x", "MW002", "[(", "never closed: add )]", "B[(x)]"),
    ('B["', "MW003", '"', "quote is never closed", "B"),
    ('B["Custom<br/>', "MW003", '"', "quote is never closed", 'B["Custom<br/>"]'),
    ('B["Custom<br/>(role: x)]', "MW003", '"', "quote is never closed", 'B["Custom<br/>(role: x)"]'),
    ('B["Custom<br/>(role: x)]:::C', "MW003", '"', "quote is never closed", 'B["Custom<br/>(role: x)"]:::C'),
    ('B["Custom<br/>(role: x)"', "MW002", "[", "never closed: add ]", 'B["Custom<br/>(role: x)"]'),
    ('B("x', "MW003", '"', "quote is never closed", 'B("x")'),
    ("B[x --> RETURN", "MW002", "[", "never closed: add ]", "B[x] --> RETURN"),
    ("B[x --> C[y]", "MW002", "[", "never closed: add ]", "B[x] --> C[y]"),
    ("B{x -.-> C[y] --> D", "MW002", "{", "never closed: add }", "B{x} -.-> C[y] --> D"),
    ("B[x --> C[y]]", "MW006", "[", "isn't allowed in a label", "B[x] --> C[y]"),
    ("subgraph", "MW001", "h", "`subgraph name [Title]`", None),
    ("subgraph x [", "MW002", "[", "never closed: add ]", "subgraph x"),
    ("subgraph x [T", "MW002", "[", "never closed: add ]", "subgraph x [T]"),
    ('subgraph x ["T', "MW003", '"', "quote is never closed", 'subgraph x ["T"]'),
    ("classDef", "MW001", "f", "`classDef name fill:#eee`", None),
    ("classDef X", "MW001", "X", "`classDef name fill:#eee`", None),
    ("class", "MW001", "s", "`class A,B name`", None),
    ("class A", "MW001", "A", "`class A,B name`", None),
    ("style", "MW001", "e", "`style A fill:#eee`", None),
    ("style A", "MW001", "A", "`style A fill:#eee`", None),
    ("linkStyle", "MW001", "e", "`linkStyle 0 stroke:#888`", None),
    ("linkStyle 0", "MW001", "0", "`linkStyle 0 stroke:#888`", None),
    ("click", "MW001", "click", "`click A", None),
]
"""What is typed, the code, the text that is marked, a part of the sentence, and the line after the fix."""


def the_finding(text: str) -> tuple[str, str, str, str | None]:
    """Code, marked text, sentence and the typed line after the first fix of the one finding on the typed line."""
    found = [one for one in analyse(text).diagnostics if one.severity is not Severity.HINT]
    shown = [(one.code, one.range, one.message) for one in found]
    assert len(found) == 1, shown
    one = found[0]
    assert one.range.start.line == one.range.end.line == TYPED, shown
    marked = split_lines(text)[TYPED][one.range.start.column : one.range.end.column]
    fixed = apply_edits(text, one.fixes[0].edits) if one.fixes else None
    return one.code, marked, one.message, None if fixed is None else split_lines(fixed)[TYPED].strip()


@pytest.mark.parametrize("below", [NODE_BELOW, STYLE_BELOW], ids=["a node below", "a style below"])
@pytest.mark.parametrize(
    ("typed", "code", "marked", "part", "fixed"), [pytest.param(*state, id=state[0]) for state in ANYWHERE]
)
def test_a_half_typed_line(typed: str, code: str, marked: str, part: str, fixed: str | None, below: str) -> None:
    text = f"{HEAD}    {typed}\n{below}"
    assert not parse_record(text)["ok"]
    found = the_finding(text)
    assert found[:2] == (code, marked)
    assert part in found[2]
    assert found[3] == (CONTINUED if typed == "B &" and below == NODE_BELOW else fixed)


@pytest.mark.parametrize("end", ["\n", ""], ids=["line ended", "no line ending"])
@pytest.mark.parametrize(
    ("typed", "code", "marked", "part", "fixed"), [pytest.param(*state, id=state[0]) for state in ANYWHERE]
)
def test_a_half_typed_last_line(typed: str, code: str, marked: str, part: str, fixed: str | None, end: str) -> None:
    text = f"{HEAD}    {typed}{end}"
    errors = [one for one in analyse(text).diagnostics if one.code.startswith("MW0")]
    assert [one.code for one in errors] == [code]
    assert errors[0].range.start.line == TYPED
    assert part in errors[0].message
    assert marked in split_lines(text)[TYPED][errors[0].range.start.column :]
    if fixed is not None:
        assert split_lines(apply_edits(text, errors[0].fixes[0].edits))[TYPED].strip() == fixed


@pytest.mark.parametrize("arrow", ARROWS)
def test_an_arrow_before_a_statement(arrow: str) -> None:
    text = f"{HEAD}    B {arrow}\n{STYLE_BELOW}"
    code, marked, message, fixed = the_finding(text)
    assert (code, marked, fixed) == ("MW001", arrow, "B")
    assert message.startswith(f"{CONTINUES}, where “classDef")
    assert "is not a node" in message


@pytest.mark.parametrize("arrow", [arrow for arrow in ARROWS if arrow != "~~~"])
@pytest.mark.parametrize(
    ("typed", "below", "code", "part"),
    [
        ("B", "B --> RETURN\n    A --> B", "MW111", "leads from B to itself"),
        ("B", "PROBLEM --> B\n    A --> B --> RETURN", "MW112", "leads into PROBLEM, which is an input"),
        ("RETURN", "B --> RETURN\n    A --> B", "MW113", "leads out of RETURN, which is an output"),
        ("A --> B --> RETURN\n    A", "B ~~~ RETURN", "MW117", "leads to B, as another edge does"),
        ("B --> C", "B --> RETURN\n    A --> B\n    C[Custom]", "MW110", "which makes B -> C -> B a cycle"),
    ],
)
def test_an_arrow_that_takes_its_target_from_the_next_line(
    arrow: str, typed: str, below: str, code: str, part: str
) -> None:
    rest = '    B["Custom<br/>(role: two)"]\n    classDef Interface fill:#e2e2f2\n'
    text = f"{HEAD}    {typed} {arrow}\n    {below}\n{rest}"
    assert parse_record(text)["ok"]
    (one,) = [one for one in analyse(text).diagnostics if one.code == code]
    line = split_lines(text)[one.range.start.line]
    assert line[one.range.start.column : one.range.end.column] == arrow
    assert one.message.startswith(CONTINUES)
    assert part in one.message
    fixed = apply_edits(text, one.fixes[0].edits)
    assert f"    {typed}\n    {below}\n" in fixed
    assert code not in [other.code for other in analyse(fixed).diagnostics]


def test_the_text_on_an_arrow_that_runs_on() -> None:
    text = f"{HEAD}    B -- in\n    A --> B\n    B --> RETURN\n    classDef Interface fill:#e2e2f2\n"
    assert parse_record(text)["ok"]
    found = [one for one in analyse(text).diagnostics if one.range.start.line == TYPED and one.code == "MW111"]
    assert [one.message.partition(",")[0] for one in found] == ["The text on this arrow continues onto the next line"]


def test_an_unfinished_line_hides_no_other_line() -> None:
    """Only the line that is being typed is not read: all other nodes and classes stay known."""
    for typed, *_ in ANYWHERE:
        analysis = analyse(f"{HEAD}    {typed}\n{NODE_BELOW}")
        assert {"PROBLEM", "RETURN", "A", "B"} <= set(analysis.flow.nodes), typed
        assert "Interface" in analysis.flow.class_defs, typed
