"""Jobs of all kinds in the user's journal, all alike: found by an id, asked to end, found again where one was left unfinished."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store
    from merrow_runtime.store.glance import Kind
    from merrow_runtime.store.listed import Listed
    from merrow_runtime.store.listing import JobEntry


_LOOKED_AT = 50
"""The newest of each kind that are looked at."""


@dataclass(frozen=True, slots=True)
class AskedToEnd:
    """What was asked to end: what it is called (``word``) and its ``id``; ``was`` is how it was before."""

    word: str
    id: str
    was: str

    @property
    def is_heard(self) -> bool:
        """Whether a process works on it, and so ends it, or it waited for a person, and has ended."""
        return self.was in ("running", "waiting")


def kept_in(user: Store, kind: str) -> Listed[Any]:
    """What has those of a kind that are not runs."""
    kept: dict[str, Listed[Any]] = {
        "evaluation": user.evaluations,
        "batch": user.batches,
        "search": user.optimizations,
        "extraction": user.extractions,
    }
    return kept.get(kind) or user.jobs[kind]


def state_of(user: Store, entry: JobEntry) -> str:
    """How it is now: what no living process works on is not running, whatever was written down last. Raises `StoreFailure`."""
    if entry.status != "running":
        return entry.status
    if entry.kind == "run":
        return user.run(entry.id).status
    from merrow_runtime.jobs import life

    return "running" if life.is_open(user, entry.id) else "interrupted"


def request_cancel(user: Store, name: str) -> AskedToEnd:
    """Ask the process that works on a job to end it, by its id or the beginning of it. Raises `UsageFailure` where there is none
    of this id, or several; `StoreFailure`.
    """
    entry = user.listing.find(name)
    if entry is None or entry.kind == "run":
        record = user.run(name)
        identity = record.id
        if user.request_cancel(identity):
            return AskedToEnd("run", identity, "running")
        was_waiting = record.status == "waiting" and user.run(identity).status == "cancelled"
        return AskedToEnd("run", identity, "waiting" if was_waiting else user.run(identity).status)
    was = state_of(user, entry)
    if was == "running":
        kept_in(user, entry.kind).update(entry.id, "cancelled")
    return AskedToEnd(entry.kind, entry.id, was)


def left_last(user: Store) -> tuple[Kind, str] | None:
    """What was left before its end last, and has no process that works on it: its kind and its id; None where everything has
    ended. The last one is the one that was still worked on latest, as far as that is known.
    """
    from merrow_runtime.jobs import life
    from merrow_runtime.store.glance import TABLES

    candidates: list[tuple[float, Kind, str]] = [
        (user.last_seen(run.id) or run.started, "run", run.id)
        for run in user.runs(_LOOKED_AT)
        if run.status not in ("finished", "running")
    ]
    for kind in TABLES:
        if kind != "run":
            candidates += (
                (life.last_seen(user, record), kind, record.id)
                for record in kept_in(user, kind).newest(_LOOKED_AT)
                if record.status != "finished" and life.state_of(user, record) != "running"
            )
    if not candidates:
        return None
    _, kind, identity = max(candidates, key=lambda candidate: candidate[0])
    return kind, identity
