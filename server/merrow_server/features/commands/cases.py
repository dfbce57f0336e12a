"""Commands for cases of workflows: to list them, carry them out, and make one of a run. docs/editors.md has their shapes."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_server.features.code_action import as_mapping
from merrow_server.features.commands.run_commands import UNTRUSTED, check_runnable, tell
from merrow_server.features.commands.run_journal import text_in
from merrow_server.jobs.ticket import Ticket
from merrow_server.lsp.documents import path_of
from merrow_server.lsp.findings.cases_documents import LocatedCases, located
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.work.following import JobLocation, Live, refused
from merrow_server.lsp.work.workflow_texts import text_of

if TYPE_CHECKING:
    from merrow_runtime.store.contract import RunRecord
    from merrow_server.cases.saving import Saved
    from merrow_server.jobs.session import Session

CASES, TEST, SAVE = "merrow.cases", "merrow.test", "merrow.saveAsCase"
TEST_EVENT = "merrow/testEvent"
_BAD = frozenset({"failed", "stale", "error"})
_MOST_ERRORS = 3


def register(server: MerrowServer) -> None:
    server.command(CASES)(list_cases)
    server.command(TEST)(test)
    server.command(SAVE)(save)


def list_cases(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """The cases of a workflow with their places."""
    from merrow_server.cases.case_paths import is_cases, recording_path
    from merrow_server.cases.suites import errors

    uri = _asked(arguments)["uri"]
    cases = located(server, uri)
    if cases is None:
        path = path_of(uri)
        is_workflow = path is not None and not is_cases(path.name)
        return {"uri": None, "workflow": uri if is_workflow else None, "recording": None, "problems": 0, "cases": []}
    recording = recording_path(cases.path)
    return {
        "uri": cases.document.uri,
        "workflow": None if cases.workflow is None else _uri(server, cases.workflow.as_uri()),
        "recording": recording.as_uri() if recording.is_file() else None,
        "problems": len(errors(cases.findings)),
        "cases": [
            {
                "id": case.id,
                "range": cases.place(case.span),
                "tags": list(case.tags),
                "repeat": case.repeat,
                "xfail": case.xfail,
            }
            for case in cases.file.cases
        ],
    }


async def test(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Carry out cases; how each ended. Each is also told as it begins and ends."""
    from merrow_server.jobs.orders import CasesOrder, EditorFiles

    asked = _asked(arguments)
    if not server.runs.trusted:
        raise refused(UNTRUSTED, "untrusted", "trust")
    cases = located(server, asked["uri"])
    if cases is None:
        raise refused("There is no cases file here: NAME.cases.yaml beside NAME.mmd has the cases of a workflow.")
    _check(cases)
    provider = cases.document.context.provider
    assert cases.workflow is not None and provider is not None  # noqa: S101, PT018 (see `_check`)
    workflow = _workflow(server, cases)
    files = EditorFiles(provider, asyncio.get_running_loop())
    ids = None if asked.get("ids") is None else tuple(asked["ids"])
    order = CasesOrder(
        Ticket(),
        cases.path,
        cases.document.text,
        workflow,
        files,
        ids,
        asked.get("record", False),
        asked.get("model"),
        asked.get("baseUrl"),
    )
    results: list[dict[str, Any]] = []

    def told(event: dict[str, Any]) -> None:
        result = event["result"]
        if result is not None:
            whole, place = event["spans"]
            result = {**result, "range": cases.place(whole), "place": cases.place(place)}
            results.append(result)
        server.protocol.send_plain(TEST_EVENT, {"uri": cases.document.uri, "id": event["id"], "result": result})

    count = len(cases.file.cases) if ids is None else len(set(ids))
    place = JobLocation(cases.document.uri, 1)
    live = Live(order.ticket, place, "cases", _uri(server, cases.workflow.as_uri()))
    ended = await server.runs.test(order, live, told, f"Testing {cases.workflow.name}", count)
    # What the thread told last is on its way to this loop.
    await asyncio.sleep(0)
    order_of = {case.id: number for number, case in enumerate(cases.file.cases)}
    results.sort(key=lambda result: order_of[result["id"]])
    answer = _answer(cases, _uri(server, cases.workflow.as_uri()), results, cancelled=not ended["whole"])
    if not server.supports.shows_runs:
        good = types.MessageType.Info if answer["ok"] else types.MessageType.Warning
        tell(server, _summary(cases, answer), good)
    return answer


