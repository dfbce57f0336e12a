"""Diagnostics of all files in the workspace, open or not, for clients that ask for them.

A client that takes results in parts has its request held open: it is told of each change until it cancels. Any other is
answered at once.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from lsprotocol import types

from merrow_server.lsp.documents import path_of
from merrow_server.lsp.progress import progress
from merrow_server.lsp.server import MerrowServer

MANY = 50
"""From so many files on, progress is shown unasked."""
_BATCH = 25

Report = dict[str, Any]
"""A report on one document, as JSON has it."""


def register(server: MerrowServer) -> None:
    server.on_checked.append(lambda document: server.reports.changed(document.uri))
    server.feature(types.WORKSPACE_DIAGNOSTIC)(pull_workspace)


async def pull_workspace(server: MerrowServer, params: types.WorkspaceDiagnosticParams) -> dict[str, Any]:
    """A report for each workflow and Markdown file, or that it is what the client has; in parts if the client likes."""
    answer = _Answer(server, params)
    with server.reports.listening() as changes:
        await answer.report_all(params.work_done_token)
        while params.partial_result_token is not None:
            uris = await changes.take()
            if uris is None:
                await answer.report_all(None, only_news=True)
            else:
                answer.report_some(uris)
    return {"items": answer.reports}


class _Answer:
    """What one client was told in answer to one request."""

    def __init__(self, server: MerrowServer, params: types.WorkspaceDiagnosticParams) -> None:
        self._server = server
        self._token = params.partial_result_token
        self._known = {previous.uri: previous.value for previous in params.previous_result_ids}
        self._paths: list[Path] = []
        self.reports: list[Report] = []
        """Reports that were not sent yet."""

    async def report_all(self, token: types.ProgressToken | None, *, only_news: bool = False) -> None:
        """Report on every file; with ``only_news`` on those whose diagnostics the client doesn't have yet."""
        from merrow_server.files import CHECKED_ENDINGS, discover

        server = self._server
        # Walking a large tree takes a while; editing goes on meanwhile.
        names = [str(folder) for folder in server.surroundings.folders]
        discovered = await asyncio.to_thread(discover, names, None, CHECKED_ENDINGS)
        self._paths = [target.path for target in discovered.targets if target.path is not None]
        count = len(self._paths)
        async with progress(server, "Checking workflows", count, token, ask=count >= MANY and not only_news) as shown:
            for number, path in enumerate(self._paths):
                self._report(path, only_news=only_news)
                if len(self.reports) >= _BATCH:
                    self._send()
                await shown.step(number + 1, path.name)
        here = {path.as_uri() for path in self._paths} | {document.uri for document in server.documents.values()}
        for uri in sorted(self._known.keys() - here):
            # A file that is gone has no problems any more.
            if (path_of(uri) or Path()).suffix:
                self.reports.append({"kind": "full", "uri": uri, "version": None, "items": []})
                del self._known[uri]
        self._send()

    def report_some(self, uris: set[str]) -> None:
        """Report on those of the files that are open under these URIs."""
        for path in self._paths:
            document = self._server.document(path.as_uri())
            if document is not None and document.uri in uris:
                self._report(path, only_news=True)
        self._send()

    def _report(self, path: Path, *, only_news: bool) -> None:
        uri = path.as_uri()
        document = self._server.document(uri)
        reports = self._server.reports
        content = reports.of_file(path) if document is None else reports.of(document)
        if content is None:
            return
        items, identifier = content
        if document is not None:
            uri = document.uri
        report: Report = {"uri": uri, "resultId": identifier, "version": None if document is None else document.version}
        if self._known.get(uri) != identifier:
            self.reports.append({"kind": "full", **report, "items": items})
        elif not only_news:
            self.reports.append({"kind": "unchanged", **report})
        self._known[uri] = identifier

    def _send(self) -> None:
        """Send the reports so far, to a client that takes results in parts."""
        if self._token is None or not self.reports:
            return
        self._server.protocol.send_plain(types.PROGRESS, {"token": self._token, "value": {"items": self.reports}})
        self.reports = []
