"""Repairing a text: fixes applied together where they don't touch, checked again, until none is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from merrow_analysis.diagnostics import Applicability, Diagnostic
from merrow_analysis.edits.together import fixes_together
from merrow_analysis.text import apply_edits

MOST_ROUNDS = 100
"""A bound against fixes that undo one another; real files need two or three rounds."""

Diagnose = Callable[[str], Sequence[Diagnostic]]


@dataclass(slots=True)
class Repaired:
    """A text after its repair, what was found in it before and is still found, and how many findings were repaired."""

    text: str
    before: Sequence[Diagnostic]
    diagnostics: Sequence[Diagnostic]
    applied: Counter[str] = field(default_factory=Counter)


def repair(text: str, diagnose: Diagnose, least: Applicability) -> Repaired:
    """Apply the fixes of at least applicability ``least`` to ``text``; ``diagnose`` finds what is wrong with a text.

    A finding with several such fixes gets its first. Fixes that touch the same text are taken in the order of their
    findings, the later one in the next round, if it is still needed then.
    """
    diagnostics = diagnose(text)
    result = Repaired(text, diagnostics, diagnostics)
    seen = {text}
    for _ in range(MOST_ROUNDS):
        edits, codes = fixes_together(result.diagnostics, least)
        if not edits:
            break
        after = apply_edits(result.text, edits)
        if after in seen:
            break
        seen.add(after)
        result.text = after
        result.applied.update(codes)
        result.diagnostics = diagnose(after)
    return result
