"""The state of an open document after any edits is that of its text opened cold: text, diagnostics, ranges, fixes."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lsprotocol import types
from tests.strategies import broken_flowcharts, flowcharts

from merrow_analysis.text import split_lines
from merrow_server.lsp.documents import OpenDocument
from merrow_server.lsp.findings.diagnostics import document_diagnostics
from merrow_server.lsp.settings import EditorSettings
from merrow_server.lsp.supports import Supports
from merrow_server.positions import Encoding

ENCODINGS: dict[Encoding, tuple[str, int]] = {
    "utf-8": ("utf-8", 1),
    "utf-16": ("utf-16-le", 2),
    "utf-32": ("utf-32-le", 4),
}
ALL = Supports(
    related_information=True,
    diagnostic_data=True,
    code_description=True,
    tags=frozenset(types.DiagnosticTag),
)
SETTINGS = EditorSettings()

WORKFLOW = """---
title: Zwei Löser 😀
workflow:
  prompts:
    SOLVE: |
      Löse das: {input} 😀
---
flowchart TD
    PROBLEM([Problem])
    A["Custom<br/>(role: solver_😀)"]
    B@{ op: Custom, role: critic,
        label: "Custom größer" }
    V["ScEnsemble<br/>"]
    RETURN([Return response & cost])
    %% merrow: ignore[MW404] on purpose
    class PROBLEM,RETURN Interface
    class A,B CustomOp
    class V ScEnsembleOp
    PROBLEM -->|input| A & B
    A --> V
    B -- "über 節点" --> V
    V --> RETURN
"""
MARKDOWN = f"""# Zwei 😀

```mermaid
{WORKFLOW}```

Text

> ~~~ mermaid
> graph LR
>   A --> Ü[(]
> ~~~

```python
x = 1
```
- item

  ```{{mermaid}}
  flowchart
   😀 --> B
  ```
"""
PIECES = [
    *(
        "",
        "",
        " ",
        "\n",
        "\r\n",
        "\r",
        "x",
        "😀",
        "ß",
        "節",
        '"',
        "'",
        "`",
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        "@{",
        "|",
        "-->",
    ),
    *(
        " --> A",
        "%%",
        "%% merrow: ignore",
        "---\n",
        "```",
        "```mermaid\n",
        "\n```\n",
        "~~~\n",
        "> ",
        "    ",
        "\t",
        ";",
        ":::",
    ),
    *("class A CustomOp\n", "subgraph s\n", "end\n", "A --> B\n", 'C["Custom<br/>(role: x)"]\n', "workflow:\n"),
    *("flowchart TD\n", "%%{init: {}}%%\n", "&", "#quot;", "<br/>"),
]


def position(text: str, offset: int, encoding: Encoding) -> types.Position:
    """A client's position, counted from the text itself."""
    before = split_lines(text[:offset])
    if before and before[-1].endswith(("\n", "\r")):
        return types.Position(len(before), 0)
    codec, width = ENCODINGS[encoding]
    line = before[-1] if before else ""
    return types.Position(max(len(before) - 1, 0), len(line.encode(codec, "surrogatepass")) // width)


@st.composite
def edits(draw: st.DrawFn, text: str, encoding: Encoding) -> tuple[types.TextDocumentContentChangeEvent, str]:
    """A change, and the text after it."""
    new = draw(st.sampled_from(PIECES))
    if draw(st.integers(0, 11)) == 0:
        return types.TextDocumentContentChangeWholeDocument(new + text[len(text) // 3 :]), new + text[len(text) // 3 :]
    start = draw(st.integers(0, len(text)))
    length = draw(st.sampled_from([0, 0, 0, 1, 1, 2, 5, 20, 80]))
    end = min(len(text), start + length)
    if draw(st.integers(0, 7)) == 0:  # join two lines, or split a line where it ends
        start = text.rfind("\n", 0, start) + 1 or start
        start = max(0, start - 1)
        end = max(start, min(len(text), start + 1))
    # No client has its cursor between a carriage return and its line feed.
    start -= text[start - 1 : start + 1] == "\r\n"
    end += text[end - 1 : end + 1] == "\r\n"
    place = types.Range(position(text, start, encoding), position(text, end, encoding))
    return types.TextDocumentContentChangePartial(place, new), text[:start] + new + text[end:]


def findings(document: OpenDocument) -> list[types.Diagnostic]:
    return document_diagnostics(document, ALL, SETTINGS)


def check(data: st.DataObject, text: str, name: str, encoding: Encoding, steps: int) -> None:
    document = OpenDocument(name, text, encoding=encoding)
    for _ in range(steps):
        change, text = data.draw(edits(text, encoding))
        document.change([change])
        if data.draw(st.booleans()):
            assert document.text == text
            assert findings(document) == findings(OpenDocument(name, text, encoding=encoding))
    assert document.text == text
    assert list(document.lines) == split_lines(text)
    assert findings(document) == findings(OpenDocument(name, text, encoding=encoding))


LONG = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@LONG
@given(st.data(), st.sampled_from(sorted(ENCODINGS)), st.booleans())
def test_a_workflow(data: st.DataObject, encoding: Encoding, crlf: bool) -> None:
    text = WORKFLOW.replace("\n", "\r\n") if crlf else WORKFLOW
    check(data, text, "untitled:flow.mmd", encoding, 10)


@LONG
@given(st.data(), st.sampled_from(sorted(ENCODINGS)), st.booleans())
def test_diagrams_in_markdown(data: st.DataObject, encoding: Encoding, crlf: bool) -> None:
    text = MARKDOWN.replace("\n", "\r\n") if crlf else MARKDOWN
    check(data, text, "untitled:notes.md", encoding, 10)


@LONG
@given(st.data(), flowcharts() | broken_flowcharts(), st.sampled_from(sorted(ENCODINGS)))
def test_any_flowchart(data: st.DataObject, text: str, encoding: Encoding) -> None:
    check(data, text, "untitled:flow.mmd", encoding, 6)
