"""Code actions: quick fixes, refactorings, and fixing everything that can be fixed safely.

Expensive edits are computed when the user chooses them: by ``codeAction/resolve``, or by the command ``merrow.applyAction`` for
clients that only support commands. Offers for another version of a document are not applied.

Safe mutations, and repairs that have to be searched for, are computed when the user opens the menu or asks for refactorings,
not on each move of the cursor. A client that doesn't say which of the two it is (``triggerKind`` is optional) gets everything.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_analysis import faults
from merrow_analysis.visible import visible
from merrow_server.lsp.documents import OpenDiagram, OpenDocument
from merrow_server.lsp.offers.binding_tools import BIND, tool_bindings
from merrow_server.lsp.offers.fix_offers import offers_at, other_offers, repair_offers, searched_offers
from merrow_server.lsp.offers.offer import FIX_ALL, QUICK_FIX, Offer
from merrow_server.lsp.protocol import FeatureError
from merrow_server.lsp.server import MerrowServer

if TYPE_CHECKING:
    from merrow_analysis.graph.nodes import TypedNode
    from merrow_optimizer.mutations.base import Move

log = logging.getLogger(__name__)

MUTATION = "refactor.rewrite.merrow"
"""The kind of safe mutations; an operator's name follows."""
MORE = f"{MUTATION}.more"
MORE_COMMAND = "merrow.moreMutations"
SUGGEST = f"{MUTATION}.suggestion"
SUGGEST_COMMAND = "merrow.suggest"
OF_STEPS = ("refactor.extract.operator", "refactor.rewrite.operator")
"""The kinds of actions that turn steps into operators (`operator_actions`)."""
_SUGGEST_TITLE = "Suggest improvements with the model"
_SUGGEST_PROMPT_TITLE = "Improve this prompt with the model"
_MORE_TITLE = "More safe mutations…"
COMMAND = "merrow.applyAction"
_KINDS = [QUICK_FIX, "refactor.extract", "refactor.inline", "refactor.move", "refactor.rewrite", FIX_ALL]


def register(server: MerrowServer) -> None:
    options = types.CodeActionOptions(code_action_kinds=list(_KINDS), resolve_provider=True)
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)(code_action)
    server.feature(types.CODE_ACTION_RESOLVE)(resolve)
    server.command(COMMAND)(apply_action)


def code_action(server: MerrowServer, params: types.CodeActionParams) -> list[types.CodeAction | types.Command] | None:
    document = server.document(params.text_document.uri)
    if document is None:
        return None
    only = params.context.only
    wanted = _asked_for(only)
    automatic = params.context.trigger_kind == types.CodeActionTriggerKind.Automatic and only is None
    place, sent = params.range, params.context.diagnostics
    offers = (
        _each(lambda: other_offers(server.supports, server.runs, document, place, sent)) if wanted(QUICK_FIX) else []
    )
    offers += _each(lambda: offers_at(document, place, sent, wanted, whole=not automatic))
    if not automatic:
        repairs = _each(lambda: searched_offers(document, place, sent, wanted))
        repairs += _each(lambda: repair_offers(server.supports, document, place, sent, wanted))
        # Fixes come before suppressions.
        at = next((number for number, offer in enumerate(offers) if offer.suppresses), len(offers))
        offers[at:at] = repairs
        offers += _each(lambda: _of_steps(document, place, wanted))
        # A mutation may be the same as a fix above it.
        titles = {offer.title for offer in offers}
        offers += [offer for offer in _each(lambda: _mutations(document, place, wanted)) if offer.title not in titles]
        offers += _each(lambda: _more(server, document, place, wanted))
        offers += _each(lambda: _suggestions(server, document, place, wanted))
    if not server.supports.code_action_literals:
        offers = [offer for offer in offers if offer.change is None]
        if not server.supports.apply_edit:
            return []
        return [
            offer.command
            or types.Command(visible(offer.title), COMMAND, arguments=[_data(document, params.range, offer)])
            for offer in offers
        ]
    return [action for offer in offers if (action := _action(server, document, params.range, offer)) is not None]


def _each(made: Callable[[], Iterable[Offer]]) -> list[Offer]:
    """What is offered for one reason. Where Merrow fails at it, the log says so, and the others are offered."""
    offers: list[Offer] = []
    try:
        offers.extend(offer for offer in made())
    except Exception:
        if faults.are_raised():
            raise
        log.exception("Some code actions could not be made.")
    return offers


def _asked_for(only: Iterable[str] | None) -> Callable[[str], bool]:
    """Whether a kind, or one that contains it, was requested."""
    if only is None:
        return lambda kind: True  # noqa: ARG005
    wanted = [str(getattr(kind, "value", kind)) for kind in only]
    return lambda kind: any(not prefix or kind == prefix or kind.startswith(f"{prefix}.") for prefix in wanted)


