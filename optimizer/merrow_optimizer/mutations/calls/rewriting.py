"""A move that is made of the text: what it writes, and what it is compared with before it is offered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from merrow_analysis.check import Analysis
from merrow_analysis.diagnostics import Severity
from merrow_analysis.difference import line_edits
from merrow_analysis.edits.replacements import CannotWriteError
from merrow_analysis.graph.measures.kept_effects import why_not_kept
from merrow_analysis.text import Range
from merrow_optimizer.mutations.base import Move, MoveRefusal, NewFile, move_id, workflow_difference
from merrow_optimizer.mutations.calls.file_set import Files
from merrow_optimizer.mutations.operator_names import SUBGRAPH
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.preconditions import EFFECTS

FILES = "files"
"""The precondition that a move between files must hold: both do together what was done before."""


@dataclass(frozen=True, slots=True)
class RewrittenWorkflow:
    """The text of a workflow after a move, the files that it creates, and whether a mutant with these files means what it should.

    ``bodies`` are the workflows in the created files, ``taken`` those of which the text has parts now.
    """

    text: str
    means_the_same: Callable[[Analysis], bool]
    created: tuple[NewFile, ...] = ()
    bodies: tuple[Analysis, ...] = ()
    taken: tuple[Analysis, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A move between files, not made yet. ``write`` raises `CannotWriteError` where the texts can't say it."""

    title: str
    target: Range
    content: tuple[object, ...]
    write: Callable[[], RewrittenWorkflow]

    @property
    def id(self) -> str:
        """The id of the move."""
        return move_id(SUBGRAPH, *self.content)

    def make(self, original: Original, files: Files) -> Move | MoveRefusal:
        """The move, or why it isn't offered."""
        try:
            made = self.write()
        except CannotWriteError as problem:
            return MoveRefusal("writing", str(problem), self.title)
        new = {file.path: file.text for file in made.created}
        before = "".join(block.text for block in original.analysis.diagram.blocks)
        edits = tuple(line_edits(before, made.text))
        after = files.open_after(original.analysis, edits, made.text, new).analysis()
        reason = _what_is_wrong((original.analysis, *made.taken), after, made.bodies)
        if reason is None and not made.means_the_same(after):
            reason = "It would not do the same in the other file."
        if reason is None and after.typed is not None:
            kept = why_not_kept(original.typed, after.typed)
            if kept is not None:
                return MoveRefusal(EFFECTS.name, kept, self.title)
        if reason is not None:
            return MoveRefusal(FILES, reason, self.title)
        return Move(
            self.id,
            SUBGRAPH,
            self.title,
            self.target,
            edits,
            workflow_difference(original.analysis, after),
            tuple(line_edits(made.text, before)),
            made.created,
        )


def _what_is_wrong(before: Sequence[Analysis], after: Analysis, new: Sequence[Analysis]) -> str | None:
    """The first error or warning that is not there before, as a sentence."""
    if after.typed is None or any(other.typed is None for other in new):
        return "It would be no workflow any more."
    known = Counter(
        problem.code for old in before for problem in old.diagnostics if problem.severity is not Severity.HINT
    )
    for analysis in (after, *new):
        for finding in analysis.diagnostics:
            if finding.severity is Severity.HINT:
                continue
            if not known[finding.code]:
                return f"This would be wrong ({finding.code}): {finding.message}"
            known[finding.code] -= 1
    return None
