"""Which run, evaluation, search or extraction is meant: by its id, by the file that it ran, or the latest where nothing is
said.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from merrow_runtime.errors import UsageFailure
from merrow_runtime.program.workflow_files import whole_path

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store
    from merrow_runtime.store.listing import JobEntry


def run_meant(store: Store, name: str | None) -> str:
    """The id of the run that ``name`` stands for: an id or the beginning of one, or a workflow file, whose latest run it is. The
    latest run of all where nothing is said. Raises `UsageFailure`.
    """
    if name is None:
        newest = store.runs(1)
        if not newest:
            raise UsageFailure("There are no runs in the journal yet; make one with: merrow run FILE")
        return newest[0].id
    is_file = Path(name.partition("#")[0]).is_file()
    try:
        identity = store.identity(name)
    except UsageFailure:
        if is_file:
            return latest_of(store, name)
        raise
    return latest_of(store, name) if is_file and identity != name else identity


def latest_of(store: Store, file: str) -> str:
    """The id of the latest run of a workflow file. Raises `UsageFailure` where it was not run."""
    newest = store.runs(1, whole_path(file))
    if not newest:
        raise UsageFailure(f"The journal has no run of {file}; make one with: merrow run {file}")
    return newest[0].id


def job_meant(user: Store, name: str | None) -> JobEntry | None:
    """What ``name`` stands for by its id, of whatever kind, or by the beginning of it; None where that is left to `run_meant`, or
    may be a run in the journal of an evaluation or a search. Raises `UsageFailure` for the beginning of several ids.
    """
    if name is None:
        return None
    is_file = Path(name.partition("#")[0]).is_file()
    return user.listing.exactly(name) if is_file else user.listing.find(name)
