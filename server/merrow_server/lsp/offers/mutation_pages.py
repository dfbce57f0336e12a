"""Safe mutations page by page: patterns first, then single moves, each when it is its turn to be looked at.

The order of what is looked at depends on the text and the selection alone, so a page can be found again by a number: how much was
looked at before it. Nothing is kept from page to page.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from merrow_analysis.ide.cursor.selection import Selection, selection
from merrow_analysis.text import Range
from merrow_optimizer.mutations import subgraph
from merrow_optimizer.mutations.base import Move
from merrow_optimizer.mutations.calls.moves import rewritings
from merrow_optimizer.mutations.calls.rewriting import Rewriting
from merrow_optimizer.mutations.change import Proposal
from merrow_optimizer.mutations.effects import WORDS, effect, structure
from merrow_optimizer.mutations.moves import OPERATORS, MoveFilter
from merrow_optimizer.mutations.operator_names import SUBGRAPH
from merrow_optimizer.mutations.original import Original, why_unchangeable
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.offers import mutations

_PATTERNS_FIRST = 10
"""Uses of patterns before single moves have their turn; then all go on side by side."""

_FEW_NODES = 60
"""In a larger workflow, where nothing is selected, what has to be read as a whole is looked at seldom (Loops and Maps that are
drawn) or last (moves between files, which are read in two files).
"""

_USES_FOR_A_BOX = 20
"""In a larger workflow, uses of patterns for each Loop or Map that is drawn."""

_One = TypeVar("_One")

_IN_TWO_FILES = "calls, width and types stay"


@dataclass(frozen=True, slots=True)
class MutationOffer:
    """A safe mutation, and what it changes in words."""

    move: Move
    effect: str


@dataclass(frozen=True, slots=True)
class MutationFilter:
    """What is asked for: of a ``place`` or of all, of one ``operator`` or of all; ``words`` that a title or an effect has."""

    place: Range | None = None
    operator: str | None = None
    words: tuple[str, ...] = ()
    creates_files: bool = False


@dataclass(frozen=True, slots=True)
class _Listed:
    """What might be done: first ``patterns`` alone, then these and the ``single`` moves of each operator, then the ``last``."""

    single: Sequence[Iterable[Proposal]]
    patterns: Iterator[Proposal | Rewriting] = field(default_factory=lambda: iter(()))
    last: Iterable[Rewriting] = ()


class MutationListing:
    """The safe mutations of a diagram, looked for one after another."""

    def __init__(self, diagram: OpenDiagram, wanted: MutationFilter) -> None:
        self.diagram, self.wanted = diagram, wanted
        self.most: int | None = None
        """How many there are at most, besides those that files are made for; None where that is not known."""
        self._original: Original | None = None
        if why_unchangeable(diagram.analysis) is None:
            self._original = Original(diagram.analysis)
        self._choice: MoveFilter = mutations.choice_of(diagram)
        self._files = self._choice.files
        self._known = " ".join(self._names())

    def after(self, looked_at: int) -> Iterator[MutationOffer | None]:
        """What comes after so many that were looked at: None for each that isn't safe, or not what is wanted."""
        original = self._original
        if original is None:
            return
        for proposal in islice(self._all(original), looked_at, None):
            yield self._offer(original, proposal)

    def _offer(self, original: Original, proposal: Proposal | Rewriting) -> MutationOffer | None:
        change = proposal if isinstance(proposal, Rewriting) else proposal()
        missing = self._missing(change.title)
        if missing and not all(word in self._known for word in missing):
            return None
        if isinstance(change, Rewriting):
            made = change.make(original, self._files)
            if not isinstance(made, Move) or (made.created and not self.wanted.creates_files):
                return None
            words = f"{structure(made.difference)}; {_IN_TWO_FILES}"
        else:
            move = self._choice.make_if_safe(change)
            if move is None:
                return None
            made, words = move, effect(change)
        missing = [word for word in missing if word not in words.casefold()]
        return None if missing else MutationOffer(made, words)

    def _missing(self, title: str) -> list[str]:
        """The words that a title lacks."""
        text = title.casefold()
        return [word for word in self.wanted.words if word not in text]

    def _names(self) -> Iterator[str]:
        """All that an effect may say, as far as that is known before it is made."""
        yield WORDS
        yield _IN_TWO_FILES
        yield "0123456789"
        if self._original is not None:
            typed = self._original.typed
            yield from (node.id.casefold() for node in typed.nodes)
            prompts = self._original.analysis.settings.prompts
            yield from (name.casefold() for name in (*typed.types.parents, *typed.operators.names(), *prompts))

    def _all(self, original: Original) -> Iterator[Proposal | Rewriting]:
        """Everything that might be done, patterns first."""
        wanted = self.wanted
        names = [name for name in OPERATORS if wanted.operator in (None, name)]
        if wanted.place is None:
            listed = self._everywhere(original, names)
        else:
            listed = self._around(original, names, selection(self.diagram.analysis, wanted.place))
        yield from islice(listed.patterns, _PATTERNS_FIRST)
        yield from _in_turn([*listed.single, listed.patterns])
        yield from listed.last

    def _everywhere(self, original: Original, names: list[str]) -> _Listed:
        """What some operators might do in the whole workflow."""
        single = [_sequence(OPERATORS[name](original)) for name in names if name != SUBGRAPH]
        self.most = sum(map(len, single))
        if SUBGRAPH not in names:
            return _Listed(single)
        groups = subgraph.groups(original, mutations.patterns_for(self.diagram.document))
        self.most += sum(group.most for group in groups)
        between = rewritings(original, self._files)
        if len(original.typed.nodes) <= _FEW_NODES:
            return _Listed(single, _in_turn([*(group.proposals for group in groups), between]))
        uses = _in_turn([group.proposals for group in groups if not group.draws_boxes])
        boxes = _in_turn([group.proposals for group in groups if group.draws_boxes])
        return _Listed(single, _one_after(_USES_FOR_A_BOX, uses, boxes), between)

    def _around(self, original: Original, names: list[str], chosen: Selection) -> _Listed:
        """What some operators might do with the nodes and edges that are selected."""
        if not chosen.nodes and not chosen.edges:
            return _Listed([])
        of_each = {name: mutations.proposals_of(self.diagram, name, original, chosen) for name in names}
        patterns = of_each.pop(SUBGRAPH, None)
        if patterns is None:
            return _Listed(list(of_each.values()))
        return _Listed(list(of_each.values()), _in_turn([patterns, self._between_files(original, chosen)]))

    def _between_files(self, original: Original, chosen: Selection) -> Iterator[Rewriting]:
        if chosen.nodes:
            yield from rewritings(original, self._files, list(chosen.nodes))


def _sequence(proposals: Iterable[Proposal]) -> Sequence[Proposal]:
    return proposals if isinstance(proposals, Sequence) else list(proposals)


def _one_after(count: int, many: Iterator[_One], few: Iterator[_One]) -> Iterator[_One]:
    """One of few after each ``count`` of many, and then what is left of either."""
    for item in few:
        yield from islice(many, count)
        yield item
    yield from many


def _in_turn(lists: Iterable[Iterable[_One]]) -> Iterator[_One]:
    """One of each list, then the next one of each."""
    waiting = deque(map(iter, lists))
    while waiting:
        items = waiting.popleft()
        for item in islice(items, 1):
            yield item
            waiting.append(items)
