"""Which run, evaluation, search or extraction is meant: by its id, by the file that it ran, or the latest where nothing is
said.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from merrow_runtime.errors import UsageFailure
from merrow_runtime.program.files import whole_path
from merrow_server.kept_work import meant

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store


def run_meant(store: Store, said: str | None) -> str:
    """The id of the run that ``said`` names: an id or the beginning of one, or a workflow file, whose latest run it is. The
    latest run of all where nothing is said. Raises `UsageFailure`.
    """
    if said is None:
        newest = store.runs(1)
        if not newest:
            raise UsageFailure("There are no runs in the journal yet; make one with: merrow run FILE")
        return newest[0].id
    is_file = Path(said.partition("#")[0]).is_file()
    try:
        found = store.identity(said)
    except UsageFailure:
        if is_file:
            return latest_of(store, said)
        raise
    return latest_of(store, said) if is_file and found != said else found


def latest_of(store: Store, file: str) -> str:
    """The id of the latest run of a workflow file. Raises `UsageFailure` where it was not run."""
    newest = store.runs(1, whole_path(file))
    if not newest:
        raise UsageFailure(f"The journal has no run of {file}; make one with: merrow run {file}")
    return newest[0].id


def evaluation_meant(user: Store, said: str | None) -> str | None:
    """The id of the evaluation that ``said`` names: an id, or the beginning of one that is not that of a run; else None.
    Raises `UsageFailure` where it is the beginning of several.
    """
    return meant(user, user.evaluations, said)


def search_meant(user: Store, said: str | None) -> str | None:
    """The same for searches."""
    return meant(user, user.optimizations, said)


def extraction_meant(user: Store, said: str | None) -> str | None:
    """The same for extractions."""
    return meant(user, user.extractions, said)
