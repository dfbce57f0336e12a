"""All safe moves of a workflow: enumerated, found by id, drawn at random."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from random import Random
from typing import TypeVar

from merrow_analysis.check import Analysis
from merrow_analysis.diagnostics import Severity
from merrow_analysis.edits.replacements import CannotWriteError, edits_both_ways
from merrow_analysis.edits.write import write
from merrow_optimizer.mutations import addition, deletion, rewiring, subgraph, substitution
from merrow_optimizer.mutations.base import Move, MoveRefusal, move_id
from merrow_optimizer.mutations.boxes import is_torn
from merrow_optimizer.mutations.calls.file_set import Files
from merrow_optimizer.mutations.calls.moves import rewritings
from merrow_optimizer.mutations.change import Mutation, Proposal
from merrow_optimizer.mutations.operator_names import ADDITION, DELETION, MAX_NODES, REWIRING, SUBGRAPH, SUBSTITUTION
from merrow_optimizer.mutations.original import Original, why_unchangeable
from merrow_optimizer.mutations.preconditions import ALL, BOXES, Precondition, failing

_T = TypeVar("_T")
Proposals = Callable[[Original], Iterable[Proposal]]
"""How an operator lists its possible changes. Random draws from the sequence don't create all of it."""

OPERATORS: Mapping[str, Proposals] = {
    SUBSTITUTION: substitution.proposals,
    ADDITION: addition.proposals,
    REWIRING: rewiring.proposals,
    DELETION: deletion.proposals,
    SUBGRAPH: subgraph.proposals,
}
"""The operators by name, in the order in which their moves are enumerated."""

_WRITING = "writing"
_GROWTH = "growth"


NOWHERE = Files()
"""No file: there are no files beside it."""


def make(change: Mutation, preconditions: Collection[Precondition] = ALL, files: Files = NOWHERE) -> Move | MoveRefusal:
    """The move that makes a change, or the precondition that fails for it."""
    refused = failing(change, preconditions)
    return refused if refused is not None else written(change, files)


def written(change: Mutation, files: Files = NOWHERE) -> Move | MoveRefusal:
    """The move that makes a change, whether it is safe or not; refused if the text can't express it."""
    original = change.original
    try:
        workflow_text = original.workflow_text
        mutant, edits, reverse = edits_both_ways(workflow_text.places, write(workflow_text, change))
    except CannotWriteError as problem:
        return MoveRefusal(_WRITING, str(problem), change.title)
    except ValueError:
        return MoveRefusal(_WRITING, "The places to edit lie inside each other.", change.title)
    if not edits:
        return MoveRefusal(_WRITING, "The text says so already.", change.title)
    if bool(change.wrapped) or original.needs_reading:
        trial = files.open_after(original.analysis, edits, mutant)
        after = trial.analysis()
        original.newest = mutant, trial
        if (original.typed.composites or change.wrapped) and is_torn(change, after):
            return MoveRefusal(
                BOXES.name, "A Loop or Map would hold other nodes, or other edges would cross it.", change.title
            )
        if _unsettled(original, after):
            return MoveRefusal(
                _WRITING, "What the file says of its own findings, or can't be read, would not stand.", change.title
            )
    return Move(identity(change), change.operator, change.title, change.target, edits, change.difference, reverse)


def identity(change: Mutation) -> str:
    """The id of the move that makes a change."""
    return move_id(change.operator, *change.content)


def _unsettled(original: Original, mutant: Analysis) -> bool:
    """Whether a mutant has an error or a warning that the workflow doesn't have."""
    return bool(_said(mutant) - _said(original.analysis))


def _said(analysis: Analysis) -> Counter[tuple[str, str]]:
    """Errors and warnings by code and message."""
    diagnostics = analysis.diagnostics
    return Counter(
        (diagnostic.code, diagnostic.message) for diagnostic in diagnostics if diagnostic.severity is not Severity.HINT
    )


@lru_cache(maxsize=64)
def _listings(proposals: Proposals) -> Callable[[Original], Sequence[Proposal]]:
    def listing(original: Original) -> Sequence[Proposal]:
        listed = proposals(original)
        return listed if isinstance(listed, Sequence) else list(listed)

    return listing


