"""Open documents: their lines, updated by each change, and the diagrams in them with their analyses.

A diagram's analyser lives as long as the diagram, so the cost of an edit depends on what it touches. In Markdown the fences are
found again after a change and matched with the old ones; only those whose text differs are analysed again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable
from urllib.parse import unquote

from lsprotocol import types
from pygls.uris import to_fs_path

from merrow_analysis.cases import ENDING
from merrow_analysis.definitions.provider import ResourceError
from merrow_analysis.difference import single_edit
from merrow_analysis.text import (
    LARGEST_TEXT,
    Position,
    Range,
    TextEdit,
    edited_lines,
    equal_ends,
    line_content,
    split_lines,
)
from merrow_server.lsp.published import PublishedFindings
from merrow_server.positions import Encoding, character_at, position_at

_LONGEST_NAME = 255
"""How long the name of a file or a folder may be: in bytes, on Windows in units of UTF-16."""

if TYPE_CHECKING:
    from merrow_analysis.check import Analyser, Analysis
    from merrow_analysis.definitions.provider import Provider
    from merrow_analysis.diagnostics import Diagnostic
    from merrow_analysis.markdown import DiagramFence
    from merrow_analysis.rules.configuration import Config


@runtime_checkable
class Locator(Protocol):
    """A provider that knows where its files are."""

    def read(self, path: str) -> str: ...

    def location(self, path: str) -> Path: ...

    def is_inside(self, path: str) -> bool: ...


Kind = Literal["diagram", "markdown", "settings", "cases", "other", "too large"]
DIAGRAM_LANGUAGES = frozenset({"mermaid", "mmd", "merrow"})
MARKDOWN_LANGUAGES = frozenset({"markdown", "gfm", "mdx", "quarto", "rmd"})


@dataclass(frozen=True, slots=True)
class Context:
    """The context of a document: its path for per-path settings, the files it may read, its configuration."""

    path: str | None = None
    provider: Provider | None = None
    config: Config | None = None

    def opener(self, text: str) -> Analyser:
        """A version of a diagram in the document, opened with the same context."""
        from merrow_analysis.check import Analyser

        return Analyser(text, path=self.path, provider=self.provider, config=self.config)


@dataclass(frozen=True, slots=True)
class Resource:
    """Another file that an analysis read: its lines as it read them."""

    uri: str
    lines: Sequence[str]
    encoding: Encoding

    def to_lsp(self, place: Range) -> types.Range:
        """A range of the file as the client counts it."""
        start, end = (
            types.Position(position.line, character_at(self.lines, position, self.encoding)) for position in place
        )
        return types.Range(start, end)

    def to_plain(self, place: Range) -> dict[str, Any]:
        """A range as `to_lsp` gives it, as JSON has it."""
        return _plain_range(self.lines, place, self.encoding)

    def edits_to_lsp(self, edits: Iterable[TextEdit]) -> list[types.TextEdit]:
        """Edits of the file as the client counts them."""
        return [types.TextEdit(self.to_lsp(edit.range), edit.new_text) for edit in edits]


class OpenDiagram:
    """One diagram of an open document: all of it, or one fence of a Markdown file."""

    def __init__(self, document: OpenDocument, text: str, fence: DiagramFence | None = None) -> None:
        self.document = document
        self.fence = fence
        self._text: str | None = text
        self._analyser: Analyser | None = None
        self._analysis: Analysis | None = None
        self.run_findings: list[Diagnostic] = []
        """What went wrong when this text was run; cleared by the next edit."""
        self.published = PublishedFindings()

    @property
    def analyser(self) -> Analyser:
        """The analyser of the diagram's text, created on first use."""
        if self._analyser is None:
            from merrow_analysis.check import Analyser

            context = self.document.context
            assert self._text is not None  # noqa: S101 - it is there until there is an analyser
            self._analyser = Analyser(self._text, path=context.path, provider=context.provider, config=context.config)
            self._text = None
        return self._analyser

    @property
    def analysis(self) -> Analysis:
        """The analysis of the diagram as it is now, computed at most once for each state of the text."""
        if self._analysis is None:
            analyser = self.analyser
            try:
                self._analysis = analyser.analysis()
            except Exception:
                # What it kept of the version before may be half of this one.
                self._text, self._analyser = analyser.document.text, None
                raise
        return self._analysis

    def as_drawn(self) -> OpenDiagram:
        """The diagram as it is now, read as a workflow although nothing in it says that it is one."""
        from merrow_analysis.check import analyse

        context, drawn = self.document.context, OpenDiagram(self.document, self.text, self.fence)
        drawn._analyser = self.analyser
        drawn._analysis = analyse(
            self.text, path=context.path, provider=context.provider, config=context.config, as_workflow=True
        )
        return drawn

    @property
    def lines(self) -> Sequence[str]:
        """The lines of the diagram, each with its ending; not to be changed."""
        return self.analyser.document.lines

    @property
    def text(self) -> str:
        return self._text if self._text is not None else self.analyser.document.text

    def edit(self, edit: TextEdit) -> None:
        """Change the diagram's text; positions are those in the diagram."""
        self._analysis = None
        self.run_findings = []
        self.published.edited(edit, self.lines, self.document.encoding)
        self.analyser.edit(edit)

    def refresh(self) -> None:
        """Use the document's context; the analysis is computed again when it is needed."""
        self._analysis = None
        analyser, context = self._analyser, self.document.context
        if analyser is not None:
            analyser.path, analyser.provider = context.path, context.provider
            if context.config is not None:
                analyser.config = context.config

    def position_from_lsp(self, position: types.Position) -> Position | None:
        """The position in the diagram of a position in the document; None outside the diagram."""
        place = self.document.position_from_lsp(position)
        return place if self.fence is None else self.fence.from_host(place)

    def range_from_lsp(self, place: types.Range) -> Range | None:
        """The part of a range of the document that is in the diagram; None if they don't touch."""
        start, end = self.document.range_from_lsp(place)
        if self.fence is None:
            return Range(start, end)
        first, last = self.fence.line, self.fence.line + len(self.lines)
        if end.line < first or start.line > last:
            return None
        inner_start = self.fence.from_host(start) or Position(0 if start.line < first else len(self.lines), 0)
        inner_end = self.fence.from_host(end) or Position(len(self.lines), 0)
        return Range(inner_start, inner_end)

    def to_lsp(self, place: Range) -> types.Range:
        """A range of the diagram as the client counts it in the document."""
        return self.document.to_lsp(place if self.fence is None else self.fence.range_to_host(place))

    def to_plain(self, place: Range) -> dict[str, Any]:
        """A range as `to_lsp` gives it, as JSON has it."""
        return self.document.to_plain(place if self.fence is None else self.fence.range_to_host(place))

    def in_document(self, diagnostic: Diagnostic) -> Diagnostic:
        """``diagnostic`` of the diagram with its range and fixes in the document."""
        fence = self.fence
        if fence is None:
            return diagnostic
        fixes = diagnostic.fixes.changed(lambda fix: fix._replace(edits=tuple(fence.edits_to_host(fix.edits))))
        return diagnostic._replace(range=fence.range_to_host(diagnostic.range), fixes=fixes)

    def position_to_lsp(self, position: Position) -> types.Position:
        """A position of the diagram as the client counts it in the document."""
        return self.document.position_to_lsp(position if self.fence is None else self.fence.to_host(position))

    def edits_to_lsp(self, edits: Iterable[TextEdit]) -> list[types.TextEdit]:
        """Edits of the diagram as edits of the document."""
        if self.fence is not None:
            edits = self.fence.edits_to_host(edits)
        return [types.TextEdit(self.document.to_lsp(edit.range), edit.new_text) for edit in edits]


