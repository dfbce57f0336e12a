"""What a run tells while it goes on: one event a step, the same for the command line, an editor and a program."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from merrow_runtime.provenance import plain
from merrow_runtime.records import record
from merrow_runtime.store.contract import FrameRecord, LoopRecord, NodeRecord, NodeStatus, RunStatus, Told

SCHEMA = 2
"""The number of the events' format; it grows when a reader of the old one would go wrong."""

EventName = Literal[
    "run_started",
    "node_started",
    "node_queued",
    "node_output",
    "node_retrying",
    "node_judged",
    "node_asked",
    "node_answered",
    "node_step",
    "node_finished",
    "node_reused",
    "node_skipped",
    "node_failed",
    "turn_started",
    "turn_finished",
    "turn_failed",
    "item_started",
    "item_finished",
    "item_failed",
    "loop_ended",
    "revision_opened",
    "revision_unchanged",
    "revision_refused",
    "revision_waiting",
    "revision_applied",
    "run_waiting",
    "run_finished",
    "run_failed",
    "run_cancelled",
]

LAST = frozenset({"run_waiting", "run_finished", "run_failed", "run_cancelled"})
"""The events that end a run, or this part of it."""

LAST_OF: dict[RunStatus, EventName] = {
    "waiting": "run_waiting",
    "finished": "run_finished",
    "failed": "run_failed",
    "cancelled": "run_cancelled",
    "running": "run_failed",
}
"""The event that ends a run, by how it ended."""

_ENDED: dict[NodeStatus, EventName] = {
    "finished": "node_finished",
    "reused": "node_reused",
    "skipped": "node_skipped",
    "failed": "node_failed",
}


@record(frozen=True, slots=True)
class Event:
    """One event. ``number`` is its place in what is told of the run, from 1. ``node`` is None for those of the whole run,
    ``run`` None where none was begun; ``at`` is seconds since the epoch; ``data`` are the fields that this kind of event has
    further (docs/events.md lists them).
    """

    event: EventName
    run: str | None
    number: int = 1
    node: str | None = None
    path: str = ""
    redo: int = 0
    data: Mapping[str, Any] = field(default_factory=dict)
    at: float = field(default_factory=time.time)

    def to_json(self) -> dict[str, Any]:
        """The event as ``merrow run --json`` prints it."""
        shown: dict[str, Any] = {
            "schema": SCHEMA,
            "number": self.number,
            "event": self.event,
            "run": self.run,
            "node": self.node,
            "path": self.path,
        }
        if self.redo:
            shown["redo"] = self.redo
        shown["at"] = self.at
        shown.update(self.data)
        return shown


def event_of(run: str, told: Told) -> Event:
    """The event that tells something which is kept: while the run goes on, and again from the journal."""
    if isinstance(told, LoopRecord):
        return loop_event(run, told)
    return node_event(run, told) if isinstance(told, NodeRecord) else frame_event(run, told)


def loop_event(run: str, loop: LoopRecord) -> Event:
    """The event that tells how a Loop ended; its ``path`` is that of the Loop, as in ``exhausted`` of the last event."""
    data = loop.to_json()
    path = data.pop("path")
    data["of"] = loop.most
    if loop.exhausted:
        data["stopped"] = True
    return Event("loop_ended", run, loop.number, loop.composite, path, 0, data, loop.at)


def frame_event(run: str, frame: FrameRecord) -> Event:
    """The event that tells that a turn or an item began, ended or failed."""
    data: dict[str, Any] = {"turn" if frame.event.startswith("turn") else "item": frame.which, "of": frame.most}
    if frame.error is not None:
        data |= {"error": frame.error, "code": frame.code}
    return Event(frame.event, run, frame.number, frame.composite, frame.path, 0, data, frame.at)


def node_event(run: str, ended: NodeRecord) -> Event:
    """The event that tells how a node ended, made of its record."""
    data: dict[str, Any]
    if ended.status == "skipped":
        data = {"reason": ended.error or ""}
    elif ended.status == "failed":
        data = {"error": ended.error or ""}
        if ended.failed is not None:
            data |= {"code": ended.failed.code, "reason": ended.failed.reason, "on_error": ended.failed.on_error}
            if ended.failed.remedy is not None:
                data["remedy"] = ended.failed.remedy
        data |= {"usage": ended.usage.to_json(), "seconds": ended.ended - ended.started, **_validated(ended)}
    else:
        seconds = ended.ended - ended.started
        data = {"outputs": ended.outputs or {}, "usage": ended.usage.to_json(), "seconds": seconds}
        if ended.sources:
            data["sources"] = plain(ended.sources)
        if ended.label is not None:
            data["case"] = ended.label
        data |= _validated(ended)
        if ended.masked:
            data["masked"] = True
    return Event(_ENDED[ended.status], run, ended.number, ended.node, ended.path, ended.redo, data, ended.ended)


def _validated(ended: NodeRecord) -> dict[str, Any]:
    """Of a node whose result was validated, the attempt that counts and whether that is valid."""
    validation = ended.validation
    return {} if validation is None else {"attempt": validation["attempt"], "valid": validation["valid"]}