@dataclass(frozen=True, slots=True)
class MoveFilter:
    """Which moves to look for: ``operators`` by name, ``preconditions`` that must hold, and how far to grow.

    ``files`` opens a mutant in the same way as the workflow itself if it has to be analysed, and has the files that it may
    call.
    """

    operators: Mapping[str, Proposals]
    preconditions: Collection[Precondition] = ALL
    max_nodes: int = MAX_NODES
    files: Files = NOWHERE

    def listed(self, operator: str) -> Callable[[Original], Sequence[Proposal]]:
        """How to get an operator's proposals, the same each time, as a sequence to draw from."""
        return _listings(self.operators[operator])

    def make(self, change: Mutation) -> Move | MoveRefusal:
        if self._outgrows(change):
            reason = f"The workflow would have {_grown(change)} nodes; it may grow to {self.max_nodes}."
            return MoveRefusal(_GROWTH, reason, change.title)
        return make(change, self.preconditions, self.files)

    def _outgrows(self, change: Mutation) -> bool:
        return len(change.added) > len(change.removed) and _grown(change) > self.max_nodes

    def make_if_safe(self, change: Mutation) -> Move | None:
        """The move that makes a change; None if it is not safe, without finding out why."""
        if self._outgrows(change):
            return None
        if self.preconditions is ALL:
            if change.wrapped and not change.original.needs_reading:
                return self._make_as_read(change)
            if change.is_hopeless:
                return None
        move = self.make(change)
        return move if isinstance(move, Move) else None

    def _make_as_read(self, change: Mutation) -> Move | None:
        """The move that makes a change whose mutant is analysed anyway, so the rules need not look at the inferred graph.

        They find the same in both if no comment suppresses a rule and all statements can be read.
        """
        if change.doubts:
            return None
        move = written(change, self.files)
        if isinstance(move, MoveRefusal):
            return None
        change.found_sound()
        return move if failing(change) is None else None


def _grown(change: Mutation) -> int:
    """The number of nodes after the change."""
    return len(change.original.flow.nodes) + len(change.added) - len(change.removed)


DEFAULT = MoveFilter(OPERATORS)


def changes(original: Original, choice: MoveFilter = DEFAULT) -> Iterator[Mutation]:
    """Everything that the operators propose, safe or not, in an order that depends only on the text."""
    for proposals in choice.operators.values():
        for proposal in proposals(original):
            yield proposal()


Failed = Callable[[Exception], None]
"""What to do about a fault of Merrow in one mutation, after which the others follow; it may raise it again."""


def moves(analysis: Analysis, choice: MoveFilter = DEFAULT, failed: Failed | None = None) -> Iterator[Move]:
    """All safe moves of a workflow, lazily, in an order that depends only on the text; none if it is not a workflow. Without
    ``failed`` a fault in one of them is raised.
    """
    if why_unchangeable(analysis) is not None:
        return
    original = Original(analysis)
    for making in _makings(original, choice, failed):
        try:
            made = making()
        except Exception as problem:
            if failed is None:
                raise
            failed(problem)
            continue
        if isinstance(made, Move):
            yield made


def _makings(
    original: Original, choice: MoveFilter, failed: Failed | None
) -> Iterator[Callable[[], Move | MoveRefusal | None]]:
    """How to make each mutation that the operators propose."""
    for proposals in choice.operators.values():
        for proposal in _all_of(partial(proposals, original), failed):
            yield lambda proposal=proposal: choice.make_if_safe(proposal())  # type: ignore[misc]
    if SUBGRAPH in choice.operators:
        for rewriting in _all_of(partial(rewritings, original, choice.files), failed):
            yield partial(rewriting.make, original, choice.files)


def _all_of(several: Callable[[], Iterable[_T]], failed: Failed | None) -> Iterator[_T]:
    try:
        yield from several()
    except Exception as problem:
        if failed is None:
            raise
        failed(problem)


