"""Revisions of runs: ``merrow.revise``, ``merrow.diff``, ``merrow.decideRevision``, ``merrow.acceptRevision`` and the request
``merrow/revision``.

``run`` may be left out where ``uri`` is given: it is the run of this document that goes on, else its newest one.

- ``merrow.revise`` has ``run`` continue as another workflow: the document ``uri`` as it is in the editor (``diagram`` in
  Markdown), a ``text``, or what the run was as its ``revision`` with this number (0: as it began). It answers what
  ``merrow revise --format json`` prints, also where the workflow is refused (``state``, ``reason``; the run goes on as it
  was), and ``resumes``: nobody works on the run, which continues so when it is resumed.
- ``merrow.diff`` says what ``run`` would keep of that, or with ``old``, the URI of an open document, in place of ``run`` what a
  run of that one would keep where ``finished`` are the finished nodes (all where it is left out). It answers what
  ``merrow diff --format json`` prints.
- ``merrow.decideRevision`` ``{run, revision, apply}`` applies or refuses (``apply`` false) a revision that waits for a person
  (the event ``revision_waiting``); it answers ``{run, revision, apply}``. A client that shows no runs is asked by
  ``window/showMessageRequest``.
- ``merrow.acceptRevision`` ``{run, revision?, uri?, diagram?}`` has the client write what a run became (by this revision, else as
  it is now) into its document, or into ``uri``: as edits of the lines that differ, without `redo`, and merged with what was
  typed meanwhile. It answers ``{run, revision, uri, diagram, accepted, edits, text}``; ``accepted`` is false, and nothing is
  written, where both changed the same lines, or where together they have errors: ``why`` says so, and ``text`` is the run's.
- ``merrow/revision`` ``{run, revision}``: a revision as ``merrow show --format json`` has it, with ``run``, ``uri``, ``diagram``,
  ``text`` (null where it has none), ``before`` (that of the run before it) and ``drawing``: its diagram as ``merrow/graph``
  answers it, in whose ``text`` the nodes that are gone are drawn, too; their ids are ``ghosts``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from merrow_analysis.ide.texts import ghosts
from merrow_server.features.commands.execute_command import apply, numbered
from merrow_server.features.commands.preview import drawn
from merrow_server.features.commands.run_commands import asked_of, check_trust, tell
from merrow_server.features.commands.run_journal import text_in, workflow_in_journal
from merrow_server.lsp.documents import OpenDiagram, OpenDocument, path_of
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.work.following import refused
from merrow_server.lsp.work.workflow_texts import text_of

if TYPE_CHECKING:
    from merrow_server.jobs.orders import EditorWorkflow, RevisionOrder

REVISE, DIFF, DECIDE, ACCEPT = "merrow.revise", "merrow.diff", "merrow.decideRevision", "merrow.acceptRevision"
REVISION = "merrow/revision"
_KINDS: dict[str, tuple[type, str]] = {
    "text": (str, "a text"),
    "old": (str, "the URI of a document"),
    "uri": (str, "the URI of a document"),
    "finished": (list, "a list of ids"),
    "revision": (int, "the number of a revision"),
    "apply": (bool, "true or false"),
}


def register(server: MerrowServer) -> None:
    server.command(REVISE)(revise)
    server.command(DIFF)(diff)
    server.command(DECIDE)(decide)
    server.command(ACCEPT)(accept)
    server.feature(REVISION)(revision)


async def revise(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Have a run continue as another workflow; how that ended."""
    asked = _asked(arguments)
    check_trust(server)
    order = await _order(server, asked)

    async def work(session: Any) -> dict[str, Any]:
        from merrow_server.jobs.revising import revise

        return await revise(session, order)

    ended = await server.jobs.have(work)
    if not server.supports.shows_runs:
        _tell(server, ended)
    return ended


