"""Runs, evaluations, searches and extractions in the user's journal, all alike: found by an id, asked to end, and found again
where one was left unfinished.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from merrow_runtime.errors import UsageFailure

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store
    from merrow_runtime.store.listed import Listed


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
        """Whether a process works on it, and so ends it."""
        return self.was == "running"


def meant(user: Store, kept: Listed[Any], said: str | None) -> str | None:
    """The id of the one of ``kept`` that ``said`` names: an id, or the beginning of one that is not that of a run; else None.
    Raises `UsageFailure` where it is the beginning of several.
    """
    if said is None:
        return None
    try:
        found = kept.identity(said)
    except UsageFailure:
        if user.has_run_like(said):
            return None
        raise
    return found if found == said or not user.has_run_like(said) else None


def request_cancel(user: Store, said: str) -> AskedToEnd:
    """Ask the process that works on a run, an evaluation, a search or an extraction to end it, by its id or the beginning of it.
    Raises `UsageFailure` where there is none of this id, or several; `StoreFailure`.
    """
    for kept in (user.evaluations, user.optimizations, user.extractions):
        identity = meant(user, kept, said)
        if identity is not None:
            from merrow_optimizer.evaluation import sessions

            if sessions.request_cancel(user, kept, identity):
                return AskedToEnd(kept.word, identity, "running")
            return AskedToEnd(kept.word, identity, sessions.state_of(user, kept.get(identity)))
    identity = user.run(said).id
    if user.request_cancel(identity):
        return AskedToEnd("run", identity, "running")
    return AskedToEnd("run", identity, user.run(identity).status)


def left_last(user: Store) -> tuple[Listed[Any] | None, str] | None:
    """What was left before its end last, and has no process that works on it: what it is kept in (None: it is a run) and its id;
    None where everything has ended. The last one is the one that was still worked on latest, as far as that is known.
    """
    from merrow_optimizer.evaluation import sessions

    found: list[tuple[float, Listed[Any] | None, str]] = [
        (user.last_seen(run.id) or run.started, None, run.id)
        for run in user.runs(_LOOKED_AT)
        if run.status not in ("finished", "running")
    ]
    for kept in (user.evaluations, user.optimizations, user.extractions):
        found += (
            (sessions.last_seen(user, record), kept, record.id)
            for record in kept.newest(_LOOKED_AT)
            if record.status != "finished" and sessions.state_of(user, record) != "running"
        )
    if not found:
        return None
    _, kept_in, identity = max(found, key=lambda one: one[0])
    return kept_in, identity