def find(analysis: Analysis, identifier: str, choice: MoveFilter = DEFAULT) -> Move | MoveRefusal | None:
    """The move with an id; if it is not safe, the precondition that failed; None if there is none with that id."""
    if why_unchangeable(analysis) is not None:
        return None
    original = Original(analysis)
    for rewriting in rewritings(original, choice.files) if SUBGRAPH in choice.operators else ():
        if rewriting.id == identifier:
            return rewriting.make(original, choice.files)
    for change in changes(original, choice):
        if identity(change) == identifier:
            return choice.make(change)
    return None


def draw(analysis: Analysis, random: Random, choice: MoveFilter = DEFAULT) -> Move | None:
    """A random safe move: first the operator, then one of its moves, both chosen uniformly; None if there is none."""
    return None if why_unchangeable(analysis) is not None else draw_from(Original(analysis), random, choice)


def draw_from(original: Original, random: Random, choice: MoveFilter = DEFAULT) -> Move | None:
    """The same for a workflow that is used more than once, which is faster from the second time on.

    Proposals are tried in random order until one is safe, which draws uniformly from the safe ones without listing them. Unsafe
    ones are not tried again.
    """
    names = list(choice.operators)
    while names:
        name = names.pop(random.randrange(len(names)))
        unsafe = original.unsafe.setdefault(
            (choice.operators[name], choice.preconditions is ALL, choice.max_nodes), set()
        )
        proposals = original.remembered(choice.listed(name))
        if name == ADDITION and len(original.flow.nodes) >= choice.max_nodes:
            unsafe.update(range(len(proposals)))  # Each of them adds a node.
        move = _draw_one(proposals, random, choice, unsafe)
        if move is not None:
            return move
    return None


def _draw_one(proposals: Sequence[Proposal], random: Random, choice: MoveFilter, unsafe: set[int]) -> Move | None:
    for number in _shuffled(len(proposals), random):
        if number not in unsafe:
            move = choice.make_if_safe(proposals[number]())
            if move is not None:
                return move
            unsafe.add(number)
    return None


def _shuffled(count: int, random: Random) -> Iterator[int]:
    """The numbers below ``count`` in random order, each drawn when it is asked for."""
    moved: dict[int, int] = {}
    for last in range(count - 1, -1, -1):
        number = random.randrange(last + 1)
        yield moved.get(number, number)
        moved[number] = moved.get(last, last)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A move and the text that it made."""

    move: Move
    text: str


def random_mutants(text: str, count: int, seed: int, choice: MoveFilter = DEFAULT) -> Iterator[Mutant]:
    """``count`` random mutants, each made from the one before; fewer if no safe move is left.

    The same text, seed and choice give the same mutants everywhere.
    """
    random = Random(seed)  # noqa: S311 - no secret, and the same everywhere
    lineage = Lineage(text, choice)
    for _ in range(count):
        mutant = lineage.grow(random)
        if mutant is None:
            return
        yield mutant


class Lineage:
    """A workflow that is mutated repeatedly; what consecutive mutants share is kept."""

    def __init__(self, text: str, choice: MoveFilter = DEFAULT) -> None:
        self.text = text
        self._analyser = choice.files.open(text)
        self.choice = replace(choice, files=replace(choice.files, reading=self._analyser))
        self._original: Original | None = None

    @property
    def analysis(self) -> Analysis:
        """The analysis of the text as it is now."""
        return self._analyser.analysis() if self._original is None else self._original.analysis

    def grow(self, random: Random) -> Mutant | None:
        """Make a random safe move; None, and no change, if there is none."""
        if self._original is None:
            analysis = self._analyser.analysis()
            if why_unchangeable(analysis) is not None:
                return None
            self._original = Original(analysis)
        was_clean = not self._original.troubles
        move = draw_from(self._original, random, self.choice)
        if move is None:
            return None
        self.text = move.apply(self.text)
        for edit in reversed(move.edits):
            self._analyser.edit(edit)
        # A valid workflow stays valid after a safe move.
        known = Counter[tuple[str, str]]() if was_clean and self.choice.preconditions is ALL else None
        self._original = Original(self._analyser.analysis(), known)
        return Mutant(move, self.text)
