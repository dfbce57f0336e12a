"""Commands about searches: ``merrow.optimize``, ``merrow.optimizations``, ``merrow.optimizationReport``, ``merrow.showBetter``,
``merrow.strategies``, ``merrow.deleteOptimization``.

``merrow.optimize`` takes one object, of which all but ``uri`` and ``dataset`` may be left out:

- what ``merrow.evaluate`` takes about data, metric and model;
- ``strategy``, ``proposer``, ``optimizerModel``, ``goal``, ``jobs``, ``objective``, ``from`` (a search to begin with), ``out``
  (the folder for candidates), ``heldOut``, ``small``, ``patience``, ``maxNodes``, ``maxCostPerItem``, ``sure``, ``constants``
  (of the strategy, by name), ``evaluations``: as the options of ``merrow optimize``;
- ``budget``, ``{usd, tokens, seconds}``;
- ``resume``, a search to go on with; ``uri`` and ``dataset`` are then those that it has;
- ``dryRun``: only say what it may cost; ``agreed``: the user knows that, who is asked otherwise where it may cost something.

It answers the search as ``merrow.optimizations`` lists it, also where it was stopped or cancelled (by ``merrow.cancel`` with its
id as ``run``). Meanwhile ``merrow/searchEvent`` says how far it is:
``{uri, diagram, search, done, total, text, crown, told}``. ``merrow.optimizationReport`` adds the report as a page in ``html``
and in words in ``text``; ``merrow.showBetter`` the texts of the start and of the best, ``before`` and ``after``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_server.features.commands.evaluation_commands import FROM_1, TEXT, checked, said_of, with_data
from merrow_server.features.commands.run_commands import asked_of, check_trust, tell
from merrow_server.features.commands.run_journal import text_in, what_to_list
from merrow_server.jobs.ticket import Ticket
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.work.following import Consent, JobLocation, refused

if TYPE_CHECKING:
    from merrow_server.jobs.orders import SearchOrder

OPTIMIZE, OPTIMIZATIONS = "merrow.optimize", "merrow.optimizations"
REPORT, SHOW_BETTER = "merrow.optimizationReport", "merrow.showBetter"
STRATEGIES, DELETE = "merrow.strategies", "merrow.deleteOptimization"
_STRATEGIES = ("guided", "evolve", "climb", "random", "mcts", "gepa")
_PROPOSERS = ("moves", "model", "both")
_OBJECTIVES = ("score", "pareto")
_SEARCH = {
    "strategy": TEXT,
    "proposer": TEXT,
    "optimizerModel": TEXT,
    "goal": TEXT,
    "jobs": FROM_1,
    "from": TEXT,
}
_BOUNDS: dict[str, tuple[Any, str]] = {
    "evaluations": FROM_1,
    "heldOut": FROM_1,
    "small": (bool, "true or false"),
    "patience": FROM_1,
    "maxNodes": FROM_1,
    "maxCostPerItem": ((int, float), "a number of US dollars"),
    "objective": TEXT,
    "sure": ((int, float), "a number between 0 and 1"),
    "constants": (dict, "an object of numbers"),
}
_NAMES = {
    "from": "begin_with",
    "optimizerModel": "optimizer_model",
    "heldOut": "held_out",
    "maxNodes": "max_nodes",
    "maxCostPerItem": "max_cost",
}


def register(server: MerrowServer) -> None:
    server.command(OPTIMIZE)(optimize)
    server.command(OPTIMIZATIONS)(optimizations)
    server.command(REPORT)(report)
    server.command(SHOW_BETTER)(show_better)
    server.command(STRATEGIES)(strategies)
    server.command(DELETE)(delete)


async def optimize(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Search for a better workflow than the one in the editor, or go on with a search."""
    asked = asked_of(arguments)
    order, place, title = _resumed(server, asked) if "resume" in asked else _new(server, asked)
    if asked.get("dryRun", False):
        forecast = await server.jobs.forecast("search", order)
        if not server.supports.shows_runs:
            tell(server, f"{forecast['text']}\nNo call was made.", types.MessageType.Info)
        return forecast
    if server.jobs.works_on(place, "search"):
        raise refused("A better version of this workflow is being searched for already; stop that first.")

    consent = Consent(title, "Search", "to search", "Nothing was searched for.")
    try:
        ended: dict[str, Any] = await server.jobs.follow(
            "search", order, place, title, None if asked.get("agreed") else consent
        )
    finally:
        server.last_searches.forget()
    if not server.supports.shows_runs:
        found = await server.jobs.ask(
            lambda session: session.look_at_searches(lambda known: known.report(ended["search"]))
        )
        well = ended["status"] == "finished"
        tell(server, found["text"], types.MessageType.Info if well else types.MessageType.Warning)
    return ended


