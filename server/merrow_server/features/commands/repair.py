"""The command ``merrow.repair``: the smallest edits that make a workflow valid.

It takes one object, ``{uri, diagram?, version?, preview?}``; with ``preview`` nothing is applied. The answer is ``{valid,
smallest, weight, repairs, left, edits, effect, delta, diagramText}``, null where there is nothing to repair. Without ``preview``
the client is sent the edits, to be confirmed where it can have its reader do so. A client with a view of its own asks for the
preview.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_server.features.code_action import as_mapping
from merrow_server.features.commands.execute_command import apply, numbered, the_document
from merrow_server.features.commands.mutation_commands import TURN, refused
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.offers.fix_offers import REPAIR_COMMAND, REPAIR_TITLE
from merrow_server.lsp.protocol import FeatureError, InvalidParameters
from merrow_server.lsp.server import MerrowServer

if TYPE_CHECKING:
    from merrow_optimizer.repair.search import RepairSearch


def register(server: MerrowServer) -> None:
    server.command(REPAIR_COMMAND)(repair)


async def repair(server: MerrowServer, arguments: list[Any]) -> dict[str, Any] | None:
    """Search for a repair, and apply or show it. Raises `FeatureError` where there is none."""
    from merrow_server.lsp.offers import repairs

    asked = as_mapping(arguments[0]) if arguments else None
    if asked is None:
        raise InvalidParameters("The argument must be an object with the `uri` of a document.")
    document = the_document(server, [asked.get("uri")])
    if asked.get("version", document.version) != document.version:
        raise _changed()
    diagram = numbered(document, asked.get("diagram") or 1)
    if not diagram.analysis.errors:
        return None
    search = await _searched(diagram)
    done = search.found
    if not done.edits:
        raise refused("No repair of this workflow was found.")
    answer = repairs.repair_object(diagram, done, search.before, search.after)
    if not asked.get("preview"):
        await apply(server, document, REPAIR_TITLE, answer["edits"], confirm=answer["effect"])
    return answer


async def _searched(diagram: OpenDiagram) -> RepairSearch:
    """The search at its end; edits of the document go on meanwhile, and end it."""
    from merrow_optimizer.repair.search import RepairSearch

    document = diagram.document
    version, last = document.version, time.monotonic()
    search = RepairSearch(diagram.text, opener=document.context.opener)
    while search.advance():
        if time.monotonic() - last > TURN:
            await asyncio.sleep(0)
            if document.version != version:
                raise _changed()
            last = time.monotonic()
    return search


def _changed() -> FeatureError:
    return FeatureError("The text changed meanwhile; ask again.", types.LSPErrorCodes.ContentModified)
