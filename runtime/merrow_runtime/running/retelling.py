"""A run that finished, reported again from the journal: nothing is called, and nothing in its record changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from merrow_runtime.events import LAST_OF
from merrow_runtime.options import DEFAULT_MODEL, RunOptions
from merrow_runtime.running.run import Run, RunResult, with_members
from merrow_runtime.store.contract import LoopRecord, NodeRecord, RunRecord, Told
from merrow_runtime.store.database import Store
from merrow_runtime.store.recordings.recording import Recorder, header_of
from merrow_runtime.store.rows import SENT
from merrow_runtime.telling import Telling


class _Told:
    """`merrow_runtime.store.contract.Pages` of a run that is over."""

    def __init__(self, told: Sequence[Told]) -> None:
        self._told = told

    def more(self) -> Sequence[Told]:
        told, self._told = self._told, ()
        return told


def retell(record: RunRecord, store: Store, options: RunOptions, close: Callable[[], object]) -> Run:
    """The run of a record whose status is finished. Of ``options`` only ``record`` counts. ``close`` is called at the end.

    Raises `UsageFailure`, `StoreFailure`.
    """
    damaged: list[str] = []
    told = _numbered(store.told(record.id, damaged.append))
    ended = [event for event in told if isinstance(event, NodeRecord)]
    nodes = {node.visit.name: node for node in ended}
    loops = [event for event in told if isinstance(event, LoopRecord)]
    interrupted = sum(why == SENT for _, _, why in store.lost(record.id))
    if options.record is not None:
        _record(record, store, options)
    telling = Telling(record.id, lambda: _Told(told))
    run = Run(record.id, record.workflow, telling)
    run.nodes.update(nodes)
    run.loops.update({loop.place: loop for loop in loops})

    async def work() -> RunResult:
        try:
            begun: dict[str, Any] = {
                "workflow": record.workflow,
                "endpoint": record.snapshot.get("origin", ""),
                "nodes": len({node.node for node in ended}),
                "finished_before": True,
            }
            if damaged:
                begun["notices"] = list(dict.fromkeys(damaged))
            telling.begin(begun)
            telling.pass_over(told[-1].number if told else 1)
            result = RunResult(
                record.id,
                "finished",
                record.outputs or {},
                record.usage,
                record.seconds,
                None,
                with_members(nodes),
                sources=record.sources,
                finished_before=True,
                interrupted=interrupted,
                loops=loops,
            )
            run.end()
            telling.end(LAST_OF["finished"], result.to_json())
            return result
        finally:
            close()

    run.begin(work())
    return run


def _numbered(told: list[Told]) -> list[Told]:
    """What was told with the numbers that its events had; with others where the journal doesn't say them."""
    if all(first.number < second.number for first, second in pairwise(told)) and told and told[0].number > 1:
        return told
    told = sorted(told, key=lambda event: event.ended if isinstance(event, NodeRecord) else event.at)
    return [replace(record, number=number) for number, record in enumerate(told, 2)]


def _record(record: RunRecord, store: Store, options: RunOptions) -> None:
    """Write the calls of the run as a recording, which is what a resumed run with ``--record`` leaves."""
    assert options.record is not None  # noqa: S101 (that is why it was called)
    kept = record.snapshot["options"]
    header = header_of(record.workflow, kept.get("seed", 0), kept.get("default_model") or DEFAULT_MODEL)
    recorder = Recorder(options.record, header) if isinstance(options.record, Path) else options.record
    try:
        recorder.begin()
        for call in store.calls(record.id):
            recorder.write(call)
    finally:
        recorder.close()