class OpenDocument:
    """A document that the client has open. ``version`` is the client's, or None.

    One of more than `LARGEST_TEXT` characters is of kind "too large": its text is not kept, and it has no diagrams. This
    remains until the client sends a whole text again.
    """

    def __init__(
        self,
        uri: str,
        text: str,
        *,
        version: int | None = None,
        language_id: str = "",
        encoding: Encoding = "utf-16",
        path: Path | None = None,
        context: Context | None = None,
    ) -> None:
        self.uri = uri
        self.version = version
        self.language_id = language_id
        self.encoding: Encoding = encoding
        self.path = path
        self.context = context if context is not None else Context()
        self._take(text)

    def _take(self, text: str) -> None:
        """Start with a whole text."""
        self._size = len(text)
        self.kind: Kind = kind_of(self.uri, self.language_id) if self._size <= LARGEST_TEXT else "too large"
        if self.kind == "too large":
            text = ""
        self._lines = [] if self.kind == "diagram" else split_lines(text)
        self._diagrams = [OpenDiagram(self, text)] if self.kind == "diagram" else []
        self._outdated = self.kind == "markdown"

    @property
    def lines(self) -> Sequence[str]:
        """The lines of the document, each with its ending; not to be changed."""
        return self._diagrams[0].lines if self.kind == "diagram" else self._lines

    @property
    def text(self) -> str:
        return self._diagrams[0].text if self.kind == "diagram" else "".join(self._lines)

    @property
    def diagrams(self) -> list[OpenDiagram]:
        """The diagrams of the document as it is now, in order."""
        if self._outdated:
            from merrow_analysis.markdown import find_fences

            self._match(find_fences("".join(self._lines)))
            self._outdated = False
        return self._diagrams

    def diagram_at(self, position: types.Position) -> tuple[OpenDiagram, Position] | None:
        """The diagram at a place of the document, and the place in it."""
        for diagram in self.diagrams:
            place = diagram.position_from_lsp(position)
            if place is not None:
                return diagram, place
        return None

    def change(self, changes: Iterable[types.TextDocumentContentChangeEvent]) -> None:
        """Apply the client's changes in order."""
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                self.edit(TextEdit(self.range_from_lsp(change.range), change.text))
            else:
                self.replace(change.text)

    def edit(self, edit: TextEdit) -> None:
        """Replace a range of the document."""
        if self.kind == "too large":
            return
        self._size += len(edit.new_text) - _length(self.lines, edit.range)
        if self._size > LARGEST_TEXT:
            self._give_up()
        elif self.kind == "diagram":
            self._diagrams[0].edit(edit)
        else:
            first, last, new = edited_lines(self._lines, edit)
            self._lines[first:last] = new
            self._outdated = self.kind == "markdown"

    def _give_up(self) -> None:
        """Forget a text that has become too large."""
        self.kind = "too large"
        self._lines, self._diagrams, self._outdated = [], [], False

    def replace(self, text: str) -> None:
        """Make ``text`` the document's text; the analysis of unchanged lines is kept."""
        if self.kind == "too large" or len(text) > LARGEST_TEXT:
            self._take(text)
            return
        edit = single_edit(self.lines, split_lines(text))
        if edit is not None:
            self.edit(edit)

    def resource(self, path: str) -> Resource | None:
        """The file at ``path``, as the diagram writes it; None if it can't be read or the document is untitled."""
        provider = self.context.provider
        if not isinstance(provider, Locator):
            return None
        try:
            return Resource(provider.location(path).as_uri(), split_lines(provider.read(path)), self.encoding)
        except (ResourceError, ValueError):
            return None

    def refresh(self, context: Context) -> None:
        """Give the document another context."""
        self.context = context
        for diagram in self._diagrams:
            diagram.refresh()

    def position_from_lsp(self, position: types.Position) -> Position:
        """The client's position in code points; beyond the text it is the text's end."""
        return position_at(self.lines, position.line, position.character, self.encoding)

    def range_from_lsp(self, place: types.Range) -> Range:
        start, end = self.position_from_lsp(place.start), self.position_from_lsp(place.end)
        return Range(min(start, end), end)

    def position_to_lsp(self, position: Position) -> types.Position:
        return types.Position(position.line, character_at(self.lines, position, self.encoding))

    def to_lsp(self, place: Range) -> types.Range:
        return types.Range(self.position_to_lsp(place.start), self.position_to_lsp(place.end))

    def to_plain(self, place: Range) -> dict[str, Any]:
        """A range as `to_lsp` gives it, as JSON has it."""
        return _plain_range(self.lines, place, self.encoding)

    @property
    def end(self) -> Position:
        """Where the text ends."""
        lines = self.lines
        if not lines or lines[-1] != line_content(lines[-1]):
            return Position(len(lines), 0)
        return Position(len(lines) - 1, len(lines[-1]))

    def _match(self, fences: list[DiagramFence]) -> None:
        """Give each fence the diagram that represented it before, edited where its text differs."""
        old = self._diagrams
        front, back = equal_ends(old, fences, lambda diagram, fence: diagram.text == fence.text)
        middle = iter(old[front : len(old) - back])
        diagrams: list[OpenDiagram] = []
        for index, fence in enumerate(fences):
            if index < front:
                diagram: OpenDiagram | None = old[index]
            elif index >= len(fences) - back:
                diagram = old[index - len(fences)]
            else:
                diagram = next(middle, None)
            if diagram is None:
                diagram = OpenDiagram(self, fence.text, fence)
            elif diagram.text != fence.text:
                edit = single_edit(diagram.lines, split_lines(fence.text))
                if edit is not None:
                    diagram.edit(edit)
            diagram.fence = fence
            diagrams.append(diagram)
        self._diagrams = diagrams


