"""Every public door that takes a text: functions, the server's requests and edits. A door is called on an open text."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import islice
from typing import Any

from tests.growth.shapes import Shape
from tests.server.lsp.editor import PULLING, Editor, Json, ServerError

from merrow_analysis.check import analyse
from merrow_analysis.formatting import format_edits
from merrow_analysis.graph.measures.metrics import metrics
from merrow_analysis.markdown import find_fences
from merrow_analysis.syntax.structure import parse_record
from merrow_analysis.text import apply_edits, split_lines
from merrow_optimizer.mutations.moves import DEFAULT, changes
from merrow_optimizer.mutations.original import Original, why_unchangeable
from merrow_optimizer.repair.search import RepairSearch
from merrow_runtime.compiling.compiler import compile_workflow
from merrow_runtime.errors import RunFailure
from merrow_runtime.models.offline import OfflineEndpoint
from merrow_runtime.running.forecast import dry_run
from merrow_runtime.workflow import check_workflow

_RESOLVED = 12
"""Code actions that a door resolves, at most."""
REFUSALS = (-32803, -32602)
"""Errors by which the server says in its own words that there is no answer."""


class Opened:
    """A text of one shape in the three forms that doors need: as text, as diagrams, and open in an editor."""

    def __init__(self, shape: Shape, size: int) -> None:
        self.text = shape.make(size)
        self.is_markdown = shape.markdown
        self.diagrams = [fence.text for fence in find_fences(self.text)] if shape.markdown else [self.text]
        self.lines = split_lines(self.text) or [""]
        self.editor = Editor(PULLING)
        self.uri = self.editor.uri("flow.md" if shape.markdown else "flow.mmd")
        self.document: Json = {"textDocument": {"uri": self.uri}}
        self.diagnostics: list[Json] = []
        self.tokens = "none"
        self._version = 1
        self.turn = 0

    def open(self) -> None:
        language = "markdown" if self.is_markdown else "mermaid"
        item = {"uri": self.uri, "languageId": language, "version": 1, "text": self.text}
        self.editor.notify("textDocument/didOpen", {"textDocument": item})
        self.editor.run()
        self.diagnostics = self.ask("textDocument/diagnostic", self.document)["items"]

    def change(self, line: int, column: int, end_column: int, text: str) -> None:
        """Replace a part of a line; column counts are cut at the line's end by the server."""
        self._version += 1
        place = {"start": {"line": line, "character": column}, "end": {"line": line, "character": end_column}}
        identifier = {"uri": self.uri, "version": self._version}
        params = {"textDocument": identifier, "contentChanges": [{"range": place, "text": text}]}
        self.editor.notify("textDocument/didChange", params)
        self.ask("textDocument/diagnostic", self.document)

    def edit(self, line: int, text: str) -> None:
        """Put words into a line, look at the findings, and take them away again."""
        self.change(line, 0, 0, text)
        self.change(line, 0, len(text), "")

    @property
    def middle(self) -> int:
        """A line well inside the text; not half way, where the nodes of many shapes end and their edges begin.

        At each size it is the same kind of line: what a shape repeats takes one to four lines, which twelve is a multiple of.
        """
        line = len(self.lines) * 3 // 8
        return line - line % 12 or line

    def ask(self, method: str, params: Any) -> Any:
        """The answer; None where the server says in its own words why there is none."""
        try:
            return self.editor.request(method, params)
        except ServerError as refusal:
            if refusal.code not in REFUSALS:
                raise
            return None

    def places(self) -> list[Json]:
        """Positions at the beginning, in the middle and at the end of the text, at a line's edge and in its midst."""
        found: list[Json] = []
        for line in sorted({0, self.middle, len(self.lines) - 1}):
            length = len(self.lines[line].rstrip("\r\n"))
            found += [{"line": line, "character": column} for column in sorted({0, 1, length // 2, length})]
        return found

    @property
    def whole(self) -> Json:
        return {"start": {"line": 0, "character": 0}, "end": {"line": len(self.lines), "character": 0}}

    def close(self) -> None:
        self.editor.close()


Door = Callable[[Opened], object]


def _at_places(method: str, **extra: Any) -> Door:
    return lambda it: [it.ask(method, it.document | {"position": place} | extra) for place in it.places()]


def _of_document(method: str, **extra: Any) -> Door:
    return lambda it: it.ask(method, it.document | extra)


def _of_range(method: str, **extra: Any) -> Door:
    return lambda it: it.ask(method, it.document | {"range": it.whole} | extra)


_LAYOUT = {"options": {"tabSize": 4, "insertSpaces": True}}


def _fmt(it: Opened) -> None:
    for text in it.diagrams:
        apply_edits(text, format_edits(text))


def _metrics(it: Opened) -> None:
    for text in it.diagrams:
        analysis = analyse(text)
        if analysis.diagram.is_flowchart:
            metrics(analysis.typed if analysis.typed is not None else analysis.flow, 0.1)


def _calls(it: Opened) -> None:
    for place in it.places():
        for item in it.ask("textDocument/prepareCallHierarchy", it.document | {"position": place}) or []:
            it.ask("callHierarchy/incomingCalls", {"item": item})
            it.ask("callHierarchy/outgoingCalls", {"item": item})


def _completion(it: Opened) -> None:
    for place in it.places():
        found = it.ask("textDocument/completion", it.document | {"position": place})
        items = found["items"] if isinstance(found, dict) else found
        for item in (items or [])[:1]:
            it.ask("completionItem/resolve", item)


def _rename(it: Opened) -> None:
    for place in it.places():
        if it.ask("textDocument/prepareRename", it.document | {"position": place}) is not None:
            it.ask("textDocument/rename", it.document | {"position": place, "newName": "Another"})


def _actions(it: Opened) -> None:
    """Code actions for the first, middle and last finding and at places; some are resolved."""
    found = it.diagnostics
    actions: list[Json] = []
    for finding in [found[index] for index in sorted({0, len(found) // 2, len(found) - 1})] if found else []:
        params = it.document | {"range": finding["range"], "context": {"diagnostics": [finding]}}
        actions += it.ask("textDocument/codeAction", params) or []
    for place in it.places():
        params = it.document | {"range": {"start": place, "end": place}, "context": {"diagnostics": []}}
        actions += it.ask("textDocument/codeAction", params) or []
    _resolve(it, actions)


def _resolve(it: Opened, actions: list[Json] | None) -> None:
    """Resolve the first action and others at equal distances, each title once: a resolve is alike for all of a kind."""
    named = {action["title"]: action for action in actions or [] if "edit" not in action and "data" in action}
    for action in list(named.values())[:: -(-len(named) // _RESOLVED) or 1]:
        it.ask("codeAction/resolve", action)


def _all_actions(it: Opened) -> None:
    params = it.document | {"range": it.whole, "context": {"diagnostics": it.diagnostics}}
    it.ask("textDocument/codeAction", params)


def _repair_all(it: Opened) -> None:
    context = {"diagnostics": [], "only": ["source.fixAll"]}
    _resolve(it, it.ask("textDocument/codeAction", it.document | {"range": it.whole, "context": context}))


def _chosen(it: Opened, place: Json, *only: str) -> None:
    """What a reader is offered who opens the menu at a range, of some kinds or of all."""
    here = [found for found in it.diagnostics if found["range"]["start"]["line"] == place["start"]["line"]]
    context: Json = {"diagnostics": here, "triggerKind": 1}
    _resolve(it, it.ask("textDocument/codeAction", it.document | {"range": place, "context": context | _only(only)}))


def _only(kinds: tuple[str, ...]) -> Json:
    return {"only": list(kinds)} if kinds else {}


def _menu(it: Opened) -> None:
    for line in sorted({0, it.middle, len(it.lines) - 1}):
        place = {"line": line, "character": min(2, len(it.lines[line].rstrip("\r\n")))}
        _chosen(it, {"start": place, "end": place})


def _menu_of_steps(it: Opened) -> None:
    """What makes operators of the steps on two lines."""
    start, end = {"line": it.middle, "character": 0}, {"line": it.middle + 2, "character": 0}
    _chosen(
        it,
        {"start": start, "end": end},
        "refactor.extract.operator",
        "refactor.rewrite.operator",
        "refactor.rewrite.tool",
    )


def _mutate(it: Opened) -> None:
    """The first changes that might be made, each looked at. How many are looked at until one is safe depends on the text."""
    for text in it.diagrams[:1]:
        analysis = analyse(text)
        if why_unchangeable(analysis) is None:
            for change in islice(changes(Original(analysis)), 60):
                DEFAULT.make_if_safe(change)


def _repair(it: Opened) -> None:
    """The first steps of a search, which goes on for as long as it may."""
    for text in it.diagrams[:1]:
        search = RepairSearch(text, clock=lambda: 0.0)
        for _ in range(5):
            search.advance()


def _compile(it: Opened) -> None:
    for text in it.diagrams[:1]:
        with contextlib.suppress(RunFailure):
            compile_workflow(check_workflow(text, name="flow.mmd"))


def _dry_run(it: Opened) -> None:
    for text in it.diagrams[:1]:
        with contextlib.suppress(RunFailure):
            dry_run(check_workflow(text, name="flow.mmd"), endpoint=OfflineEndpoint()).to_json()


def _lenses(it: Opened) -> None:
    for lens in (it.ask("textDocument/codeLens", it.document) or [])[:6]:
        it.ask("codeLens/resolve", lens)


def _command(name: str, *extra: Any) -> Door:
    return lambda it: it.ask("workspace/executeCommand", {"command": name, "arguments": [it.uri, *extra]})


def _delta(it: Opened) -> None:
    before = it.ask("textDocument/semanticTokens/full", it.document)
    previous = (before or {}).get("resultId", "none")
    it.ask("textDocument/semanticTokens/full/delta", it.document | {"previousResultId": previous})


def _middle_range(it: Opened) -> None:
    place = {"start": {"line": it.middle, "character": 0}, "end": {"line": it.middle + 1, "character": 0}}
    it.ask("textDocument/semanticTokens/range", it.document | {"range": place})
    it.ask("textDocument/inlayHint", it.document | {"range": place})
    it.ask("textDocument/rangeFormatting", it.document | {"range": place} | _LAYOUT)


def _colours(it: Opened) -> None:
    for colour in (it.ask("textDocument/documentColor", it.document) or [])[:1]:
        it.ask("textDocument/colorPresentation", it.document | colour)


def _replace_all(it: Opened) -> None:
    """The whole text sent again, with a line more and without it."""
    for text in (it.text + "\n%% more\n", it.text):
        it._version += 1
        identifier = {"uri": it.uri, "version": it._version}
        it.editor.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": [{"text": text}]})
        it.ask("textDocument/diagnostic", it.document)


DOORS: dict[str, Door] = {
    "check": lambda it: [analyse(text) for text in it.diagrams],
    "parse": lambda it: [parse_record(text) for text in it.diagrams],
    "fmt": _fmt,
    "metrics": _metrics,
    "mutate": _mutate,
    "repair": _repair,
    "compile": _compile,
    "dry run": _dry_run,
    "open": lambda it: it.open(),  # the doors below need it
    "edit a line in the middle": lambda it: it.edit(it.middle, "w "),
    "edit the first line": lambda it: it.edit(0, "w"),
    "edit the last line": lambda it: it.edit(len(it.lines) - 1, "Z --> Y\n"),
    "add an edge in the middle": lambda it: it.edit(it.middle, "A --> RETURN\n"),
    "add a quote in the middle": lambda it: it.edit(it.middle, '"'),
    "replace the text": _replace_all,
    "hover": _at_places("textDocument/hover"),
    "completion": _completion,
    "signature help": _at_places("textDocument/signatureHelp"),
    "definition": _at_places("textDocument/definition"),
    "references": _at_places("textDocument/references", context={"includeDeclaration": True}),
    "highlights": _at_places("textDocument/documentHighlight"),
    "linked editing": _at_places("textDocument/linkedEditingRange"),
    "rename": _rename,
    "call hierarchy": _calls,
    "selection ranges": lambda it: it.ask("textDocument/selectionRange", it.document | {"positions": it.places()}),
    "outline": _of_document("textDocument/documentSymbol"),
    "folding": _of_document("textDocument/foldingRange"),
    "links": _of_document("textDocument/documentLink"),
    "colours": _colours,
    "code lens": _lenses,
    "semantic tokens": _of_document("textDocument/semanticTokens/full"),
    "semantic tokens, changed": _delta,
    "semantic tokens of a range": _of_range("textDocument/semanticTokens/range"),
    "inlay hints": _of_range("textDocument/inlayHint"),
    "a range in the middle": _middle_range,
    "formatting": _of_document("textDocument/formatting", **_LAYOUT),
    "range formatting": _of_range("textDocument/rangeFormatting", **_LAYOUT),
    "code actions": _actions,
    "the menu": _menu,
    "the menu of steps": _menu_of_steps,
    "code actions of all": _all_actions,
    "fix all": _repair_all,
    "workspace symbols": lambda it: it.ask("workspace/symbol", {"query": ""}),
    "diagram": _of_document("merrow/graph"),
    "command metrics": _command("merrow.metrics"),
    "command graph": _command("merrow.graph"),
}