def _action(server: MerrowServer, document: OpenDocument, place: types.Range, offer: Offer) -> types.CodeAction | None:
    supports = server.supports
    sent = None if offer.sent is None else [offer.sent]
    preferred = True if offer.preferred and supports.code_action_preferred else None
    if offer.command is not None or offer.change is not None:
        return types.CodeAction(
            title=visible(offer.title),
            kind=offer.kind,
            diagnostics=sent,
            is_preferred=preferred,
            edit=offer.change,
            command=offer.command,
        )
    lazily = not offer.ready and supports.code_action_data and "edit" in supports.code_action_resolve
    edits = None if lazily else offer.edits()
    if not lazily and edits is None:
        return None
    return types.CodeAction(
        title=visible(offer.title),
        kind=offer.kind,
        diagnostics=sent,
        is_preferred=preferred,
        edit=None if edits is None else _workspace_edit(server, document, offer, edits),
        data=_data(document, place, offer) if lazily else None,
    )


def _data(document: OpenDocument, place: types.Range, offer: Offer) -> dict[str, Any]:
    """The data that identifies an offer."""
    move = {} if offer.move is None else {"move": offer.move}
    return move | {
        "uri": document.uri,
        "version": document.version,
        "title": offer.title,
        "kind": offer.kind,
        "line": place.start.line,
        "character": place.start.character,
        "endLine": place.end.line,
        "endCharacter": place.end.character,
    }


def resolve(server: MerrowServer, action: types.CodeAction) -> types.CodeAction:
    """The action with its edit; unchanged if the document has changed since."""
    edit = None if action.data is None else _edit_for(server, action.data)
    if edit is not None:
        action.edit = edit
    return action


def apply_action(server: MerrowServer, arguments: list[Any]) -> None:
    """Carry out an offer for a client without code action literals."""
    data = (as_mapping(arguments[0]) if arguments else None) or {}
    edit = _edit_for(server, data)
    if edit is not None:
        label = str(data.get("title", ""))
        server.workspace_apply_edit(types.ApplyWorkspaceEditParams(edit, label), lambda answer: _told(label, answer))


def _told(label: str, answer: types.ApplyWorkspaceEditResult) -> None:
    if not answer.applied:
        log.warning("The editor did not apply “%s”: %s", label, answer.failure_reason or "no reason given")


def as_mapping(value: Any) -> dict[str, Any] | None:
    """An object that a client sent; None for anything else."""
    if isinstance(value, dict):
        return value
    as_dict = getattr(value, "_asdict", None)
    return as_dict() if as_dict is not None else None


def _edit_for(server: MerrowServer, given: Any) -> types.WorkspaceEdit | None:
    data = as_mapping(given)
    document = server.document(str(data.get("uri", ""))) if data is not None else None
    is_move = data is not None and data.get("move") is not None
    if data is None or document is None or data.get("version") != document.version:
        if is_move:
            raise _outdated()
        log.warning("What was chosen was offered for another state of the document, and is not done.")
        return None
    try:
        start = types.Position(int(data["line"]), int(data["character"]))
        end = types.Position(int(data["endLine"]), int(data["endCharacter"]))
    except (KeyError, TypeError, ValueError):
        log.warning("What was chosen was not offered by this server.")
        return None
    kind, title, place = str(data.get("kind", "")), str(data.get("title", "")), types.Range(start, end)
    if is_move:
        return _edit_for_move(server, document, place, kind, str(data["move"]))
    others = (
        other
        for other in other_offers(server.supports, server.runs, document, place, [])
        if not (other.command or other.change)
    )
    offers = offers_at(document, place, [], kind.__eq__)
    searched, of_steps = searched_offers(document, place, [], kind.__eq__), _of_steps(document, place, kind.__eq__)
    for offer in chain(others, offers, searched, of_steps):
        if (offer.kind, offer.title) == (kind, title):
            edits = offer.edits()
            return None if edits is None else server.edit(document, edits)
    return None


def _edit_for_move(
    server: MerrowServer, document: OpenDocument, place: types.Range, kind: str, identifier: str
) -> types.WorkspaceEdit:
    """The edit of an offered mutation. Raises `FeatureError` if it is no longer offered."""
    from merrow_server.lsp.offers import mutations

    operator = kind.removeprefix(f"{MUTATION}.")
    for diagram in document.diagrams:
        within = diagram.range_from_lsp(place)
        move = None if within is None else mutations.offered_again(diagram, within, operator, identifier)
        if move is not None:
            offer = _offer_of(diagram, move)
            return _workspace_edit(server, document, offer, offer.edits() or [])
    raise _outdated()


