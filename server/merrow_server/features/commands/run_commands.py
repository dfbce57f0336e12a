"""Commands that run workflows: ``merrow.run``, ``merrow.dryRun``, ``merrow.runFrom``, ``merrow.resume``, ``merrow.cancel``.

Each takes one object, of which all but the document's ``uri`` may be left out:

- ``outputs``, what nodes give that a person sets, by ``NODE`` or ``NODE.PORT``, for ``merrow.run`` and ``merrow.runFrom``;
- ``diagram``, the number of the diagram in a Markdown file, from 1; ``inputs``, values by input node; ``ask``: the user is asked
  also for inputs that are remembered;
- ``model``, in place of the workflow's, and ``budget``, ``{usd, tokens, seconds}``, in place of its own; ``fresh``: take nothing
  from the cache; ``noStore``: keep nothing;
- ``merrow.runFrom`` makes ``node`` and what follows again and takes the rest from ``run`` (without it: from the last run);
  with ``outputs``, ``node`` may be left out: what they change runs again;
- ``reuse`` says what ``merrow.runFrom`` and ``merrow.resume`` do with results of another endpoint than the one that answers now:
  ``same`` runs them again, ``any`` keeps them; without it the user is asked by ``window/showMessageRequest``;
- ``merrow.resume`` goes on with ``run``; ``merrow.cancel`` ends ``run``, or all runs of the document, or without one all.

A run answers ``{run, status, outputs, usage, seconds, sources, error?, finished_before?, code?, failed_node?, failed_path?,
remedy?}``, also where it failed or was cancelled. A workflow that can't be run at all is an error with a sentence and the data
``{code, node?, path?, remedy?}`` (`merrow_server.lsp.work.runs.refused`). Meanwhile each event goes out as ``merrow/runEvent``,
``{uri, diagram, event}``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from weakref import ref

from lsprotocol import types

from merrow_server.features.code_action import as_mapping
from merrow_server.features.commands.execute_command import numbered, the_document
from merrow_server.jobs.ticket import Ticket
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.work.following import JobLocation, refused
from merrow_server.lsp.work.runs import RESUME, RUN_FROM
from merrow_server.lsp.work.workflow_texts import text_of
from merrow_server.rendering.snippet import plain

if TYPE_CHECKING:
    from merrow_server.jobs.orders import Order

RUN, DRY_RUN = "merrow.run", "merrow.dryRun"
UNTRUSTED = "This workspace is not trusted, so nothing in it is run; trust it in your editor first."
_MOST_ERRORS = 3
"""Errors of a workflow that an answer names."""
_KINDS: dict[str, tuple[type, ...]] = {
    "diagram": (int,),
    "inputs": (dict,),
    "outputs": (dict,),
    "model": (str,),
    "budget": (dict,),
    "fresh": (bool,),
    "noStore": (bool,),
    "ask": (bool,),
    "node": (str,),
    "reuse": (str,),
    "run": (str,),
    "id": (str,),
    "agreed": (bool,),
    "refine": (dict, bool),
}
_REFINED: dict[bool, dict[str, Any]] = {True: {}, False: {"max": 0}}
"""What `refine: true` and `refine: false` are."""
_LIMITS = ("usd", "tokens", "seconds")


def register(server: MerrowServer) -> None:
    server.command(RUN)(run)
    server.command(DRY_RUN)(dry_run)
    server.command(RUN_FROM)(run_from)
    server.command(RESUME)(resume)
    server.command("merrow.cancel")(cancel)
    server.feature(types.SHUTDOWN)(shutdown)


async def run(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Run a workflow as it is in the editor."""
    asked = asked_of(arguments)
    return await _run(server, asked, {})


