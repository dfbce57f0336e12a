"""Fixes of findings, made when somebody asks for them: the rules are then checked once more, and find the same.

An analysis forgets the objects that its rules asked the graph for, and keeps findings from one version of the text to the next.
So no fix is made of what the rules saw when a finding was first made.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from merrow_analysis.diagnostics import LATER, NO_FIXES, Diagnostic, Fix, Fixes, with_fixes
from merrow_analysis.rules.context import GRAPH_SCOPES, TextContext, check_graph, check_text
from merrow_analysis.text import Range

_Key = tuple[str, Range, str]


class AskedFixes:
    """The fixes of all findings about one version of a text."""

    def __init__(self, text: TextContext) -> None:
        self._text = text
        self._made: dict[_Key, list[Fixes]] | None = None

    def given(self, found: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Findings of `merrow_analysis.diagnostics.without_fixes` with their fixes."""
        seen: Counter[_Key] = Counter()
        given: list[Diagnostic] = []
        for one in found:
            if one.fixes is LATER:
                key = _key(one)
                given.append(with_fixes(one, Fixes(self._fixes(key, seen[key]), guarded=True)))
                seen[key] += 1
            else:
                given.append(one)
        return given

    def _fixes(self, key: _Key, number: int) -> Iterator[Fix]:
        """The fixes of one of the findings that say the same at one place."""
        if self._made is None:
            self._made = _again(self._text)
        known: Sequence[Fixes] = self._made.get(key, ())
        if number < len(known):
            yield from known[number]


def _again(text: TextContext) -> dict[_Key, list[Fixes]]:
    """The fixes of all findings, of objects that stay."""
    workflow = text.workflow
    if workflow is not None:
        workflow = replace(workflow, fixing=None, at_nodes=None, _rims=None, _misplaced=None)
        text = replace(text, workflow=workflow)
    found = check_text(text, reading=True, guarded=True)
    if text.diagram.is_flowchart:
        found += check_text(text, reading=False, guarded=True)
    if workflow is not None:
        found += [one for scope in GRAPH_SCOPES for one in check_graph(workflow, scope, guarded=True)]
    made: dict[_Key, list[Fixes]] = defaultdict(list)
    for one in found:
        if one.fixes is not NO_FIXES:
            made[_key(one)].append(one.fixes)
    return made


def _key(diagnostic: Diagnostic) -> _Key:
    return diagnostic.code, diagnostic.range, diagnostic.message
