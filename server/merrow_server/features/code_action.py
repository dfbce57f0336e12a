"""Code actions: quick fixes, refactorings, and the repair of all that can be repaired safely.

What takes time is worked out when the reader chooses it: by ``codeAction/resolve``, or by the command ``merrow.applyAction`` for
clients that know commands only. What was offered for another version of a document is not applied.

Safe mutations, and repairs that have to be searched for, are looked for when the reader opens the menu or asks for refactorings,
not at each move of the cursor.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_analysis.diagnostics import Applicability, Diagnostic
from merrow_analysis.edits.difference import line_edits
from merrow_analysis.ide.actions import code_actions as ide_actions
from merrow_analysis.text import Range, TextEdit, line_ending, with_line_ending
from merrow_server.lsp.documents import OpenDiagram, OpenDocument
from merrow_server.lsp.findings.diagnostics import SOURCE
from merrow_server.lsp.findings.files_beside import findings_of_file
from merrow_server.lsp.protocol import FeatureError
from merrow_server.lsp.server import MerrowServer

if TYPE_CHECKING:
    from merrow_analysis.graph.nodes import TypedNode
    from merrow_analysis.ide.actions.actions import Action
    from merrow_optimizer.mutations.base import Move

log = logging.getLogger(__name__)

FIX_ALL = "source.fixAll.merrow"
MUTATION = "refactor.rewrite.merrow"
"""The kind of safe mutations; an operator's name follows."""
MORE = f"{MUTATION}.more"
MORE_COMMAND = "merrow.moreMutations"
_MOST_LOOKED_AT = 50
QUICK_FIX = types.CodeActionKind.QuickFix.value
REPAIR = f"{QUICK_FIX}.merrow.repair"
REPAIR_COMMAND = "merrow.repair"
REPAIR_TITLE = "Repair this workflow"
SUGGEST = f"{MUTATION}.suggestion"
SUGGEST_COMMAND = "merrow.suggest"
OF_STEPS = ("refactor.extract.operator", "refactor.rewrite.operator")
"""The kinds of what makes operators of steps (`operator_actions`)."""
_SUGGEST_TITLE = "Suggest improvements with the model"
_SUGGEST_PROMPT_TITLE = "Improve this prompt with the model"
_MORE_TITLE = "More safe mutations…"
COMMAND = "merrow.applyAction"
_KINDS = [QUICK_FIX, "refactor.extract", "refactor.inline", "refactor.move", "refactor.rewrite", FIX_ALL]


@dataclass(frozen=True, slots=True)
class _Offer:
    """An action for one document: ``edits`` works out what it changes there, at once where it is ``ready``.

    ``sent`` is the client's diagnostic that it is about; ``move`` is the id of a safe mutation; ``command`` is what is
    executed in place of an edit, and ``change`` an edit of other files.
    """

    title: str
    kind: str
    edits: Callable[[], list[types.TextEdit] | None]
    ready: bool = False
    sent: types.Diagnostic | None = None
    preferred: bool = False
    move: str | None = None
    effect: str = ""
    command: types.Command | None = None
    change: types.WorkspaceEdit | None = None
    suppresses: bool = False


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
    offers = list(_others(server, document, params.range, params.context.diagnostics)) if wanted(QUICK_FIX) else []
    offers += _offers(document, params.range, params.context.diagnostics, wanted, whole=not automatic)
    if only is not None or params.context.trigger_kind == types.CodeActionTriggerKind.Invoked:
        repairs = [*_searched(document, params.range, params.context.diagnostics, wanted)]
        repairs += _repair(server, document, params.range, params.context.diagnostics, wanted)
        # What repairs comes before what suppresses.
        at = next((number for number, offer in enumerate(offers) if offer.suppresses), len(offers))
        offers[at:at] = repairs
        offers += _of_steps(document, params.range, wanted)
        # A mutation may be the fix that stands above it already.
        titles = {offer.title for offer in offers}
        offers += [offer for offer in _mutations(document, params.range, wanted) if offer.title not in titles]
        offers += _more(server, document, params.range, wanted)
        offers += _suggestions(server, document, params.range, wanted)
    if not server.supports.code_action_literals:
        offers = [offer for offer in offers if offer.change is None]
        if not server.supports.apply_edit:
            return []
        return [
            offer.command or types.Command(offer.title, COMMAND, arguments=[_data(document, params.range, offer)])
            for offer in offers
        ]
    return [action for offer in offers if (action := _action(server, document, params.range, offer)) is not None]


def _asked_for(only: Iterable[str] | None) -> Callable[[str], bool]:
    """Whether a kind is among those asked for, or a kind of one of them."""
    if only is None:
        return lambda kind: True  # noqa: ARG005
    wanted = [str(getattr(kind, "value", kind)) for kind in only]
    return lambda kind: any(not one or kind == one or kind.startswith(f"{one}.") for one in wanted)


