"""Which journal has a run: that of its evaluation, or the user's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store


@contextmanager
def journal_with(user: Store, run: str | None) -> Iterator[Store]:
    """The journal that has a run: that of the evaluation before its first ``/``, else the user's own."""
    evaluation = None if run is None or "/" not in run else user.evaluations.identity(run.partition("/")[0])
    if evaluation is None:
        yield user
        return
    from merrow_optimizer.evaluation.sessions import journal_of
    from merrow_runtime.store.database import Store

    with closing(Store.open(journal_of(user, evaluation))) as own:
        yield own
