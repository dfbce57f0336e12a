"""Remedies for one finding, found by search: what an editor offers where the rule itself has none that is enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from time import monotonic

from merrow_analysis.check import Analyser
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.rules.registry import Flags, flags_of
from merrow_analysis.text import OverlappingEditsError, TextEdit, apply_edits
from merrow_optimizer.repair.concerned import concerned, is_about_edges, is_about_graph
from merrow_optimizer.repair.edge_steps import edge_steps
from merrow_optimizer.repair.meaning import meaning_of
from merrow_optimizer.repair.node_steps import node_steps
from merrow_optimizer.repair.steps import RepairStep, of_fixes, unread_steps
from merrow_optimizer.repair.text_variants import AnalysedText, VariantReader

TIME_LIMIT = 0.15
"""Seconds that a menu waits for remedies."""
MOST_OFFERED = 3
LARGEST_SEARCHED = 100_000
"""The longest text, in characters, that remedies are searched for: some 2,000 nodes. To read a longer one takes too long."""
_MOST_READ = 80
"""Texts read in search of remedies: an ordinary file has them all in half of the time limit."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """Edits after which a finding is gone and no error or warning has come."""

    title: str
    edits: tuple[TextEdit, ...]


def remedies(
    text: str,
    finding: Diagnostic,
    limit: float = TIME_LIMIT,
    opener: Callable[[str], Analyser] = Analyser,
    clock: Callable[[], float] | None = None,
) -> list[Remedy]:
    """Up to `MOST_OFFERED` remedies for a finding of ``text``, the lightest first; none where a fix of its rule is one, or
    where ``limit`` seconds are too short.
    """
    if len(text) > LARGEST_SEARCHED:
        return []
    clock = clock or monotonic
    deadline = clock() + limit
    reader = VariantReader(text, opener)
    before = reader.first
    offered: list[Remedy] = []
    senses: set[str] = set()
    slowest = 0.0

    def steps() -> Iterator[tuple[bool, RepairStep]]:
        yield from ((True, step) for step in of_fixes(finding))
        # To make up steps takes long in a large workflow, and mostly a fix is remedy enough.
        made = list(takewhile(lambda _: clock() < deadline, _steps(before, finding)))
        yield from ((False, step) for step in sorted(made, key=lambda step: step.least + step.doubt))

    for number, (is_fix, step) in enumerate(steps()):
        begun = clock()
        if begun + slowest > deadline or number == _MOST_READ:
            return []
        after = _after(reader, step)
        slowest = max(slowest, clock() - begun)
        if after is None or not _is_remedy(before, after, finding):
            continue
        if is_fix:
            return []
        sense = meaning_of(after.analysis)
        if sense not in senses:
            senses.add(sense)
            offered.append(Remedy(step.title, step.edits() or ()))
            if len(offered) == MOST_OFFERED:
                break
    return offered


def _steps(reading: AnalysedText, finding: Diagnostic) -> Iterator[RepairStep]:
    yield from unread_steps(reading, finding)
    original = reading.original
    if original is not None and is_about_graph(finding):
        about = concerned(original.typed, finding)
        if is_about_edges(finding):
            yield from edge_steps(original, about)
        yield from node_steps(original, about)


def _after(reader: VariantReader, step: RepairStep) -> AnalysedText | None:
    edits = step.edits()
    if not edits:
        return None
    try:
        return reader.read(apply_edits(reader.first.text, edits))
    except OverlappingEditsError:
        return None


def _is_remedy(before: AnalysedText, after: AnalysedText, finding: Diagnostic) -> bool:
    old, new = _codes(before), _codes(after)
    if new[finding.code] >= old[finding.code]:
        return False
    return all(finding.severity is Severity.ERROR and Flags.LEFT_BY_FIXES in flags_of(code) for code in new - old)


def _codes(reading: AnalysedText) -> Counter[str]:
    """How many errors and warnings there are of each code."""
    others = (
        diagnostic.code for diagnostic in reading.analysis.diagnostics if diagnostic.severity is not Severity.HINT
    )
    return Counter(others)
