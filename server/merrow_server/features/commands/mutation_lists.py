"""All safe mutations of what is selected: ``merrow.mutations`` lists them, ``merrow.moreMutations`` lets the reader choose.

Both take one object, ``{uri, diagram?, range?, node?, operator?, search?, most?}``: of the workflow as a whole, or of what a
``range`` of the document or a ``node`` by its id means; of one ``operator``, of those whose title or effect has the words of
``search``, and no more than ``most``. The list has of each ``{id, operator, title, target, edits, effect, delta, created?}``;
``merrow.mutate`` with that id shows or applies it. With ``page``, a number, the answer is ``{moves, cursor, total}``: so many of
them, what to ask for the next ones with (null at the end), and ``{least, most}`` there are in all, ``most`` null where counting
would take too long. ``merrow.moreMutations`` is what the code action “More safe mutations…” executes: it asks by
``window/showMessageRequest``, applies what is chosen and answers with that, or null. A client with a picker of its own executes
``merrow.mutations`` in its place.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_server.features.code_action import MORE_COMMAND, as_mapping
from merrow_server.features.commands.execute_command import numbered, the_document
from merrow_server.features.commands.mutation_commands import TURN, apply_move, move_object, workflow
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.protocol import FeatureError, InvalidParameters
from merrow_server.lsp.server import MerrowServer

if TYPE_CHECKING:
    from merrow_analysis.text import Range
    from merrow_server.lsp.offers.mutation_pages import MutationOffer

_MOST_LISTED = 500
"""Moves of a list, where nothing else is asked for."""
_SECONDS_OF_A_PAGE = 1.0
"""A page that is searched for so long is given as far as it was found."""
_MOST_SHOWN = 24
"""Moves to choose from in a message."""


def register(server: MerrowServer) -> None:
    server.command("merrow.mutations")(list_mutations)
    server.command(MORE_COMMAND)(choose_mutation)


async def list_mutations(server: MerrowServer, arguments: list[Any]) -> list[dict[str, Any]] | dict[str, Any]:
    """The safe mutations of what is asked about: patterns first, then all others."""
    asked = _asked(arguments)
    diagram = _diagram(server, asked)
    size = _number(asked, "page")
    most = size or _number(asked, "most") or _MOST_LISTED
    search = _MutationSearch(server, diagram, asked)
    moves: list[dict[str, Any]] = []
    async for offer in search.offers(_SECONDS_OF_A_PAGE if size else None):
        moves.append(move_object(diagram, offer.move, offer.effect))
        if len(moves) == most:
            break
    if size is None:
        return moves
    return {"moves": moves, **search.progress(len(moves))}


async def choose_mutation(server: MerrowServer, arguments: list[Any]) -> dict[str, Any] | None:
    """Let the reader choose a safe mutation, and apply it; what it was, or None where nothing was chosen."""
    asked = _asked(arguments)
    diagram = _diagram(server, asked)
    document = diagram.document
    version = document.version
    if asked.get("version", version) != version:
        raise _changed()
    offers: list[MutationOffer] = []
    async for offer in _MutationSearch(server, diagram, asked).offers():
        offers.append(offer)
        if len(offers) > _MOST_SHOWN:
            break
    titles = {offer.move.title: offer for offer in reversed(offers[:_MOST_SHOWN])}
    if not titles:
        server.window_show_message(
            types.ShowMessageParams(types.MessageType.Info, "There is no safe mutation of what is selected.")
        )
        return None
    shown = list(reversed(titles))
    answer = await server.window_show_message_request_async(
        types.ShowMessageRequestParams(
            types.MessageType.Info,
            "Which safe mutation?" if len(offers) <= _MOST_SHOWN else f"Which safe mutation? (the first {len(shown)})",
            [types.MessageActionItem(title) for title in shown],
        )
    )
    chosen = titles.get(answer.title) if answer is not None else None
    if chosen is None:
        return None
    if document.version != version:
        raise _changed()
    told = move_object(diagram, chosen.move, chosen.effect)
    await apply_move(server, diagram, chosen.move)
    return told


class _MutationSearch:
    """One look for safe mutations, from where an earlier one ended."""

    def __init__(self, server: MerrowServer, diagram: OpenDiagram, asked: dict[str, Any]) -> None:
        from merrow_optimizer.mutations.operator_names import OF_ONE_PARENT
        from merrow_server.lsp.offers.mutation_pages import MutationFilter, MutationListing

        operator, words = asked.get("operator"), asked.get("search", "")
        if operator is not None and operator not in OF_ONE_PARENT:
            raise InvalidParameters(f"The operator must be one of {', '.join(OF_ONE_PARENT)}.")
        if not isinstance(words, str):
            raise InvalidParameters("`search` must be a text.")
        place = _place(diagram, asked)
        self.diagram = diagram
        self.version, self.looked_at, self.before = _cursor(asked.get("cursor"), diagram.document.version)
        if self.version != diagram.document.version:
            raise _changed()
        wanted = MutationFilter(place, operator, tuple(words.casefold().split()), server.supports.creates_files)
        self.listing = MutationListing(diagram, wanted)
        self.is_over = False

    async def offers(self, seconds: float | None = None) -> AsyncIterator[MutationOffer]:
        """What is found, for so many seconds. Edits go on meanwhile; raises `FeatureError` where one came."""
        begun = last = time.monotonic()
        for offer in self.listing.after(self.looked_at):
            self.looked_at += 1
            if offer is not None:
                yield offer
            now = time.monotonic()
            if seconds is not None and now - begun > seconds:
                return
            if now - last > TURN:
                await asyncio.sleep(0)
                if self.diagram.document.version != self.version:
                    raise _changed()
                last = time.monotonic()
        self.is_over = True

    def progress(self, count: int) -> dict[str, Any]:
        """Where the next page begins, and how many there are in all."""
        least = self.before + count
        if self.is_over:
            return {"cursor": None, "total": {"least": least, "most": least}}
        left = None if self.listing.most is None else max(0, self.listing.most - self.looked_at) + least
        return {"cursor": f"{self.version}.{self.looked_at}.{least}", "total": {"least": least, "most": left}}


def _cursor(given: object, version: int | None) -> tuple[int | None, int, int]:
    """The version of the document, how much was looked at and found before. Raises `InvalidParameters`."""
    if given is None:
        return version, 0, 0
    parts = given.split(".") if isinstance(given, str) else []
    if len(parts) != 3 or not all(part.isdecimal() and len(part) < 12 for part in parts):
        raise InvalidParameters("The `cursor` must be that of the page before.")
    return int(parts[0]), int(parts[1]), int(parts[2])


def _number(asked: dict[str, Any], key: str) -> int | None:
    value = asked.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise InvalidParameters(f"`{key}` must be a whole number from 1.")
    return value


def _asked(arguments: list[Any]) -> dict[str, Any]:
    asked = as_mapping(arguments[0]) if arguments else None
    if asked is None:
        raise InvalidParameters("The argument must be an object with the `uri` of an open document.")
    return asked


def _diagram(server: MerrowServer, asked: dict[str, Any]) -> OpenDiagram:
    return workflow(numbered(the_document(server, [asked.get("uri")]), asked.get("diagram") or 1))


def _place(diagram: OpenDiagram, asked: dict[str, Any]) -> Range | None:
    """What of the diagram is asked about; None for all of it. Raises `InvalidParameters`."""
    node, place = asked.get("node"), as_mapping(asked.get("range"))
    if node is not None:
        known = diagram.analysis.flow.nodes.get(node) if isinstance(node, str) else None
        if known is None:
            raise InvalidParameters(f"The workflow has no node {node}.")
        return known.range
    if asked.get("range") is None:
        return None
    within = None if place is None else _within(diagram, place)
    if within is None:
        raise InvalidParameters("The range must be one of the document, in the diagram.")
    return within


def _within(diagram: OpenDiagram, place: dict[str, Any]) -> Range | None:
    ends = [_position(as_mapping(place.get(end)) or {}) for end in ("start", "end")]
    start, end = ends
    return None if start is None or end is None else diagram.range_from_lsp(types.Range(start, end))


def _position(place: dict[str, Any]) -> types.Position | None:
    line, character = place.get("line"), place.get("character")
    if not isinstance(line, int) or not isinstance(character, int) or min(line, character) < 0:
        return None
    return types.Position(line, character)


def _changed() -> FeatureError:
    return FeatureError("The text changed meanwhile; ask again.", types.LSPErrorCodes.ContentModified)
