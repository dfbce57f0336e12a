"""Single changes that may be part of a repair."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from merrow_analysis.diagnostics import Applicability, Diagnostic, Fix
from merrow_analysis.edits.change import GraphChange
from merrow_analysis.edits.replacements import edits_both_ways
from merrow_analysis.edits.together import fixes_together
from merrow_analysis.edits.write import write
from merrow_analysis.syntax.meant import read_meant
from merrow_analysis.syntax.tree import Block, Broken
from merrow_analysis.text import Position, Range, TextEdit
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.repair.text_variants import AnalysedText
from merrow_optimizer.repair.weights import LATER_FIX, MADE_UP, NODE_GOES, UNREAD, WORDS, weight_of_change

Edits = tuple[TextEdit, ...]


@dataclass(frozen=True, slots=True)
class RepairStep:
    """A change that may be tried. ``edits`` writes it, giving None where the text can't say it.

    ``least`` is what it weighs at least, besides its size; ``is_exact`` says that it weighs no more. ``doubt`` is what it weighs
    besides, since its author probably meant another one. ``key`` tells steps of one text apart. ``gives_up`` says that it takes
    out of the drawing what somebody wrote, without knowing what it is.
    """

    title: str
    key: tuple[object, ...]
    least: int
    edits: Callable[[], Edits | None]
    is_exact: bool = True
    doubt: int = 0
    gives_up: bool = False


def of_change(original: Original, change: GraphChange, title: str, doubt: int = MADE_UP) -> RepairStep:
    """The step that makes a change of the graph."""

    def edits() -> Edits | None:
        try:
            workflow_text = original.workflow_text
            return edits_both_ways(workflow_text.places, write(workflow_text, change))[1]
        except ValueError:  # also `CannotWriteError`
            return None

    return RepairStep(
        title, (title, *sorted(change.edges)), weight_of_change(change, original.typed), edits, doubt=doubt
    )


def all_fixes(findings: Sequence[Diagnostic]) -> Iterator[RepairStep]:
    """As many fixes of findings at once as don't touch: the safe ones, and all."""
    for least in (Applicability.SAFE, Applicability.UNSAFE):
        edits, codes = fixes_together(findings, least)
        made = tuple(edits)
        if made:
            yield RepairStep(
                f"Apply {len(codes)} fixes", made, WORDS * len(codes), partial(tuple, made), is_exact=False
            )


def of_fixes(finding: Diagnostic) -> Iterator[RepairStep]:
    """The steps that apply the fixes of a finding, which have the likeliest first."""
    for number, fix in enumerate(finding.fixes):
        yield RepairStep(fix.title, fix.edits, WORDS, partial(_edits, fix), is_exact=False, doubt=number * LATER_FIX)


def _edits(fix: Fix) -> Edits:
    return fix.edits


def unread_steps(reading: AnalysedText, finding: Diagnostic) -> Iterator[RepairStep]:
    """A comment in place of the statement that can't be read, where a finding is about one. Where a fix makes something of it,
    all that it seems to draw is lost.
    """
    line = finding.range.start.line
    block = next(
        (
            candidate
            for candidate in reading.analysis.diagram.blocks
            if candidate.line <= line < candidate.line + candidate.line_count
        ),
        None,
    )
    if block is not None and any(type(statement) is Broken for statement in block.statements):
        edits = _commented(block)
        if edits:
            least = UNREAD if finding.fixes.best is None else UNREAD + NODE_GOES * _drawn(block)
            title = f"Turn line {block.line + 1} into a comment"
            yield RepairStep(title, edits, least, lambda: edits, doubt=MADE_UP, gives_up=True)


def _drawn(block: Block) -> int:
    """How many nodes, arrows and boxes the lines of a block seem to draw: at least one."""
    meant = [read_meant(line) for line in block.text.splitlines()]
    return max(
        1, sum(statement.nodes + statement.arrows + statement.boxes for statement in meant if statement is not None)
    )


def _commented(block: Block) -> Edits:
    lines = block.text.splitlines()
    indents = [len(line) - len(line.lstrip(" \t")) for line in lines]
    return tuple(
        TextEdit(Range(Position(block.line + number, indent), Position(block.line + number, indent)), "%% ")
        for number, (line, indent) in enumerate(zip(lines, indents, strict=True))
        if line.strip()
    )
