"""Nothing is advertised that is absent: every capability in the answer to ``initialize`` is called, by each kind of client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.lsp.editor import MINIMAL, MODERN, PULLING, Editor, ServerError

TEXT = """---
workflow:
  prompts:
    SOLVE: "Solve {input}"
---
flowchart TD
    PROBLEM([Problem])
    A["Custom<br/>(role: solver, instruction: SOLVE)"]
    B[Check (twice)]
    V@{ op: ScEnsemble, label: "Vote" }
    RETURN([Return])
    subgraph solvers
        A
    end
    class PROBLEM,RETURN Interface
    class A,B CustomOp
    style A   fill:#d0e1f9
    PROBLEM -->|input| A & B
    A --> V
    B --> V
    V --> RETURN
"""
NEITHER = frozenset({"positionEncoding", "textDocumentSync", "workspace"})
"""What is no request: each has tests of its own."""
REQUEST_FAILED = -32803
Call = tuple[str, Any]


def _everywhere(editor: Editor, uri: str) -> list[dict[str, int]]:
    lines = editor.texts[uri].splitlines()
    return [
        {"line": number, "character": character}
        for number, line in enumerate(lines)
        for character in sorted({0, len(line) // 2, line.find("A") % (len(line) + 1), len(line)})
    ]


def calls(editor: Editor, uri: str, provider: str, options: Any) -> Iterator[Call]:
    """The requests that a capability promises."""
    document = {"textDocument": {"uri": uri}}
    end = {"line": len(editor.texts[uri].splitlines()), "character": 0}
    whole = {"range": {"start": {"line": 0, "character": 0}, "end": end}}
    layout = {"options": {"tabSize": 4, "insertSpaces": True}}
    extra = options if isinstance(options, dict) else {}
    at = [document | {"position": place} for place in _everywhere(editor, uri)]
    match provider:
        case "completionProvider" | "hoverProvider" | "definitionProvider" | "documentHighlightProvider":
            method = provider.removesuffix("Provider")
            yield from ((f"textDocument/{method}", params) for params in at)
        case "signatureHelpProvider" | "linkedEditingRangeProvider":
            yield from ((f"textDocument/{provider.removesuffix('Provider')}", params) for params in at)
        case "referencesProvider":
            yield from (("textDocument/references", p | {"context": {"includeDeclaration": True}}) for p in at)
        case "renameProvider":
            if extra.get("prepareProvider"):
                yield from (("textDocument/prepareRename", params) for params in at)
            yield "textDocument/rename", editor.at(uri, "A[") | {"newName": "Renamed"}
        case "callHierarchyProvider":
            yield from (("textDocument/prepareCallHierarchy", params) for params in at)
        case "codeActionProvider":
            found = editor.request("textDocument/diagnostic", document)["items"]
            for item in found:
                yield "textDocument/codeAction", document | {"range": item["range"], "context": {"diagnostics": [item]}}
            yield "textDocument/codeAction", document | whole | {"context": {"diagnostics": found}}
        case "documentSymbolProvider" | "codeLensProvider" | "documentLinkProvider" | "foldingRangeProvider":
            yield f"textDocument/{provider.removesuffix('Provider')}", document
        case "colorProvider":
            yield "textDocument/documentColor", document
            colour = {"red": 1.0, "green": 0.5, "blue": 0.0, "alpha": 1.0}
            place = {"start": editor.find(uri, "#d0e1f9"), "end": editor.find(uri, "#d0e1f9", 7)}
            yield "textDocument/colorPresentation", document | {"color": colour, "range": place}
        case "selectionRangeProvider":
            yield "textDocument/selectionRange", document | {"positions": _everywhere(editor, uri)}
        case "workspaceSymbolProvider":
            yield "workspace/symbol", {"query": ""}
        case "documentFormattingProvider":
            yield "textDocument/formatting", document | layout
        case "documentRangeFormattingProvider":
            yield "textDocument/rangeFormatting", document | whole | layout
        case "inlayHintProvider":
            yield "textDocument/inlayHint", document | whole
        case "semanticTokensProvider":
            if extra.get("full"):
                yield "textDocument/semanticTokens/full", document
            if isinstance(extra.get("full"), dict) and extra["full"].get("delta"):
                yield "textDocument/semanticTokens/full/delta", document | {"previousResultId": "none"}
            if extra.get("range"):
                yield "textDocument/semanticTokens/range", document | whole
        case "diagnosticProvider":
            yield "textDocument/diagnostic", document
            if extra.get("workspaceDiagnostics"):
                yield "workspace/diagnostic", {"previousResultIds": []}
        case "executeCommandProvider":
            return
        case _:
            pytest.fail(f"{provider} is advertised and no test calls it")


def _ask(editor: Editor, method: str, params: Any) -> Any:
    """The answer; None where the server says in its own words why there is none."""
    try:
        return editor.request(method, params)
    except ServerError as error:
        if error.code != REQUEST_FAILED:
            raise
        return None


RESOLVED = {
    "textDocument/completion": ("completionProvider", "completionItem/resolve"),
    "textDocument/codeAction": ("codeActionProvider", "codeAction/resolve"),
    "textDocument/codeLens": ("codeLensProvider", "codeLens/resolve"),
    "textDocument/documentLink": ("documentLinkProvider", "documentLink/resolve"),
    "workspace/symbol": ("workspaceSymbolProvider", "workspaceSymbol/resolve"),
    "textDocument/inlayHint": ("inlayHintProvider", "inlayHint/resolve"),
}


@pytest.mark.slow
@pytest.mark.parametrize("capabilities", [MODERN, PULLING, MINIMAL], ids=["modern", "pulling", "minimal"])
@pytest.mark.parametrize("name", ["flow.mmd", "notes.md"])
def test_everything_advertised_is_there(
    open_editor: Callable[..., Editor], tmp_path: Path, capabilities: Any, name: str
) -> None:
    text = TEXT if name == "flow.mmd" else f"# Notes 😀\n\n```mermaid\n{TEXT}```\n"
    editor = open_editor(capabilities, tmp_path)
    uri = editor.open(text, name)
    advertised = editor.capabilities_of_server
    answered: set[str] = set()
    for provider, options in advertised.items():
        if provider in NEITHER or options in (None, False):
            continue
        for method, params in calls(editor, uri, provider, options):
            answer = _ask(editor, method, params)
            if answer:
                answered.add(method)
            _follow(editor, advertised, method, answer)
    silent = {"textDocument/linkedEditingRange", "textDocument/documentLink", "textDocument/codeLens"}
    if capabilities is MINIMAL:  # it knows no actions but commands, and can't have a command edit anything
        silent.add("textDocument/codeAction")
    promised = {
        method
        for provider, options in advertised.items()
        if provider not in NEITHER
        for method, _ in calls(editor, uri, provider, options)
    }
    assert promised - silent <= answered | {"textDocument/semanticTokens/full/delta"}


def _follow(editor: Editor, advertised: dict[str, Any], method: str, answer: Any) -> None:
    """Requests that lead on from an answer: resolving the first of several items, and calls in both directions."""
    items = answer.get("items", []) if isinstance(answer, dict) else answer or []
    if method == "textDocument/prepareCallHierarchy":
        for item in items:
            editor.request("callHierarchy/incomingCalls", {"item": item})
            editor.request("callHierarchy/outgoingCalls", {"item": item})
    provider, resolve = RESOLVED.get(method, ("", ""))
    options = advertised.get(provider)
    if resolve and isinstance(options, dict) and options.get("resolveProvider"):
        for item in [item for item in items if "command" not in item or "title" in item or "range" in item][:3]:
            editor.request(resolve, item)


@pytest.mark.parametrize("capabilities", [MODERN, MINIMAL], ids=["modern", "minimal"])
def test_every_command_is_there(open_editor: Callable[..., Editor], tmp_path: Path, capabilities: Any) -> None:
    """Each either answers or says in its own words what it wants; none is unknown."""
    editor = open_editor(capabilities, tmp_path)
    uri = editor.open(TEXT)
    commands = editor.capabilities_of_server["executeCommandProvider"]["commands"]
    assert commands
    for command in commands:
        argument = "MW105" if command == "merrow.explain" else uri
        try:
            editor.request("workspace/executeCommand", {"command": command, "arguments": [argument]})
        except ServerError as error:
            failure = error
        else:
            continue
        assert failure.code == -32602
        assert "is not defined" not in failure.message


@pytest.mark.slow
def test_no_feature_fails_on_a_text_that_is_typed(open_editor: Callable[..., Editor]) -> None:
    """Every prefix of a file is what an editor shows while somebody types it."""
    editor = open_editor(PULLING)
    uri = editor.open("")
    for length in range(0, len(TEXT), 23):
        editor.change(uri, {"text": TEXT[:length]})
        for provider, options in editor.capabilities_of_server.items():
            if provider in NEITHER | {"renameProvider", "colorProvider"} or not options:
                continue
            found = list(calls(editor, uri, provider, options))
            for method, params in found[:1] + found[-1:]:
                _ask(editor, method, params)
