"""Commands about reproductions of papers: ``merrow.reproduce``, ``merrow.reproductions``, ``merrow.reproductionReport``,
``merrow.deleteReproduction``.

``merrow.reproduce`` takes one object, of which all but ``paper`` may be left out:

- ``paper``: mermaidflow, flow or a2flow; ``rows``, a list of their ids, or of beginnings with a ``*``;
- ``data``, the folder with the data, ``out``, the one for operators and candidates, and ``recipes``, the one with recipes for
  a2flow: a URI or a path, from the workspace's folder where it is not absolute;
- ``items``, ``models`` (a model by role), ``baseUrl``, ``concurrency``, ``simulate``, ``otherData``: as the options of ``merrow
  reproduce``; ``budget``, ``{usd, tokens, seconds}``;
- ``resume``, a reproduction to go on with, which has its ``paper``;
- ``dryRun``: only say what the rows may cost and what is missing; ``agreed``: the user knows that, who is asked otherwise.

It answers the reproduction as ``merrow.reproductions`` lists it, also where it was stopped or cancelled. How far it is goes out
as progress. ``merrow.reproductionReport`` adds the table as a page in ``html`` and in words in ``text``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_server.features.commands.extraction_commands import file_of
from merrow_server.features.commands.job_commands import REPRODUCTION, JobArgument, fields_of, flag, text, whole
from merrow_server.features.commands.run_commands import asked_of, check_trust, tell
from merrow_server.features.commands.run_journal import text_in
from merrow_server.jobs.ticket import Ticket
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.work.following import JobLocation

if TYPE_CHECKING:
    from merrow_server.jobs.orders import ReproductionOrder

REPRODUCE = "merrow.reproduce"
_FIELDS = {
    "rows": JobArgument(list, "a list of ids of rows"),
    "data": text(),
    "out": text(),
    "items": whole(),
    "models": JobArgument(dict, "an object, such as {exec: gpt-5-mini}"),
    "baseUrl": text("base_url"),
    "concurrency": whole(),
    "simulate": flag(),
    "otherData": flag("other_data"),
    "recipes": text(),
}


def register(server: MerrowServer) -> None:
    server.command(REPRODUCE)(reproduce)


async def reproduce(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Reproduce the experiments of a paper, or go on with a reproduction."""
    asked = asked_of(arguments)
    check_trust(server)
    order, name = _resumed(asked) if "resume" in asked else _new(server, asked)
    ended: dict[str, Any] = await REPRODUCTION.carry_out(
        server, asked, order, JobLocation(None, 1), f"Reproducing {name}", name
    )
    if not asked.get("dryRun", False) and not server.supports.shows_runs:
        from merrow_server.reproductions.words import report_lines

        well = ended["status"] == "finished"
        tell(server, "\n".join(report_lines(ended)), types.MessageType.Info if well else types.MessageType.Warning)
    return ended


def _new(server: MerrowServer, asked: dict[str, Any]) -> tuple[ReproductionOrder, str]:
    from merrow_optimizer.evaluation.plan import EvaluationLimits
    from merrow_optimizer.reproducing.papers import PAPERS
    from merrow_server.errors import InputError
    from merrow_server.jobs.orders import ReproductionOrder
    from merrow_server.reproductions.request import ROLES, ReproductionRequest, check_recipes

    paper = fields_of(asked, {"paper": text(None, *PAPERS)}).get("paper")
    if paper is None:
        raise InvalidParameters(f"`paper` must be one of {', '.join(PAPERS)}.")
    settings = fields_of(asked, _FIELDS)
    rows, models = settings.pop("rows", []), settings.get("models", {})
    if not all(isinstance(row, str) for row in rows):
        raise InvalidParameters("`rows` must be a list of ids of rows.")
    if not all(role in ROLES and isinstance(model, str) and model for role, model in models.items()):
        raise InvalidParameters(f"`models` must have a model by role; the roles are {', '.join(ROLES)}.")
    settings["data"] = str(file_of(server, settings.get("data", "."), None))
    for key in ("out", "recipes"):
        if key in settings:
            settings[key] = str(file_of(server, settings[key], None))
    limits = EvaluationLimits(**asked.get("budget", {}))
    request = ReproductionRequest(paper, tuple(rows), limits=limits, **settings)
    try:
        check_recipes(request)
    except InputError as problem:
        raise InvalidParameters(str(problem)) from None
    return ReproductionOrder(Ticket(), request), paper


def _resumed(asked: dict[str, Any]) -> tuple[ReproductionOrder, str]:
    from merrow_server.jobs.orders import ReproductionOrder

    reproduction = text_in(asked, "resume", REPRODUCE)
    order = ReproductionOrder(Ticket(), None, reproduction, asked.get("budget", {}))
    return order, reproduction