def _outdated() -> FeatureError:
    return FeatureError(
        "The mutation was offered for another state of the workflow; open the menu again.",
        types.LSPErrorCodes.ContentModified,
    )


def _workspace_edit(
    server: MerrowServer, document: OpenDocument, offer: Offer, edits: list[types.TextEdit]
) -> types.WorkspaceEdit:
    """The edit of an offer; for a mutation it is shown first, if the client supports that."""
    if offer.move is None:
        return server.edit(document, edits)
    return server.confirmed_edit(document, edits, offer.title, offer.effect, offer.move)


def _mutations(document: OpenDocument, place: types.Range, wanted: Callable[[str], bool]) -> Iterator[Offer]:
    """Safe mutations of the selection."""
    from merrow_optimizer.mutations.operator_names import OF_ONE_PARENT

    if not any(wanted(f"{MUTATION}.{operator}") for operator in OF_ONE_PARENT):
        return
    from merrow_server.lsp.offers import mutations

    for diagram in document.diagrams:
        within = diagram.range_from_lsp(place)
        if within is not None:
            for move in mutations.offered(diagram, within, lambda operator: wanted(f"{MUTATION}.{operator}")):
                yield _offer_of(diagram, move)


def _of_steps(document: OpenDocument, place: types.Range, wanted: Callable[[str], bool]) -> Iterator[Offer]:
    """Actions that turn the selected steps into operators, or bind one to a tool."""
    if wanted(BIND):
        for diagram in document.diagrams:
            yield from tool_bindings(diagram, place)
    if not any(wanted(kind) for kind in OF_STEPS):
        return
    from merrow_server.lsp.offers.operator_actions import operator_actions

    for diagram in document.diagrams:
        within = diagram.range_from_lsp(place)
        for kind, move in () if within is None else operator_actions(diagram, within, wanted):
            yield Offer(move.title, kind, partial(diagram.edits_to_lsp, move.edits), ready=True)


def _more(
    server: MerrowServer, document: OpenDocument, place: types.Range, wanted: Callable[[str], bool]
) -> Iterator[Offer]:
    """The action that lists all safe mutations of the selection, for clients that accept edits."""
    if not wanted(MORE) or not server.supports.apply_edit:
        return
    from merrow_server.lsp.offers import mutations

    for number, diagram in enumerate(document.diagrams, 1):
        within = diagram.range_from_lsp(place)
        if within is not None and mutations.is_selected(diagram, within):
            asked = {"uri": document.uri, "diagram": number, "range": server.plain(place), "version": document.version}
            command = types.Command(_MORE_TITLE, MORE_COMMAND, arguments=[asked])
            yield Offer(_MORE_TITLE, MORE, lambda: None, command=command)
            return


def _suggestions(
    server: MerrowServer, document: OpenDocument, place: types.Range, wanted: Callable[[str], bool]
) -> Iterator[Offer]:
    """Actions for suggestions from a model: for the prompt of one selected node, and for the workflow."""
    if not wanted(SUGGEST) or not server.supports.apply_edit:
        return
    from merrow_analysis.ide.cursor.selection import selection
    from merrow_optimizer.mutations.original import why_unchangeable

    for number, diagram in enumerate(document.diagrams, 1):
        within = diagram.range_from_lsp(place)
        if within is None or diagram.analysis.errors or why_unchangeable(diagram.analysis) is not None:
            continue
        asked = {"uri": document.uri, "diagram": number, "version": document.version}
        nodes = selection(diagram.analysis, within).nodes
        if len(nodes) == 1 and _asks_model(nodes[0]):
            command = types.Command(_SUGGEST_PROMPT_TITLE, SUGGEST_COMMAND, arguments=[{**asked, "node": nodes[0].id}])
            yield Offer(_SUGGEST_PROMPT_TITLE, SUGGEST, lambda: None, command=command)
        command = types.Command(_SUGGEST_TITLE, SUGGEST_COMMAND, arguments=[{**asked, "range": server.plain(place)}])
        yield Offer(_SUGGEST_TITLE, SUGGEST, lambda: None, command=command)
        return


def _asks_model(node: TypedNode) -> bool:
    """Whether a node has a prompt."""
    from merrow_optimizer.suggestions.node_edits import takes_prompt

    return takes_prompt(node)


def _offer_of(diagram: OpenDiagram, move: Move) -> Offer:
    from merrow_optimizer.mutations.effects import structure

    edits = partial(diagram.edits_to_lsp, move.edits)
    return Offer(move.title, f"{MUTATION}.{move.operator}", edits, move=move.id, effect=structure(move.difference))
