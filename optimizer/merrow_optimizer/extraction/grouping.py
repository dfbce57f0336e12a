"""Stage 2, the program's part: which steps are one operator. Signatures decide, never words; a kind that is only known to be a
text is worked out from where its value goes, as far as that has one answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from merrow_analysis.definitions.types import TEXT, Type
from merrow_optimizer.extraction.kinds import INPUTS, OperatorSignature, signature, unifies
from merrow_optimizer.extraction.steps import CaseStep, Steps, kinds_of


@dataclass(frozen=True, order=True, slots=True)
class StepReference:
    """A step: the id of its case, and its number in it, from 0."""

    case: str
    step: int


@dataclass(frozen=True, slots=True)
class StepGroup:
    """Steps that are one operator; ``many`` are the kinds of which some of them read several values."""

    signature: OperatorSignature
    members: tuple[StepReference, ...]
    many: frozenset[Type] = frozenset()


@dataclass(frozen=True, slots=True)
class Open:
    """A step that fits several groups, by their signatures: which one, the model says."""

    place: StepReference
    choices: tuple[OperatorSignature, ...]


@dataclass(slots=True)
class Grouping:
    """Works out kinds and groups. ``cases`` has the steps of each case by its id, ``answer`` is the kind of answers of the
    data.
    """

    cases: Mapping[str, Steps]
    answer: Type
    _kinds: dict[str, dict[str, Type]] = field(init=False)
    _joined: dict[StepReference, OperatorSignature] = field(default_factory=dict)
    _alone: set[StepReference] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._kinds = {name: kinds_of(steps, self.answer) for name, steps in self.cases.items()}
        self._settle()

    def kinds(self, case: str) -> Mapping[str, Type]:
        """What each step of a case gives, by its name."""
        return self._kinds[case]

    def open(self) -> list[Open]:
        """The steps that the model has to place next: those of each case that wait for no other."""
        strong = self._strong()
        undecided: list[Open] = []
        for case in sorted(self.cases):
            blocked: set[str] = set()
            for place, step in self._own(case):
                if not blocked.isdisjoint(step.reads):
                    blocked.add(step.name)
                    continue
                choices = self._choices(place, strong)
                if len(choices) > 1:
                    undecided.append(Open(place, tuple(choices)))
                    blocked.add(step.name)
        return undecided

    def place(self, signatures: Mapping[StepReference, OperatorSignature | None]) -> None:
        """Put steps into groups as the model says; None: into one of their own kind. What follows from that is worked out."""
        for place, chosen in signatures.items():
            if chosen is None:
                self._alone.add(place)
            else:
                self._joined[place] = chosen
        self._take_over(signatures)
        self._settle()

    def groups(self) -> list[StepGroup]:
        """All groups, in the order of their signatures."""
        members: dict[OperatorSignature, list[StepReference]] = {}
        many: dict[OperatorSignature, set[Type]] = {}
        for case in sorted(self.cases):
            for place, _ in self._own(case):
                own = self.signature(place)
                members.setdefault(own, []).append(place)
                taken = [kind if kind in own.kinds else TEXT for kind in self._taken(place)]
                many.setdefault(own, set()).update(
                    kind for kind in taken if taken.count(kind) > 1 and kind in own.kinds
                )
        return [StepGroup(own, tuple(sorted(members[own])), frozenset(many[own])) for own in sorted(members)]

    def signature(self, place: StepReference) -> OperatorSignature:
        """That of the group in which a step is."""
        return self._joined.get(place) or self._bare(place)

    def _own(self, case: str) -> list[tuple[StepReference, CaseStep]]:
        """The steps of a case that have an operator of their own."""
        return [
            (StepReference(case, number), step) for number, step in enumerate(self.cases[case]) if step.built_in is None
        ]

    def _taken(self, place: StepReference) -> list[Type]:
        kinds = self._kinds[place.case]
        return [INPUTS.get(name) or kinds[name] for name in self.cases[place.case][place.step].reads]

    def _bare(self, place: StepReference) -> OperatorSignature:
        """The signature of a step by what is known of it alone."""
        return signature(self._taken(place), self._kinds[place.case][self.cases[place.case][place.step].name])

    def _strong(self) -> list[OperatorSignature]:
        """The signatures of groups that say all."""
        return sorted(
            {own for case in self.cases for place, _ in self._own(case) if not (own := self.signature(place)).is_weak}
        )

    def _choices(self, place: StepReference, strong: Sequence[OperatorSignature]) -> list[OperatorSignature]:
        """The groups that a weak step which is in none may be of."""
        if place in self._joined or place in self._alone or not self._bare(place).is_weak:
            return []
        step = self.cases[place.case][place.step]
        taken, given = self._taken(place), self._kinds[place.case][step.name]
        return [known for known in strong if unifies(taken, given, known)]

    def _settle(self) -> None:
        """Join what has one group that it fits, all at once, until nothing changes: so no order has a say in it."""
        while True:
            strong = self._strong()
            settled = {
                place: choices[0]
                for case in self.cases
                for place, _ in self._own(case)
                if len(choices := self._choices(place, strong)) == 1
            }
            if not settled:
                return
            self._joined.update(settled)
            self._take_over(settled)

    def _take_over(self, joined: Mapping[StepReference, OperatorSignature | None]) -> None:
        """What steps give follows from their group; then what their sources give, where a single kind is missing."""
        for place, own in joined.items():
            name = self.cases[place.case][place.step].name
            if own is not None and self._kinds[place.case][name] == TEXT:
                self._kinds[place.case][name] = own.output
        for place, own in sorted(joined.items()):
            if own is None:
                continue
            steps, kinds = self.cases[place.case], self._kinds[place.case]
            step = steps[place.step]
            built_in = {other.name for other in steps if other.built_in is not None}
            texts = [name for name in step.reads if name not in INPUTS and kinds[name] == TEXT]
            missing = own.kinds - {INPUTS.get(name) or kinds[name] for name in step.reads}
            readers = [other for other in steps if texts and texts[0] in other.reads]
            if len(texts) == len(missing) == len(readers) == 1 and texts[0] not in built_in:
                source = StepReference(
                    place.case, next(number for number, other in enumerate(steps) if other.name == texts[0])
                )
                if source not in self._alone:
                    kinds[texts[0]] = next(iter(missing))
