"""What editors offer and say about records and unions."""

from __future__ import annotations

import pytest
from tests.analysis.ide.cursor import marked

from merrow_analysis.check import Analyser, analyse
from merrow_analysis.ide.completion.completion import complete
from merrow_analysis.ide.hover import hover
from merrow_analysis.ide.names.rename import rename
from merrow_analysis.ide.semantic_tokens import TokenMemory, semantic_tokens
from merrow_analysis.text import Position, Range, TextEdit, apply_edits

TEXT = """---
workflow:
  types:
    Place: {city: Text, rank: Number}
    Query: Text
    Search: {query: Query, place: Place}
    Step: Search | Query
---
flowchart TD
    PROBLEM([Problem]):::Interface
    THINK["Custom<br/>(role: think, returns: Step)"]
    FIND["Custom<br/>(role: find, returns: Search)"]
    PLACES["Custom<br/>(role: places, returns: Place, samples: 3)"]
    BEST["Select<br/>(by: rank)"]
    D{which?}:::DecisionOp
    WRITE["Custom<br/>(role: write)"]
    RETURN([Return]):::Interface
    PROBLEM --> THINK & FIND & PLACES
    THINK --> D
    D -->|search:place.city:input| WRITE
    D -->|Query| RETURN
    PLACES --> BEST
    BEST -->|best.city:input| WRITE
    FIND -->|query:input| WRITE
    WRITE --> RETURN
    classDef Interface fill:#eee
    classDef DecisionOp fill:#fff
"""


def offered(text: str) -> list[str]:
    here = marked(text)
    return [item.label for item in complete(here.analysis, here.position).items]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("    FIND -->|<|>| WRITE", {"query:input", "place:", "query:"}),
        ("    FIND -->|place.<|>| WRITE", {"city:", "rank:"}),
        ("    FIND -->|place.city:<|>| WRITE", {"input"}),
        ("    BEST -->|best.<|>| WRITE", {"city:", "rank:"}),
        ("    D -->|<|>| WRITE", {"Search", "Query", "else"}),
        ("    D -->|search:<|>| WRITE", {"input", "query:", "place:", "after"}),
        ("    D -->|search:place:<|>| WRITE", {"input", "city:", "rank:"}),
    ],
)
def test_fields_and_kinds_on_arrows(line: str, expected: set[str]) -> None:
    assert expected <= set(offered(TEXT + line))


def test_a_case_that_carries_text_has_no_fields() -> None:
    assert "query:" not in offered(TEXT + "    D -->|query:<|>| WRITE")


@pytest.mark.parametrize(
    "old",
    ["rank: Number", "place: Place", "Step: Search | Query", "returns: Search)"],
    ids=["plain", "record", "union", "returns"],
)
def test_types_are_offered_in_records_and_unions(old: str) -> None:
    word = old.rstrip(")").rpartition(" ")[2]
    text = TEXT.replace(old, old.replace(word, "<|>"), 1) if "|" not in old else TEXT.replace(old, "Step: Search | <|>")
    here = marked(text)
    items = {item.label: item for item in complete(here.analysis, here.position).items}
    assert {"Text", "Number", "Place", "Query"} <= items.keys()
    assert apply_edits(here.text, [items["Number"].edit]) == text.replace("<|>", "Number")


def test_the_fields_that_a_select_can_order_by() -> None:
    assert offered(TEXT.replace("(by: rank)", "(by: <|>)")) == ["rank"]


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("    Pl<|>ace: {city", "city: Text"),
        ("    St<|>ep: Search", "Search"),
        ("    Search: {query: Query, place: Pl<|>ace}", "rank: Number"),
        ("    D -->|sea<|>rch:", "query: Query"),
        ("    FIND -<|>->|query:input| WRITE", "FIND.query -> WRITE.input : Query"),
        ("    D -<|>->|search:place.city:input| WRITE", "D.place.city -> WRITE.input : Text"),
        ("    FI<|>ND[", "response: Search, query: Query, place: Place"),
    ],
)
def test_hover(place: str, said: str) -> None:
    plain = place.replace("<|>", "")
    assert plain in TEXT
    here = marked(TEXT.replace(plain, place, 1))
    found = hover(here.analysis, here.position)
    assert found is not None
    assert said in found.text.plain()


def test_a_type_is_renamed_in_records_unions_and_cases() -> None:
    here = marked(TEXT.replace("    Search: {query", "    Sea<|>rch: {query"))
    after = apply_edits(here.text, list(rename(here.analysis, here.position, "Lookup").edits))
    assert "Step: Lookup | Query" in after
    assert "returns: Lookup" in after
    assert "D -->|lookup:place.city:input| WRITE" in after
    assert "search" not in after.casefold().replace("search:place", "")
    codes = [one.code for one in analyse(after).diagnostics]
    assert codes == [one.code for one in analyse(TEXT).diagnostics]
    here = marked(TEXT.replace("    Place: {city", "    Pla<|>ce: {city"))
    after = apply_edits(here.text, list(rename(here.analysis, here.position, "Spot").edits))
    assert "{query: Query, place: Spot}" in after


def test_colours_follow_what_the_types_become() -> None:
    tokens = semantic_tokens(analyse(TEXT))
    line = TEXT.splitlines().index("    D -->|search:place.city:input| WRITE")
    assert [(one.kind, one.length) for one in tokens if one.line == line and one.kind in ("type", "case")] == [
        ("type", 6),
        ("case", 17),
    ]
    analyser, memory = Analyser(TEXT), TokenMemory()
    list(memory.tokens(analyser.analysis()))
    row = next(number for number, one in enumerate(TEXT.splitlines()) if "THINK[" in one)
    start = TEXT.splitlines()[row].index("Step)")
    analyser.edit(TextEdit(Range(Position(row, start), Position(row, start + 4)), "Text"))
    now = analyser.analysis()
    kept = [token._replace(line=token.line + block.line) for block, found in memory.tokens(now) for token in found]
    assert kept == semantic_tokens(now)
