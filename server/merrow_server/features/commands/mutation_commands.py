"""Commands for safe mutations: ``merrow.mutate`` and ``merrow.crossover``.

``merrow.mutate`` takes one object, ``{uri, diagram?, id?, operator?, seed?, preview?}``: the move with an ``id``, or a random
one, of one ``operator`` where that is given; with ``preview`` nothing is applied, and the answer has the ``text`` of the whole
document after it and the ``diagramText`` of the diagram. Or it takes the URI, a seed, the name of an operator or the id of a
move, and the number of a Markdown file's diagram. ``merrow.crossover`` takes the URI, the other workflow (the URI of an open
document, or a file's URI or path, for a Markdown file with ``#`` and the diagram's number), a seed, and the number of the
document's own diagram. All but the URI may be null or left out; without the other workflow the reader is asked for it.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_server.features.code_action import as_mapping
from merrow_server.features.commands.execute_command import apply, numbered, the_document
from merrow_server.lsp.documents import OpenDiagram, OpenDocument, path_of
from merrow_server.lsp.protocol import FeatureError, InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.lsp.sharing import closed_document

if TYPE_CHECKING:
    from merrow_optimizer.mutations.base import Move

_SEEDS = 2**31
_MOST_ASKED = 24
"""Workflows to choose from in a message."""
TURN = 0.03
"""Seconds of a long search after which others have their turn."""


def register(server: MerrowServer) -> None:
    server.command("merrow.mutate")(mutate)
    server.command("merrow.crossover")(crossover)


async def mutate(server: MerrowServer, arguments: list[Any]) -> dict[str, Any]:
    """Apply or show a random safe mutation, or the one with an id; what it is, with the seed that brings it again."""
    import secrets

    from merrow_server.lsp.offers import mutations

    asked = _asked(arguments)
    document = the_document(server, [asked.get("uri")])
    seed = _seed(asked.get("seed"), secrets.randbelow(_SEEDS))
    identifier, operator = _word(asked, "id"), _word(asked, "operator")
    diagram = workflow(numbered(document, asked.get("diagram") or 1))
    if identifier is not None:
        move = await move_found(diagram, identifier)
    else:
        drawn = mutations.random_move(diagram, seed, operator)
        if drawn is None:
            raise refused("No safe mutation of this workflow was found.")
        move = drawn
    answer = move_object(diagram, move) | ({"seed": seed} if identifier is None else {})
    if asked.get("preview"):
        return answer | {"text": _text_after(diagram, move), "diagramText": move.apply(diagram.text)}
    await apply_move(server, diagram, move)
    return answer


async def apply_move(server: MerrowServer, diagram: OpenDiagram, move: Move) -> None:
    """Have the client make a move, with the files that it creates, as one step. Raises `FeatureError` where it can't."""
    document = diagram.document
    if move.created and not server.supports.creates_files:
        raise refused("This editor can't create files for the server; `merrow mutate FILE --apply ID --write` does it.")
    created = {(document.path.parent / file.path).as_uri(): file.text for file in move.created if document.path}
    await apply(server, document, move.title, diagram.edits_to_lsp(move.edits), created)


def _text_after(diagram: OpenDiagram, move: Move) -> str:
    """The document's text with a move made in one of its diagrams."""
    from merrow_analysis.text import apply_edits

    edits = move.edits if diagram.fence is None else diagram.fence.edits_to_host(move.edits)
    return apply_edits(diagram.document.text, edits)


def _asked(arguments: list[Any]) -> dict[str, Any]:
    """What is asked for, said as one object or as a list of arguments. Raises `InvalidParameters`."""
    from merrow_optimizer.mutations.operator_names import OF_ONE_PARENT

    asked = as_mapping(arguments[0]) if arguments else None
    if asked is None:
        keys = ("uri", "seed", "id", "diagram")
        asked = dict(zip(keys, arguments, strict=False))
        if isinstance(asked.get("id"), str) and asked["id"] in OF_ONE_PARENT:
            asked["operator"] = asked.pop("id")
    if asked.get("operator") is not None and asked["operator"] not in OF_ONE_PARENT:
        raise InvalidParameters(f"The operator must be one of {', '.join(OF_ONE_PARENT)}.")
    return asked


def _word(asked: dict[str, Any], key: str) -> str | None:
    value = asked.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidParameters(f"The {key} of a mutation must be a text.")
    return value