async def optimizations(server: MerrowServer, arguments: list[Any]) -> list[dict[str, Any]]:
    """The newest searches, of one document or of all."""
    name, limit = what_to_list(server, asked_of(arguments), OPTIMIZATIONS)
    found: list[dict[str, Any]] = await server.jobs.ask(
        lambda session: session.look_at_searches(lambda known: known.list(name, limit))
    )
    return found


async def report(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """A search with its report; a client that shows no runs is told it in words."""
    search = text_in(asked_of(arguments), "id", REPORT)
    found = await server.jobs.ask(lambda session: session.look_at_searches(lambda known: known.report(search)))
    if not server.supports.shows_runs:
        tell(server, found["text"], types.MessageType.Info)
    return found


async def show_better(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """The best workflow of a search beside its start; a client that shows no runs is told where it is."""
    search = text_in(asked_of(arguments), "id", SHOW_BETTER)
    found = await server.jobs.ask(lambda session: session.look_at_searches(lambda known: known.better(search)))
    if not server.supports.shows_runs:
        tell(server, found["text"], types.MessageType.Info)
    return found


async def strategies(_: MerrowServer, __: list[Any]) -> list[dict[str, Any]]:
    """How candidates can be chosen, the default first; ``missing`` says why one can't be used here, and what to install."""
    from merrow_optimizer.search.available import STRATEGIES as KNOWN
    from merrow_optimizer.search.available import why_not

    return [{"strategy": name, "missing": why_not(name)} for name in KNOWN]


async def delete(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Take a search with its candidates, scores and runs out of the journal; the files of its candidates stay."""
    search = text_in(asked_of(arguments), "id", DELETE)
    deleted = await server.jobs.ask(lambda session: session.searches.delete(search))
    server.last_searches.forget()
    return {"search": deleted}


def _new(server: MerrowServer, asked: dict[str, Any]) -> tuple[SearchOrder, JobLocation, str]:
    from merrow_server.jobs.orders import SearchOrder

    said = said_of(asked)
    text, place, name = with_data(server, asked, said)
    search = {_NAMES.get(key, key): value for key, value in checked(asked, _SEARCH).items()}
    bounds = {_NAMES.get(key, key): value for key, value in checked(asked, _BOUNDS).items()}
    for key, value, known in (
        ("strategy", search.get("strategy", "climb"), _STRATEGIES),
        ("proposer", search.get("proposer", "moves"), _PROPOSERS),
        ("objective", bounds.get("objective", "score"), _OBJECTIVES),
    ):
        if value not in known:
            raise InvalidParameters(f"`{key}` must be one of {', '.join(known)}.")
    if bounds.get("max_cost", 1) <= 0:
        raise InvalidParameters("`maxCostPerItem` must be above 0.")
    if not 0 < bounds.get("sure", 0.5) < 1:
        raise InvalidParameters("`sure` must be between 0 and 1.")
    if any(isinstance(one, bool) or not isinstance(one, (int, float)) for one in bounds.get("constants", {}).values()):
        raise InvalidParameters("`constants` must be an object of numbers.")
    out = checked(asked, {"out": TEXT}).get("out")
    assert text.file is not None  # noqa: S101 (`with_data` refuses others)
    folder = None if out is None else str(text.file.parent / Path(out))
    order = SearchOrder(Ticket(), text, said, asked.get("budget", {}), search={**search, "bounds": bounds}, out=folder)
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
