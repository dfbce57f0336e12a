"""What a client was told of a finding is told again as it is, for as long as it is true."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.lsp.test_sync_property import ALL, SETTINGS

from merrow_analysis.text import Position, Range, TextEdit
from merrow_server.lsp.documents import OpenDocument
from merrow_server.lsp.findings.diagnostics import document_diagnostics
from merrow_server.lsp.published import Encoded, PlainDiagnostic, encode, with_items
from merrow_server.lsp.supports import Supports
from merrow_server.positions import Encoding

TEXT = """flowchart TD
    PROBLEM([Problem]):::Interface --> A
    A["Custom<br/>(role: solver)"]:::CustomOp --> RETURN
    RETURN([Return]):::Interface
    B["Custom<br/>(role: other)"]:::CustomOp
"""
NEW = st.text("aé😀 \n\r", max_size=3)


def told(document: OpenDocument) -> list[PlainDiagnostic]:
    return document_diagnostics(document, ALL, SETTINGS)


def typed(document: OpenDocument, line: int, new: str) -> list[PlainDiagnostic]:
    """What is told after ``new`` was typed behind the role of a line."""
    column = document.lines[line].index(")")
    document.edit(TextEdit(Range(Position(line, column), Position(line, column)), new))
    return told(document)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_what_stays_true_is_the_same_object(encoding: Encoding) -> None:
    document = OpenDocument("untitled:a.mmd", TEXT, encoding=encoding)
    before = {one["code"]: one for one in told(document) if one["range"]["start"]["line"] == 4}
    after = {one["code"]: one for one in typed(document, 2, "x") if one["range"]["start"]["line"] == 4}
    assert before
    assert before.keys() == after.keys()
    assert all(after[code] is before[code] for code in before)


@pytest.mark.parametrize("wide", ["é", "😀"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_places_are_counted_again_where_characters_are_wide(wide: str, encoding: Encoding) -> None:
    text = TEXT.replace("    B[", '    C["x"]; B[')
    document = OpenDocument("untitled:a.mmd", text, encoding=encoding)
    told(document)
    for before, new in (("x", wide), (wide, "x"), ("x", wide + wide)):
        column = document.lines[4].index(before)
        document.edit(TextEdit(Range(Position(4, column), Position(4, column + 1)), new))
        assert told(document) == told(OpenDocument("untitled:a.mmd", document.text, encoding=encoding))
    document.edit(TextEdit(Range(Position(3, 0), Position(4, 0)), ""))
    assert told(document) == told(OpenDocument("untitled:a.mmd", document.text, encoding=encoding))


@pytest.mark.parametrize("new", ["\n", "\r", "\r\n"])
def test_what_moves_into_the_place_of_its_like_is_counted_again(new: str) -> None:
    document = OpenDocument("untitled:a.mmd", "flowchart TD\na\nA[é] --> --> B\nA[a] --> --> B\n", encoding="utf-8")
    before = told(document)
    document.edit(TextEdit(Range(Position(1, 0), Position(1, 0)), new))
    after = told(document)
    assert [one["code"] for one in after] == [one["code"] for one in before]
    assert after == told(OpenDocument("untitled:a.mmd", document.text, encoding="utf-8"))


LINES = st.sampled_from(
    ["x", "A é --> --> B\n", "A a --> --> B\n", "A é --> --> B\r", "%% a\r", "a\n", "\n", 'A["é"] -->\n']
)


EDITS = st.tuples(st.integers(0, 9), st.integers(0, 20), st.integers(0, 3), NEW)


@settings(max_examples=25, deadline=None)
@given(st.lists(LINES, max_size=6), st.lists(EDITS, max_size=5))
def test_after_any_edits_what_is_told_is_what_a_new_client_is_told(
    lines: list[str], edits: list[tuple[int, int, int, str]]
) -> None:
    document = OpenDocument("untitled:a.mmd", "flowchart TD\n" + "".join(lines), encoding="utf-8")
    told(document)
    for at, column, length, new in edits:
        line = at % len(document.lines)
        most = len(document.lines[line].rstrip("\r\n"))
        places = [Position(line, min(one, most)) for one in (column, column + length)]
        document.edit(TextEdit(Range(*places), new))
        assert told(document) == told(OpenDocument("untitled:a.mmd", document.text, encoding="utf-8"))


def test_what_is_told_is_in_the_form_that_is_asked_for() -> None:
    document = OpenDocument("untitled:a.mmd", TEXT, encoding="utf-16")
    forms = [replace(ALL, related_information=False, diagnostic_data=False, tags=frozenset()), ALL, Supports()]
    for supports in (*forms, *reversed(forms), forms[1]):
        fresh = OpenDocument("untitled:a.mmd", TEXT, encoding="utf-16")
        assert document_diagnostics(document, supports, SETTINGS) == document_diagnostics(fresh, supports, SETTINGS)


@given(st.dictionaries(st.text(max_size=3), st.integers(), min_size=1), st.lists(st.dictionaries(NEW, NEW)))
def test_parts_that_are_json_already_are_sent_as_they_are(head: dict[str, int], items: list[dict[str, str]]) -> None:
    part = with_items(head, "all of them", [PlainDiagnostic(item) for item in items])
    for name in ("params", "result"):
        assert json.loads(encode({"id": 7, name: part}, str)) == {"id": 7, name: {**head, "all of them": items}}
        assert json.loads(encode({"id": 7, name: str(Encoded("{}"))}, str)) == {"id": 7, name: "{}"}
