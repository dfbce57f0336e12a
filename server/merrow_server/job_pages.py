"""A job of the journal as one page, for all that show it: the page that ``merrow share`` writes, or else its data."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from merrow_server.cli.kinds import KINDS, View, door
from merrow_server.errors import InputError, RunFailure
from merrow_server.evaluations.journals import journal_with
from merrow_server.rendering.html_page import page, safe

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store

_LONGEST_DATA = 200_000
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class JobPage:
    """A job as a page of HTML; ``goes_on``: it may look otherwise soon."""

    html: str
    goes_on: bool


def page_of(user: Store, job: str) -> JobPage:
    """The page that ``merrow share`` writes of a job, by its whole id; of what has none, its data. What can't be shown is said on
    the page.
    """
    try:
        entry = user.listing.exactly(job)
        kind = "run" if entry is None else entry.kind
        status = _status_of_run(user, job) if kind == "run" or entry is None else entry.status
        html = _shared(user, kind, job, has_data=entry is not None)
    except RunFailure as problem:
        return JobPage(whole_page(page("Merrow", _sentence("It can't be shown", str(problem)))), goes_on=False)
    return JobPage(html, goes_on=status == "running")


def _status_of_run(user: Store, run: str) -> str:
    with journal_with(user, run) as store:
        return store.run(run).status


def _shared(user: Store, kind: str, job: str, *, has_data: bool) -> str:
    with tempfile.TemporaryDirectory(prefix="merrow-view-") as folder:
        file = Path(folder, "page.html")
        try:
            door(kind).show(user, job, View("html", str(file)))
        except InputError as problem:
            if not has_data or kind == "run":
                raise
            return whole_page(_data_page(user, kind, job, str(problem)))
        return file.read_text("utf-8", "surrogatepass")


def _data_page(user: Store, kind: str, job: str, why: str) -> Iterator[str]:
    """A job of a kind that has no page, or none yet: how it stands, and what the journal has of it."""
    found = next((entry for entry in door(kind).listed(user, 1_000, None) if entry.get(kind) == job), None)
    status = "" if found is None else f": {found['status']}"
    return page(f"{kind} {job}{status}", _data(kind, job, status, why, found))


def _data(kind: str, job: str, status: str, why: str, found: Json | None) -> Iterator[str]:
    yield f"<h1>{safe(KINDS[kind].partition(' ')[2].capitalize())} {safe(job)}{safe(status)}</h1><p>{safe(why)}</p>"
    yield f"<p>In a terminal: <code>merrow show {safe(job)}</code></p>"
    if found is not None:
        text = json.dumps(found, indent=2, ensure_ascii=False)
        cut = "" if len(text) <= _LONGEST_DATA else "\n..."
        yield f"<details open><summary>What the journal has</summary><pre>{safe(text[:_LONGEST_DATA] + cut)}</pre></details>"


def _sentence(title: str, text: str) -> Iterator[str]:
    yield f"<h1>{safe(title)}</h1><p>{safe(text)}</p>"


def whole_page(lines: Iterator[str]) -> str:
    """The HTML of a page."""
    return "\n".join(lines)
