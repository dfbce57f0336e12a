"""The journal of runs for editors: ``merrow/runs``, ``merrow/show``, ``merrow/deleteRun``, ``merrow/compareRuns``.

- ``merrow/runs`` ``{uri?, diagram?, limit?}``: the newest runs, newest first, each ``{run, workflow, uri, diagram, status,
  started, seconds, usage, error, parent, here}``; ``here`` says that this server works on it;
- ``merrow/show`` ``{run, node?}``: a run with its nodes, what they were given, remembered, asked and answered;
- ``merrow/deleteRun`` ``{run}``: takes it out of the journal;
- ``merrow/compareRuns`` ``{a, b}``: two runs node by node.

The beginning of a run's id is enough everywhere.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from merrow_server.lsp.documents import path_of
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer

RUNS, SHOW, DELETE, COMPARE = "merrow/runs", "merrow/show", "merrow/deleteRun", "merrow/compareRuns"
_LISTED = 50
_MOST = 1_000


def register(server: MerrowServer) -> None:
    server.feature(RUNS)(runs)
    server.feature(SHOW)(show)
    server.feature(DELETE)(delete)
    server.feature(COMPARE)(compare)


async def runs(server: MerrowServer, params: Any) -> list[dict[str, Any]]:
    """The newest runs of the journal, or of one document."""
    asked = params if isinstance(params, dict) else {}
    name, limit = what_to_list(server, asked, RUNS)
    entries, damaged = await server.jobs.ask(lambda session: _journal().list_runs(session, name, limit))
    for sentence in damaged:
        server.runs.warn_once(sentence)
    listed: list[dict[str, Any]] = entries
    return listed


async def show(server: MerrowServer, params: Any) -> dict[str, Any]:
    """One run, or one of its nodes."""
    run, node = text_in(params, "run", SHOW), None
    if params.get("node") is not None:
        node = text_in(params, "node", SHOW)
    return await server.jobs.ask(lambda session: _journal().show_run(session, run, node))


async def delete(server: MerrowServer, params: Any) -> dict[str, Any]:
    """Take a run out of the journal."""
    run = text_in(params, "run", DELETE)
    return await server.jobs.ask(lambda session: _journal().delete_run(session, run))


async def compare(server: MerrowServer, params: Any) -> dict[str, Any]:
    """Two runs side by side."""
    first, second = text_in(params, "a", COMPARE), text_in(params, "b", COMPARE)
    return await server.jobs.ask(lambda session: _journal().compare(session, first, second))


def _journal() -> ModuleType:
    """Imported by the thread of the runs: it brings the runtime with it, which would hold up this one."""
    from merrow_server.jobs import journal

    return journal


def text_in(params: Any, key: str, method: str) -> str:
    """A text of the parameters. Raises `InvalidParameters`."""
    value = params.get(key) if isinstance(params, dict) else None
    if not isinstance(value, str) or not value:
        raise InvalidParameters(f"{method} needs `{key}`, a text.")
    return value


def what_to_list(server: MerrowServer, asked: dict[str, Any], method: str) -> tuple[str | None, int]:
    """Which workflow of the journal a list is of (None: all), and how long it may be. Raises `InvalidParameters`."""
    limit = _LISTED if asked.get("limit") is None else asked["limit"]
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= _MOST:
        raise InvalidParameters(f"`limit` must be a whole number from 1 to {_MOST}.")
    return workflow_in_journal(server, asked, method), limit


def workflow_in_journal(server: MerrowServer, asked: dict[str, Any], method: str) -> str | None:
    """What the journal calls the diagram that is asked about; None for all."""
    from merrow_server.lsp.contexts import absolute_path

    uri = asked.get("uri")
    if uri is None:
        return None
    if not isinstance(uri, str):
        raise InvalidParameters(f"The uri of {method} must be a text.")
    path = path_of(uri)
    name = uri if path is None else str(absolute_path(path))
    document = server.document(uri)
    in_fence = document.kind == "markdown" if document is not None else asked.get("diagram") is not None
    return f"{name}#{asked.get('diagram') or 1}" if in_fence else name
