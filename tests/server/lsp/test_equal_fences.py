"""Two diagrams of a Markdown file with the same text: each answers for itself, wherever the cursor stands."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.server.lsp.editor import Editor, Json, ServerError

FENCE = """```mermaid
flowchart TD
    PROBLEM([Problem]) --> A["Custom<br/>(role: solver)"]:::CustomOp
    PROBLEM --> A
    PROBLEM --> P[Programmer]:::ProgramOp
    P --> E[ScEnsemble]:::ScEnsembleOp
    A --> E
    A --> E
    E --> RETURN([Return])
```
"""
HEAD = f"# Two\n\n{FENCE}\nbetween\n\n"
FIRST = HEAD.count("\n")
"""The line on which the second fence opens."""
WORDS = ["Custom<br", "solver", "A -->", "--> A", "Programmer", "ProgramOp", "--> E", "E[", "RETURN"]
PLACED = [
    "textDocument/hover",
    "textDocument/definition",
    "textDocument/references",
    "textDocument/documentHighlight",
    "textDocument/prepareRename",
    "textDocument/rename",
    "textDocument/linkedEditingRange",
    "textDocument/completion",
]
RANGED = ["textDocument/inlayHint", "textDocument/codeAction", "textDocument/semanticTokens/range"]


def _places() -> list[tuple[str, Json]]:
    """Each word in the second fence."""
    found: list[tuple[str, Json]] = []
    for number, line in enumerate(FENCE.splitlines()):
        found += [(word, {"line": FIRST + number, "character": line.index(word)}) for word in WORDS if word in line]
    return found


def _answer(editor: Editor, uri: str, method: str, place: Json) -> Any:
    params: Json = {"textDocument": {"uri": uri}, "position": place}
    if method in RANGED:
        whole = {"start": {"line": place["line"], "character": 0}, "end": {"line": place["line"] + 1, "character": 0}}
        params = {"textDocument": {"uri": uri}, "range": whole, "context": _context(editor, uri)}
    elif method == "textDocument/references":
        params["context"] = {"includeDeclaration": True}
    elif method == "textDocument/rename":
        params["newName"] = "OTHER"
    elif method == "textDocument/selectionRange":
        params = {"textDocument": {"uri": uri}, "positions": [place]}
    return editor.request(method, params)


def _context(editor: Editor, uri: str) -> Json:
    """What a client says of code actions: the diagnostics in the second fence, the menu being opened."""
    found = [diagnostic for diagnostic in editor.published(uri) if diagnostic["range"]["start"]["line"] >= FIRST]
    return {"diagnostics": found, "triggerKind": 1}


def _outcome(editor: Editor, uri: str, method: str, place: Json) -> str:
    """An answer without what tells the two documents apart: names, versions, the diagram's number in commands."""
    try:
        answer = _answer(editor, uri, method, place)
    except ServerError as error:
        return str(error)
    text = json.dumps(answer, sort_keys=True)
    return (
        text.replace('"diagram": 2', '"diagram": 1')
        .replace("alone.md", "both.md")
        .replace('"version": 2', '"version": 1')
    )


@pytest.mark.thinned(24)
@pytest.mark.parametrize("method", [*PLACED, *RANGED, "textDocument/selectionRange"])
@pytest.mark.parametrize("edited", [False, True], ids=["opened", "made equal by an edit"])
def test_the_second_answers_as_if_it_were_alone(editor: Editor, method: str, edited: bool) -> None:
    both = editor.open(HEAD + (FENCE.replace("P --> E", "P --> A") if edited else FENCE), "both.md")
    alone = editor.open(HEAD.replace("mermaid", "text   ") + FENCE, "alone.md")
    if edited:
        assert _outcome(editor, both, method, {"line": FIRST + 5, "character": 4})
        end = {"line": FIRST + 5, "character": 11}
        editor.change(both, {"range": {"start": end | {"character": 10}, "end": end}, "text": "E"})
        assert editor.texts[both] == HEAD + FENCE
    told = 0
    for word, place in _places():
        answer, expected = (_outcome(editor, uri, method, place) for uri in (both, alone))
        assert answer == expected, (word, place)
        told += expected not in ("null", "[]")
    assert told


def test_the_first_answers_for_itself_after_an_edit_of_the_second(editor: Editor) -> None:
    uri = editor.open(HEAD + FENCE, "both.md")
    place = {"line": FIRST + 3, "character": 4}
    editor.change(uri, {"range": {"start": place, "end": place}, "text": "%% "})
    hover = [
        editor.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": line, "character": 5}})
        for line in (FIRST + 5, 7)
    ]
    assert [found["range"]["start"]["line"] for found in hover] == [FIRST + 5, 7]
    drawn = [
        editor.request("merrow/graph", {"textDocument": {"uri": uri}, "position": {"line": line}})["edges"]
        for line in (3, FIRST + 1)
    ]
    assert [len(edges) for edges in drawn] == [7, 6]
