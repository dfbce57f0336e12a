"""The search for the smallest repair of a text: best first, over steps that take a finding away."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from time import monotonic
from typing import NamedTuple

from merrow_analysis.check import Analyser, Analysis
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.difference import line_edits
from merrow_analysis.graph.measures.kept_effects import acting, why_not_kept
from merrow_analysis.text import OverlappingEditsError, TextEdit, apply_edits
from merrow_optimizer.repair.concerned import concerned, is_about_edges, is_about_graph
from merrow_optimizer.repair.edge_steps import edge_steps
from merrow_optimizer.repair.meaning import meaning_of
from merrow_optimizer.repair.node_steps import node_steps
from merrow_optimizer.repair.steps import RepairStep, all_fixes, of_fixes, unread_steps
from merrow_optimizer.repair.text_variants import AnalysedText, VariantReader
from merrow_optimizer.repair.weights import EDGE_GOES, OPERATOR, WORDS, size_of, weight_of_difference

TIME_LIMIT = 2.0
"""Seconds that a search may take, unless told otherwise."""
READ_EACH_SECOND = 300
"""Texts read for each second of the time limit: far fewer than a second has room for in ordinary files. So the search ends by
count there and not by the clock, and gives the same everywhere.
"""
_READ_MORE = 60
"""Texts read in search of a lighter repair once there is one, and as many more as it took to find that."""
_IN_TURN = 15
"""What keeps the steps of one finding waiting for those of the one before: all have to be repaired, in whatever order."""
MANY = 8
"""With more findings than these, only the first ones get steps of their own, and all fixes at once are a step as well."""
MOST_AT_ONCE = 100
"""Findings whose fixes are applied at once: to make a fix may take time linear in the text."""
_HOPE = 45
"""What repairing one more finding is expected to weigh while there is no repair yet: more than an edge, so that what has made
progress is followed first.
"""


class TakenStep(NamedTuple):
    """A step of a repair: what it does, what it weighs, and the codes of the findings that it took away. ``gives_up`` says that
    a line became a comment for want of anything better.
    """

    title: str
    weight: int
    codes: tuple[str, ...]
    gives_up: bool = False


@dataclass(frozen=True, slots=True)
class Repair:
    """The outcome of a search: the lightest repair found, or what comes nearest to one.

    ``edits`` are of whole lines and make ``text`` of the text that was given; ``weight`` is the sum of ``steps``. ``left`` are
    the errors that ``text`` still has, and its warnings that are new. ``is_smallest`` says that no other repair by these steps
    weighs less of those that begin as this one does: with the first fix of the first error, wherever that leads to a repair and
    nothing drawn goes by it.
    """

    text: str
    edits: tuple[TextEdit, ...]
    weight: int
    steps: tuple[TakenStep, ...]
    left: tuple[Diagnostic, ...]
    is_smallest: bool

    @property
    def is_valid(self) -> bool:
        """Whether no error is left, and no warning is new."""
        return not self.left


def given_up(steps: Sequence[TakenStep]) -> str | None:
    """A sentence about the lines that a repair makes comments; None where it keeps all."""
    count = sum(step.gives_up for step in steps)
    if not count:
        return None
    lines, become = ("One line", "becomes a comment") if count == 1 else (f"{count} lines", "become comments")
    return f"{lines} could not be read and {become}: what you drew there is missing in the diagram until you write it again."


@dataclass(eq=False, slots=True)
class _State:
    """A text on the way to a repair, with how it was made."""

    reading: AnalysedText
    weight: int
    before: _State | None = None
    taken: TakenStep | None = None

    @property
    def rank(self) -> tuple[int, int, int]:
        """How near it is to a repair: the smallest is the nearest."""
        return self.reading.errors, len(self.reading.complaints), self.weight

    def steps(self) -> tuple[TakenStep, ...]:
        taken: list[TakenStep] = []
        state: _State | None = self
        while state is not None and state.taken is not None:
            taken.append(state.taken)
            state = state.before
        return tuple(reversed(taken))


def repair(
    text: str,
    limit: float = TIME_LIMIT,
    opener: Callable[[str], Analyser] = Analyser,
    clock: Callable[[], float] | None = None,
    allows: Callable[[RepairStep], bool] = lambda _: True,
) -> Repair:
    """The lightest repair of ``text`` that is found within ``limit`` seconds after the text was read once.

    ``opener`` opens a text with the files and settings around it; ``allows`` says which steps may be taken. The same text gives
    the same repair unless the time limit ends the search.
    """
    search = RepairSearch(text, limit, opener, clock, allows)
    while search.advance():
        pass
    return search.found


class RepairSearch:
    """A search that goes on step by step, for callers that have other things to do in between: the text must stay the same."""

    def __init__(
        self,
        text: str,
        limit: float = TIME_LIMIT,
        opener: Callable[[str], Analyser] = Analyser,
        clock: Callable[[], float] | None = None,
        allows: Callable[[RepairStep], bool] = lambda _: True,
    ) -> None:
        self._allows = allows
        self._reader = VariantReader(text, opener)
        self._clock = clock or monotonic
        begun = self._clock()
        self._half_time, self._deadline = begun + limit / 2, begun + limit
        self._read, self._most_read = 0, round(limit * READ_EACH_SECOND)
        self._slowest = 0.0
        self._number = count()
        self._queue: list[tuple[int, int, _State, RepairStep | Callable[[], None], int]] = []
        self._texts: dict[str, int] = {text: 0}
        self._meanings: dict[object, int] = {}
        self._best = _State(self._reader.first, 0)
        self._is_exhausted = self._left_out = False
        self._begins_with_the_first_fix, self._is_committed = True, False
        if not self._best.reading.is_done:
            self._queue_up(self._best, 0, WORDS, partial(self._expand, self._best))

    @property
    def before(self) -> Analysis:
        """The analysis of the text that is repaired."""
        return self._reader.first.analysis

    @property
    def after(self) -> Analysis:
        """The analysis of the best text so far."""
        return self._best.reading.analysis

    @property
    def found(self) -> Repair:
        """The best repair so far."""
        best = self._best
        return Repair(
            best.reading.text,
            tuple(line_edits(self._reader.first.text, best.reading.text)),
            best.weight,
            best.steps(),
            tuple(best.reading.complaints),
            self._is_exhausted and not self._left_out,
        )

    def advance(self) -> bool:
        """Try one step; whether there may be more to find."""
        if self._is_committed and not self._best.reading.is_done and self._gets_nowhere:
            self._is_committed = self._begins_with_the_first_fix = False
            first = _State(self._reader.first, 0)
            self._queue_up(first, 0, WORDS, partial(self._expand, first))
        if not self._queue:
            self._is_exhausted = True
            return False
        if self._read >= self._most_read or self._clock() + self._slowest > self._deadline:
            return False
        begun = self._clock()
        _, _, state, what, least = heapq.heappop(self._queue)
        # To make up steps takes the most time; none of them is lighter than this.
        if state.weight + least >= self._bound:
            pass
        elif isinstance(what, RepairStep):
            self._try(state, what)
        else:
            what()
        self._slowest = max(self._slowest, self._clock() - begun)
        return True

    @property
    def _bound(self) -> float:
        """What a repair must weigh less than to be of use."""
        return self._best.weight if self._best.reading.is_done else float("inf")

    def _after_first_fix(self, state: _State) -> _State | None:
        """The text after the first fix of the first error that a person reads, so that the message, the menu and the repair
        propose the same. None where what was drawn goes by it, or where there are so many that they are repaired at once.
        """
        if len(state.reading.complaints) > MANY:
            return None
        first = next((step for finding in state.reading.analysis.errors[:1] for step in of_fixes(finding)), None)
        made = None if first is None or not self._allows(first) else self._made(state, first)
        if made is not None and made.weight >= EDGE_GOES:
            del self._texts[made.reading.text]
            return None
        return made

    @property
    def _gets_nowhere(self) -> bool:
        """Whether what begins with the first fix has had its share of the search, and is no repair."""
        return not self._queue or self._read >= self._most_read // 2 or self._clock() > self._half_time

    def _expand(self, state: _State) -> None:
        """Queue the steps from a state; those that change nodes are made up when nothing lighter is left."""
        if state.before is None and self._begins_with_the_first_fix:
            made = self._after_first_fix(state)
            if made is not None:
                self._is_committed = True
                self._reached(made)
                return
        reading = state.reading
        findings = reading.complaints[:MANY]
        self._left_out |= len(reading.complaints) > MANY
        seen: set[tuple[object, ...]] = set()
        if len(reading.complaints) > MANY:
            # Heavy as they are together, nothing brings a file with many findings further.
            for step in all_fixes(reading.complaints[:MOST_AT_ONCE]):
                self._queue_up(state, 0, step.least, step, at_once=True)
        original = reading.original
        for turn, finding in enumerate(findings):
            self._push(state, turn, of_fixes(finding), seen)
            self._push(state, turn, unread_steps(reading, finding), seen)
            if original is not None and is_about_graph(finding):
                about = concerned(original.typed, finding)
                if is_about_edges(finding):
                    self._push(state, turn, edge_steps(original, about), seen)
                later = partial(self._push, state, turn, node_steps(original, about), seen)
                self._queue_up(state, turn, OPERATOR, later)

    def _push(self, state: _State, turn: int, steps: Iterator[RepairStep], seen: set[tuple[object, ...]]) -> None:
        for step in filter(self._allows, steps):
            if step.key not in seen and state.weight + step.least + step.doubt < self._bound:
                seen.add(step.key)
                self._queue_up(state, turn, step.least + step.doubt, step)

    def _queue_up(
        self, state: _State, turn: int, least: int, what: RepairStep | Callable[[], None], *, at_once: bool = False
    ) -> None:
        """Queue a step, or what makes up more of them, which weigh at least so much; ``turn`` is the number of the finding that
        it is for. What is tried ``at_once`` comes before all that is not lighter by itself.
        """
        hope = _HOPE * len(state.reading.complaints) + _IN_TURN * turn
        priority = state.weight + (0 if at_once else least) + hope
        heapq.heappush(self._queue, (priority, next(self._number), state, what, least))

    def _try(self, state: _State, step: RepairStep) -> None:
        """Make a step, and queue what follows from it where it takes a finding away."""
        made = self._made(state, step)
        if made is not None:
            self._reached(made)

    def _made(self, state: _State, step: RepairStep) -> _State | None:
        """The state after a step; None where it can't be made, or brings a repair no nearer."""
        edits = step.edits()
        if not edits:
            return None
        before = state.reading
        try:
            text = apply_edits(before.text, edits)
        except OverlappingEditsError:
            return None
        weight = state.weight + step.least + step.doubt + size_of(before.text, edits)
        if self._texts.get(text, weight + 1) <= weight or weight >= self._bound:
            return None
        self._read += 1
        reading = self._reader.read(text)
        if self._moves_effects(reading):
            return None
        if not step.is_exact:
            weight += weight_of_difference(before.analysis, reading.analysis, edits) - step.least
        self._texts[text] = min(weight, self._texts.get(text, weight))
        gone = before.said - reading.said
        if not (gone or reading.errors < before.errors) or weight >= self._bound:
            return None
        taken = TakenStep(step.title, weight - state.weight, tuple(sorted({code for code, _ in gone})), step.gives_up)
        return _State(reading, weight, state, taken)

    def _moves_effects(self, reading: AnalysedText) -> bool:
        """Whether people would be asked otherwise than the text that is repaired says, as far as it can be understood."""
        before, after = self._reader.first.analysis.typed, reading.analysis.typed
        if before is None:
            return False
        return bool(acting(before)) if after is None else why_not_kept(before, after, repaired=True) is not None

    def _reached(self, state: _State) -> None:
        reading = state.reading
        sense = meaning_of(reading.analysis), frozenset(reading.said.items())
        if self._meanings.get(sense, state.weight + 1) <= state.weight:
            return
        self._meanings[sense] = state.weight
        if state.rank < self._best.rank:
            if reading.is_done and not self._best.reading.is_done:
                self._most_read = min(self._most_read, 2 * self._read + _READ_MORE)
            self._best = state
        if not reading.is_done:
            self._queue_up(state, 0, WORDS, partial(self._expand, state))