async def run_from(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Run a workflow from one node on, with the other results reused from an earlier run."""
    asked = asked_of(arguments)
    node, outputs = asked.get("node"), asked.get("outputs", {})
    if node is None and not outputs:
        raise InvalidParameters("`node` must be the id of the node to run from, or `outputs` have values to set.")
    diagram = _diagram(server, asked)
    last = server.runs.results.of(diagram)
    earlier = asked.get("run") or (None if last is None else last.run)
    taken_over = {"takes_over": True, "from_node": node, "from_run": earlier, "reuse": asked.get("reuse")}
    return await _run(server, asked, taken_over)


async def dry_run(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """What a run would ask and cost; nothing is called. Inputs that are not known are placeholders."""
    from merrow_server.jobs.orders import Order

    asked = asked_of(arguments)
    diagram = runnable(server, asked)
    inputs = server.runs.inputs.known(diagram, asked["diagram"], asked.get("inputs", {}))
    order = Order(Ticket(), text_of(diagram, asked["diagram"]), inputs=inputs, model=asked.get("model"))
    plan = await server.jobs.ask(lambda session: session.plan(order))
    if not server.supports.shows_runs:
        tell(server, _plan_text(plan), types.MessageType.Info)
    return plan


async def resume(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Go on with a run that ended early, with the text, prompts and settings that the journal has."""
    from merrow_server.jobs.orders import Order

    asked = asked_of(arguments)
    check_trust(server)
    if asked.get("run") is None:
        raise InvalidParameters("`run` must be the id of a run; `merrow/runs` lists them.")
    server.runs.people.show_again(asked["run"])
    order = Order(Ticket(), resume=asked["run"], budget=asked.get("budget", {}), reuse=asked.get("reuse"))
    return await _carry_out(server, order, JobLocation(None, 1), f"Resuming run {asked['run']}")


async def cancel(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """End runs; what they finished is kept. The ids of those that were asked to end."""
    asked = asked_of(arguments)
    wanted = asked.get("run")
    uri = asked.get("uri")
    if wanted is None and not isinstance(uri, str | None):
        raise InvalidParameters("`uri` must be the URI of a document.")
    if not wanted:
        return {"cancelled": server.jobs.cancel_all(uri)}
    asked_to_end = await server.jobs.cancel(wanted)
    if asked_to_end is None:
        raise refused(f"Nobody works on run {wanted}.")
    return {"cancelled": [asked_to_end]}


async def shutdown(server: MerrowServer, _: Any) -> None:
    """The client is about to end the server: runs come to their end in the journal first."""
    await server.jobs.stop()


async def _run(server: MerrowServer, asked: dict[str, Any], taken_over: dict[str, Any]) -> dict[str, Any]:
    from merrow_server.jobs.orders import Order

    diagram = runnable(server, asked)
    number = asked["diagram"]
    # A run that takes results over has the inputs of that run, where no others are said.
    given = asked.get("inputs", {})
    inputs = given
    if not taken_over:
        inputs = await server.runs.inputs.complete(diagram, number, given, ask=asked.get("ask", False))
    order = Order(
        Ticket(),
        text_of(diagram, number),
        inputs=inputs,
        model=asked.get("model"),
        budget=asked.get("budget", {}),
        fresh=asked.get("fresh", False),
        no_store=asked.get("noStore", False),
        refine=_REFINED.get(asked["refine"]) if isinstance(asked.get("refine"), bool) else asked.get("refine"),
        set_outputs=asked.get("outputs", {}),
        **taken_over,
    )
    if inputs and not taken_over:
        server.runs.inputs.remember(diagram, number, inputs)
    place = JobLocation(diagram.document.uri, number, ref(_diagram(server, asked)))
    return await _carry_out(server, order, place, f"Running {name_of(diagram)}")


async def _carry_out(server: MerrowServer, order: Order, place: JobLocation, title: str) -> dict[str, Any]:
    ended = await server.runs.carry_out(order, place, title)
    server.runs.tell_end(ended)
    return ended


def asked_of(arguments: list[Any]) -> dict[str, Any]:
    """The one argument, checked. Raises `InvalidParameters`."""
    given = as_mapping(arguments[0]) if arguments else {}
    if given is None:
        raise InvalidParameters("The argument must be an object, such as {uri, inputs}.")
    asked = {key: value for key, value in given.items() if value is not None}
    for key, kinds in _KINDS.items():
        value = asked.get(key)
        if value is not None and (not isinstance(value, kinds) or (bool not in kinds and isinstance(value, bool))):
            raise InvalidParameters(f"`{key}` must be {_WORDS[kinds[0]]}.")
    for limit, value in asked.get("budget", {}).items():
        if limit not in _LIMITS or isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            raise InvalidParameters("`budget` has the numbers `usd`, `tokens` and `seconds`, none below 0.")
    if asked.get("reuse", "any") not in ("same", "any"):
        raise InvalidParameters('`reuse` must be "same" or "any".')
    asked.setdefault("diagram", 1)
    return asked


_WORDS = {int: "a whole number from 1", dict: "an object", str: "a text", bool: "true or false"}


def check_trust(server: MerrowServer) -> None:
    if not server.runs.trusted:
        raise refused(UNTRUSTED, "untrusted", "trust")


def _diagram(server: MerrowServer, asked: dict[str, Any]) -> OpenDiagram:
    document = the_document(server, [asked.get("uri")])
    return numbered(document, asked["diagram"])


def runnable(server: MerrowServer, asked: dict[str, Any]) -> OpenDiagram:
    """The workflow that is meant, where it has no errors; a flowchart that is none as it is drawn. Raises `FeatureError` with the
    errors that it has.
    """
    diagram = _diagram(server, asked)
    check_trust(server)
    if diagram.analysis.may_be_drawn:
        diagram = diagram.as_drawn()
    check_runnable(diagram)
    return diagram


def check_runnable(diagram: OpenDiagram) -> None:
    """Raise `FeatureError`, with the errors that it has, where a diagram can't be run."""
    errors = [diagram.in_document(error) for error in diagram.analysis.errors]
    name = name_of(diagram)
    if errors:
        count = "an error" if len(errors) == 1 else f"{len(errors)} errors"
        shown = "; ".join(
            f"line {error.range.start.line + 1}: {error.message.rstrip('.')} ({error.code})"
            for error in errors[:_MOST_ERRORS]
        )
        more = f"; and {len(errors) - _MOST_ERRORS} more" if len(errors) > _MOST_ERRORS else ""
        raise refused(f"{name} has {count} and is not run: {shown}{more}.", "workflow", "problems")
    if diagram.analysis.typed is None:
        raise refused(
            f"{name} is not a workflow: {diagram.analysis.why_no_workflow}. If it is a flowchart of steps, the code action"
            " `Read this flowchart as a workflow` makes it one.",
            "workflow",
        )


def name_of(diagram: OpenDiagram) -> str:
    document = diagram.document
    return unquote(document.uri.rpartition("/")[2]) if document.path is None else document.path.name


def tell(server: MerrowServer, text: str, kind: types.MessageType) -> None:
    """Tell a client that has nothing to show runs with."""
    server.window_show_message(types.ShowMessageParams(kind, plain(text)))


def _plan_text(plan: dict[str, Any]) -> str:
    calls, cost = plan["calls"], plan["cost_usd"]
    most = "unknown" if cost["most"] is None else f"${cost['most']:.4f}"
    # It isn't known where the workflow is planned while it runs.
    times = (
        f"{calls['least']:.0f} to {calls['most']:.0f} times"
        if calls["most"] is not None
        else "an unknown number of times"
    )
    sentence = f"A run asks {plan['endpoint']} {times}; it costs ${cost['least']:.4f} to {most}. No call was made."
    return "\n".join([sentence, *plan["findings"]])
