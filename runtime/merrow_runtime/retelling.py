"""A run that finished, told again from the journal: nothing is called, and nothing in its record changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from merrow_runtime.events import EventName
from merrow_runtime.options import RunOptions
from merrow_runtime.provenance import plain
from merrow_runtime.running import LAST_OF, Run, RunResult
from merrow_runtime.store.contract import NodeRecord, RunRecord
from merrow_runtime.store.database import Store
from merrow_runtime.store.recording import Recorder

_EVENTS: dict[str, EventName] = {
    "finished": "node_finished",
    "reused": "node_reused",
    "skipped": "node_skipped",
    "failed": "node_failed",
}


def retell(record: RunRecord, store: Store, options: RunOptions, close: Callable[[], object]) -> Run:
    """The run of a record whose status is finished. Of ``options`` only ``record`` counts. ``close`` is called at the end.

    Raises `UsageFailure`, `StoreFailure`.
    """
    damaged: list[str] = []
    nodes = {node.visit.name: node for node in store.nodes(record.id, damaged.append)}
    if options.record is not None:
        _record(record, store, options)
    run = Run(record.id, record.workflow)
    run.nodes.update(nodes)

    async def work() -> RunResult:
        try:
            data: dict[str, Any] = {
                "workflow": record.workflow,
                "endpoint": record.snapshot.get("origin", ""),
                "nodes": len(nodes),
                "finished_before": True,
            }
            if damaged:
                data["notices"] = damaged
            run.tell("run_started", None, data)
            for node in nodes.values():
                run.tell(_EVENTS[node.status], node.node, _told(node))
            result = RunResult(
                record.id,
                "finished",
                record.outputs or {},
                record.usage,
                record.seconds,
                None,
                nodes,
                sources=record.sources,
                finished_before=True,
            )
            run.end()
            run.tell(LAST_OF["finished"], None, result.to_json())
            return result
        finally:
            close()

    run.begin(work())
    return run


def _told(node: NodeRecord) -> Mapping[str, Any]:
    if node.status == "skipped":
        return {"reason": node.error or ""}
    usage = node.usage.to_json()
    if node.status == "failed":
        return {"error": node.error or "", "on_error": "skip", "usage": usage}
    told: dict[str, Any] = {"outputs": node.outputs or {}, "usage": usage, "seconds": node.ended - node.started}
    if node.sources:
        told["sources"] = plain(node.sources)
    return told


def _record(record: RunRecord, store: Store, options: RunOptions) -> None:
    """Write the calls of the run as a recording, which is what a resumed run with ``--record`` leaves."""
    assert options.record is not None  # noqa: S101 (that is why it was called)
    recorder = Recorder(
        options.record, {"workflow": record.workflow, "seed": record.snapshot["options"].get("seed", 0)}
    )
    try:
        recorder.begin()
        for call in store.calls(record.id):
            recorder.write(call)
    finally:
        recorder.close()
