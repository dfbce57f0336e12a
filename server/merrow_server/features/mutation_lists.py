"""All safe mutations of what is selected: ``merrow.mutations`` lists them, ``merrow.moreMutations`` lets the reader choose.

Both take one object, ``{uri, diagram?, range?, node?, operator?, most?}``: of the workflow as a whole, or of what a ``range`` of
the document or a ``node`` by its id means; of one ``operator``, and no more than ``most``. The list has of each ``{id, operator,
title, target, edits, effect, delta}``; ``merrow.mutate`` with that id shows or applies it. ``merrow.moreMutations`` is what the
code action “More safe mutations…” executes: it asks by ``window/showMessageRequest``, applies what is chosen and answers with
that, or null. A client with a picker of its own executes ``merrow.mutations`` in its place.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_server.features.code_action import MORE_COMMAND, as_mapping
from merrow_server.features.execute_command import apply, numbered, the_document
from merrow_server.features.mutation_commands import TURN, move_object, workflow
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.protocol import FeatureError, InvalidParameters
from merrow_server.lsp.server import MerrowServer

if TYPE_CHECKING:
    from merrow_analysis.text import Range
    from merrow_optimizer.mutations.base import Move

_MOST_LISTED = 500
"""Moves of a list, where nothing else is asked for."""
_MOST_SHOWN = 24
"""Moves to choose from in a message."""


def register(server: MerrowServer) -> None:
    server.command("merrow.mutations")(list_mutations)
    server.command(MORE_COMMAND)(choose_mutation)


async def list_mutations(server: MerrowServer, arguments: list[Any]) -> list[dict[str, Any]]:
    """The safe mutations of what is asked about, in the order of the operators, for each the smallest change first."""
    asked = _asked(arguments)
    diagram = _diagram(server, asked)
    most = asked.get("most", _MOST_LISTED)
    if not isinstance(most, int) or most < 1:
        raise InvalidParameters("`most` must be a whole number from 1.")
    found: list[dict[str, Any]] = []
    async for move in _moves(diagram, asked):
        found.append(move_object(diagram, move))
        if len(found) == most:
            break
    return found


async def choose_mutation(server: MerrowServer, arguments: list[Any]) -> dict[str, Any] | None:
    """Let the reader choose a safe mutation, and apply it; what it was, or None where nothing was chosen."""
    asked = _asked(arguments)
    diagram = _diagram(server, asked)
    document = diagram.document
    version = document.version
    if asked.get("version", version) != version:
        raise _changed()
    by_operator: dict[str, list[Move]] = {}
    async for move in _moves(diagram, asked):
        of_it = by_operator.setdefault(move.operator, [])
        if len(of_it) < _MOST_SHOWN:
            of_it.append(move)
    evenly = [move for row in zip_longest(*by_operator.values()) for move in row if move is not None]
    titles = {move.title: move for move in reversed(evenly[:_MOST_SHOWN])}
    if not titles:
        server.window_show_message(
            types.ShowMessageParams(types.MessageType.Info, "There is no safe mutation of what is selected.")
        )
        return None
    shown = sorted(titles, key=lambda title: (list(by_operator).index(titles[title].operator), title))
    answer = await server.window_show_message_request_async(
        types.ShowMessageRequestParams(
            types.MessageType.Info,
            "Which safe mutation?" if len(evenly) <= _MOST_SHOWN else f"Which safe mutation? ({len(shown)} of many)",
            [types.MessageActionItem(title) for title in shown],
        )
    )
    chosen = titles.get(answer.title) if answer is not None else None
    if chosen is None:
        return None
    if document.version != version:
        raise _changed()
    told = move_object(diagram, chosen)
    await apply(server, document, chosen.title, diagram.edits_to_lsp(chosen.edits))
    return told


async def _moves(diagram: OpenDiagram, asked: dict[str, Any]) -> AsyncIterator[Move]:
    """The moves that are asked for. Edits go on meanwhile; raises `FeatureError` where one came."""
    from merrow_optimizer.mutations.names import OF_ONE_PARENT
    from merrow_server.lsp import mutations

    operator = asked.get("operator")
    if operator is not None and operator not in OF_ONE_PARENT:
        raise InvalidParameters(f"The operator must be one of {', '.join(OF_ONE_PARENT)}.")
    place = _place(diagram, asked)
    version, last = diagram.document.version, time.monotonic()
    for move in mutations.all_step_by_step(diagram, place, lambda name: operator in (None, name)):
        if move is not None:
            yield move
        if time.monotonic() - last > TURN:
            await asyncio.sleep(0)
            if diagram.document.version != version:
                raise _changed()
            last = time.monotonic()


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
