"""Commands for safe mutations: ``merrow.mutate`` and ``merrow.crossover``.

The first argument is a document's URI. ``merrow.mutate`` takes further a seed, the name of an operator or the id of a move, and
the number of a Markdown file's diagram; ``merrow.crossover`` the other workflow (the URI of an open document, or a file's URI or
path, for a Markdown file with ``#`` and the diagram's number), a seed, and the number of the document's own diagram. All
but the first, and the other workflow, may be null or left out.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_server.features.execute_command import apply, numbered, the_document
from merrow_server.lsp.documents import OpenDiagram, OpenDocument
from merrow_server.lsp.protocol import FeatureError, InvalidParameters
from merrow_server.lsp.server import MerrowServer, path_of
from merrow_server.lsp.sharing import closed_document

if TYPE_CHECKING:
    from merrow_optimizer.mutations.base import Move

_SEEDS = 2**31
_TURN = 0.03
"""Seconds of a long search after which others have their turn."""


def register(server: MerrowServer) -> None:
    server.command("merrow.mutate")(mutate)
    server.command("merrow.crossover")(crossover)


async def mutate(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Apply a random safe mutation, or the one with an id; what it was, with the seed that brings it again."""
    import secrets

    from merrow_optimizer.mutations.moves import OPERATORS
    from merrow_server.lsp import mutations

    document = the_document(server, arguments)
    seed = _seed(_argument(arguments, 1), secrets.randbelow(_SEEDS))
    named = _argument(arguments, 2)
    if named is not None and not isinstance(named, str):
        raise InvalidParameters("The third argument must be the name of an operator or the id of a move.")
    diagram = _workflow(numbered(document, _argument(arguments, 3) or 1))
    by_id = named is not None and named not in OPERATORS
    if named is not None and by_id:
        move = await _found(diagram, named)
    else:
        drawn = mutations.random_move(diagram, seed, named)
        if drawn is None:
            raise _refused("No safe mutation of this workflow was found.")
        move = drawn
    answer = _object(diagram, move) | ({} if by_id else {"seed": seed})
    await apply(server, document, move.title, diagram.edits_to_lsp(move.edits))
    return answer


async def _found(diagram: OpenDiagram, identifier: str) -> Move:
    """The safe move with an id. Raises `FeatureError` with the reason where there is none; edits go on meanwhile."""
    from merrow_optimizer.mutations.base import Refused
    from merrow_server.lsp import mutations

    document = diagram.document
    version, last = document.version, time.monotonic()
    for found in mutations.find_step_by_step(diagram, identifier):
        if isinstance(found, Refused):
            raise _refused(f"{found.title} is not safe ({found.precondition}): {found.reason}")
        if found is not None:
            return found
        if time.monotonic() - last > _TURN:
            await asyncio.sleep(0)
            if document.version != version:
                raise FeatureError("The text changed meanwhile; ask again.", types.LSPErrorCodes.ContentModified)
            last = time.monotonic()
    raise _refused(f"The workflow has no mutation {identifier}.")


def crossover(server: MerrowServer, arguments: list[Any]) -> list[dict[str, Any]]:
    """The children of two workflows at a cut that the seed chooses (0 where none is given); nothing is opened."""
    from merrow_optimizer.mutations.crossover import CrossoverRefusedError
    from merrow_optimizer.mutations.crossover import crossover as cross
    from merrow_server.rendering.child import child_object

    document = the_document(server, arguments)
    other = _argument(arguments, 1)
    if not isinstance(other, str) or not other:
        raise InvalidParameters("The second argument must be the other workflow: a URI or a path.")
    seed = _seed(_argument(arguments, 2), 0)
    parents = (_workflow(numbered(document, _argument(arguments, 3) or 1)), _workflow(_other(server, document, other)))
    try:
        children = cross(parents[0].analysis, parents[1].analysis, seed)
    except CrossoverRefusedError as problem:
        raise _refused(str(problem)) from None
    return [child_object(child, [parent.document.uri for parent in parents]) for child in children]


def _other(server: MerrowServer, document: OpenDocument, name: str) -> OpenDiagram:
    """The workflow that is open under a URI, or that a path (relative to the document) leads to."""
    known = _document_named(server, document, name)
    if known is not None:
        return numbered(known, 1)
    file, hash_sign, number = name.rpartition("#")
    known = _document_named(server, document, file) if hash_sign and number.isdecimal() else None
    if known is None:
        raise InvalidParameters(f"The other workflow, {name}, can't be read; name an open document or a file.")
    return numbered(known, int(number[:9]))


def _document_named(server: MerrowServer, document: OpenDocument, name: str) -> OpenDocument | None:
    from merrow_server.lsp.contexts import absolute_path

    known = server.document(name)
    if known is not None:
        return known
    path = path_of(name)
    if path is None:
        base = document.path.parent if document.path is not None else server.surroundings.folder_of(None)
        if base is None and not Path(name).is_absolute():
            return None
        path = Path(name) if base is None else base / name
    try:
        path = absolute_path(path)
    except ValueError:
        return None
    return server.document(path.as_uri()) or closed_document(server, path)


def _workflow(diagram: OpenDiagram) -> OpenDiagram:
    if diagram.analysis.typed is None:
        raise InvalidParameters("The diagram is no workflow: it has no PROBLEM and RETURN and names no operator.")
    return diagram


def _object(diagram: OpenDiagram, move: Move) -> dict[str, Any]:
    """A move as JSON; its places are those of the document."""
    return {
        "id": move.id,
        "operator": move.operator,
        "title": move.title,
        "target": diagram.to_lsp(move.target),
        "edits": diagram.edits_to_lsp(move.edits),
    }


def _argument(arguments: list[Any], number: int) -> Any:
    return arguments[number] if len(arguments) > number else None


def _seed(given: Any, otherwise: int) -> int:
    if given is None:
        return otherwise
    if not isinstance(given, int):
        raise InvalidParameters("The seed must be a whole number.")
    return given


def _refused(sentence: str) -> FeatureError:
    return FeatureError(sentence, types.LSPErrorCodes.RequestFailed)
