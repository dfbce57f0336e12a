"""What is offered for findings: their fixes, what else can be done about them, searched remedies, the repair of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from lsprotocol import types

from merrow_analysis.diagnostics import Applicability, Diagnostic
from merrow_analysis.difference import line_edits
from merrow_analysis.ide.actions import code_actions as ide_actions
from merrow_analysis.text import Range, TextEdit, line_ending, with_line_ending
from merrow_server.lsp.documents import OpenDiagram, OpenDocument
from merrow_server.lsp.findings.diagnostics import SOURCE
from merrow_server.lsp.findings.files_beside import findings_of_file
from merrow_server.lsp.offers.offer import FIX_ALL, QUICK_FIX, REPAIR, Offer
from merrow_server.lsp.supports import Supports
from merrow_server.lsp.work.runs import Runs

if TYPE_CHECKING:
    from merrow_analysis.ide.actions.actions import Action

REPAIR_COMMAND = "merrow.repair"
REPAIR_TITLE = "Repair this workflow"
_MOST_LOOKED_AT = 50


def other_offers(
    supports: Supports, runs: Runs, document: OpenDocument, place: types.Range, sent: Iterable[types.Diagnostic]
) -> Iterator[Offer]:
    """What can be done about a finding besides its fixes: the best is the first at each."""
    from merrow_server.lsp.offers.other_actions import other_actions

    ours = {
        (diagnostic.code, *_corners(diagnostic.range)): diagnostic for diagnostic in sent if diagnostic.source == SOURCE
    }
    for number, diagram in enumerate(document.diagrams, 1):
        within = diagram.range_from_lsp(place)
        done: set[int] = set()
        for action in () if within is None else other_actions(supports, runs, diagram, number, within):
            finding = action.finding
            meant = ours.get((finding.code, *_corners(diagram.to_lsp(finding.range))))
            if ours and meant is None:
                continue
            first = id(finding) not in done and not finding.fixes
            done.add(id(finding))
            yield Offer(
                action.title,
                QUICK_FIX,
                partial(diagram.edits_to_lsp, action.edits or ()),
                ready=True,
                sent=meant,
                preferred=first,
                command=action.command,
                change=action.change,
            )


def offers_at(
    document: OpenDocument,
    place: types.Range,
    sent: Iterable[types.Diagnostic],
    wanted: Callable[[str], bool],
    *,
    whole: bool = True,
) -> Iterator[Offer]:
    """What can be done at a range of a document, and with ``whole`` the repair of all of it, which comes last."""
    sent = list(sent)
    places = _by_place(sent)
    if wanted(QUICK_FIX):
        yield from _of_file_beside(document, place, sent)
    for diagram in document.diagrams:
        within = diagram.range_from_lsp(place)
        if within is not None:
            yield from _in_diagram(document, diagram, within, places, wanted)
    if whole and wanted(FIX_ALL) and any(_is_repairable(diagram) for diagram in document.diagrams):
        yield Offer("Repair all that can be repaired safely", FIX_ALL, lambda: _repaired(document, Applicability.SAFE))


def _of_file_beside(document: OpenDocument, place: types.Range, sent: list[types.Diagnostic]) -> Iterator[Offer]:
    """The fixes of what is wrong at a range of a settings file or a cases file."""
    within = document.range_from_lsp(place)
    for finding in findings_of_file(document):
        if finding.range.start > within[1] or within[0] > finding.range.end:
            continue
        shown = document.to_lsp(finding.range)
        meant = next(
            (diagnostic for diagnostic in sent if diagnostic.code == finding.code and diagnostic.range == shown), None
        )
        for number, fix in enumerate(finding.fixes):
            edits = [types.TextEdit(document.to_lsp(edit.range), edit.new_text) for edit in fix.edits]
            yield Offer(fix.title, QUICK_FIX, partial(list, edits), ready=True, sent=meant, preferred=number == 0)


def _in_diagram(
    document: OpenDocument,
    diagram: OpenDiagram,
    within: Range,
    sent: _Sent,
    wanted: Callable[[str], bool],
) -> Iterator[Offer]:
    meant: dict[int, types.Diagnostic] = {}
    findings: tuple[Diagnostic, ...] | None = None
    if sent:
        pairs = list(_matched(diagram, sent))
        findings = tuple(finding for finding, _ in pairs)
        meant = {id(finding): diagnostic for finding, diagnostic in pairs}
    for action in ide_actions.actions(diagram.analysis, within, findings, wanted):
        edits: Callable[[], list[types.TextEdit] | None] = partial(_edits_of, diagram, action)
        if action.everywhere and action.diagnostic is not None:
            edits = partial(_repaired, document, Applicability.UNSAFE, action.diagnostic.code)
        yield Offer(
            action.title,
            action.kind,
            edits,
            ready=action.diagnostic is not None and not action.everywhere,
            sent=meant.get(id(action.diagnostic)),
            preferred=action.preferred,
            suppresses=action.suppresses,
        )


def searched_offers(
    document: OpenDocument, place: types.Range, sent: Iterable[types.Diagnostic], wanted: Callable[[str], bool]
) -> Iterator[Offer]:
    """What a search finds for the findings at a range whose rules have no remedy that is enough."""
    if not wanted(QUICK_FIX):
        return
    from merrow_server.lsp.offers import repairs

    places = _by_place(sent)
    for diagram in document.diagrams:
        within = diagram.range_from_lsp(place)
        if within is None:
            continue
        meant = {id(finding): diagnostic for finding, diagnostic in _matched(diagram, places)}
        for finding, remedies in repairs.searched(diagram, within, meant):
            for number, remedy in enumerate(remedies):
                yield Offer(
                    remedy.title,
                    QUICK_FIX,
                    partial(diagram.edits_to_lsp, remedy.edits),
                    ready=True,
                    sent=meant.get(id(finding)),
                    preferred=number == 0 and not finding.fixes,
                )


def repair_offers(
    supports: Supports,
    document: OpenDocument,
    place: types.Range,
    sent: Iterable[types.Diagnostic],
    wanted: Callable[[str], bool],
) -> Iterator[Offer]:
    """The repair of the whole workflow, where it has errors, for clients that can be sent edits.

    It is about the gravest finding at the place: editors show what is about none below what suppresses one.
    """
    if not wanted(REPAIR) or not supports.apply_edit:
        return
    ours = [diagnostic for diagnostic in sent if diagnostic.source == SOURCE]
    gravest = min(ours, key=lambda diagnostic: diagnostic.severity or types.DiagnosticSeverity.Hint, default=None)
    for number, diagram in enumerate(document.diagrams, 1):
        if diagram.range_from_lsp(place) is not None and diagram.analysis.errors:
            asked = {"uri": document.uri, "diagram": number, "version": document.version}
            command = types.Command(REPAIR_TITLE, REPAIR_COMMAND, arguments=[asked])
            yield Offer(REPAIR_TITLE, REPAIR, lambda: None, sent=gravest, command=command)
            return


_Sent = dict[tuple[object, ...], dict[str, types.Diagnostic]]
"""Our findings as a client sends them, by code and place, and there by message."""


def _by_place(sent: Iterable[types.Diagnostic]) -> _Sent:
    by_place: _Sent = {}
    for diagnostic in sent:
        if diagnostic.source == SOURCE:
            here = by_place.setdefault((diagnostic.code, *_corners(diagnostic.range)), {})
            here.setdefault(diagnostic.message, diagnostic)
    return by_place


def _matched(diagram: OpenDiagram, sent: _Sent) -> Iterator[tuple[Diagnostic, types.Diagnostic]]:
    """The findings of the text as it is now that a client speaks of; what is no longer there is passed over.

    A rule may find several things at one place, which their messages tell apart.
    """
    known = [
        (finding, (finding.code, *_corners(diagram.to_lsp(finding.range)))) for finding in diagram.analysis.diagnostics
    ]
    told = {(place, finding.message) for finding, place in known}
    for finding, place in known:
        here = sent.get(place, {})
        # What a client says of a finding in other words is meant for each of the place.
        other = next((candidate for message, candidate in here.items() if (place, message) not in told), None)
        match = here.get(finding.message, other)
        if match is not None:
            yield finding, match


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
        best = diagnostic.fixes.best
        if best is not None and best.applicability >= Applicability.SAFE:
            return True
    return False


def _repaired(document: OpenDocument, least: Applicability, code: str | None = None) -> list[types.TextEdit]:
    """The edits that all fixes of at least applicability ``least`` come to, applied again and again until none is left.

    With ``code`` only those of one rule.
    """
    from merrow_analysis.check import analyse
    from merrow_server.changes.fixing import repair

    context = document.context

    def diagnose(text: str) -> list[Diagnostic]:
        findings = analyse(text, path=context.path, provider=context.provider, config=context.config).diagnostics
        return [finding for finding in findings if code is None or finding.code == code]

    edits: list[types.TextEdit] = []
    for diagram in document.diagrams:
        after = repair(diagram.text, diagnose, least).text
        edits += diagram.edits_to_lsp(line_edits(diagram.text, after))
    return edits
