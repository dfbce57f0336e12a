"""Commands about searches: ``merrow.optimize``, ``merrow.optimizations``, ``merrow.optimizationReport``, ``merrow.showBetter``,
``merrow.strategies``, ``merrow.deleteOptimization``.

``merrow.optimize`` takes one object, of which all but ``uri`` and ``dataset`` may be left out:

- what ``merrow.evaluate`` takes about data, metric and model;
- ``strategy``, ``proposer``, ``optimizerModel``, ``goal``, ``jobs``, ``objective``, ``from`` (a search to begin with), ``out``
  (the folder for candidates), ``heldOut``, ``small``, ``patience``, ``maxNodes``, ``maxCostPerItem``, ``sure``, ``constants``
  (of the strategy, by name), ``judgeItems``, ``evaluations``: as the options of ``merrow optimize``;
- ``budget``, ``{usd, tokens, seconds}``;
- ``resume``, a search to go on with; ``uri`` and ``dataset`` are then those that it has;
- ``dryRun``: only say what it may cost; ``agreed``: the user knows that, who is asked otherwise where it may cost something.

It answers the search as ``merrow.optimizations`` lists it, also where it was stopped or cancelled (by ``merrow.cancel`` with its
id as ``run``). Meanwhile ``merrow/searchEvent`` says how far it is:
``{uri, diagram, search, done, total, text, crown, told}``. ``merrow.optimizationReport`` adds the report as a page in ``html``
and in words in ``text``; ``merrow.showBetter`` the texts of the start and of the best, or of the ``candidate`` with
this number, ``before`` and ``after``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_server.features.commands.evaluation_commands import said_of, with_data
from merrow_server.features.commands.job_commands import SEARCH, JobArgument, fields_of, flag, text, whole
from merrow_server.features.commands.run_commands import asked_of, check_trust, tell
from merrow_server.features.commands.run_journal import text_in
from merrow_server.jobs.ticket import Ticket
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.work.following import JobLocation

if TYPE_CHECKING:
    from merrow_server.jobs.orders import SearchOrder

OPTIMIZE = "merrow.optimize"
SHOW_BETTER = "merrow.showBetter"
STRATEGIES = "merrow.strategies"
_SEARCH = {
    "strategy": text(None, "guided", "evolve", "climb", "random", "mcts"),
    "proposer": text(None, "moves", "model", "both"),
    "optimizerModel": text("optimizer_model"),
    "goal": text(),
    "jobs": whole(),
    "from": text("begin_with"),
}
_BOUNDS = {
    "evaluations": whole(),
    "heldOut": whole("held_out"),
    "small": flag(),
    "patience": whole(),
    "maxNodes": whole("max_nodes"),
    "maxCostPerItem": JobArgument((int, float), "a number of US dollars", "max_cost"),
    "objective": text(None, "score", "pareto"),
    "sure": JobArgument((int, float), "a number between 0 and 1"),
    "constants": JobArgument(dict, "an object of numbers"),
    "judgeItems": whole("judge_items"),
}


def register(server: MerrowServer) -> None:
    server.command(OPTIMIZE)(optimize)
    server.command(SHOW_BETTER)(show_better)
    server.command(STRATEGIES)(strategies)


async def optimize(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Search for a better workflow than the one in the editor, or go on with a search."""
    asked = asked_of(arguments)
    order, place, title = _resumed(server, asked) if "resume" in asked else _new(server, asked)
    ended: dict[str, Any] = await SEARCH.carry_out(server, asked, order, place, title)
    if asked.get("dryRun", False):
        return ended
    if not server.supports.shows_runs:
        answer = await server.jobs.ask(
            lambda session: session.look_at("search", lambda known: known.report(ended["search"]))
        )
        well = ended["status"] == "finished"
        tell(server, answer["text"], types.MessageType.Info if well else types.MessageType.Warning)
    return ended


async def show_better(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """The best workflow of a search beside its start; a client that shows no runs is told where it is."""
    asked = asked_of(arguments)
    search, number = text_in(asked, "id", SHOW_BETTER), asked.get("candidate")
    if number is not None and (type(number) is not int or number < 0):
        raise InvalidParameters("`candidate` must be a whole number from 0.")
    answer: dict[str, Any] = await server.jobs.ask(
        lambda session: session.look_at(
            "search", lambda known: known.better(search) if number is None else known.candidate(search, number)
        )
    )
    if number is None and not server.supports.shows_runs:
        tell(server, answer["text"], types.MessageType.Info)
    return answer


async def strategies(_: MerrowServer, __: list[Any]) -> list[dict[str, Any]]:
    """How candidates can be chosen, the default first; ``missing`` says why one can't be used here, and what to install."""
    from merrow_optimizer.search.available import STRATEGIES as KNOWN
    from merrow_optimizer.search.available import why_not

    return [{"strategy": name, "missing": why_not(name)} for name in KNOWN]


def _new(server: MerrowServer, asked: dict[str, Any]) -> tuple[SearchOrder, JobLocation, str]:
    from merrow_server.jobs.orders import SearchOrder

    settings = said_of(asked)
    workflow, place, name = with_data(server, asked, settings)
    search, bounds = fields_of(asked, _SEARCH), fields_of(asked, _BOUNDS)
    if bounds.get("max_cost", 1) <= 0:
        raise InvalidParameters("`maxCostPerItem` must be above 0.")
    if not 0 < bounds.get("sure", 0.5) < 1:
        raise InvalidParameters("`sure` must be between 0 and 1.")
    if any(
        isinstance(value, bool) or not isinstance(value, (int, float)) for value in bounds.get("constants", {}).values()
    ):
        raise InvalidParameters("`constants` must be an object of numbers.")
    out = fields_of(asked, {"out": text()}).get("out")
    assert workflow.file is not None  # noqa: S101 (`with_data` refuses others)
    folder = None if out is None else str(workflow.file.parent / Path(out))
    budget = asked.get("budget", {})
    order = SearchOrder(Ticket(), workflow, settings, budget, search={**search, "bounds": bounds}, out=folder)
    return order, place, f"Searching for a better {name}"


def _resumed(server: MerrowServer, asked: dict[str, Any]) -> tuple[SearchOrder, JobLocation, str]:
    from merrow_server.jobs.orders import SearchOrder

    check_trust(server)
    search = text_in(asked, "resume", OPTIMIZE)
    return (
        SearchOrder(Ticket(), None, said_of(asked), asked.get("budget", {}), search),
        JobLocation(None, 1),
        f"Search {search}",
    )
