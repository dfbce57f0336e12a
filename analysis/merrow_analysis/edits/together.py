"""Fixes of several findings that can be applied at once, because they don't touch."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable

from merrow_analysis.diagnostics import Applicability, Diagnostic, Fix
from merrow_analysis.text import Range, TextEdit

_SUBGRAPH = "subgraph "


def fixes_together(diagnostics: Iterable[Diagnostic], least: Applicability) -> tuple[list[TextEdit], list[str]]:
    """The edits of as many fixes as can be applied at once, in the order of the findings, and the codes repaired.

    A finding gets its first fix, where that is of at least applicability ``least``: none behind it is safer, and to make it up
    may take as long as the text is.
    """
    taken = _Taken()
    codes: list[str] = []
    chosen: set[tuple[TextEdit, ...]] = set()
    for diagnostic in sorted(diagnostics, key=lambda diagnostic: diagnostic.range):
        fix = diagnostic.fixes.best
        if fix is None or fix.applicability < least:
            continue
        # Two findings with one remedy: one application repairs both.
        if fix.edits in chosen or taken.add(fix):
            chosen.add(fix.edits)
            codes.append(diagnostic.code)
    return taken.edits, codes


class _Taken:
    """Edits that don't meet, in the order of their places."""

    def __init__(self) -> None:
        self.edits: list[TextEdit] = []
        self._lines: set[TextEdit] = set()
        self._subgraphs: set[str] = set()

    def add(self, fix: Fix) -> bool:
        """Take the edits of ``fix`` unless one of them meets one taken before; whether they were taken."""
        # A line that several fixes add at one place, such as a classDef, is added once.
        edits = [edit for edit in fix.edits if edit not in self._lines]
        # Two fixes may have chosen the same new id.
        subgraphs = {line for edit in edits for line in _inserted(edit) if line.startswith(_SUBGRAPH)}
        if not subgraphs.isdisjoint(self._subgraphs):
            return False
        for edit in edits:
            place = bisect_right(self.edits, edit.range, key=_range)
            if any(_meet(edit, neighbour) for neighbour in self.edits[max(0, place - 1) : place + 1]):
                return False
        for edit in edits:
            # Lines added at one place keep the order of their findings, as if they were added one after another.
            insort(self.edits, edit, key=_range)
        self._lines.update(edit for edit in edits if len(_inserted(edit)) == 1)
        self._subgraphs |= subgraphs
        return True


def _range(edit: TextEdit) -> Range:
    return edit.range


def _meet(a: TextEdit, b: TextEdit) -> bool:
    """Whether two edits touch the same text; lines inserted at one place don't disturb each other."""
    if a.range == b.range and _inserted(a) and _inserted(b):
        return False
    return a.range.start <= b.range.end and b.range.start <= a.range.end


def _inserted(edit: TextEdit) -> list[str]:
    """The lines that an edit adds, where it adds one, or one subgraph. Other lines may be one thing that must not come twice,
    such as a front matter.
    """
    text = edit.new_text
    if edit.range.start != edit.range.end or not (text.endswith(("\n", "\r")) or text.startswith(("\n", "\r"))):
        return []
    lines = [line.strip() for line in text.strip("\r\n").splitlines()]
    return lines if len(lines) == 1 or (lines and lines[0].startswith(_SUBGRAPH) and lines[-1] == "end") else []
