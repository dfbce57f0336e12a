"""The rows of jobs for editors: the requests ``merrow/results`` and ``merrow/result``, and ``merrow.applyCandidate``.

``merrow/results`` takes ``kind`` (``evaluation``, ``batch``, ``comparison``, ``search``), ``id``, ``other`` (the second
evaluation of a comparison), and

- ``offset``, ``limit`` (at most 200): which rows of those that are looked for;
- ``sort``, the name of a column, and ``descending``; without it the order is: failures first, what turned first, the best first;
- ``verdicts``: only rows with one of these; ``search``, words that a row has, in the column ``within`` or in any; ``field``,
  ``{name, read?, gold?}``: only rows whose answer in the field is ``read``, and whose right value is ``gold``;
- ``head``: with what the whole job came to.

It answers ``{head?, columns, verdicts, all, total, offset, rows}``: ``columns`` ``{name, title, kind, field}``, ``verdicts`` how
many of all rows have which, ``total`` how many are looked for, and ``rows`` ``{key, verdict, run, wrong, reason, cells}``, where
texts are cut to 240 characters. ``merrow/result`` ``{kind, id, other?, key}`` answers all of one row.

``merrow.applyCandidate`` ``{id, candidate, uri?, diagram?}`` has the client write a candidate of a search into the document of
its workflow, or into ``uri``, merged with what was changed there since; ``{search, candidate, uri, diagram, edits}``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from merrow_server.features.commands.execute_command import apply
from merrow_server.features.commands.job_commands import JobArgument, fields_of, flag, text, whole
from merrow_server.features.commands.revision_commands import open_diagram
from merrow_server.features.commands.run_commands import asked_of
from merrow_server.features.commands.run_journal import text_in
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.work.following import refused

if TYPE_CHECKING:
    from merrow_server.jobs.results import TableName

RESULTS, RESULT, APPLY = "merrow/results", "merrow/result", "merrow.applyCandidate"
KINDS = ("evaluation", "batch", "comparison", "search")
_PAGE = {
    "offset": whole(least=0),
    "limit": whole(most=200),
    "sort": text(),
    "descending": flag(),
    "search": text(),
    "within": text(),
}
_OTHERS = {
    "head": flag(),
    "verdicts": JobArgument(list, "a list of texts"),
    "field": JobArgument(dict, "an object, such as {name: category, gold: billing}"),
}


def register(server: MerrowServer) -> None:
    server.feature(RESULTS)(results)
    server.feature(RESULT)(result)
    server.command(APPLY)(apply_candidate)


async def results(server: MerrowServer, params: Any) -> dict[str, Any]:
    """A page of the rows of a job."""
    asked = params if isinstance(params, dict) else {}
    name = _name(asked, RESULTS)
    page, others = fields_of(asked, _PAGE), fields_of(asked, _OTHERS)
    verdicts = others.get("verdicts", [])
    if not all(isinstance(verdict, str) for verdict in verdicts):
        raise InvalidParameters(f"`verdicts` must be {_OTHERS['verdicts'].words}.")
    field = None if "field" not in others else _field(others["field"])

    def work(session: Any) -> dict[str, Any]:
        from merrow_server.results.table import FieldChoice, PageRequest

        choice = None if field is None else FieldChoice(**field)
        request = PageRequest(**page, verdicts=tuple(verdicts), field=choice)
        answer: dict[str, Any] = session.results(
            lambda tables: tables.page(name(), request, head=others.get("head", False))
        )
        return answer

    return await server.jobs.ask(work)


async def result(server: MerrowServer, params: Any) -> dict[str, Any]:
    """All of one row."""
    asked = params if isinstance(params, dict) else {}
    name, key = _name(asked, RESULT), text_in(asked, "key", RESULT)
    return await server.jobs.ask(lambda session: session.results(lambda tables: tables.whole(name(), key)))


async def apply_candidate(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Write a candidate of a search into its document."""
    from merrow_analysis.edits.merging import merging, nearest

    asked = asked_of(arguments)
    search, number = text_in(asked, "id", APPLY), asked.get("candidate")
    if type(number) is not int or number < 0:
        raise InvalidParameters("`candidate` must be a whole number from 0.")
    found: dict[str, Any] = await server.jobs.ask(
        lambda session: session.look_at("search", lambda known: known.candidate(search, number))
    )
    uri = asked.get("uri", found["uri"])
    if not isinstance(uri, str):
        raise InvalidParameters(f"The workflow of search {search} is in no file; say in `uri` which document takes it.")
    place = asked["diagram"] if "uri" in asked else found["diagram"]
    diagram = open_diagram(server, uri, place)
    base = nearest(diagram.text, [found["before"]])
    edits = merging(base, diagram.text, found["after"])
    if edits is None:
        raise refused(
            "The file was changed at the same lines as the candidate; show the difference, and take over what you want.",
            "workflow",
        )
    if edits:
        await apply(server, diagram.document, f"Apply candidate {number}", diagram.edits_to_lsp(edits))
    return {
        "search": found["search"],
        "candidate": number,
        "uri": diagram.document.uri,
        "diagram": place,
        "edits": len(edits),
    }


def _name(asked: dict[str, Any], method: str) -> Callable[[], TableName]:
    """What makes the name of the table that is asked for, in the thread of the jobs. Raises `InvalidParameters`."""
    kind, identity = asked.get("kind"), text_in(asked, "id", method)
    if kind not in KINDS:
        raise InvalidParameters(f"`kind` must be one of {', '.join(KINDS)}.")
    other = text_in(asked, "other", method) if kind == "comparison" else ""

    def name() -> TableName:
        from merrow_server.jobs.results import TableName

        return TableName(kind, identity, other)

    return name


def _field(given: dict[str, Any]) -> dict[str, Any]:
    """The choice of a field by its parts. Raises `InvalidParameters`."""
    texts = {key: given.get(key) for key in ("name", "read", "gold")}
    if not isinstance(texts["name"], str) or not all(
        value is None or isinstance(value, str) for value in texts.values()
    ):
        raise InvalidParameters(f"`field` must be {_OTHERS['field'].words}.")
    return texts
