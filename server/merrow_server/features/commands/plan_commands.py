"""Commands about plans: ``merrow.plan``, a workflow planned from a task in words; ``merrow.plans``, ``merrow.planReport``,
``merrow.deletePlan``.

``merrow.plan`` takes one object, of which all but ``task`` may be left out:

- ``task``, in words; ``n``, how many plans are asked for (3, at most 50); ``rank``: ``expected``, ``paper`` or ``code``;
- ``roles``, a list of the only roles that agents may have; ``maxAgents``, ``maxNodes``; ``form``, ``json`` or ``mermaid``;
- ``judge``: false asks no judge what the plans cover; ``optimizerModel``, ``judgeModel``, ``baseUrl``, ``fresh``: as the options
  of ``merrow plan``; ``model``, which plans where no other is named; ``uri`` of a document, whose settings count;
- ``budget``, ``{usd, tokens, seconds}``; ``resume``, a plan to go on with, which has its ``task``;
- ``dryRun``: only say what it may cost; ``agreed``: the user knows that, who is asked otherwise where it may cost more than
  the setting ``suggest-ask-above-usd``, or ``suggest_ask_above_usd`` of the user's own settings where that is less.

It answers what ``merrow plan --format json`` prints: ``plans``, the best first, each with its ``text``; ``refused``, with
reasons. Nothing is written: what becomes of a plan is for the client.
A dry run answers ``{calls, tokens, cost_usd, endpoint, model, text, mayCost, notices}``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from merrow_server.features.commands.job_commands import PLAN, JobArgument, fields_of, flag, text, whole
from merrow_server.features.commands.run_commands import asked_of, check_trust
from merrow_server.features.commands.run_journal import text_in
from merrow_server.jobs.ticket import Ticket
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.work.following import JobLocation

if TYPE_CHECKING:
    from merrow_server.jobs.orders import PlanOrder

COMMAND = "merrow.plan"
_LONGEST_TASK = 100_000
_FIELDS = {
    "n": whole(None, 1, 50),
    "rank": text(None, "expected", "paper", "code"),
    "maxAgents": whole("max_agents"),
    "maxNodes": whole("max_nodes", 1, 500),
    "judge": flag(),
    "optimizerModel": text("optimizer_model"),
    "judgeModel": text("judge_model"),
    "model": text(),
    "baseUrl": text("base_url"),
    "fresh": flag(),
}
"""What may be told as it is."""
_OTHERS = {
    "task": text(),
    "roles": JobArgument(list, "a list of texts"),
    "form": text(None, "json", "mermaid"),
    "dryRun": flag(),
    "uri": text(),
}


def register(server: MerrowServer) -> None:
    server.command(COMMAND)(plan)


async def plan(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Have models plan a workflow for a task."""
    asked = asked_of(arguments)
    place = JobLocation(fields_of(asked, _OTHERS).get("uri"), 1)
    planned: dict[str, Any] = await PLAN.carry_out(server, asked, _order(server, asked), place, "Planning a workflow")
    return planned


def _order(server: MerrowServer, asked: dict[str, Any]) -> PlanOrder:
    from merrow_server.jobs.orders import PlanOrder

    settings, given = fields_of(asked, _FIELDS), fields_of(asked, _OTHERS)
    check_trust(server)
    budget = asked.get("budget", {})
    if "resume" in asked:
        return PlanOrder(Ticket(), budget=budget, resume=text_in(asked, "resume", COMMAND))
    task = given.get("task", "").strip()
    if not task:
        raise InvalidParameters("`task` must be the task to plan, in words.")
    if len(task) > _LONGEST_TASK:
        raise InvalidParameters(f"`task` has {len(task):,} characters; at most {_LONGEST_TASK:,} can be planned.")
    roles = given.get("roles", [])
    if not all(isinstance(role, str) for role in roles):
        raise InvalidParameters("`roles` must be a list of texts.")
    document = server.document(given.get("uri", ""))
    settings["task"] = task
    settings["roles"] = tuple(filter(None, (role.strip() for role in roles)))
    settings["as_mermaid"] = given.get("form") == "mermaid"
    settings["ask_above_usd"] = float(server.surroundings.settings(document).values["suggest-ask-above-usd"])
    return PlanOrder(Ticket(), settings, budget)
