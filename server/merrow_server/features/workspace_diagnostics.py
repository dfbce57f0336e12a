"""Diagnostics of all files in the workspace, open or not, for clients that ask for them."""

from __future__ import annotations

import asyncio
from pathlib import Path

from lsprotocol import types

from merrow_server.lsp.progress import progress
from merrow_server.lsp.server import MerrowServer, path_of

MANY = 50
"""From so many files on, progress is shown unasked."""
_BATCH = 25

Report = types.WorkspaceFullDocumentDiagnosticReport | types.WorkspaceUnchangedDocumentDiagnosticReport


def register(server: MerrowServer) -> None:
    server.feature(types.WORKSPACE_DIAGNOSTIC)(pull_workspace)


async def pull_workspace(
    server: MerrowServer, params: types.WorkspaceDiagnosticParams
) -> types.WorkspaceDiagnosticReport:
    """A report for each workflow and Markdown file, or that it is what the client has; in parts if the client likes."""
    from merrow_server.files import discover

    known = {previous.uri: previous.value for previous in params.previous_result_ids}
    folders = server.surroundings.folders
    # Walking a large tree takes a while; editing goes on meanwhile.
    found = await asyncio.to_thread(discover, [str(folder) for folder in folders]) if folders else None
    paths = [target.path for target in found.targets if target.path is not None] if found is not None else []
    reports: list[Report] = []
    async with progress(
        server, "Checking workflows", len(paths), params.work_done_token, ask=len(paths) >= MANY
    ) as shown:
        for number, path in enumerate(paths):
            report = _report(server, path, known)
            if report is not None:
                reports.append(report)
            if params.partial_result_token is not None and len(reports) >= _BATCH:
                _send(server, params.partial_result_token, reports)
                reports = []
            await shown.step(number + 1, path.name)
    gone = known.keys() - {path.as_uri() for path in paths} - {document.uri for document in server.documents.values()}
    # A file that is gone has no problems any more.
    reports += [
        types.WorkspaceFullDocumentDiagnosticReport(uri=uri, items=[])
        for uri in sorted(gone)
        if (path_of(uri) or Path()).suffix
    ]
    if params.partial_result_token is not None:
        _send(server, params.partial_result_token, reports)
        reports = []
    return types.WorkspaceDiagnosticReport(list(reports))


def _report(server: MerrowServer, path: Path, known: dict[str, str]) -> Report | None:
    uri = path.as_uri()
    document = server.document(uri)
    found = server.reports.of_file(path) if document is None else server.reports.of(document)
    if found is None:
        return None
    items, identifier = found
    if document is not None:
        uri = document.uri
    version = None if document is None else document.version
    if known.get(uri) == identifier:
        return types.WorkspaceUnchangedDocumentDiagnosticReport(uri=uri, result_id=identifier, version=version)
    return types.WorkspaceFullDocumentDiagnosticReport(uri=uri, items=items, result_id=identifier, version=version)


def _send(server: MerrowServer, token: types.ProgressToken, reports: list[Report]) -> None:
    part = types.WorkspaceDiagnosticReportPartialResult(list(reports))
    server.protocol.notify(types.PROGRESS, types.ProgressParams(token, server.plain(part)))
