"""Commands that a client may have executed: ``merrow.fix``, ``merrow.fixWorkspace``, ``merrow.metrics``, ``merrow.graph``,
``merrow.explain``.

The first argument is a document's URI (a rule's code or name for ``merrow.explain``); ``merrow.metrics`` and
``merrow.graph`` take the number of a Markdown file's diagram, from 1, as their second; ``merrow.fixWorkspace`` takes none.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_analysis.difference import single_edit
from merrow_analysis.text import Range, split_lines
from merrow_server.lsp.documents import OpenDiagram, OpenDocument
from merrow_server.lsp.protocol import FeatureError, InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.rendering.counts import counted

if TYPE_CHECKING:
    from merrow_server.changes.fixing import Repaired


def register(server: MerrowServer) -> None:
    server.command("merrow.fix")(fix)
    server.command("merrow.fixWorkspace")(fix_workspace)
    server.command("merrow.metrics")(metrics)
    server.command("merrow.graph")(graph)
    server.command("merrow.explain")(explain)


async def fix(server: MerrowServer, arguments: list[Any]) -> dict[str, int]:
    """Repair what is safe to repair in a document; how many findings of each rule were."""
    document = the_document(server, arguments)
    repaired, edits = _repaired(document)
    if edits:
        await apply(server, document, "Fix all safe problems", edits)
    return dict(repaired.applied)


async def fix_workspace(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:  # noqa: ARG001
    """Repair what is safe to repair in all workflow files of the workspace, open or not, as one step.

    The answer is ``{fixed, files}``: how many findings of each rule were repaired, and in how many files. Raises `FeatureError`
    where an open file is edited meanwhile.
    """
    from merrow_server.files import discover

    folders = [str(folder) for folder in server.surroundings.folders]
    discovered = await asyncio.to_thread(discover, folders)
    fixed: Counter[str] = Counter()
    changes: dict[str, list[types.TextEdit]] = {}
    read: list[tuple[OpenDocument, int | None]] = []
    for path in (target.path for target in discovered.targets):
        document = None if path is None else server.document(path.as_uri()) or server.reports.read(path)
        if document is not None:
            read.append((document, document.version))
            repaired, edits = _repaired(document)
            if edits:
                changes[document.uri] = edits
                fixed += repaired.applied
        await asyncio.sleep(0)
    if any(document.version != version for document, version in read):
        raise FeatureError("A file was edited meanwhile; ask again.", types.LSPErrorCodes.ContentModified)
    if changes:
        await _send(server, server.edits(changes), "Fix all safe problems in the workspace")
    return {"fixed": dict(fixed), "files": len(changes)}


def _repaired(document: OpenDocument) -> tuple[Repaired, list[types.TextEdit]]:
    """What is safe to repair in a document, and the edits that do it."""
    from merrow_analysis.diagnostics import Applicability
    from merrow_server.changes.fixing import repair

    scratch = OpenDocument(
        document.uri, document.text, language_id=document.language_id, path=document.path, context=document.context
    )

    def diagnose(text: str) -> list[Any]:
        scratch.replace(text)
        return [
            diagram.in_document(diagnostic)
            for diagram in scratch.diagrams
            for diagnostic in diagram.analysis.diagnostics
        ]

    repaired = repair(document.text, diagnose, Applicability.SAFE)
    edit = single_edit(document.lines, split_lines(repaired.text))
    return repaired, [] if edit is None else [types.TextEdit(document.to_lsp(edit.range), edit.new_text)]


async def apply(
    server: MerrowServer,
    document: OpenDocument,
    label: str,
    edits: list[types.TextEdit],
    created: Mapping[str, str] | None = None,
    confirm: str | None = None,
) -> None:
    """Have the client apply edits as one step, with files that are ``created``, texts by URI.

    With ``confirm`` the reader sees them and this sentence first, where the client can do that. Raises `InvalidParameters` where
    it can't or doesn't.
    """
    change = (
        server.edit(document, edits)
        if confirm is None
        else server.confirmed_edit(document, edits, label, confirm, label)
    )
    for uri, text in (created or {}).items():
        start = types.Range(types.Position(0, 0), types.Position(0, 0))
        whole = types.TextDocumentEdit(
            types.OptionalVersionedTextDocumentIdentifier(uri, None), [types.TextEdit(start, text)]
        )
        new = types.CreateFile(uri=uri, options=types.CreateFileOptions(overwrite=False, ignore_if_exists=False))
        change.document_changes = [new, whole, *(change.document_changes or ())]
    await _send(server, change, label)


async def _send(server: MerrowServer, change: types.WorkspaceEdit, label: str) -> None:
    """Have the client apply a change. Raises `InvalidParameters` where it can't or doesn't."""
    if not server.supports.apply_edit:
        raise InvalidParameters("This editor can't apply edits that the server sends; use the code action.")
    answer = await server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(change, label))
    if not answer.applied:
        reason = f": {answer.failure_reason}" if answer.failure_reason else ""
        raise InvalidParameters(f"The editor did not apply the edit{reason}.")


def metrics(server: MerrowServer, arguments: list[Any]) -> dict[str, object]:
    """The figures of a diagram, as ``merrow metrics --format json`` prints them."""
    from merrow_analysis.graph.measures.metrics import metrics as measure

    analysis = the_diagram(server, arguments).analysis
    return measure(analysis.typed if analysis.typed is not None else analysis.flow).as_json()


def graph(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """The typed graph of a workflow, as ``merrow graph`` prints it; of a flowchart that names no operators, as it is drawn."""
    from merrow_server.positions import WireRange
    from merrow_server.rendering.graph import graph_object

    diagram = the_diagram(server, arguments)
    if diagram.analysis.may_be_drawn:
        diagram = diagram.as_drawn()
    analysis = diagram.analysis
    if analysis.typed is None:
        raise InvalidParameters(f"This diagram is not a workflow: {analysis.why_no_workflow}.")

    def place(span: Range) -> WireRange:
        lsp_range = diagram.to_lsp(span)
        return {
            "start": {"line": lsp_range.start.line, "character": lsp_range.start.character},
            "end": {"line": lsp_range.end.line, "character": lsp_range.end.character},
        }

    return graph_object(analysis.typed, analysis.settings, diagram.document.uri, place, len(analysis.errors))


def explain(server: MerrowServer, arguments: list[Any]) -> str:  # noqa: ARG001
    """The Markdown page of a rule."""
    from merrow_analysis.rules.pages import shown_page
    from merrow_analysis.rules.registry import find_rule

    named = arguments[0] if arguments and isinstance(arguments[0], str) else ""
    rule = find_rule(named)
    page = None if rule is None else shown_page(rule.code)
    if page is None:
        raise InvalidParameters("The first argument must be the code or the name of a rule, such as MW105.")
    return page


def the_document(server: MerrowServer, arguments: list[Any]) -> OpenDocument:
    """The open document that the first argument names. Raises `InvalidParameters`."""
    uri = arguments[0] if arguments and isinstance(arguments[0], str) else ""
    document = server.document(uri)
    if document is None:
        raise InvalidParameters("The first argument must be the URI of an open document.")
    return document


def the_diagram(server: MerrowServer, arguments: list[Any]) -> OpenDiagram:
    number = arguments[1] if len(arguments) > 1 else 1
    return numbered(the_document(server, arguments), number)


def numbered(document: OpenDocument, number: object) -> OpenDiagram:
    """A diagram of a document by its number. Raises `InvalidParameters`."""
    diagrams = document.diagrams
    if not isinstance(number, int) or not 1 <= number <= len(diagrams):
        raise InvalidParameters(
            f"The document has {counted(len(diagrams), 'diagram')}; the argument must name one, from 1."
        )
    return diagrams[number - 1]
