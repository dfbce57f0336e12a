"""Under which earlier names the journal has the calls of visits that were on their way when their place changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from merrow_runtime.visit import Visit, read_segment


@dataclass(frozen=True, slots=True)
class Carried:
    """Where visits were before. After a revision that renames a box or moves an item, a visit that is on its way continues, and
    until it ends its calls are journalled for the place where it began.

    ``before`` has these places by the one where the visit is now, both as `str` gives visits. Each comes with the time from which
    on it was another visit's: what had been asked there by then is not for that one.
    """

    before: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @classmethod
    def read(cls, kept: Any) -> Carried:
        """From a revision's record; what is damaged there is left out."""
        before: dict[str, dict[str, float]] = {}
        for name, places in kept.items() if isinstance(kept, dict) else ():
            since_by_visit = places.items() if isinstance(places, dict) else ()
            before[name] = {
                visit: at for visit, at in since_by_visit if _is_visit(visit) and isinstance(at, (int, float))
            }
        return cls({name: places for name, places in before.items() if places})

    def after(self, under_way: Mapping[Visit, Visit], at: float) -> Carried:
        """As of a time: ``under_way`` has the visits on their way by the places that they have now."""
        before: dict[str, Mapping[str, float]] = {}
        met: set[str] = set()
        for place, visit in under_way.items():
            name, known = str(place), str(visit.lasting)
            earlier = self.before.get(known, {})
            if known != name:
                earlier = {**earlier, known: self.before.get(name, {}).get(known, at)}
            others = {other: since for other, since in earlier.items() if other != name}
            if others:
                before[name] = others
            met.update((known, *others))
        for name, places in self.before.items():
            if name not in before and name not in met and met.isdisjoint(places):
                before[name] = places
        return Carried(before)

    def of(self, visit: Visit) -> Iterator[Visit]:
        """The earlier places of a visit, the newest first; in a called file those of the Call."""
        if not self.before:
            return
        for place in self._places(str(visit.lasting)):
            yield _visit(place)
        parts = visit.path.split("/")
        for end in range(len(parts), 0, -1):
            for call in self._places("/".join(parts[:end])):
                yield Visit(visit.node, "/".join((call, *parts[end:])), visit.redo)

    def since(self, visit: Visit) -> float:
        """From when on the calls that the journal has for a visit are its own."""
        if not self.before:
            return 0.0
        name = str(visit.lasting)
        given = (
            at
            for places in self.before.values()
            for other, at in places.items()
            if name == other or name.startswith(f"{other}/")
        )
        return max(given, default=0.0)

    def _places(self, name: str) -> list[str]:
        places = self.before.get(name, {})
        return sorted(places, key=places.__getitem__, reverse=True)


def _visit(name: str) -> Visit:
    path, _, own = name.rpartition("/")
    node, redo, _, _ = read_segment(own)
    return Visit(node, path, redo)


def _is_visit(name: str) -> bool:
    try:
        _visit(name)
    except ValueError:
        return False
    return True
