"""What pages show of the journal: the newest jobs, the runs of a file, a run as the drawing shows it, a job as one page."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from merrow_runtime.store.rows import SENT
from merrow_server.job_pages import JobPage, page_of, whole_page
from merrow_server.jobs.worker import JobThread
from merrow_server.rendering.html_page import page, safe
from merrow_server.reports.run_report import cost_text, run_object, run_report
from merrow_server.times import ago

if TYPE_CHECKING:
    from merrow_runtime.store.database import Store

_RUNS = 12
_JOBS = 100
_LONGEST_VALUE = 400
_MOST_VALUES = 8
_LIST_STYLE = """
table { width: 100%; } td.name { overflow-wrap: anywhere; } a { color: inherit; }
.finished { color: var(--good); } .failed { color: var(--bad); } .running, .waiting { color: var(--blue); }
.cancelled { color: var(--odd); }
.empty { margin-top: 2rem; }
@media (prefers-color-scheme: dark) { :root { --good: #56b05b; --bad: #f47067; --odd: #d9a22b; --blue: #4daafc; } }
"""
_T = TypeVar("_T")
Json = dict[str, Any]


class JournalViews:
    """Looks into the journal in threads of its own: one for what is quick, one for pages, which may have to be drawn."""

    def __init__(self) -> None:
        self._quick, self._pages = JobThread("merrow-view-journal"), JobThread("merrow-view-pages")

    async def runs(self, file: str, known: tuple[str, str] | None) -> Json:
        """See `runs_of`. Raises `RunFailure`."""
        return await _asked(self._quick, lambda store: runs_of(store, file, known))

    async def page(self, job: str) -> JobPage:
        """See `page_of`."""
        return await _asked(self._pages, lambda store: page_of(store, job))

    async def list(self, root: str) -> JobPage:
        """The newest jobs of all kinds as a page; its links begin with ``root``."""
        return await _asked(self._quick, lambda store: JobPage(whole_page(_list_page(store, root)), goes_on=True))


async def _asked(thread: JobThread, work: Callable[[Store], _T]) -> _T:
    async def called() -> _T:
        from merrow_runtime.store.database import Store

        with closing(Store.open(reading=True)) as store:
            return work(store)

    return await asyncio.wrap_future(thread.submit(called))


# The runs of a file


def runs_of(user: Store, file: str, known: tuple[str, str] | None) -> Json:
    """The latest ``runs`` of a workflow, newest first, and the ``picture`` of the newest one: its report, as far as a drawing
    shows it. ``known`` is the id and status of the run that the page has; the picture is None if that run is the newest and over,
    and if there is no run. Raises `StoreFailure`.
    """
    runs = [run_object(run) for run in user.runs(_RUNS, file)]
    listed = [
        {
            "run": run["run"],
            "status": run["status"],
            "started": run["started"],
            "seconds": run["seconds"],
            "cost": cost_text(run["usage"]),
        }
        for run in runs
    ]
    if not runs or (runs[0]["status"] != "running" and (runs[0]["run"], runs[0]["status"]) == known):
        return {"runs": listed, "picture": None}
    return {"runs": listed, "picture": _picture(user, runs[0]["run"])}


def _picture(user: Store, run: str) -> Json:
    report = run_report(user, run)
    nodes = [_node(node) for node in report["nodes"]]
    if report["status"] == "running":
        begun = {node["node"] for node in nodes}
        sent = dict.fromkeys(name for name, _, why in user.lost(run) if why == SENT)
        nodes += [_under_way(name) for name in sent if name not in begun]
    return {
        **{key: report[key] for key in ("run", "workflow", "status", "text", "loops", "exhausted", "error")},
        "nodes": nodes,
    }


_OF_NODE = ("node", "id", "path", "status", "operator", "error", "choice", "usage", "seconds", "sources")


def _node(node: Mapping[str, Any]) -> Json:
    outputs = node["outputs"]
    if outputs is not None:
        outputs = {name: _beginning(outputs[name]) for name in list(outputs)[:_MOST_VALUES]}
    return {**{key: node[key] for key in _OF_NODE if key in node}, "outputs": outputs, "memory": [], "calls": []}


def _under_way(name: str) -> Json:
    """A visit whose first call is on its way: nothing is written down of it yet."""
    path, _, own = name.rpartition("/")
    return {
        "node": name,
        "id": own.partition("!")[0],
        "path": path,
        "status": "unfinished",
        "error": None,
        "outputs": None,
        "memory": [],
        "calls": [],
    }


def _beginning(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


# All jobs


def _list_page(user: Store, root: str) -> Iterator[str]:
    entries = user.listing.newest(_JOBS)
    return page("Merrow: jobs", _list(entries, root), _LIST_STYLE)


def _list(entries: list[Any], root: str) -> Iterator[str]:
    yield "<h1>Recent jobs</h1>"
    if not entries:
        yield '<p class="empty">The journal has no jobs yet. Make one with: <code>merrow run FILE</code></p>'
        return
    yield "<table><thead><tr>" + "".join(f"<th>{head}</th>" for head in ("id", "kind", "status", "begun", "of"))
    yield "</tr></thead><tbody>"
    for entry in entries:
        name = PurePath(entry.file).name if entry.file else ""
        error = f'<br><span class="failed">{safe(entry.error)[:300]}</span>' if entry.error else ""
        yield (
            f'<tr><td><a target="_top" href="{root}/job/{quote(entry.id)}">{safe(entry.id)}</a></td>'
            f"<td>{safe(entry.kind)}</td>"
            f'<td class="{safe(entry.status)}">{safe(entry.status)}</td><td>{safe(ago(entry.started))}</td>'
            f'<td class="name">{safe(name)}{error}</td></tr>'
        )
    yield "</tbody></table>"