def _action(server: MerrowServer, document: OpenDocument, place: types.Range, offer: _Offer) -> types.CodeAction | None:
    supports = server.supports
    sent = None if offer.sent is None else [offer.sent]
    preferred = True if offer.preferred and supports.code_action_preferred else None
    if offer.command is not None or offer.change is not None:
        return types.CodeAction(
            title=offer.title,
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
        title=offer.title,
        kind=offer.kind,
        diagnostics=sent,
        is_preferred=preferred,
        edit=None if edits is None else _workspace_edit(server, document, offer, edits),
        data=_data(document, place, offer) if lazily else None,
    )


def _data(document: OpenDocument, place: types.Range, offer: _Offer) -> dict[str, Any]:
    """What leads back to an offer."""
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
    """The action with its edit; as it is where the document has changed since."""
    found = None if action.data is None else _edit_for(server, action.data)
    if found is not None:
        action.edit = found
    return action


def apply_action(server: MerrowServer, arguments: list[Any]) -> None:
    """Do what a client without code action literals was offered as a command."""
    data = as_mapping(arguments[0]) if arguments else None
    edit = _edit_for(server, data)
    if edit is not None:
        label = str(data["title"]) if data is not None else None
        server.workspace_apply_edit(types.ApplyWorkspaceEditParams(edit, label), lambda answer: _told(label, answer))


def _told(label: str | None, answer: types.ApplyWorkspaceEditResult) -> None:
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
    others = (one for one in _others(server, document, place, []) if one.command is None and one.change is None)
    offers = _offers(document, place, [], kind.__eq__)
    searched, of_steps = _searched(document, place, [], kind.__eq__), _of_steps(document, place, kind.__eq__)
    for offer in chain(others, offers, searched, of_steps):
        if (offer.kind, offer.title) == (kind, title):
            edits = offer.edits()
            return None if edits is None else server.edit(document, edits)
    return None


def _edit_for_move(
    server: MerrowServer, document: OpenDocument, place: types.Range, kind: str, identifier: str
) -> types.WorkspaceEdit:
    """The edit of a mutation that was offered. Raises `FeatureError` where it is not offered any more."""
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
    server: MerrowServer, document: OpenDocument, offer: _Offer, edits: list[types.TextEdit]
) -> types.WorkspaceEdit:
    """The edit of an offer; that of a mutation is shown before it is made, where the client can."""
    if offer.move is None:
        return server.edit(document, edits)
    return server.confirmed_edit(document, edits, offer.title, offer.effect, offer.move)


def _mutations(document: OpenDocument, place: types.Range, wanted: Callable[[str], bool]) -> Iterator[_Offer]:
    """Safe mutations of what is selected."""
    from merrow_optimizer.mutations.names import OF_ONE_PARENT

    if not any(wanted(f"{MUTATION}.{operator}") for operator in OF_ONE_PARENT):
        return
    from merrow_server.lsp.offers import mutations

    for diagram in document.diagrams:
        within = diagram.range_from_lsp(place)
        if within is not None:
            for move in mutations.offered(diagram, within, lambda operator: wanted(f"{MUTATION}.{operator}")):
                yield _offer_of(diagram, move)


def _of_steps(document: OpenDocument, place: types.Range, wanted: Callable[[str], bool]) -> Iterator[_Offer]:
    """What makes operators of the selected steps."""
    if not any(wanted(kind) for kind in OF_STEPS):
        return
    from merrow_server.lsp.offers.operator_actions import operator_actions

    for diagram in document.diagrams:
        within = diagram.range_from_lsp(place)
        for kind, move in () if within is None else operator_actions(diagram, within, wanted):
            yield _Offer(move.title, kind, partial(diagram.edits_to_lsp, move.edits), ready=True)


def _more(
    server: MerrowServer, document: OpenDocument, place: types.Range, wanted: Callable[[str], bool]
) -> Iterator[_Offer]:
    """The way to all safe mutations of what is selected, for clients that can be sent edits."""
    if not wanted(MORE) or not server.supports.apply_edit:
        return
    from merrow_server.lsp.offers import mutations

    for number, diagram in enumerate(document.diagrams, 1):
        within = diagram.range_from_lsp(place)
        if within is not None and mutations.is_selected(diagram, within):
            asked = {"uri": document.uri, "diagram": number, "range": server.plain(place), "version": document.version}
            command = types.Command(_MORE_TITLE, MORE_COMMAND, arguments=[asked])
            yield _Offer(_MORE_TITLE, MORE, lambda: None, command=command)
            return


