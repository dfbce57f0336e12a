"""``merrow.runBoth``: a workflow as it is and after a safe mutation, run on the same inputs, side by side.

It takes one object, ``{uri, diagram?, id, inputs?, model?, budget?, agreed?}``: ``id`` is that of the mutation; inputs are
those of the last run, where no others are given. Both have the journal's cache, so what the two ask alike is asked once.
Without ``agreed`` nothing is called yet: the answer is ``{title, plans: [now, after], cost}``, where ``cost`` says in a
sentence what both may cost. A client that shows no runs is asked to agree by ``window/showMessageRequest``. With ``agreed``
the answer is ``{title, runs: [now, after], text}``: the two ends as `merrow.run` has them, and a Markdown text that compares
them.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import ref

from merrow_server.features.commands.mutation_commands import move_found, workflow
from merrow_server.features.commands.run_commands import asked_of, name_of, runnable
from merrow_server.jobs.ticket import Ticket
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.work.following import Consent, JobLocation
from merrow_server.lsp.work.workflow_texts import text_of

if TYPE_CHECKING:
    from merrow_optimizer.mutations.base import Move
    from merrow_server.jobs.orders import EditorWorkflow

RUN_BOTH = "merrow.runBoth"


def register(server: MerrowServer) -> None:
    server.command(RUN_BOTH)(run_both)


async def run_both(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Run a workflow and a mutant of it on the same inputs, after saying what that may cost."""
    from merrow_server.jobs.orders import Order
    from merrow_server.reports.run_comparison import comparison, cost_of_both

    asked = asked_of(arguments)
    if asked.get("id") is None:
        raise InvalidParameters("`id` must be that of a mutation; `merrow.mutations` lists them.")
    number = asked["diagram"]
    diagram = workflow(runnable(server, asked))
    move = await move_found(diagram, asked["id"])
    texts = (text_of(diagram, number), _mutant(diagram, number, move))
    inputs = await server.runs.inputs.complete(diagram, number, asked.get("inputs", {}))
    ticket = Ticket()  # of both: whoever cancels the first run wants no second one
    orders = [
        Order(ticket, text, inputs=inputs, model=asked.get("model"), budget=asked.get("budget", {})) for text in texts
    ]
    if not asked.get("agreed", False):
        plans = await server.jobs.ask(lambda session: [session.plan(order) for order in orders])
        cost = cost_of_both(plans)
        if server.supports.shows_runs:
            return {"title": move.title, "plans": plans, "cost": cost}
        await Consent(move.title, "Run both", "to run both", "Nothing was run.").ask(server, cost)
    server.runs.inputs.remember(diagram, number, inputs)
    name = name_of(diagram)
    # One after the other: what the second one asks like the first is in the cache then.
    now = await server.runs.carry_out(
        orders[0], JobLocation(diagram.document.uri, number, ref(diagram)), f"Running {name} as it is"
    )
    after = await server.runs.carry_out(orders[1], JobLocation(None, 1), f"Running {name} after: {move.title}")
    return {"title": move.title, "runs": [now, after], "text": comparison(move.title, now, after)}


def _mutant(diagram: OpenDiagram, number: int, move: Move) -> EditorWorkflow:
    """The diagram after a move, under a name of its own in the journal, for the thread of the runs."""
    from merrow_optimizer.mutations.calls.file_set import with_files
    from merrow_server.jobs.orders import EditorFiles
    from merrow_server.lsp.offers.mutations import choice_of

    text = text_of(diagram, number)
    created = {file.path: file.text for file in move.created}
    mutant = move.apply(diagram.text)
    provider = with_files(diagram.document.context.provider, created)
    return replace(
        text,
        name=f"{text.name}~{move.id}",
        text=mutant,
        provider=None if provider is None else EditorFiles(provider, asyncio.get_running_loop()),
        fence=None,
        analysis=choice_of(diagram).files.open(mutant, created).analysis(),
    )
