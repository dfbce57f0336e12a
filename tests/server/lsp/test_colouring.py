"""Colours, semantic tokens, inlay hints and code lenses as clients ask for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.lsp.editor import MINIMAL, MODERN, Editor, Json, ServerError
from tests.server.lsp.words import before, text_at
from tests.server.program import GOOD, markdown

FLOW = """flowchart TD
    PROBLEM([😀😀]):::Interface --> A
    A["😀 Custom"]:::CustomOp --> RETURN([R]):::Interface
    classDef CustomOp fill:#ff0000,stroke:navy
    classDef Interface fill:#eee
"""
WHOLE = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}


def words(editor: Editor, uri: str, data: list[int]) -> list[tuple[str, str]]:
    """The words that tokens cover, with their types; read as a client reads them."""
    legend = editor.capabilities_of_server["semanticTokensProvider"]["legend"]["tokenTypes"]
    lines = editor.texts[uri].splitlines()
    found = []
    line = character = 0
    for at in range(0, len(data), 5):
        down, right, length, kind, _ = data[at : at + 5]
        line, character = line + down, right if down else character + right
        encoded = lines[line].encode("utf-16-le")
        word = encoded[2 * character : 2 * (character + length)].decode("utf-16-le")
        found.append((word, legend[kind]))
    return found


def test_tokens_count_as_the_client_does(any_editor: Editor) -> None:
    uri = any_editor.open("# 😀\n\n```mermaid\n" + FLOW + "```\n", "a.md")
    answer = any_editor.request("textDocument/semanticTokens/full", {"textDocument": {"uri": uri}})
    found = words(any_editor, uri, answer["data"])
    assert found[:8] == [
        ("flowchart", "keyword"),
        ("TD", "keyword"),
        ("PROBLEM", "variable"),
        ("😀😀", "string"),
        ("Interface", "class"),
        ("-->", "operator"),
        ("A", "variable"),
        ("A", "variable"),
    ]
    assert ("stroke", "property") in found
    part = any_editor.request(
        "textDocument/semanticTokens/range",
        {
            "textDocument": {"uri": uri},
            "range": {"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 5}},
        },
    )
    assert words(any_editor, uri, part["data"]) == found[:2]


_BEFORE = ["", "x\n", "> ", "> > ", "   ", "- ", "> - ", "😀\n\n"]
_TEXTS = [
    FLOW,
    FLOW.replace("    ", "\t"),
    FLOW + '    B@{\n      op: Custom\n      role: "😀"\n    }\n',
    FLOW + "    A --> [x\n",
    "",
    "A",
]


def _fence(before: str, text: str) -> str:
    """A diagram in a fence that stands behind ``before``: a list's mark, the marks of quotes, lines."""
    head, _, mark = before.rpartition("\n")
    inner = mark.replace("-", " ")
    lines = "".join(inner + line for line in text.splitlines(keepends=True))
    return f"{head}\n{mark}```mermaid\n{lines}{inner}```\n\n"


@settings(max_examples=6, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(_BEFORE), st.sampled_from(_TEXTS)), min_size=2, max_size=6))
def test_tokens_remembered_from_before_an_edit_are_those_of_the_text(parts: list[tuple[str, str]]) -> None:
    """Fences that move, change, come and go."""
    editor = Editor()
    try:
        for number in range(len(parts)):
            text = "".join(_fence(before, inner) for before, inner in parts[number : number + 2])
            uri = editor.uri("a.md")
            if number:
                editor.change(uri, {"text": text})
            else:
                editor.open(text, "a.md")
            fresh = editor.open(text, f"fresh-{number}.md")
            remembered, cold = (
                editor.request("textDocument/semanticTokens/full", {"textDocument": {"uri": each}})["data"]
                for each in (uri, fresh)
            )
            assert remembered == cold
            whole = {"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}}
            part = editor.request("textDocument/semanticTokens/range", {"textDocument": {"uri": uri}, "range": whole})
            assert part["data"] == cold
    finally:
        editor.close()


def test_token_deltas(editor: Editor) -> None:
    uri = editor.open(FLOW)
    params: dict[str, Any] = {"textDocument": {"uri": uri}}
    first = editor.request("textDocument/semanticTokens/full", params)
    same = editor.request("textDocument/semanticTokens/full/delta", {**params, "previousResultId": first["resultId"]})
    assert same["edits"] == []
    editor.change(
        uri, {"range": {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 0}}, "text": "  B\n"}
    )
    delta = editor.request("textDocument/semanticTokens/full/delta", {**params, "previousResultId": same["resultId"]})
    data = list(first["data"])
    for edit in delta["edits"]:
        data[edit["start"] : edit["start"] + edit["deleteCount"]] = edit.get("data") or []
    assert data == editor.request("textDocument/semanticTokens/full", params)["data"]
    assert len(delta["edits"][0]["data"]) < len(data)
    unknown = editor.request("textDocument/semanticTokens/full/delta", {**params, "previousResultId": "gone"})
    assert unknown["data"] == data


