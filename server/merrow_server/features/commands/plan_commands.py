"""The command ``merrow.plan``: a workflow planned from a task in words.

It takes one object, of which all but ``task`` may be left out:

- ``task``, in words; ``n``, how many plans are asked for (3, at most 50); ``rank``: ``expected``, ``paper`` or ``code``;
- ``roles``, a list of the only roles that agents may have; ``maxAgents``, ``maxNodes``; ``form``, ``json`` or ``mermaid``;
- ``judge``: false asks no judge what the plans cover; ``optimizerModel``, ``judgeModel``, ``baseUrl``, ``fresh``: as the options
  of ``merrow plan``; ``model``, which plans where no other is named; ``uri`` of a document, whose settings count;
- ``dryRun``: only say what it may cost; ``agreed``: the user knows that, who is asked otherwise where it may cost more than
  the setting ``suggest-ask-above-usd``, or ``suggest_ask_above_usd`` of the user's own settings where that is less.

It answers what ``merrow plan --format json`` prints: ``plans``, the best first, each with its ``text``; ``refused``, with
reasons. Nothing is written: what becomes of a plan is for the client.
A dry run answers ``{calls, tokens, cost_usd, endpoint, model, text, mayCost, notices}``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_server.features.commands.evaluation_commands import TEXT, checked
from merrow_server.features.commands.run_commands import asked_of, check_trust, tell
from merrow_server.jobs.ticket import Ticket
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.work.following import Consent, JobLocation

if TYPE_CHECKING:
    from merrow_server.jobs.orders import PlanOrder

PLAN = "merrow.plan"
_MOST_PLANS, _MOST_TASKS = 50, 500
_LONGEST_TASK = 100_000
_FORMS = ("json", "mermaid")
_RANKS = ("expected", "paper", "code")
_YES_OR_NO = (bool, "true or false")
_KINDS: dict[str, tuple[Any, str]] = {
    "task": TEXT,
    "n": (int, f"a whole number from 1 to {_MOST_PLANS}"),
    "rank": TEXT,
    "roles": (list, "a list of texts"),
    "maxAgents": (int, "a whole number from 1"),
    "maxNodes": (int, f"a whole number from 1 to {_MOST_TASKS}"),
    "judge": _YES_OR_NO,
    "form": TEXT,
    "optimizerModel": TEXT,
    "judgeModel": TEXT,
    "model": TEXT,
    "baseUrl": TEXT,
    "fresh": _YES_OR_NO,
    "dryRun": _YES_OR_NO,
    "uri": TEXT,
}
_NAMES = {
    "n": "n",
    "rank": "rank",
    "maxAgents": "max_agents",
    "maxNodes": "max_nodes",
    "judge": "judge",
    "optimizerModel": "optimizer_model",
    "judgeModel": "judge_model",
    "model": "model",
    "baseUrl": "base_url",
    "fresh": "fresh",
}


def register(server: MerrowServer) -> None:
    server.command(PLAN)(plan)


async def plan(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Have models plan a workflow for a task."""
    asked = asked_of(arguments)
    given = checked(asked, _KINDS)
    order = _order(server, given)
    if given.get("dryRun", False):
        forecast = await server.jobs.forecast("plan", order)
        if not server.supports.shows_runs:
            tell(server, f"{forecast['text']} No call was made.", types.MessageType.Info)
        return forecast

    consent = Consent("Plan a workflow", "Ask the Model", "to plan", "No model was asked.")
    place = JobLocation(asked.get("uri"), 1)
    planned: dict[str, Any] = await server.jobs.follow(
        "plan", order, place, "Planning a workflow", None if asked.get("agreed") else consent
    )
    return planned


def _order(server: MerrowServer, given: dict[str, Any]) -> PlanOrder:
    from merrow_server.jobs.orders import PlanOrder

    check_trust(server)
    task = given.get("task", "").strip()
    if not task:
        raise InvalidParameters("`task` must be the task to plan, in words.")
    if len(task) > _LONGEST_TASK:
        raise InvalidParameters(f"`task` has {len(task):,} characters; at most {_LONGEST_TASK:,} can be planned.")
    for key, most in (("n", _MOST_PLANS), ("maxNodes", _MOST_TASKS), ("maxAgents", None)):
        if key in given and not 1 <= given[key] <= (most or given[key]):
            raise InvalidParameters(f"`{key}` must be {_KINDS[key][1]}.")
    for key, known in (("rank", _RANKS), ("form", _FORMS)):
        if given.get(key, known[0]) not in known:
            raise InvalidParameters(f"`{key}` must be one of {', '.join(known)}.")
    roles = given.get("roles", [])
    if not all(isinstance(role, str) for role in roles):
        raise InvalidParameters("`roles` must be a list of texts.")
    document = server.document(given.get("uri", ""))
    said = {name: given[key] for key, name in _NAMES.items() if key in given}
    said["task"] = task
    said["roles"] = tuple(filter(None, (role.strip() for role in roles)))
    said["as_mermaid"] = given.get("form") == "mermaid"
    said["ask_above_usd"] = float(server.surroundings.settings(document).values["suggest-ask-above-usd"])
    return PlanOrder(Ticket(), said)
