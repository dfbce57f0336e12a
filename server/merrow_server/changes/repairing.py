"""A target repaired by search: its one diagram, or each of the diagrams in a Markdown file."""

from __future__ import annotations

from dataclasses import dataclass

from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.text import TextEdit, apply_edits
from merrow_optimizer.repair.search import Repair, TakenStep, repair
from merrow_server.checking import Checker, diagrams, in_file
from merrow_server.files import Target


@dataclass(frozen=True, slots=True)
class RepairedFile:
    """The repair of a file. ``edits`` make ``text`` of its text; ``left`` are findings of ``text``, with their places in it.

    ``is_smallest`` says that the search found nothing lighter for any diagram; ``diagrams`` is how many there are.
    """

    text: str
    edits: tuple[TextEdit, ...]
    weight: int
    steps: tuple[TakenStep, ...]
    left: tuple[Diagnostic, ...]
    is_smallest: bool
    diagrams: int

    @property
    def is_valid(self) -> bool:
        return not self.left


def repair_file(checker: Checker, target: Target, text: str, limit: float) -> RepairedFile:
    """The smallest repair found of each diagram in a file, within ``limit`` seconds each."""
    opener = checker.opener(target)
    if not target.is_markdown:
        done = repair(text, limit, opener)
        return RepairedFile(done.text, done.edits, done.weight, done.steps, done.left, done.is_smallest, 1)
    fences = diagrams(target, text)
    repairs: list[Repair] = [repair(fence.text, limit, opener) for fence in fences]
    edits = [edit for fence, done in zip(fences, repairs, strict=True) for edit in fence.edits_to_host(done.edits)]
    after = apply_edits(text, edits)
    found_again = diagrams(target, after)
    return RepairedFile(
        after,
        tuple(edits),
        sum(done.weight for done in repairs),
        tuple(step for done in repairs for step in done.steps),
        tuple(in_file(left, fence) for fence, done in zip(found_again, repairs, strict=False) for left in done.left),
        all(done.is_smallest for done in repairs),
        len(fences),
    )
