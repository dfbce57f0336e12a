"""Finished visits of earlier runs, found by key, whatever their nodes are called now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from copy import copy
from dataclasses import replace

from merrow_runtime.program.definitions import Step
from merrow_runtime.provenance import PERSON_ORIGIN
from merrow_runtime.revising.redo import Redo
from merrow_runtime.store.contract import NodeRecord
from merrow_runtime.store.rows import text_of
from merrow_runtime.visit import Visit, read_segment


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
        done: Iterable[NodeRecord] = (),
        inside: Iterable[Step] = (),
    ) -> None:
        """``records`` are those of the run that results are taken from, ``steps`` those of the run that takes them, ``taken``
        what that has taken already, before it was resumed, and ``done`` what it had finished itself until then. ``inside`` are
        the steps of the files that it calls.
        """
        records, taken, done = tuple(records), tuple(taken), tuple(done)
        self._loose: dict[int, NodeRecord] = {}
        self._done = {
            (record.key, record.visit): record
            for record in done
            if record.status == "finished" and record.key is not None and record.outputs is not None
        }
        self._of_run = (records, done)
        self._frames: list[dict[str, list[NodeRecord]]] | None = None
        self._steps = {} if steps is None else steps
        self._own: dict[tuple[str, Visit], NodeRecord] = {}
        self._used: set[tuple[str, Visit]] = set()
        self._free: dict[str, list[NodeRecord]] = {}
        self._inside = list(inside)
        now: dict[str, list[Step]] = {}
        for step in (*self._steps.values(), *self._inside):
            now.setdefault(step.definition.id, []).append(step)
        for key, record in _in_order(records):
            steps_now = now.get(record.node, [])
            if steps_now and (record.definition is None or any(_is_of(record, step) for step in steps_now)):
                self._own[key, record.visit] = record
            else:
                self._free.setdefault(key, []).append(record)
        for key, record in _in_order(taken):
            place = key, record.visit
            own = self._own.get(place)
            if own is None or not _same(own, record):
                # Not always the first with this key: that may have been of an endpoint whose results were not to be used.
                free = self._free.get(key, [])
                same = next((candidate for candidate in free if _same(candidate, record)), None)
                if same is not None:
                    free.remove(same)
            self._own[place] = record

    def done(self, visit: Visit, key: str, usable: Callable[[NodeRecord], bool]) -> NodeRecord | None:
        """The execution with which the run itself finished a visit, before it was resumed; None where none is ``usable``."""
        own = self._done.get((key, visit))
        if own is None or not usable(own):
            return None
        self._used.add((key, visit))
        return own

    def take(self, visit: Visit, key: str, usable: Callable[[NodeRecord], bool]) -> NodeRecord | None:
        """The execution with this key for a visit, which no other visit gets from now on; None where none is ``usable``."""
        own = self._own.get((key, visit))
        if own is not None and usable(own):
            self._used.add((key, visit))
            return own
        free = self._free.get(key, [])
        record = next((record for record in free if record.redo == visit.redo and usable(record)), None)
        if record is not None:
            free.remove(record)
        return record

    def is_of_run(self, record: NodeRecord) -> bool:
        """Whether an execution is of the run itself, and not of one that it takes results from."""
        return id(record) in self._loose

    def revised(self, steps: Mapping[int, Step], inside: Iterable[Step], redo: Redo) -> Executions:
        """The same for another graph of the run: what belongs to a node that is gone, or is something else now, is free."""
        other = copy(self)
        other._steps, other._inside = steps, list(inside)
        other._own, other._free = dict(self._own), {key: list(free) for key, free in self._free.items()}
        now: dict[str, list[Step]] = {}
        for step in (*steps.values(), *other._inside):
            now.setdefault(step.definition.id, []).append(step)
        other._done, other._loose = dict(self._done), dict(self._loose)
        for place, record in self._done.items():
            if place not in self._used and not any(_is_of(record, step) for step in now.get(record.node, ())):
                del other._done[place]
                other._loose[id(record)] = record
                if record.redo >= redo.of(record.node):
                    other._free.setdefault(place[0], []).append(record)
        for place, record in self._own.items():
            stays = any(record.definition is None or _is_of(record, step) for step in now.get(record.node, ()))
            if not stays and place not in self._used and record.redo >= redo.of(record.node):
                del other._own[place]
                other._free.setdefault(place[0], []).append(record)
        return other

    def within(self, record: NodeRecord) -> list[NodeRecord]:
        """The executions in the frame of a Call, and further in, of the run that an execution of the Call is of."""
        if self._frames is None:
            self._frames = [_by_frame(records) for records in self._of_run]
        is_own = self._done.get((record.key or "", record.visit)) is record
        return self._frames[is_own].get(str(record.visit), [])

    def answered_by_others(self, endpoint: str, rerun: Callable[[int, Visit], bool]) -> list[tuple[str, str]]:
        """The visits with results that may be taken and that another endpoint gave, each with that endpoint; ``rerun`` says of a
        visit, of the node with an index, that it takes none.
        """
        if not self._own and not self._free:
            return []
        own: dict[str, list[NodeRecord]] = {}
        for record in self._own.values():
            own.setdefault(record.node, []).append(record)
        free: dict[str, list[NodeRecord]] = {}
        for several in self._free.values():
            for record in several:
                if record.definition is not None:
                    free.setdefault(text_of(record.definition), []).append(record)
        others: list[tuple[str, str]] = []
        for index, step in self._steps.items():
            for record in (*own.get(step.definition.id, ()), *free.get(text_of(step.shown), ())):
                if not rerun(index, record.visit):
                    others += _others(record, endpoint)
        planned = {step.definition.id for step in (*self._steps.values(), *self._inside) if step.is_planned_call}
        calls = {step.definition.id: index for index, step in self._steps.items() if step.is_call}
        for step in self._inside:
            for record in (*own.get(step.definition.id, ()), *free.get(text_of(step.shown), ())):
                call = _call_around(record.path, calls)
                if call is None or not rerun(calls[call.node], call):
                    others += _others(record, endpoint)
        for record in self._of_run[0] if planned else ():
            call = _call_around(record.path, planned)
            outermost = _call_around(record.path, calls)
            if call is not None and (outermost is None or not rerun(calls[outermost.node], outermost)):
                others += _others(record, endpoint)
        return list(dict.fromkeys(others))


def _others(record: NodeRecord, endpoint: str) -> list[tuple[str, str]]:
    """The endpoints other than this one that a visit's result is of. What a person set inside a Call is in the Call's key."""
    known = (endpoint, PERSON_ORIGIN)
    return [(record.visit.name, source.endpoint) for source in record.sources if source.endpoint not in known]


def _call_around(path: str, calls: Collection[str]) -> Visit | None:
    """The visit of the outermost Call in which a frame is; ``calls`` are the ids of the workflow's own."""
    parts = path.split("/") if path else []
    for number, part in enumerate(parts):
        node, redo, _, index = read_segment(part)
        if node in calls and index is None:
            return Visit(node, "/".join(parts[:number]), redo)
    return None