async def save(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Make a case of a run of the journal: in the cases file that is named, else beside the run's workflow."""
    asked = as_mapping(arguments[0] if arguments else None) or {}
    run, uri = text_in(asked, "run", SAVE), asked.get("uri")
    path = path_of(uri) if isinstance(uri, str) else None
    if uri is not None and path is None:
        raise InvalidParameters("`uri` must be the URI of a cases file or a workflow.")

    def run_of_path(session: Session) -> tuple[RunRecord, Path]:
        from merrow_server.cases.saving import file_for
        from merrow_server.evaluations.journals import journal_with

        with journal_with(session.store, run) as store:
            record = store.run(run)
        return record, file_for(record, path)

    record, file = await server.jobs.ask(run_of_path)
    document = server.document(file.as_uri())
    on_disk = server.reports.read(file) if document is not None else None
    if document is not None and (on_disk is None or on_disk.text != document.text):
        raise refused(f"{file.name} has changes that are not saved; save it first, then the run.", "usage")

    def saved(_: Session) -> Saved:
        from merrow_server.cases.saving import save_run

        return save_run(record, file)

    case = await server.jobs.ask(saved)
    if not server.supports.shows_runs:
        tell(server, case.sentence, types.MessageType.Info)
    start = {"line": case.line - 1, "character": 0}
    return {
        "uri": _uri(server, file.as_uri()),
        "id": case.id,
        "range": {"start": start, "end": start},
        "text": case.sentence,
    }


def _answer(cases: LocatedCases, workflow: str, results: list[dict[str, Any]], *, cancelled: bool) -> dict[str, Any]:
    costs = [result["cost_usd"] for result in results]
    return {
        "uri": cases.document.uri,
        "workflow": workflow,
        "ok": not cancelled and not any(result["status"] in _BAD for result in results),
        "cancelled": cancelled,
        "counts": dict(Counter(result["status"] for result in results)),
        "results": results,
        "seconds": sum(result["seconds"] for result in results),
        "cost_usd": None if None in costs else sum(costs),
    }


def _summary(cases: LocatedCases, answer: dict[str, Any]) -> str:
    counts = ", ".join(f"{number} {status}" for status, number in answer["counts"].items()) or "no case"
    lines = [f"{cases.path.name}: {counts}."]
    lines += [f"{result['id']}: {result['message']}" for result in answer["results"] if result["status"] in _BAD][
        :_MOST_ERRORS
    ]
    return "\n".join(lines)


def _check(cases: LocatedCases) -> None:
    """Raise `FeatureError` where the cases can't be carried out."""
    from merrow_server.cases.suites import errors

    wrong = errors(cases.findings)
    if wrong:
        count = "an error" if len(wrong) == 1 else f"{len(wrong)} errors"
        shown = "; ".join(
            f"line {error.range.start.line + 1}: {error.message.rstrip('.')} ({error.code})"
            for error in wrong[:_MOST_ERRORS]
        )
        raise refused(f"{cases.path.name} has {count} and is not run: {shown}.", "workflow", "problems")
    if cases.workflow is None:
        raise refused(f"There is no workflow beside {cases.path.name}.", "workflow")


def _workflow(server: MerrowServer, cases: LocatedCases) -> Any:
    """The workflow as it is in the editor. Raises `FeatureError` where it has errors."""
    assert cases.workflow is not None  # noqa: S101 (see `_check`)
    uri = cases.workflow.as_uri()
    document = server.document(uri) or server.reports.read(cases.workflow)
    if document is None:
        raise refused(f"{cases.workflow.name} can't be read.", "workflow")
    if len(document.diagrams) != 1:
        raise refused(f"{cases.workflow.name} must have one diagram to have cases.", "workflow")
    check_runnable(document.diagrams[0])
    return text_of(document.diagrams[0], 1)


def _uri(server: MerrowServer, uri: str) -> str:
    """The URI as the client writes it, where it has the document open."""
    document = server.document(uri)
    return uri if document is None else document.uri


_KINDS: dict[str, tuple[type, str]] = {
    "uri": (str, "the URI of a cases file or a workflow"),
    "ids": (list, "a list of ids"),
    "record": (bool, "true or false"),
    "model": (str, "a text"),
    "baseUrl": (str, "a text"),
}


def _asked(arguments: list[Any]) -> dict[str, Any]:
    """The one argument, checked. Raises `InvalidParameters`."""
    given = as_mapping(arguments[0]) if arguments else None
    asked = {key: value for key, value in (given or {}).items() if value is not None}
    for key, (kind, words) in _KINDS.items():
        if (key == "uri" or key in asked) and not isinstance(asked.get(key), kind):
            raise InvalidParameters(f"`{key}` must be {words}.")
    if not all(isinstance(case_id, str) for case_id in asked.get("ids", ())):
        raise InvalidParameters("`ids` must be a list of texts.")
    return asked