def test_a_delta_to_what_was_never_sent_is_the_whole(editor: Editor) -> None:
    uri, other = editor.open("flowchart TD\n  A --> B\n"), editor.open("flowchart TD\n  C --> D\n", "other.mmd")
    document = {"textDocument": {"uri": uri}}
    whole = editor.request("textDocument/semanticTokens/full/delta", document | {"previousResultId": "1"})
    assert whole["data"] == editor.request("textDocument/semanticTokens/full", document)["data"]
    known = editor.request("textDocument/semanticTokens/full", {"textDocument": {"uri": other}})["resultId"]
    again = editor.request("textDocument/semanticTokens/full/delta", document | {"previousResultId": known})
    assert again["data"] == whole["data"], "of another document"


def test_deltas_of_the_last_32_documents_that_somebody_asked_about(editor: Editor) -> None:
    uris = [editor.open(f"flowchart TD\n  A{n} --> B\n", f"{n}.mmd") for n in range(33)]

    def sent(number: int, **known: Any) -> Json:
        method = "textDocument/semanticTokens/full" + ("/delta" if known else "")
        answer: Json = editor.request(method, {"textDocument": {"uri": uris[number]}} | known)
        return answer

    ids = [sent(number)["resultId"] for number in range(32)]
    # Asked about again, the first is not the one that has rested longest any more.
    ids[0] = sent(0, previousResultId=ids[0])["resultId"]
    sent(32)
    assert "edits" in sent(0, previousResultId=ids[0])
    assert "edits" in sent(2, previousResultId=ids[2])
    assert "data" in sent(1, previousResultId=ids[1])


def test_colours(any_editor: Editor) -> None:
    uri = any_editor.open(FLOW)
    found = any_editor.request("textDocument/documentColor", {"textDocument": {"uri": uri}})
    assert [text_at(any_editor, uri, place["range"]) for place in found] == ["#ff0000", "navy", "#eee"]
    assert found[0]["color"] == {"red": 1.0, "green": 0.0, "blue": 0.0, "alpha": 1.0}
    params = {"textDocument": {"uri": uri}, "range": found[1]["range"], "color": found[0]["color"]}
    written = any_editor.request("textDocument/colorPresentation", params)
    assert [one["label"] for one in written] == ["#ff0000", "red"]
    assert "stroke:#ff0000" in any_editor.edited(uri, [written[0]["textEdit"]])


def test_hints(any_editor: Editor) -> None:
    uri = any_editor.open(FLOW)
    found = any_editor.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": WHOLE})
    said = [
        ("".join(part["value"] for part in hint["label"]), before(any_editor, uri, hint["position"])) for hint in found
    ]
    assert said == [
        ("input: Problem", "    PROBLEM([😀😀]):::Interface -->"),
        ("result: Text", '    A["😀 Custom"]:::CustomOp -->'),
    ]
    assert "feeds `input` of A" in found[0]["tooltip"]
    assert "-->|input| A" in any_editor.edited(uri, found[0]["textEdits"])


def test_hints_in_a_part_of_a_fence(editor: Editor) -> None:
    uri = editor.open("# a\n\n```mermaid\n" + FLOW + "```\n", "a.md")
    place = {"start": {"line": 4, "character": 0}, "end": {"line": 4, "character": 99}}
    (hint,) = editor.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": place})
    assert before(editor, uri, hint["position"]).endswith("Interface -->")


