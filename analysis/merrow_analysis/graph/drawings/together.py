"""Which steps of a drawing may run in one turn: whether ends exclude each other, and what several arrows bring at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from merrow_analysis.graph.arrows.loops import ArrowLoop
from merrow_analysis.graph.arrows.starting import Starting
from merrow_analysis.graph.bare.conditions import ALWAYS, NEVER, Condition, Conditions, TooManyCombinationsError
from merrow_analysis.graph.records import EdgeRecord

_LARGEST = 20_000


class Together:
    """Conditions over the answers of questions: in a first turn of all Loops, and where some are entered at several nodes also in
    a later turn, which begins at their heads. Where answers combine in too many ways all may run together.
    """

    def __init__(
        self,
        names: Iterable[str],
        edges: Sequence[EdgeRecord],
        asks: Collection[str],
        starting: Starting,
        places: Mapping[str, int],
        loops: Sequence[ArrowLoop],
    ) -> None:
        self._order = sorted(names, key=places.__getitem__)
        self._into: dict[str, list[EdgeRecord]] = defaultdict(list)
        answers: dict[str, dict[str, int]] = {name: {} for name in self._order if name in asks}
        for edge in edges:
            self._into[edge.target].append(edge)
        # An answer that only leads back is an answer, too: its number is taken from all ways out of its question.
        for name, numbers in answers.items():
            for edge in starting.ways(name):
                numbers.setdefault(answer_of(edge), len(numbers))
        self._answers = answers
        self._numbers = {name: number for number, name in enumerate(answers)}
        self.store = Conditions([max(len(numbers), 1) for numbers in answers.values()], _LARGEST)
        self.overflowed = False
        self._starting = starting
        heads = {edge.target: loop for loop in loops for edge in loop.back}
        entries = _entries(loops, self._into)
        several = any(len({edge.target for edge in arrows}) > 1 for arrows in entries.values())
        several = several or len(heads) > len({id(loop) for loop in heads.values()})
        self._pictures: list[dict[str, Condition]] = []
        try:
            self._pictures.append(self._spread({}, ()))
            if several:
                self._pictures.append(self._spread(heads, {e for arrows in entries.values() for e in arrows}, entries))
        except TooManyCombinationsError:
            self.overflowed = True

    def runs(self, name: str) -> tuple[Condition, ...]:
        """When a node runs, in each picture."""
        return tuple([picture[name] for picture in self._pictures])

    def taken(self, edge: EdgeRecord) -> tuple[Condition, ...]:
        """When an arrow is taken, in each picture."""
        if self.overflowed:
            return ()
        try:
            return tuple([self._taken(edge, picture) for picture in self._pictures])
        except TooManyCombinationsError:
            self.overflowed = True
            return ()

    def _taken(self, edge: EdgeRecord, picture: Mapping[str, Condition]) -> Condition:
        runs = picture.get(edge.source, NEVER)
        numbers = self._answers.get(edge.source)
        if numbers is None:
            return runs
        return self.store.both(runs, self.store.chosen(self._numbers[edge.source], numbers[answer_of(edge)]))

    def _spread(
        self,
        heads: Mapping[str, ArrowLoop],
        used: Collection[EdgeRecord],
        entries: Mapping[ArrowLoop, Sequence[EdgeRecord]] | None = None,
    ) -> dict[str, Condition]:
        """When each node runs: begun at the ``heads`` of Loops by their ``entries``, which start nothing else (``used``)."""
        picture: dict[str, Condition] = {}
        for name in self._order:
            arriving = self._into.get(name, [])
            if name in heads:
                picture[name] = self._begun((entries or {}).get(heads[name], ()), picture)
                continue
            left = [edge for edge in arriving if edge not in used]
            if not arriving:
                picture[name] = ALWAYS
                continue
            runs = NEVER
            for edge in self._starting.starters(name, left):
                runs = self.store.either(runs, self._taken(edge, picture))
            picture[name] = runs
        return picture

    def _begun(self, arrows: Sequence[EdgeRecord], picture: Mapping[str, Condition]) -> Condition:
        """When a Loop that these arrows lead into runs; always where that is not known yet."""
        if not arrows or any(edge.source not in picture for edge in arrows):
            return ALWAYS
        runs = NEVER
        for edge in arrows:
            runs = self.store.either(runs, self._taken(edge, picture))
        return runs


def answer_of(edge: EdgeRecord) -> str:
    """The answer that an arrow out of a question is for."""
    label = edge.label_text
    return "else" if label is None else label.casefold()


def at_once(together: Together, conditions: Sequence[tuple[Condition, ...]]) -> bool:
    """Whether any two of some conditions may hold at once."""
    if together.overflowed:
        return len(conditions) > 1
    store = together.store
    try:
        for picture in zip(*conditions, strict=True):
            so_far: Condition = NEVER
            for condition in picture:
                if store.both(so_far, condition) != NEVER:
                    return True
                so_far = store.either(so_far, condition)
    except TooManyCombinationsError:
        return True
    return False


def _entries(loops: Sequence[ArrowLoop], into: Mapping[str, Sequence[EdgeRecord]]) -> dict[ArrowLoop, list[EdgeRecord]]:
    """The arrows into each Loop from outside."""
    entries: dict[ArrowLoop, list[EdgeRecord]] = {}
    for loop in loops:
        inside = set(loop.members)
        entries[loop] = [edge for name in loop.members for edge in into.get(name, ()) if edge.source not in inside]
    return entries
