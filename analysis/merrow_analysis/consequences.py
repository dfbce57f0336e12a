"""Findings that merely follow from another one: told only where that one is not.

A consequence says which findings explain it (`Diagnostic.because`). Who silences the explanation, or makes little of it, is told
the consequence: no error may be hidden by a finding that nobody sees.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from merrow_analysis.diagnostics import Cause, Diagnostic, Severity, because_of
from merrow_analysis.rules.drawn.syntax_rules import METADATA
from merrow_analysis.rules.registry import Flags, flags_of
from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.tree import Block, Broken

_WORD = re.compile(r"\w+")
MOST_CAUSES = 32
"""Findings by which another one may be explained, at most: the first ones. With thousands of broken lines, each finding would
otherwise name all of them.
"""
_WEIGHT = {Severity.ERROR: 2, Severity.WARNING: 1, Severity.HINT: 0}


def unexplained(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The findings without consequences of others among them that are at least as severe.

    A finding that is a consequence itself stands before its own consequences; any other may stand anywhere.
    """
    if not any(diagnostic.because for diagnostic in diagnostics):
        return list(diagnostics)
    told: dict[Cause, int] = {}
    left_out: set[int] = set()
    numbered = list(enumerate(diagnostics))
    for number, diagnostic in sorted(numbered, key=lambda entry: bool(entry[1].because)):
        weight = _WEIGHT[diagnostic.severity]
        if any(told.get(cause, -1) >= weight for cause in diagnostic.because):
            left_out.add(number)
            continue
        place = Cause(diagnostic.code, diagnostic.range)
        told[place] = max(told.get(place, 0), weight)
    return [
        because_of(diagnostic, ()) if diagnostic.because else diagnostic
        for number, diagnostic in numbered
        if number not in left_out
    ]


def explained_by_syntax(
    diagnostics: list[Diagnostic], about_syntax: Iterable[Diagnostic], diagram: Diagram, notable: Iterable[Block]
) -> list[Diagnostic]:
    """Findings about meaning, those that may merely follow from a statement that can't be read marked as that.

    ``about_syntax`` are what is said of such statements, ``notable`` the blocks with all of them.
    """
    words: dict[str, tuple[Cause, ...]] = {}
    causes: tuple[Cause, ...] = ()
    by_line: dict[int, list[Cause]] = {}
    for problem in about_syntax:
        by_line.setdefault(problem.range.start.line, []).append(Cause(problem.code, problem.range))
    for block in notable:
        last = block.line + max(block.line_count, 1)
        own = tuple(cause for line in range(block.line, last) for cause in by_line.get(line, ()))
        if any(type(statement) is Broken for statement in block.statements) or any(
            cause.code == METADATA.code for cause in own
        ):
            if len(causes) < MOST_CAUSES:
                causes = (causes + own)[:MOST_CAUSES]
            for word in set(_WORD.findall(block.text)):
                known = words.get(word, ())
                if len(known) < MOST_CAUSES:
                    words[word] = (known + own)[:MOST_CAUSES]
    if not words:
        return diagnostics
    return [
        _marked(diagnostic, _syntax_behind(diagnostic, diagram.blocks, words, causes)) for diagnostic in diagnostics
    ]


def _syntax_behind(
    diagnostic: Diagnostic, blocks: Sequence[Block], words: dict[str, tuple[Cause, ...]], causes: tuple[Cause, ...]
) -> tuple[Cause, ...]:
    """The findings about syntax that explain one about meaning."""
    flags = flags_of(diagnostic.code)
    if Flags.NEEDS_WHOLE in flags:
        return causes
    if Flags.NAMES_CAUSE in flags:
        behind = [cause for word in sorted(set(_WORD.findall(diagnostic.message))) for cause in words.get(word, ())]
        if behind:
            return tuple(behind)
    if diagnostic.severity is not Severity.ERROR:
        return ()
    start = diagnostic.range.start
    number = bisect_right(blocks, start.line, key=lambda block: block.line) - 1
    if number < 0 or blocks[number].line != start.line or blocks[number].line_count != 1:
        return ()
    here = _WORD.match(blocks[number].text, start.column)
    return () if here is None else words.get(here[0], ())


def _marked(diagnostic: Diagnostic, causes: tuple[Cause, ...]) -> Diagnostic:
    return because_of(diagnostic, diagnostic.because + causes) if causes else diagnostic