def _suggestions(
    server: MerrowServer, document: OpenDocument, place: types.Range, wanted: Callable[[str], bool]
) -> Iterator[_Offer]:
    """The way to suggestions of a model: for the prompt of one selected node, and for the workflow."""
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
            yield _Offer(_SUGGEST_PROMPT_TITLE, SUGGEST, lambda: None, command=command)
        command = types.Command(_SUGGEST_TITLE, SUGGEST_COMMAND, arguments=[{**asked, "range": server.plain(place)}])
        yield _Offer(_SUGGEST_TITLE, SUGGEST, lambda: None, command=command)
        return


def _asks_model(node: TypedNode) -> bool:
    """Whether a node has a prompt."""
    from merrow_optimizer.suggestions.writing import takes_prompt

    return takes_prompt(node)


def _offer_of(diagram: OpenDiagram, move: Move) -> _Offer:
    from merrow_optimizer.mutations.effects import structure

    edits = partial(diagram.edits_to_lsp, move.edits)
    return _Offer(move.title, f"{MUTATION}.{move.operator}", edits, move=move.id, effect=structure(move.difference))


def _others(
    server: MerrowServer, document: OpenDocument, place: types.Range, sent: Iterable[types.Diagnostic]
) -> Iterator[_Offer]:
    """What can be done about a finding besides its fixes: the best is the first at each."""
    from merrow_server.lsp.offers.other_actions import other_actions

    ours = {(one.code, *_corners(one.range)): one for one in sent if one.source == SOURCE}
    for number, diagram in enumerate(document.diagrams, 1):
        within = diagram.range_from_lsp(place)
        done: set[int] = set()
        for action in () if within is None else other_actions(server.supports, server.runs, diagram, number, within):
            finding = action.finding
            meant = ours.get((finding.code, *_corners(diagram.to_lsp(finding.range))))
            if ours and meant is None:
                continue
            first = id(finding) not in done and not finding.fixes
            done.add(id(finding))
            yield _Offer(
                action.title,
                QUICK_FIX,
                partial(diagram.edits_to_lsp, action.edits or ()),
                ready=True,
                sent=meant,
                preferred=first,
                command=action.command,
                change=action.change,
            )


def _offers(
    document: OpenDocument,
    place: types.Range,
    sent: Iterable[types.Diagnostic],
    wanted: Callable[[str], bool],
    *,
    whole: bool = True,
) -> Iterator[_Offer]:
    """What can be done at a range of a document, and with ``whole`` the repair of all of it, which comes last."""
    if wanted(QUICK_FIX):
        yield from _of_file_beside(document, place, list(sent))
    for diagram in document.diagrams:
        within = diagram.range_from_lsp(place)
        if within is not None:
            yield from _in_diagram(document, diagram, within, list(sent), wanted)
    if whole and wanted(FIX_ALL) and any(_is_repairable(diagram) for diagram in document.diagrams):
        yield _Offer("Repair all that can be repaired safely", FIX_ALL, lambda: _repaired(document, Applicability.SAFE))


def _of_file_beside(document: OpenDocument, place: types.Range, sent: list[types.Diagnostic]) -> Iterator[_Offer]:
    """The fixes of what is wrong at a range of a settings file or a cases file."""
    within = document.range_from_lsp(place)
    for finding in findings_of_file(document):
        if finding.range.start > within[1] or within[0] > finding.range.end:
            continue
        shown = document.to_lsp(finding.range)
        meant = next((one for one in sent if one.code == finding.code and one.range == shown), None)
        for number, fix in enumerate(finding.fixes):
            edits = [types.TextEdit(document.to_lsp(edit.range), edit.new_text) for edit in fix.edits]
            yield _Offer(fix.title, QUICK_FIX, partial(list, edits), ready=True, sent=meant, preferred=number == 0)


def _in_diagram(
    document: OpenDocument,
    diagram: OpenDiagram,
    within: Range,
    sent: list[types.Diagnostic],
    wanted: Callable[[str], bool],
) -> Iterator[_Offer]:
    ours = [diagnostic for diagnostic in sent if diagnostic.source == SOURCE]
    meant: dict[int, types.Diagnostic] = {}
    findings: tuple[Diagnostic, ...] | None = None
    if ours:
        pairs = list(_matched(diagram, ours))
        findings = tuple(finding for finding, _ in pairs)
        meant = {id(finding): diagnostic for finding, diagnostic in pairs}
    for action in ide_actions.actions(diagram.analysis, within, findings, wanted):
        edits = partial(_edits_of, diagram, action)
        if action.everywhere and action.diagnostic is not None:
            edits = partial(_repaired, document, Applicability.UNSAFE, action.diagnostic.code)
        yield _Offer(
            action.title,
            action.kind,
            edits,
            ready=action.diagnostic is not None and not action.everywhere,
            sent=meant.get(id(action.diagnostic)),
            preferred=action.preferred,
            suppresses=action.suppresses,
        )


