"""Open documents: what kind a document is, where its diagrams are and stay, how large a text may be, which file it is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from lsprotocol import types
from tests.server.lsp.editor import MODERN, Editor

from merrow_analysis.text import LARGEST_TEXT, Position, Range, TextEdit
from merrow_server.lsp.documents import OpenDocument, kind_of, path_of


@pytest.mark.parametrize(
    ("uri", "language", "kind"),
    [
        ("file:///w/flow.mmd", "", "diagram"),
        ("file:///w/FLOW.MERMAID", "", "diagram"),
        ("file:///w/notes.md", "", "markdown"),
        ("file:///w/notes.md", "Mermaid", "diagram"),
        ("file:///w/flow.mmd", "markdown", "markdown"),
        ("untitled:1", "merrow", "diagram"),
        ("untitled:1", "mmd", "diagram"),
        ("untitled:1", "Quarto", "markdown"),
        ("untitled:1", "gfm", "markdown"),
        ("untitled:1", "", "other"),
        ("file:///w/flow.cases.yaml", "yaml", "cases"),
        ("file:///w/flow.cases.yaml", "mermaid", "cases"),
        ("file:///w/flow%2Ecases.yaml", "", "cases"),
        ("file:///w/merrow.toml", "toml", "settings"),
        ("file:///w/pyproject.toml", "", "settings"),
        ("file:///w/my-merrow.toml", "toml", "other"),
        ("file:///w/merrow.toml/x.py", "python", "other"),
    ],
)
def test_the_kind_of_a_document_is_that_of_its_language_or_its_name(uri: str, language: str, kind: str) -> None:
    assert kind_of(uri, language) == kind
    assert OpenDocument(uri, "x", language_id=language).kind == kind


@pytest.mark.skipif(os.name != "posix", reason="paths of POSIX")
@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///w/flow.mmd", "/w/flow.mmd"),
        ("file:///w/a%20%23b.mmd", "/w/a #b.mmd"),
        ("untitled:Flow", None),
        ("http://x/file:///w", None),
        ("file:///w/a%00b", None),
        (f"file:///w/{'a' * 255}", f"/w/{'a' * 255}"),
        (f"file:///w/{'a' * 256}", None),
        (f"file:///{'a' * 256}/b", None),
        (f"file:///w/{'%C3%A9' * 127}", f"/w/{'é' * 127}"),
        (f"file:///w/{'%C3%A9' * 128}", None),
    ],
)
def test_only_what_can_be_a_file_has_a_path(uri: str, path: str | None) -> None:
    assert path_of(uri) == (None if path is None else Path(path))


def place(start: tuple[int, int], end: tuple[int, int]) -> types.Range:
    return types.Range(types.Position(*start), types.Position(*end))


NOTES = "# One\n\n```mermaid\nflowchart TD\n    A --> B\n```\n\n  ```mermaid\n  flowchart TD\n    C --> 😀D\n  ```\nend"
FIRST, SECOND = "flowchart TD\n    A --> B\n", "flowchart TD\n  C --> 😀D\n"


def notes(text: str = NOTES) -> OpenDocument:
    return OpenDocument("file:///w/notes.md", text, version=1, encoding="utf-16")


@pytest.mark.parametrize(
    ("asked", "first", "second"),
    [
        (place((0, 0), (1, 0)), None, None),
        (place((3, 0), (3, 0)), Range(Position(0, 0), Position(0, 0)), None),
        (place((0, 2), (4, 6)), Range(Position(0, 0), Position(1, 6)), None),
        (place((4, 4), (6, 0)), Range(Position(1, 4), Position(2, 0)), None),
        (place((2, 3), (2, 9)), None, None),
        (place((6, 0), (6, 0)), None, None),
        (place((4, 6), (9, 11)), Range(Position(1, 6), Position(2, 0)), Range(Position(0, 0), Position(1, 8))),
        (place((9, 12), (11, 3)), None, Range(Position(1, 9), Position(2, 0))),
        (place((0, 0), (11, 3)), Range(Position(0, 0), Position(2, 0)), Range(Position(0, 0), Position(2, 0))),
        (place((4, 8), (4, 2)), Range(Position(1, 2), Position(1, 2)), None),
    ],
)
def test_a_range_of_a_document_means_a_part_of_each_diagram_that_it_touches(
    asked: types.Range, first: Range | None, second: Range | None
) -> None:
    document = notes()
    assert [diagram.text for diagram in document.diagrams] == [FIRST, SECOND]
    assert [diagram.range_from_lsp(asked) for diagram in document.diagrams] == [first, second]


def test_places_of_a_diagram_are_places_of_its_document_as_the_client_counts() -> None:
    document = notes()
    first, second = document.diagrams
    inside = Range(Position(1, 8), Position(1, 10))
    assert second.to_lsp(inside) == place((9, 10), (9, 13))
    assert second.to_plain(inside) == {"start": {"line": 9, "character": 10}, "end": {"line": 9, "character": 13}}
    assert second.position_to_lsp(Position(0, 0)) == types.Position(8, 2)
    [edit] = second.edits_to_lsp([TextEdit(inside, "X\nY")])
    assert (edit.range, edit.new_text) == (place((9, 10), (9, 13)), "X\n  Y")
    assert document.diagram_at(types.Position(9, 10)) == (second, Position(1, 8))
    assert document.diagram_at(types.Position(4, 0)) == (first, Position(1, 0))
    assert document.diagram_at(types.Position(6, 0)) is None


@pytest.mark.parametrize(
    ("text", "end"),
    [("", (0, 0)), ("a", (0, 1)), ("a\n", (1, 0)), ("a\n\nbc", (2, 2)), ("a\r\n", (1, 0))],
)
def test_a_document_ends_behind_its_last_character(text: str, end: tuple[int, int]) -> None:
    assert notes(text).end == Position(*end)
    assert notes(text).position_from_lsp(types.Position(99, 0)) == Position(*end)


def test_diagrams_stay_the_same_while_the_text_around_them_changes() -> None:
    document = notes()
    first, second = document.diagrams
    document.edit(TextEdit(Range(Position(0, 0), Position(0, 0)), "# Zero\n\n"))
    assert document.diagrams == [first, second]
    assert [diagram.fence.line for diagram in document.diagrams if diagram.fence is not None] == [5, 10]
    document.edit(TextEdit(Range(Position(6, 4), Position(6, 5)), "X"))
    assert document.diagrams == [first, second]
    assert (first.text, second.text) == (FIRST.replace("A", "X"), SECOND)
    added = "```mermaid\nflowchart LR\n```\n"
    document.edit(TextEdit(Range(Position(9, 0), Position(9, 0)), added))
    one, new, two = document.diagrams
    assert (one, two, new.text) == (first, second, "flowchart LR\n")
    document.edit(TextEdit(Range(Position(9, 0), Position(12, 0)), ""))
    assert document.diagrams == [first, second]
    document.replace("no diagram")
    assert (document.diagrams, document.text) == ([], "no diagram")


@pytest.mark.parametrize("uri", ["file:///w/a.mmd", "file:///w/a.md"])
def test_a_text_may_be_as_long_as_the_largest_and_comes_back_only_as_a_whole(uri: str) -> None:
    largest = "%" * (LARGEST_TEXT - 1) + "\n"
    kind = OpenDocument(uri, "").kind
    document = OpenDocument(uri, largest)
    begin = Range(Position(0, 0), Position(0, 1))
    document.edit(TextEdit(begin, "x"))
    assert (document.kind, len(document.text)) == (kind, LARGEST_TEXT)
    document.edit(TextEdit(begin, ""))
    document.edit(TextEdit(Range(Position(1, 0), Position(1, 0)), "y"))
    assert (document.kind, len(document.text)) == (kind, LARGEST_TEXT)
    document.edit(TextEdit(begin, "xx"))
    assert (document.kind, document.text, document.diagrams) == ("too large", "", [])
    document.edit(TextEdit(begin, "small"))
    assert (document.kind, document.text) == ("too large", "")
    document.replace("x" * (LARGEST_TEXT + 1))
    assert document.kind == "too large"
    document.replace("small")
    assert (document.kind, document.text) == (kind, "small")
    document.replace(largest + "x")
    assert document.kind == "too large"
    assert OpenDocument(uri, largest + "x").kind == "too large"


def test_another_file_and_another_version_of_a_diagram_are_read_as_the_document_is(
    open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    (tmp_path / "other.yaml").write_text("a: 😀b\nc: d\n", "utf-8")
    editor = open_editor(MODERN, folder=tmp_path)
    uri = editor.open("flowchart TD\n    A --> B\n")
    document = editor.server.document(uri)
    assert document is not None
    found = document.resource("./other.yaml")
    assert found is not None
    assert (found.uri, list(found.lines)) == ((tmp_path / "other.yaml").as_uri(), ["a: 😀b\n", "c: d\n"])
    inside = Range(Position(0, 3), Position(1, 1))
    assert found.to_lsp(inside) == place((0, 3), (1, 1))
    assert found.to_plain(Range(Position(0, 4), Position(0, 5))) == {
        "start": {"line": 0, "character": 5},
        "end": {"line": 0, "character": 6},
    }
    assert found.edits_to_lsp([TextEdit(inside, "x")]) == [types.TextEdit(place((0, 3), (1, 1)), "x")]
    for missing in ("./none.yaml", "../../outside.yaml", "\0"):
        assert document.resource(missing) is None
    assert OpenDocument("untitled:1", "", language_id="mermaid").resource("./other.yaml") is None
    opened = document.context.opener("flowchart TD\n    A --> C\n")
    assert opened.document.text == "flowchart TD\n    A --> C\n"
    context = document.context
    assert (opened.path, opened.provider, opened.config) == (context.path, context.provider, context.config)
