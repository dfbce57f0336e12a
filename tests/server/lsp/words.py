"""What stands in a document at a place that the server gave, so that tests need no counted columns."""

from __future__ import annotations

from tests.server.lsp.editor import Editor, Json, range_of

from merrow_analysis.text import split_lines


def text_at(editor: Editor, uri: str, place: Json) -> str:
    """The text of a range of an open document, counted as the client counts."""
    lines = split_lines(editor.texts[uri])
    start, end = range_of(lines, place, editor.encoding)
    if start.line == end.line:
        return lines[start.line][start.column : end.column] if start.line < len(lines) else ""
    last = lines[end.line][: end.column] if end.line < len(lines) else ""
    return lines[start.line][start.column :] + "".join(lines[start.line + 1 : end.line]) + last


def before(editor: Editor, uri: str, position: Json) -> str:
    """The line of a position up to it."""
    return text_at(editor, uri, {"start": {"line": position["line"], "character": 0}, "end": position})
