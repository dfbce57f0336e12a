"""Which journal has a run: that of its evaluation or search, or the user's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store


@contextmanager
def journal_with(user: Store, run: str | None) -> Iterator[Store]:
    """The journal that has a run: that of the evaluation or the search before its first ``/``, else the user's own."""
    named = None if run is None or "/" not in run else run.partition("/")[0]
    entry = None if named is None else user.listing.find(named)
    if entry is None or entry.kind not in ("evaluation", "search"):
        yield user
        return
    from merrow_runtime.jobs.life import journal_of
    from merrow_runtime.store.database import Store

    with closing(Store.open(journal_of(user, entry.id), reading=True)) as own:
        yield own
