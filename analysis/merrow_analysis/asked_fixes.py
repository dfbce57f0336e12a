"""Fixes of findings, made when somebody asks for them: their rules are then checked once more, and find the same.

An analysis forgets the objects that its rules asked the graph for, and keeps findings from one version of the text to the next.
So no fix is made of what the rules saw when a finding was first made.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from merrow_analysis.diagnostics import LATER, NO_FIXES, Diagnostic, Fix, Fixes, with_fixes
from merrow_analysis.rules.context import TextContext, found_by
from merrow_analysis.rules.registry import RuleFamily, Scope, all_rules, find_rule
from merrow_analysis.text import Range

_Key = tuple[str, Range, str]


class AskedFixes:
    """The fixes of all findings about one version of a text."""

    def __init__(self, text: TextContext) -> None:
        self._proved, self._titles = _Again(text), _Again(text, titles=True)

    def given(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Findings of `merrow_analysis.diagnostics.without_fixes` with their fixes."""
        seen: Counter[_Key] = Counter()
        given: list[Diagnostic] = []
        for diagnostic in diagnostics:
            if diagnostic.fixes is LATER:
                key = _key(diagnostic)
                number = seen[key]
                titles = Fixes(self._titles.fixes(key, number), guarded=True)
                given.append(with_fixes(diagnostic, Fixes(self._proved.fixes(key, number), titles, guarded=True)))
                seen[key] += 1
            else:
                given.append(diagnostic)
        return given


class _Again:
    """The fixes of findings, or their titles, of objects that stay. A rule is checked again with its family, for the first fix
    of any of them that somebody asks for; where another family reported it, as a check may, with all others.
    """

    def __init__(self, text: TextContext, *, titles: bool = False) -> None:
        self._text, self._titles = text, titles
        self._own: TextContext | None = None
        self._found: dict[object, dict[_Key, list[Fixes]]] = {}

    def fixes(self, key: _Key, number: int) -> Iterator[Fix]:
        """The fixes of one of the findings that say the same at one place."""
        rule = find_rule(key[0])
        if rule is None:
            return
        known: Sequence[Fixes] = self._by(rule.family).get(key) or self._anywhere(key)
        if number < len(known):
            yield from known[number]

    def _anywhere(self, key: _Key) -> Sequence[Fixes]:
        families = dict.fromkeys(rule.family for rule in all_rules())
        return next((known for family in families if (known := self._by(family).get(key))), ())

    def _by(self, family: RuleFamily[Any]) -> dict[_Key, list[Fixes]]:
        """The fixes of what the check of a family finds."""
        made = self._found.get(family)
        if made is None:
            made = self._found[family] = defaultdict(list)
            asked = self._context if family.scope is Scope.TEXT else self._context.workflow
            if family.check is not None and asked is not None:
                for diagnostic in found_by((family.check,), asked, guarded=True):
                    if diagnostic.fixes is not NO_FIXES:
                        made[_key(diagnostic)].append(diagnostic.fixes)
        return made

    @property
    def _context(self) -> TextContext:
        """What the rules are asked about; all of them have the same, so that what fixes are made of is made once."""
        if self._own is None:
            workflow = self._text.workflow
            if workflow is not None:
                workflow = replace(
                    workflow, fixing=None, at_nodes=None, titles=self._titles, _rims=None, _misplaced=None
                )
            self._own = replace(self._text, workflow=workflow)
        return self._own


def _key(diagnostic: Diagnostic) -> _Key:
    return diagnostic.code, diagnostic.range, diagnostic.message
