"""Commands about operators drawn from solved cases: ``merrow.extract``, ``merrow.extractions``, ``merrow.extractionReport``,
``merrow.deleteExtraction``.

``merrow.extract`` takes one object, of which all but ``dataset`` may be left out:

- ``dataset``, the file with the solved cases: a URI or a path, from the workspace's folder where it is not absolute;
- ``reader``, ``mapping``, ``gold``, ``part``, ``limit``, ``items``, ``metric``, ``metricOptions``, ``seed``, ``model``,
  ``baseUrl``, ``concurrency``: as for ``merrow.evaluate``; ``solution``, the field with the worked solution;
- ``optimizerModel``, ``paths``, ``steps``, ``coverage``, ``without`` (a list), ``aggregate``: as the options of ``merrow
  extract``;
- ``out``, the library to write (operators.yaml beside the cases); ``record`` and ``replay``, files of answers;
- ``budget``, ``{usd, tokens, seconds}``; ``resume``, an extraction to go on with;
- ``dryRun``: only say what it may cost; ``agreed``: the user knows that, who is asked otherwise where it may cost something.

It answers the extraction as ``merrow.extractions`` lists it: ``{extraction, status, library, page, report, usage, ...}``, also
where it was stopped or cancelled. How far it is goes out as progress. ``merrow.extractionReport`` adds the report as a page in
``html`` (null where there is none) and in words in ``text``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_server.features.commands.evaluation_commands import said_of
from merrow_server.features.commands.job_commands import EXTRACTION, JobArgument, fields_of, text, whole
from merrow_server.features.commands.run_commands import asked_of, check_trust, tell
from merrow_server.features.commands.run_journal import text_in
from merrow_server.jobs.ticket import Ticket
from merrow_server.lsp.documents import path_of
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.work.following import JobLocation

if TYPE_CHECKING:
    from merrow_server.jobs.orders import ExtractionOrder

EXTRACT = "merrow.extract"
_PARTS = ("initial", "clustering", "deep")
_SETTINGS = {
    "paths": whole(None, 1, 20),
    "steps": whole(None, 1, 10),
    "coverage": JobArgument((int, float), "a share above 0, up to 1", None, (), 0, 1),
    "without": JobArgument(list, f"a list of {', '.join(_PARTS)}"),
    "aggregate": text(None, "cover", "model"),
}
_FILES = {"optimizerModel": text("generator"), "out": text(), "record": text(), "replay": text()}
_DATA = {"dataset": text(), "solution": text()}


def register(server: MerrowServer) -> None:
    server.command(EXTRACT)(extract)


async def extract(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Draw operators from solved cases, or go on with an extraction."""
    asked = asked_of(arguments)
    check_trust(server)
    order, name = _resumed(asked) if "resume" in asked else _new(server, asked)
    title = f"Extracting operators from {name}"
    ended: dict[str, Any] = await EXTRACTION.carry_out(server, asked, order, JobLocation(None, 1), title, name)
    if not asked.get("dryRun", False) and not server.supports.shows_runs:
        from merrow_server.extractions.extraction_words import ended_text

        well = ended["page"] is not None
        tell(server, ended_text(ended), types.MessageType.Info if well else types.MessageType.Warning)
    return ended


def _new(server: MerrowServer, asked: dict[str, Any]) -> tuple[ExtractionOrder, str]:
    from merrow_server.jobs.orders import ExtractionOrder

    request, data = said_of(asked), fields_of(asked, _DATA)
    settings, given = fields_of(asked, _SETTINGS), fields_of(asked, _FILES)
    if not data.get("dataset"):
        raise InvalidParameters("`dataset` must be a file with solved cases: a URI or a path.")
    without = settings.get("without", [])
    if any(part not in _PARTS for part in without):
        raise InvalidParameters(f"`without` must have none but {', '.join(_PARTS)}.")
    if settings.get("coverage", 1) <= 0:
        raise InvalidParameters("`coverage` must be above 0.")
    if "deep" in without and settings.get("aggregate") == "model":
        raise InvalidParameters("`aggregate: model` puts paths together, and without `deep` there are none.")
    if "record" in given and "replay" in given:
        raise InvalidParameters("Answers are either recorded or replayed: leave out `record` or `replay`.")
    cases = file_of(server, data["dataset"], None)
    request["dataset"] = str(cases)
    if "solution" in data:
        request["solution"] = data["solution"]
    for key in ("record", "replay"):
        if key in given:
            given[key] = str(file_of(server, given[key], cases.parent))
    given["out"] = str(file_of(server, given.get("out", "operators.yaml"), cases.parent))
    settings["without"] = tuple(dict.fromkeys(without))
    order = ExtractionOrder(Ticket(), request, asked.get("budget", {}), None, settings, given)
    return order, cases.name


def _resumed(asked: dict[str, Any]) -> tuple[ExtractionOrder, str]:
    from merrow_server.jobs.orders import ExtractionOrder

    extraction = text_in(asked, "resume", EXTRACT)
    return ExtractionOrder(Ticket(), said_of(asked), asked.get("budget", {}), extraction), f"extraction {extraction}"


def file_of(server: MerrowServer, named: str, folder: Path | None) -> Path:
    """The file that a URI means, or a path from a folder, or else from the workspace's. Raises `InvalidParameters`."""
    path = path_of(named) if named.startswith("file:") else Path(named)
    if path is None:
        raise InvalidParameters(f"{named[:200]} is not a file.")
    if path.is_absolute():
        return path
    base = folder or next(iter(server.surroundings.folders), None)
    if base is None:
        raise InvalidParameters("Name the file by its URI or its whole path: no folder is open.")
    return base / path