@pytest.mark.parametrize(("setting", "left"), [("inlayHintPorts", 0), ("inlayHintOperators", 2)])
def test_hints_are_switched_off(open_editor: Callable[..., Editor], setting: str, left: int) -> None:
    editor = open_editor(MODERN, settings={setting: False})
    uri = editor.open(FLOW)
    editor.run(0.01)
    found = editor.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": WHOLE})
    assert len(found) == left


def test_the_lens_above_a_workflow_tells_its_figures(open_editor: Callable[..., Editor]) -> None:
    for capabilities in (MODERN, MINIMAL):
        editor = open_editor(capabilities)
        uri = editor.open("# a\n\n```mermaid\n" + FLOW + "```\n\n```mermaid\nflowchart TD\nX\n```\n", "a.md")
        run, dry_run, lens = editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        assert [each["command"]["title"] for each in (run, dry_run)] == ["▶ Run", "Dry run"]
        assert editor.request("codeLens/resolve", run) == run
        assert lens["range"]["start"] == {"line": 3, "character": 0}
        resolved = editor.request("codeLens/resolve", lens)
        command = resolved["command"]
        assert command["title"] == "1 subtask · 0 edges · 1 step · up to 1 at once"
        assert command["command"] in editor.capabilities_of_server["executeCommandProvider"]["commands"]
        answer = editor.request(
            "workspace/executeCommand", {"command": command["command"], "arguments": command["arguments"]}
        )
        assert answer["workflow"]["nodes"] == 1
        (message,) = editor.messages("window/showMessage")
        assert message["message"].startswith("1 subtask with 0 edges")
        with pytest.raises(ServerError, match="number of a workflow"):
            editor.request("workspace/executeCommand", {"command": command["command"], "arguments": [uri, 7]})
        editor.close_document(uri)
        assert "command" not in editor.request("codeLens/resolve", lens)


def test_each_workflow_of_a_file_has_its_lenses(open_editor: Callable[..., Editor], tmp_path: Path) -> None:
    editor = open_editor(MODERN, tmp_path)
    text = markdown("flowchart TD\n    X --> Y\n", GOOD, GOOD)
    uri = editor.open(text, "a.md")
    starts = [number for number, line in enumerate(text.split("\n")) if line == "flowchart TD"]

    def lenses() -> list[Json]:
        found: list[Json] = editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        return found

    expected = []
    for number in (2, 3):
        line, where = starts[number - 1], {"uri": uri, "diagram": number}
        place = {"range": {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 12}}}
        for title, command in (("▶ Run", "merrow.run"), ("Dry run", "merrow.dryRun")):
            expected.append(place | {"command": {"title": title, "command": command, "arguments": [where]}})
        expected.append(place | {"data": where})
    assert lenses() == expected
    resolved = editor.request("codeLens/resolve", expected[-1])
    assert resolved["command"] == {
        "title": "1 subtask · 0 edges · 1 step · up to 1 at once",
        "command": "merrow.showMetrics",
        "arguments": [uri, 3],
    }
    for data in (None, {"uri": uri}, {"uri": uri, "diagram": 1}, {"uri": uri, "diagram": 4}, {"uri": 3, "diagram": 2}):
        lens = expected[-1] | {"data": data}
        assert "command" not in editor.request("codeLens/resolve", lens)
    editor.notify("merrow/trust", {"trusted": False})
    assert lenses() == [expected[2], expected[5]]
    # A file with one workflow has a lens for its cases, where it has any.
    editor.notify("merrow/trust", {"trusted": True})
    uri = editor.open(GOOD, "flow.mmd")
    for cases, title in ((0, None), (1, "▶ Run 1 case"), (2, "▶ Run 2 cases")):
        rows = "".join(
            f"  - {{id: c{number}, inputs: {{PROBLEM: x}}, expect: {{contains: x}}}}\n" for number in range(cases)
        )
        (tmp_path / "flow.cases.yaml").write_text(f"cases:\n{rows}")
        titles = [one["command"]["title"] for one in lenses() if "command" in one]
        assert titles == ["▶ Run", "Dry run", *([title] if title else [])]
