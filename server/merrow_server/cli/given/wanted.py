"""What is to be shown, by what the user calls it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from merrow_runtime.errors import UsageFailure
from merrow_runtime.program.workflow_files import DIAGRAM_SUFFIXES, MARKDOWN_SUFFIXES, Target, block_target, file_target
from merrow_server.errors import InputError

if TYPE_CHECKING:
    from merrow_server.viewing.http import ServedPages


class Wanted(ABC):
    """What a page shows; ``title`` names it for the user."""

    title: str

    @abstractmethod
    def path(self, shown: ServedPages) -> str:
        """Where it is, below the token. Called in the event loop, once."""


class WantedFile(Wanted):
    """A workflow file, or a diagram of a Markdown file."""

    def __init__(self, target: Target) -> None:
        self.title, self._target = target.name, target

    def path(self, shown: ServedPages) -> str:
        """See `Wanted`."""
        from merrow_server.features.commands.preview import drawn
        from merrow_server.viewing.on_disk import FileOnDisk

        assert self._target.path is not None  # noqa: S101 (it is no standard input)
        file = FileOnDisk(self._target.path, drawn)
        shown.keep(file.follow())
        block = "" if self._target.block is None else f"?diagram={self._target.block}"
        return shown.add(file) + block


class WantedJob(Wanted):
    """A job of the journal, by its whole id."""

    def __init__(self, kind: str, identity: str) -> None:
        self.title, self._identity = f"The {kind} {identity}", identity

    def path(self, shown: ServedPages) -> str:
        """See `Wanted`."""
        del shown
        return f"/job/{quote(self._identity)}"


class WantedList(Wanted):
    """The newest jobs."""

    title = "The list of jobs"

    def path(self, shown: ServedPages) -> str:
        """See `Wanted`."""
        del shown
        return "/"


def wanted(name: str | None) -> Wanted:
    """What a name on the command line means: a file, or else a job by the beginning of its id. Without a name, the list of jobs.
    Raises `InputError`.
    """
    if name is None:
        return WantedList()
    if _is_file(name, (*DIAGRAM_SUFFIXES, *MARKDOWN_SUFFIXES)):
        return WantedFile(file_target(name))
    return _job(name)


def _is_file(name: str, endings: Sequence[str]) -> bool:
    try:
        if Path(name).exists() or block_target(name) is not None:
            return True
    except (OSError, ValueError):
        return False
    # Whoever names a file that is not there should hear that, and not of the journal.
    return name.partition("#")[0].lower().endswith(tuple(endings))


def _job(name: str) -> Wanted:
    from merrow_runtime.store.database import Store
    from merrow_server.cli.given.run_names import job_meant, run_meant
    from merrow_server.evaluations.journals import journal_with

    with closing(Store.open(reading=True)) as user:
        entry = job_meant(user, name)
        if entry is not None:
            return WantedJob(entry.kind, entry.id)
        try:
            with journal_with(user, name) as store:
                return WantedJob("run", run_meant(store, name))
        except UsageFailure:
            raise InputError(
                f"There is neither a file nor a job {name!r}; merrow view without a name lists the jobs."
            ) from None
