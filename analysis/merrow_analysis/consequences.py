"""Findings that merely follow from another one: told only where that one is not.

A consequence says which findings explain it (`Diagnostic.because`). Who silences the explanation, or makes little of it, is told
the consequence: no error may be hidden by a finding that nobody sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from merrow_analysis.diagnostics import Cause, Diagnostic, Severity
from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.tree import Block, Broken

_WORD = re.compile(r"\w+")
_NEED_THE_WHOLE = frozenset(
    [
        "MW102",
        "MW105",
        "MW114",
        "MW115",
        "MW204",
        "MW212",
        "MW215",
        "MW216",
        "MW217",
        "MW303",
        "MW401",
        "MW402",
        "MW403",
        "MW404",
    ]
)
"""Rules that a statement which can't be read may set off far away, since an edge or a class of the graph is missing."""
_WEIGHT = {Severity.ERROR: 2, Severity.WARNING: 1, Severity.HINT: 0}


def unexplained(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The findings without consequences of others among them that are at least as severe.

    A finding stands before its consequences.
    """
    if not any(diagnostic.because for diagnostic in diagnostics):
        return list(diagnostics)
    told: dict[Cause, int] = {}
    kept: list[Diagnostic] = []
    for diagnostic in diagnostics:
        weight = _WEIGHT[diagnostic.severity]
        if any(told.get(cause, -1) >= weight for cause in diagnostic.because):
            continue
        place = Cause(diagnostic.code, diagnostic.range)
        told[place] = max(told.get(place, 0), weight)
        kept.append(replace(diagnostic, because=()) if diagnostic.because else diagnostic)
    return kept


def explained_by_syntax(
    found: list[Diagnostic], about_syntax: Iterable[Diagnostic], diagram: Diagram, notable: Iterable[Block]
) -> list[Diagnostic]:
    """Findings about meaning, those that may merely follow from a statement that can't be read marked as that.

    ``about_syntax`` are what is said of such statements, ``notable`` the blocks with all of them.
    """
    words: dict[str, tuple[Cause, ...]] = {}
    causes: tuple[Cause, ...] = ()
    about = list(about_syntax)
    for block in notable:
        if any(type(statement) is Broken for statement in block.statements):
            own = _causes(block, about)
            causes += own
            for word in _WORD.findall(block.text):
                words[word] = words.get(word, ()) + own
    if not words:
        return found
    lines = [""] * (diagram.line_count + 1)
    for block in diagram.blocks:
        if block.line_count == 1:
            lines[block.line] = block.text
    return [_marked(diagnostic, _syntax_behind(diagnostic, lines, words, causes)) for diagnostic in found]


def _causes(block: Block, about: Iterable[Diagnostic]) -> tuple[Cause, ...]:
    """What is said of a block."""
    last = block.line + max(block.line_count, 1)
    return tuple(Cause(one.code, one.range) for one in about if block.line <= one.range.start.line < last)


def _syntax_behind(
    diagnostic: Diagnostic, lines: Sequence[str], words: dict[str, tuple[Cause, ...]], causes: tuple[Cause, ...]
) -> tuple[Cause, ...]:
    """The findings about syntax that explain one about meaning."""
    if diagnostic.code in _NEED_THE_WHOLE:
        return causes
    if diagnostic.code in ("MW101", "MW104"):
        behind = [cause for word in set(_WORD.findall(diagnostic.message)) for cause in words.get(word, ())]
        if behind:
            return tuple(behind)
    if diagnostic.severity is not Severity.ERROR:
        return ()
    start = diagnostic.range.start
    here = _WORD.match(lines[start.line], start.column) if start.line < len(lines) else None
    return () if here is None else words.get(here[0], ())


def _marked(diagnostic: Diagnostic, causes: tuple[Cause, ...]) -> Diagnostic:
    return replace(diagnostic, because=diagnostic.because + causes) if causes else diagnostic