def _plain_range(lines: Sequence[str], place: Range, encoding: Encoding) -> dict[str, Any]:
    start, end = place
    return {
        "start": {"line": start[0], "character": character_at(lines, start, encoding)},
        "end": {"line": end[0], "character": character_at(lines, end, encoding)},
    }


def _length(lines: Sequence[str], place: Range) -> int:
    """The number of characters in a range of the text."""
    start, end = place
    whole = sum(len(line) for line in lines[start.line : end.line])
    return whole + (end.column if end.line < len(lines) else 0) - (start.column if start.line < len(lines) else 0)


def kind_of(uri: str, language_id: str = "") -> Kind:
    """The kind of a document, by its language or else by its name."""
    language, name = language_id.lower(), unquote(uri).lower()
    if name.endswith(ENDING):
        return "cases"
    if language in DIAGRAM_LANGUAGES:
        return "diagram"
    if language in MARKDOWN_LANGUAGES:
        return "markdown"
    from merrow_server.files import DIAGRAM_SUFFIXES, MARKDOWN_SUFFIXES
    from merrow_server.workspace import PROJECT_FILE, SETTINGS_FILE

    if name.rpartition("/")[2] in (SETTINGS_FILE, PROJECT_FILE):
        return "settings"
    if name.endswith(DIAGRAM_SUFFIXES):
        return "diagram"
    return "markdown" if name.endswith(MARKDOWN_SUFFIXES) else "other"


def _is_too_long(name: str) -> bool:
    units = (
        len(name.encode("utf-16-le", "surrogatepass")) // 2
        if os.name == "nt"
        else len(name.encode("utf-8", "surrogatepass"))
    )
    return units > _LONGEST_NAME


def path_of(uri: str) -> Path | None:
    """The path of a ``file:`` URI; None for any other, such as an untitled document's, and for one that no file can have."""
    if not uri.startswith("file:"):
        return None
    path = to_fs_path(uri)
    if not path or "\0" in path or any(map(_is_too_long, Path(path).parts)):
        return None
    return Path(path)
