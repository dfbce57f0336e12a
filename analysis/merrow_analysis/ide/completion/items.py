"""The items of a completion, and the list in which they are gathered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from merrow_analysis.check import Analysis
from merrow_analysis.ide.cursor.place import word_range
from merrow_analysis.text import Position, Range, TextEdit

ItemKind = Literal[
    "node",
    "operator",
    "port",
    "class",
    "prompt",
    "key",
    "value",
    "arrow",
    "keyword",
    "rule",
    "type",
    "shape",
    "file",
]
Subject = tuple[str, ...]
"""What an item speaks of, for `completion.documentation`: a kind and names."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One thing that could be written: ``edit`` puts it in place of the word at the cursor.

    ``snippet`` is the same text with tab stops, for editors that have them. ``detail`` stands beside the label, and
    ``description`` at the far end. ``sort`` orders the items; ``filter_text`` is what typed letters are compared with.
    """

    label: str
    kind: ItemKind
    edit: TextEdit
    sort: str
    detail: str = ""
    description: str = ""
    snippet: str | None = None
    filter_text: str | None = None
    subject: Subject = ()


class Completions(NamedTuple):
    """The items for a place, the likeliest first; ``is_whole`` and ``path`` as in `CompletionItems`."""

    items: list[Completion]
    is_whole: bool
    path: PathPlace | None = None


class PathPlace(NamedTuple):
    """Where the path of a workflow is typed: what is there so far, and whether it must be put in quotes."""

    range: Range
    typed: str
    wants_quotes: bool


class CompletionItems:
    """Gathers the items for one place; the smaller ``rank`` is, the earlier an item stands.

    ``is_whole`` is False where further letters could bring items that are not among these. ``path`` is set where a workflow of
    the workspace may be named; who knows the workspace adds them (`paths.file_items`).
    """

    def __init__(self, analysis: Analysis, position: Position, line: str) -> None:
        self.analysis = analysis
        self.position = Position(position.line, min(position.column, len(line)))
        self.line = line
        self.is_whole = True
        self.path: PathPlace | None = None
        self._found: list[tuple[tuple[int, int], Completion]] = []
        self._labels: set[str] = set()

    @property
    def indent(self) -> str:
        """The white space that the line begins with."""
        return self.line[: len(self.line) - len(self.line.lstrip())]

    def range(self, length: int) -> Range:
        """The word at the cursor, of which ``length`` characters stand before it."""
        return word_range(self.position, self.line, length)

    def add(
        self,
        label: str,
        kind: ItemKind,
        place: Range,
        *,
        rank: int = 0,
        steps: int = 0,
        text: str | None = None,
        snippet: str | None = None,
        detail: str = "",
        description: str = "",
        filter_text: str | None = None,
        subject: Subject = (),
    ) -> None:
        """Add an item; the first of several with one label counts."""
        if label in self._labels:
            return
        self._labels.add(label)
        edit = TextEdit(place, label if text is None else text)
        item = Completion(label, kind, edit, "", detail, description, snippet, filter_text, subject)
        self._found.append(((rank, steps), item))

    def sorted(self) -> list[Completion]:
        """The items in their order, which ``sort`` says too."""
        self._found.sort(key=lambda entry: entry[0])
        return [
            Completion(
                item.label,
                item.kind,
                item.edit,
                f"{number:05}",
                item.detail,
                item.description,
                item.snippet,
                item.filter_text,
                item.subject,
            )
            for number, (_, item) in enumerate(self._found)
        ]


def escaped(text: str) -> str:
    """A text as it is in a snippet."""
    return text.replace("\\", "\\\\").replace("$", "\\$").replace("}", "\\}")
