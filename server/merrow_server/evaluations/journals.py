"""Which journal has a run: that of its evaluation, search or batch, or the user's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store

_HAVE_RUNS = ("evaluation", "search", "batch")


@contextmanager
def journal_with(user: Store, run: str | None) -> Iterator[Store]:
    """The journal that has a run: that of the evaluation, search or batch whose id it begins with, else the user's own."""
    identity = None if run is None else job_of(user, run)
    if identity is None:
        yield user
        return
    with closing(user.of_job(identity, reading=True)) as own:
        yield own


def job_of(user: Store, run: str) -> str | None:
    """The id of the evaluation, search or batch that a run is of, by its id, which begins with that or, as a person may write it,
    with the beginning of that; None where it is of none. Raises `UsageFailure` for the beginning of several ids.
    """
    for identity in jobs_of(user, [run]):
        return identity
    entry = user.listing.find(run.partition("/")[0]) if "/" in run else None
    return entry.id if entry is not None and entry.kind in _HAVE_RUNS else None


def jobs_of(user: Store, runs: Iterable[str]) -> set[str]:
    """The ids of the evaluations, searches and batches that runs are of, by their whole ids."""
    exactly = cache(user.listing.exactly)
    jobs: set[str] = set()
    for run in runs:
        parts = run.split("/")
        for count in range(1, len(parts)):
            entry = exactly("/".join(parts[:count]))
            if entry is not None and entry.kind in _HAVE_RUNS:
                jobs.add(entry.id)
                break
    return jobs