def _by_frame(records: Iterable[NodeRecord]) -> dict[str, list[NodeRecord]]:
    """Records by the path of each frame that they lie in."""
    frames: dict[str, list[NodeRecord]] = {}
    for record in records:
        parts = record.path.split("/") if record.path else []
        for number in range(1, len(parts) + 1):
            frames.setdefault("/".join(parts[:number]), []).append(record)
    return frames


def _in_order(records: Iterable[NodeRecord]) -> list[tuple[str, NodeRecord]]:
    """The executions among records, each after its key, in the order in which they began."""
    finished = [(record.key, record) for record in records if record.key is not None and record.outputs is not None]
    return sorted(finished, key=lambda pair: pair[1].started)


def _is_of(record: NodeRecord, step: Step) -> bool:
    """Whether a record was made by what a step is now."""
    return record.definition is not None and text_of(record.definition) == text_of(step.shown)


def _same(record: NodeRecord, other: NodeRecord) -> bool:
    """Whether two records of a key are of the same result, or of results that can't be told apart."""
    return record.outputs == other.outputs and tuple(record.sources) == tuple(other.sources)


def held(records: Iterable[NodeRecord]) -> tuple[list[NodeRecord], dict[tuple[str, str | None], float]]:
    """The executions of a run that was revised, each with the visit that has it now; and when one took over what another made, by
    the name and key of that. ``records`` are all that visits have finished, in that order.
    """
    now: dict[tuple[str, str | None], NodeRecord] = {}
    moved: dict[tuple[str, str | None], float] = {}
    for record in records:
        place = record.visit.name, record.key
        before, taken = now.get(place), record.taken
        if taken is not None and taken != place[0]:
            before = now.pop((taken, record.key), None)
            moved[taken, record.key] = record.ended
            moved.pop(place, None)
        if taken is None or place not in now:
            if before is not None and record.status == "reused":
                # What was taken over counts for the Loops around the visit that has it now.
                record = replace(record, usage=before.usage, taken=taken or before.taken)
            now[place] = record
    return list(now.values()), moved
