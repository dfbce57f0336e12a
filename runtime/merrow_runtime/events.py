"""What a run tells while it goes on: one event a step, the same for the command line, an editor and a program."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from merrow_runtime.records import record

SCHEMA = 1
"""The number of the events' format; it grows when a reader of the old one would go wrong."""

EventName = Literal[
    "run_started",
    "node_started",
    "node_output",
    "node_retrying",
    "node_finished",
    "node_reused",
    "node_skipped",
    "node_failed",
    "run_finished",
    "run_failed",
    "run_cancelled",
]

LAST = frozenset({"run_finished", "run_failed", "run_cancelled"})
"""The events that end a run."""


@record(frozen=True, slots=True)
class Event:
    """One event. ``node`` is None for those of the whole run; ``at`` is seconds since the epoch; ``data`` are the
    fields that this kind of event has further (docs/events.md lists them).
    """

    event: EventName
    run: str
    node: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    at: float = field(default_factory=time.time)

    def to_json(self) -> dict[str, Any]:
        """The event as ``merrow run --json`` prints it."""
        return {
            "schema": SCHEMA,
            "event": self.event,
            "run": self.run,
            "node": self.node,
            "at": self.at,
            **self.data,
        }