async def move_found(diagram: OpenDiagram, identifier: str) -> Move:
    """The safe move with an id. Raises `FeatureError` with the reason where there is none; edits go on meanwhile."""
    from merrow_optimizer.mutations.base import MoveRefusal
    from merrow_server.lsp.offers import mutations

    document = diagram.document
    version, last = document.version, time.monotonic()
    for move in mutations.find_step_by_step(diagram, identifier):
        if isinstance(move, MoveRefusal):
            raise refused(f"{move.title} is not safe ({move.precondition}): {move.reason}")
        if move is not None:
            return move
        if time.monotonic() - last > TURN:
            await asyncio.sleep(0)
            if document.version != version:
                raise FeatureError("The text changed meanwhile; ask again.", types.LSPErrorCodes.ContentModified)
            last = time.monotonic()
    raise refused(f"The workflow has no mutation {identifier}.")


async def crossover(server: MerrowServer, arguments: list[Any]) -> list[dict[str, Any]]:
    """The children of two workflows at a cut that the seed chooses (0 where none is given); nothing is opened."""
    from merrow_optimizer.crossover.children import CrossoverRefusedError
    from merrow_optimizer.crossover.children import crossover as cross
    from merrow_server.rendering.child import child_object

    document = the_document(server, arguments)
    given = _argument(arguments, 1)
    seed = _seed(_argument(arguments, 2), 0)
    first = workflow(numbered(document, _argument(arguments, 3) or 1))
    other = await _asked_for_other(server, document) if given is None else given
    if not isinstance(other, str) or not other:
        raise InvalidParameters("The second argument must be the other workflow: a URI or a path.")
    parents = first, workflow(_other(server, document, other))
    try:
        folders = [None if parent.document.path is None else parent.document.path.parent for parent in parents]
        children = cross(parents[0].analysis, parents[1].analysis, seed, together=folders[0] == folders[1])
    except CrossoverRefusedError as problem:
        raise refused(str(problem)) from None
    return [child_object(child, [parent.document.uri for parent in parents]) for child in children]


async def _asked_for_other(server: MerrowServer, document: OpenDocument) -> str | None:
    """The URI of the workflow that the reader chooses among those that are open and those beside the document."""
    names: dict[str, str] = {}
    for uri, known in server.documents.items():
        if known is not document and any(diagram.analysis.typed is not None for diagram in known.diagrams):
            names.setdefault(Path(uri).name, known.uri)
    if document.path is not None:
        for path in sorted(document.path.parent.glob("*.mmd")):
            if path != document.path and path.is_file():
                names.setdefault(path.name, path.as_uri())
    if not names:
        return None
    answer = await server.window_show_message_request_async(
        types.ShowMessageRequestParams(
            types.MessageType.Info,
            "Cross this workflow with which other one?",
            [types.MessageActionItem(name) for name in sorted(names)[:_MOST_ASKED]],
        )
    )
    if answer is None:
        raise refused("No other workflow was chosen.")
    return names.get(answer.title)


def _other(server: MerrowServer, document: OpenDocument, name: str) -> OpenDiagram:
    """The workflow that is open under a URI, or that a path (relative to the document) leads to."""
    file, hash_sign, number = name.rpartition("#")
    has_number = hash_sign and number.isdecimal()
    # A path may have a `#` of its own; the one of a file's URI, in which it would be `%23`, is always before the number.
    known = None if has_number and path_of(file) is not None else _document_named(server, document, name)
    if known is not None:
        return numbered(known, 1)
    known = _document_named(server, document, file) if has_number else None
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


def workflow(diagram: OpenDiagram) -> OpenDiagram:
    from merrow_optimizer.mutations.original import why_unchangeable

    unchangeable = why_unchangeable(diagram.analysis)
    if unchangeable is not None:
        raise InvalidParameters(f"The diagram {unchangeable}.")
    return diagram


def move_object(diagram: OpenDiagram, move: Move, effect: str | None = None) -> dict[str, Any]:
    """A move as JSON; its places are those of the document, ``delta`` is how the graph changes, ``effect`` says so.

    ``created`` are the files that come with it, ``{uri, text}`` each, where there are any.
    """
    from merrow_optimizer.mutations.effects import structure
    from merrow_server.lsp.offers.mutations import delta_object

    path = diagram.document.path
    created = [{"uri": (path.parent / file.path).as_uri(), "text": file.text} for file in move.created if path]
    return {
        "id": move.id,
        "operator": move.operator,
        "title": move.title,
        "target": diagram.to_lsp(move.target),
        "edits": diagram.edits_to_lsp(move.edits),
        "effect": structure(move.difference) if effect is None else effect,
        "delta": delta_object(move.difference),
        **({"created": created} if created else {}),
    }


def _argument(arguments: list[Any], number: int) -> Any:
    return arguments[number] if len(arguments) > number else None


def _seed(given: Any, otherwise: int) -> int:
    if given is None:
        return otherwise
    if not isinstance(given, int):
        raise InvalidParameters("The seed must be a whole number.")
    return given


def refused(sentence: str) -> FeatureError:
    return FeatureError(sentence, types.LSPErrorCodes.RequestFailed)