async def diff(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """What a run would keep that continued as another workflow."""
    asked = _asked(arguments)
    old, finished = asked.get("old"), asked.get("finished")
    if finished is not None and not all(isinstance(visit, str) for visit in finished):
        raise InvalidParameters(f"`finished` must be {_KINDS['finished'][1]}.")
    if old is None:
        order = await _order(server, asked)

        def work(session: Any) -> dict[str, Any]:
            from merrow_server.jobs.revising import compare

            return compare(session, order)

        return await server.jobs.ask(work)
    before, after = text_of(open_diagram(server, old, 1), 1), _text(server, asked, None)

    def work_on_texts(_: Any) -> dict[str, Any]:
        from merrow_server.jobs.revising import compare_texts

        return compare_texts(before, after, finished)

    return await server.jobs.ask(work_on_texts)


async def decide(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Apply or refuse a revision that waits for that."""
    asked = _asked(arguments)
    run, number, agreed = await _run(server, asked), asked.get("revision"), asked.get("apply")
    if number is None or agreed is None:
        raise InvalidParameters(f"{DECIDE} needs `revision`, the number of a revision, and `apply`, true or false.")
    run_id = await server.jobs.ask(lambda session: session.runs.decide(run, number, apply=agreed))
    return {"run": run_id, "revision": number, "apply": agreed}


async def accept(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Write what a run became into its document."""
    from merrow_analysis.edits.merging import merging, nearest, without_redo
    from merrow_analysis.text import apply_edits

    asked = _asked(arguments)
    run, number = await _run(server, asked), asked.get("revision")

    def work(session: Any) -> tuple[str, list[str], str]:
        from merrow_server.jobs.revising import texts

        return (*texts(session, run, number), session.store.run(run).workflow)

    text, known, name = await server.jobs.ask(work)
    place = server.runs.place_of(name)
    uri, diagram_number = asked.get("uri", place.uri), asked["diagram"] if "uri" in asked else place.number
    if uri is None:
        raise InvalidParameters(f"The workflow of run {run} lies in no file; say in `uri` which document takes it.")
    diagram = open_diagram(server, uri, diagram_number)
    mine = diagram.text
    base = nearest(mine, known)
    theirs = without_redo(text, base)
    edits = merging(base, mine, theirs)
    answer = {"run": run, "revision": number, "uri": diagram.document.uri, "diagram": diagram_number, "text": theirs}
    if edits is None:
        return {**answer, "accepted": False, "edits": 0, "why": "The file was changed at the same lines."}
    merged = apply_edits(mine, edits)
    if edits and merged != theirs and not diagram.analysis.errors:
        errors = _scratch(diagram.document, merged).analysis.errors
        if errors:
            why = f"Together with the changes in the file it has an error: {errors[0].message}"
            return {**answer, "accepted": False, "edits": 0, "why": why}
    if edits:
        title = f"Accept revision {number} of run {run}" if number is not None else f"Accept what run {run} became"
        await apply(server, diagram.document, title, diagram.edits_to_lsp(edits))
    return {**answer, "accepted": True, "edits": len(edits)}


async def revision(server: MerrowServer, params: Any) -> dict[str, Any]:
    """A revision with its text and its picture."""
    run, number = text_in(params, "run", REVISION), params.get("revision")
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise InvalidParameters(f"{REVISION} needs `revision`, a number from 0.")

    async def work(session: Any) -> dict[str, Any]:
        from merrow_server.jobs.revising import revision

        return await revision(session, run, number)

    answer = await server.jobs.have(work)
    earlier = answer.pop("earlier")
    answer["before"] = earlier[-1] if earlier else None
    answer["drawing"], answer["ghosts"] = None, []
    if answer["text"] is not None:
        surroundings = _surroundings(server, answer["uri"])
        diagram = _scratch(surroundings, answer["text"])
        before = [_scratch(surroundings, version).analysis for version in earlier]
        renamed = answer["diff"].get("renamed", {}).values()
        text, gone = ghosts.with_ghosts(diagram.text, diagram.analysis, before, renamed)
        drawing = drawn(diagram.document, 1)
        labels = {name: node.label for analysis in before for name, node in analysis.flow.nodes.items()}
        empty = drawing["range"] | {}
        drawing |= {
            "text": text,
            "diagram": answer["diagram"],
            "nodes": [
                *drawing["nodes"],
                *(
                    {
                        "id": name,
                        "kind": "unknown",
                        "operator": None,
                        "style": None,
                        "label": None if (label := labels[name]) is None else label.text,
                        "range": empty,
                        "places": [],
                        "diagnostics": [],
                    }
                    for name in gone
                ),
            ],
        }
        answer["drawing"], answer["ghosts"] = drawing, gone
    return answer


def _asked(arguments: list[Any]) -> dict[str, Any]:
    asked = asked_of(arguments)
    for key, (kind, words) in _KINDS.items():
        value = asked.get(key)
        if value is not None and (not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)):
            raise InvalidParameters(f"`{key}` must be {words}.")
    if asked.get("revision", 0) < 0:
        raise InvalidParameters("`revision` must be a number from 0.")
    return asked


async def _run(server: MerrowServer, asked: dict[str, Any]) -> str:
    """The run that is meant: by its id, else that of the document. Raises `InvalidParameters`, `FeatureError`."""
    if "run" in asked:
        return str(asked["run"])
    if "uri" not in asked:
        raise InvalidParameters("`run` must be the id of a run; `merrow/runs` lists them.")
    uri, number = unquote(asked["uri"]), asked["diagram"]
    for live in server.jobs.live.values():
        place = live.place
        if live.what == "run" and live.id is not None and place.number == number and unquote(place.uri or "") == uri:
            return live.id
    name = workflow_in_journal(server, asked, REVISE)
    newest = await server.jobs.ask(lambda session: session.store.runs(1, name))
    if not newest:
        raise refused("There is no run of this workflow; run it first.")
    return newest[0].id


async def _order(server: MerrowServer, asked: dict[str, Any]) -> RevisionOrder:
    from merrow_server.jobs.orders import RevisionOrder

    run = await _run(server, asked)
    if "revision" in asked:
        return RevisionOrder(run, number=asked["revision"])
    where = None
    if "text" in asked and "uri" not in asked:
        name = await server.jobs.ask(lambda session: session.store.run(run).workflow)
        where = server.runs.place_of(name).uri
    return RevisionOrder(run, _text(server, asked, where))


def _text(server: MerrowServer, asked: dict[str, Any], where: str | None) -> EditorWorkflow:
    """The workflow that is meant: a text, else a document as it is. ``where`` is where a text without a ``uri`` lies."""
    if "text" in asked:
        return text_of(_scratch(_surroundings(server, asked.get("uri", where)), asked["text"]), 1)
    if "uri" not in asked:
        raise InvalidParameters("Say which workflow: `uri` of an open document, `text`, or `revision`.")
    return text_of(open_diagram(server, asked["uri"], asked["diagram"]), asked["diagram"])


def open_diagram(server: MerrowServer, uri: str, number: int) -> OpenDiagram:
    """A diagram of an open document. Raises `InvalidParameters`."""
    document = server.document(uri)
    if document is None:
        raise InvalidParameters(f"{uri} is not open; open the document first.")
    return numbered(document, number)


def _surroundings(server: MerrowServer, uri: str | None) -> OpenDocument | None:
    """The document at a URI, open or not, for what lies around it."""
    if uri is None:
        return None
    document, path = server.document(uri), path_of(uri)
    return document if document is not None or path is None else server.reports.read(path)


def _scratch(around: OpenDocument | None, text: str) -> OpenDiagram:
    """A text as the diagram of a document that nobody has open, with what lies around another one."""
    if around is None:
        return OpenDocument("untitled:revision.mmd", text, language_id="mermaid").diagrams[0]
    name = around.uri if around.path is None else f"{around.uri}.mmd"
    return OpenDocument(
        name, text, language_id="mermaid", encoding=around.encoding, path=around.path, context=around.context
    ).diagrams[0]


def _tell(server: MerrowServer, ended: dict[str, Any]) -> None:
    """Tell a client that has nothing to show runs with what became of a revision."""
    from lsprotocol import types

    number, run = ended["revision"], ended["run"]
    reason = f" {ended['reason']}" if "reason" in ended else ""
    match ended["state"]:
        case "refused":
            tell(server, f"Revision {number} of run {run} is refused.{reason}", types.MessageType.Warning)
        case "unchanged":
            tell(server, f"Nothing differs in revision {number} that run {run} would notice.", types.MessageType.Info)
        case state:
            what = "is applied" if state == "applied" else "is asked for"
            resumed = " Resume the run to continue it so." if ended["resumes"] else ""
            tell(server, f"Revision {number} of run {run} {what}.{resumed}", types.MessageType.Info)
