"""Finished visits of earlier runs, found by key, whatever their nodes are called now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from merrow_runtime.program.definitions import Step
from merrow_runtime.store.contract import NodeRecord
from merrow_runtime.store.rows import text_of
from merrow_runtime.visit import Visit


class Executions:
    """The executions that one run may reuse, each once.

    An execution belongs to the visit that made it while the node of that id is defined as it was; all others go to the
    visits with their key, in the order in which they began.
    """

    def __init__(
        self,
        records: Iterable[NodeRecord] = (),
        steps: Mapping[int, Step] | None = None,
        taken: Iterable[NodeRecord] = (),
    ) -> None:
        """``records`` are those of the run that results are taken from, ``steps`` those of the run that takes them, and
        ``taken`` what that has taken already, before it was resumed.
        """
        self._steps = {} if steps is None else steps
        self._own: dict[tuple[str, Visit], NodeRecord] = {}
        self._free: dict[str, list[NodeRecord]] = {}
        now = {step.definition.id: step for step in self._steps.values()}
        for record in _in_order(records):
            step = now.get(record.node)
            if step is not None and (record.definition is None or _is_of(record, step)):
                self._own[record.key or "", record.visit] = record
            else:
                self._free.setdefault(record.key or "", []).append(record)
        for record in _in_order(taken):
            place = record.key or "", record.visit
            own = self._own.get(place)
            if own is None or not _same(own, record):
                # Not always the first with this key: that may have been of an endpoint whose results were not to be used.
                free = self._free.get(place[0], [])
                found = next((one for one in free if _same(one, record)), None)
                if found is not None:
                    free.remove(found)
            self._own[place] = record

    def take(self, visit: Visit, key: str, usable: Callable[[NodeRecord], bool]) -> NodeRecord | None:
        """The execution with this key for a visit, which no other visit gets from now on; None where none is ``usable``."""
        own = self._own.get((key, visit))
        if own is not None and usable(own):
            return own
        free = self._free.get(key, [])
        found = next((record for record in free if usable(record)), None)
        if found is not None:
            free.remove(found)
        return found

    def answered_by_others(self, endpoint: str, anew: Collection[int]) -> list[tuple[str, str]]:
        """The visits with results that may be taken and that another endpoint gave, each with that endpoint; ``anew`` are the
        indices of nodes that take none.
        """
        if not self._own and not self._free:
            return []
        found: list[tuple[str, str]] = []
        free = [record for several in self._free.values() for record in several if record.definition is not None]
        for index, step in self._steps.items():
            if index in anew:
                continue
            own = [record for record in self._own.values() if record.node == step.definition.id]
            for record in [*own, *(record for record in free if _is_of(record, step))]:
                found += [(record.visit.name, one.endpoint) for one in record.sources if one.endpoint != endpoint]
        return list(dict.fromkeys(found))


def _in_order(records: Iterable[NodeRecord]) -> list[NodeRecord]:
    """The executions among records, in the order in which they began."""
    finished = [record for record in records if record.key is not None and record.outputs is not None]
    return sorted(finished, key=lambda record: record.started)


def _is_of(record: NodeRecord, step: Step) -> bool:
    """Whether a record was made by what a step is now."""
    return record.definition is not None and text_of(record.definition) == text_of(step.shown)


def _same(one: NodeRecord, other: NodeRecord) -> bool:
    """Whether two records of a key are of the same result, or of results that can't be told apart."""
    return one.outputs == other.outputs and tuple(one.sources) == tuple(other.sources)
