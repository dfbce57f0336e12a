"""Findings as LSP diagnostics, as much of each as the client can take.

They are made as JSON has them: this is what follows each keystroke, and the converter for messages of any kind takes ten
times as long.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_analysis import faults
from merrow_analysis.diagnostics import Diagnostic, Related, Severity, Tag
from merrow_analysis.text import LARGEST_TEXT
from merrow_server.lsp.documents import OpenDiagram, OpenDocument
from merrow_server.lsp.findings.files_beside import findings_of_file
from merrow_server.lsp.published import PlainDiagnostic
from merrow_server.lsp.supports import Supports

if TYPE_CHECKING:
    from merrow_server.lsp.settings import EditorSettings

log = logging.getLogger(__name__)

SOURCE = "merrow"
_SEVERITIES = {
    Severity.ERROR: int(types.DiagnosticSeverity.Error),
    Severity.WARNING: int(types.DiagnosticSeverity.Warning),
    Severity.HINT: int(types.DiagnosticSeverity.Hint),
}
_TAGS = {Tag.UNNECESSARY: types.DiagnosticTag.Unnecessary, Tag.DEPRECATED: types.DiagnosticTag.Deprecated}


def document_diagnostics(document: OpenDocument, supports: Supports, settings: EditorSettings) -> list[PlainDiagnostic]:
    """What is wrong in ``document``, diagram by diagram; at most as many as the settings allow."""
    if not settings.enabled:
        return []
    if document.kind == "too large":
        return [_too_large()]
    most = settings.maximum_problems
    if document.kind in ("settings", "cases"):
        findings = findings_of_file(document)[:most]
        return [_diagnostic(document, document, finding, supports, settings) for finding in findings]
    shown: list[PlainDiagnostic] = []
    hidden: list[tuple[OpenDiagram, Diagnostic]] = []
    for diagram in document.diagrams:
        findings, room = [*diagram.run_findings, *_found(diagram)], most - len(shown)
        shown += _converted(diagram, findings[:room], supports, settings)
        hidden += [(diagram, finding) for finding in findings[room:]]
    if hidden:
        diagram, last = hidden[0]
        place = diagram.to_plain(last.range)
        shown.append(
            PlainDiagnostic(
                range={"start": place["start"], "end": place["start"]},
                message=f"{len(hidden)} more problems are not shown; `merrow check` lists them all.",
                severity=int(types.DiagnosticSeverity.Information),
                source=SOURCE,
            )
        )
    return shown


def _found(diagram: OpenDiagram) -> list[Diagnostic]:
    """The findings about a diagram; where Merrow fails at it, that. The log says where."""
    try:
        return diagram.analysis.diagnostics
    except Exception as problem:
        if faults.are_raised():
            raise
        log.exception("Checking a diagram failed.")
        return [faults.finding("this diagram could not be checked", problem)]


def _too_large() -> PlainDiagnostic:
    top = {"line": 0, "character": 0}
    return PlainDiagnostic(
        range={"start": top, "end": top},
        message=(
            f"Merrow does not check documents of more than {LARGEST_TEXT // 1_000_000} million characters."
            " Make this one smaller, then close it and open it again."
        ),
        severity=int(types.DiagnosticSeverity.Warning),
        source=SOURCE,
    )


def _converted(
    diagram: OpenDiagram, findings: Sequence[Diagnostic], supports: Supports, settings: EditorSettings
) -> list[PlainDiagnostic]:
    def convert(diagnostic: Diagnostic) -> PlainDiagnostic:
        return _diagnostic(diagram, diagram.document, diagnostic, supports, settings)

    if diagram.fence is not None:
        return [convert(diagnostic) for diagnostic in findings]
    return diagram.published.converted(findings, (supports, settings.rule_pages), convert)


def _diagnostic(
    part: OpenDiagram | OpenDocument,
    document: OpenDocument,
    diagnostic: Diagnostic,
    supports: Supports,
    settings: EditorSettings,
) -> PlainDiagnostic:
    """A finding whose places are those of ``part``, all of a document or a diagram in it."""
    plain = PlainDiagnostic(
        range=part.to_plain(diagnostic.range),
        message=diagnostic.message,
        severity=_SEVERITIES[diagnostic.severity],
        source=SOURCE,
        code=diagnostic.code,
    )
    if supports.code_description and (address := rule_page(diagnostic.code, settings.rule_pages)):
        plain["codeDescription"] = {"href": address}
    if diagnostic.tags:
        tags = [int(_TAGS[tag]) for tag in diagnostic.tags if _TAGS[tag] in supports.tags]
        if tags:
            plain["tags"] = tags
    if supports.related_information:
        places = [place for related in diagnostic.related if (place := _related(part, document, related)) is not None]
        if places:
            plain["relatedInformation"] = places
    if supports.diagnostic_data:
        # A code action needs no more of it: fixes are worked out when they are asked for.
        plain["data"] = {"code": diagnostic.code}
    return plain


def _related(part: OpenDiagram | OpenDocument, document: OpenDocument, related: Related) -> dict[str, Any] | None:
    if related.file is None:
        uri, place = document.uri, part.to_plain(related.range)
    else:
        resource = document.resource(related.file)
        if resource is None:
            return None
        uri, place = resource.uri, resource.to_plain(related.range)
    return {"location": {"uri": uri, "range": place}, "message": related.message}


@lru_cache(maxsize=512)
def rule_page(code: str, pattern: str = "") -> str | None:
    """The address of a rule's page: ``pattern`` with the code in it, or the page installed with Merrow; None without."""
    if pattern:
        return pattern.replace("{code}", code)
    import merrow_analysis.rules

    page = Path(merrow_analysis.rules.__file__).parent / "pages" / f"{code}.md"
    return page.as_uri() if page.is_file() else None