def _searched(
    document: OpenDocument, place: types.Range, sent: Iterable[types.Diagnostic], wanted: Callable[[str], bool]
) -> Iterator[_Offer]:
    """What a search finds for the findings at a range whose rules have no remedy that is enough."""
    if not wanted(QUICK_FIX):
        return
    from merrow_server.lsp.offers import repairs

    ours = [diagnostic for diagnostic in sent if diagnostic.source == SOURCE]
    for diagram in document.diagrams:
        within = diagram.range_from_lsp(place)
        if within is None:
            continue
        meant = {id(finding): diagnostic for finding, diagnostic in _matched(diagram, ours)}
        for finding, remedies in repairs.searched(diagram, within, meant):
            for number, remedy in enumerate(remedies):
                yield _Offer(
                    remedy.title,
                    QUICK_FIX,
                    partial(diagram.edits_to_lsp, remedy.edits),
                    ready=True,
                    sent=meant.get(id(finding)),
                    preferred=number == 0 and not finding.fixes,
                )


def _repair(
    server: MerrowServer,
    document: OpenDocument,
    place: types.Range,
    sent: Iterable[types.Diagnostic],
    wanted: Callable[[str], bool],
) -> Iterator[_Offer]:
    """The repair of the whole workflow, where it has errors, for clients that can be sent edits.

    It is about the gravest finding at the place: editors show what is about none below what suppresses one.
    """
    if not wanted(REPAIR) or not server.supports.apply_edit:
        return
    ours = [one for one in sent if one.source == SOURCE]
    gravest = min(ours, key=lambda one: one.severity or types.DiagnosticSeverity.Hint, default=None)
    for number, diagram in enumerate(document.diagrams, 1):
        if diagram.range_from_lsp(place) is not None and diagram.analysis.errors:
            asked = {"uri": document.uri, "diagram": number, "version": document.version}
            command = types.Command(REPAIR_TITLE, REPAIR_COMMAND, arguments=[asked])
            yield _Offer(REPAIR_TITLE, REPAIR, lambda: None, sent=gravest, command=command)
            return


def _matched(diagram: OpenDiagram, sent: list[types.Diagnostic]) -> Iterator[tuple[Diagnostic, types.Diagnostic]]:
    """The findings of the text as it is now that a client speaks of; what is no longer there is passed over."""
    by_place: dict[tuple[object, ...], types.Diagnostic] = {}
    for diagnostic in sent:
        by_place.setdefault((diagnostic.code, *_corners(diagnostic.range)), diagnostic)
    for finding in diagram.analysis.diagnostics:
        found = by_place.get((finding.code, *_corners(diagram.to_lsp(finding.range))))
        if found is not None:
            yield finding, found


def _corners(place: types.Range) -> tuple[int, int, int, int]:
    return place.start.line, place.start.character, place.end.line, place.end.character


def _edits_of(diagram: OpenDiagram, action: Action) -> list[types.TextEdit] | None:
    """What an action changes in a diagram as edits of the document, with its line endings."""
    edits: Iterable[TextEdit] | None = action.edits()
    if edits is None:
        return None
    ending = line_ending(diagram.lines)
    return diagram.edits_to_lsp(with_line_ending(edit, ending) for edit in edits)


def _is_repairable(diagram: OpenDiagram) -> bool:
    """Whether anything can be repaired safely, as far as the first findings of each rule tell: a menu must not make all fixes."""
    looked: Counter[str] = Counter()
    for diagnostic in diagram.analysis.diagnostics:
        looked[diagnostic.code] += 1
        if looked[diagnostic.code] > _MOST_LOOKED_AT:
            continue
        if any(fix.applicability >= Applicability.SAFE for fix in diagnostic.fixes):
            return True
    return False


def _repaired(document: OpenDocument, least: Applicability, code: str | None = None) -> list[types.TextEdit] | None:
    """The edits that all fixes of at least applicability ``least`` come to, applied again and again until none is left.

    With ``code`` only those of one rule.
    """
    from merrow_analysis.check import analyse
    from merrow_server.changes.fixing import repair

    context = document.context

    def diagnose(text: str) -> list[Diagnostic]:
        found = analyse(text, path=context.path, provider=context.provider, config=context.config).diagnostics
        return [one for one in found if code is None or one.code == code]

    edits: list[types.TextEdit] = []
    for diagram in document.diagrams:
        after = repair(diagram.text, diagnose, least).text
        edits += diagram.edits_to_lsp(line_edits(diagram.text, after))
    return edits or None
