"""Texts read one after another, and what a repair has to do about each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from merrow_analysis.check import Analyser, Analysis
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.difference import single_edit
from merrow_analysis.rules.path_rules import MISSING_INPUT_OR_OUTPUT
from merrow_analysis.rules.registry import Scope, find_rule, is_refused
from merrow_analysis.text import split_lines
from merrow_optimizer.mutations.original import Original, why_unchangeable

LARGEST_CHANGED = 400_000
"""The longest text, in characters, whose graph is changed in search of a repair; longer ones are left to the fixes of rules."""


@dataclass(eq=False)
class AnalysedText:
    """A text with its analysis. ``known`` are the warnings, by code, that it may have: those of the text to be repaired."""

    text: str
    analysis: Analysis
    known: Counter[str]

    @cached_property
    def complaints(self) -> list[Diagnostic]:
        """What keeps the text from being repaired: errors, and warnings that it did not have. What may lie behind others comes
        first: statements that can't be read, a missing input or output, then what single nodes are.
        """
        told = set(map(id, self.analysis.errors))
        warnings: Counter[str] = Counter()
        extra = []
        for diagnostic in self.analysis.diagnostics:
            if diagnostic.severity is Severity.WARNING and id(diagnostic) not in told:
                warnings[diagnostic.code] += 1
                if warnings[diagnostic.code] > self.known[diagnostic.code]:
                    extra.append(diagnostic)
        return sorted([*self.analysis.errors, *extra], key=_depth)

    @property
    def errors(self) -> int:
        return len(self.analysis.errors)

    @cached_property
    def said(self) -> Counter[tuple[str, str]]:
        """The complaints by code and message."""
        return Counter((complaint.code, complaint.message) for complaint in self.complaints)

    @property
    def is_done(self) -> bool:
        return not self.complaints

    @cached_property
    def original(self) -> Original | None:
        """The workflow, where its graph can be changed."""
        if len(self.text) > LARGEST_CHANGED or why_unchangeable(self.analysis) is not None:
            return None
        return Original(self.analysis)


_SCOPES = list(Scope)


def _depth(finding: Diagnostic) -> tuple[bool, int]:
    rule = find_rule(finding.code)
    if finding.code == MISSING_INPUT_OR_OUTPUT.code:
        return not is_refused(finding.code), -1
    return not is_refused(finding.code), len(_SCOPES) if rule is None else _SCOPES.index(rule.scope)


def warnings_of(diagnostics: Iterable[Diagnostic]) -> Counter[str]:
    """How many warnings there are of each code."""
    return Counter(diagnostic.code for diagnostic in diagnostics if diagnostic.severity is Severity.WARNING)


class VariantReader:
    """Reads texts that differ little from one another: each costs what differs from the one before."""

    def __init__(self, text: str, opener: Callable[[str], Analyser]) -> None:
        self._analyser = opener(text)
        self._lines = split_lines(text)
        analysis = self._analyser.analysis()
        self.known = warnings_of(analysis.diagnostics)
        self.first = AnalysedText(text, analysis, self.known)

    def read(self, text: str) -> AnalysedText:
        """The reading of a text."""
        lines = split_lines(text)
        edit = single_edit(self._lines, lines)
        if edit is not None:
            self._analyser.edit(edit)
            self._lines = lines
        return AnalysedText(text, self._analyser.analysis(), self.known)
