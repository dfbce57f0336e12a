"""Findings as LSP diagnostics, as much of each as the client can take."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_analysis.diagnostics import Diagnostic, Related, Severity, Tag
from merrow_server.lsp.documents import OpenDiagram, OpenDocument
from merrow_server.lsp.supports import Supports

if TYPE_CHECKING:
    from merrow_server.lsp.settings import EditorSettings

SOURCE = "merrow"
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.HINT: types.DiagnosticSeverity.Hint,
}
_TAGS = {Tag.UNNECESSARY: types.DiagnosticTag.Unnecessary, Tag.DEPRECATED: types.DiagnosticTag.Deprecated}


def document_diagnostics(
    document: OpenDocument, supports: Supports, settings: EditorSettings
) -> list[types.Diagnostic]:
    """What is wrong in ``document``, diagram by diagram; at most as many as the settings allow."""
    if not settings.enabled:
        return []
    found = [(diagram, diagnostic) for diagram in document.diagrams for diagnostic in diagram.analysis.diagnostics]
    most = settings.maximum_problems
    shown = [_diagnostic(diagram, diagnostic, supports, settings) for diagram, diagnostic in found[:most]]
    if len(found) > most:
        diagram, last = found[most]
        place = diagram.to_lsp(last.range)
        shown.append(
            types.Diagnostic(
                range=types.Range(place.start, place.start),
                message=f"{len(found) - most} more problems are not shown; `merrow check` lists them all.",
                severity=types.DiagnosticSeverity.Information,
                source=SOURCE,
            )
        )
    return shown


def _diagnostic(
    diagram: OpenDiagram, diagnostic: Diagnostic, supports: Supports, settings: EditorSettings
) -> types.Diagnostic:
    description = related = tags = None
    if supports.code_description:
        address = rule_page(diagnostic.code, settings.rule_pages)
        description = types.CodeDescription(address) if address else None
    if supports.related_information and diagnostic.related:
        related = [one for part in diagnostic.related if (one := _related(diagram, part)) is not None]
    if diagnostic.tags:
        tags = [_TAGS[tag] for tag in diagnostic.tags if _TAGS[tag] in supports.tags] or None
    return types.Diagnostic(
        range=diagram.to_lsp(diagnostic.range),
        message=diagnostic.message,
        severity=_SEVERITIES[diagnostic.severity],
        code=diagnostic.code,
        code_description=description,
        source=SOURCE,
        tags=tags,
        related_information=related or None,
        data=_data(diagram, diagnostic) if supports.diagnostic_data else None,
    )


def _data(diagram: OpenDiagram, diagnostic: Diagnostic) -> dict[str, Any]:
    """What a code action needs of the diagnostic: its code and the fixes that were cheap to find."""
    return {
        "code": diagnostic.code,
        "fixes": [
            {
                "title": fix.title,
                "applicability": fix.applicability.label,
                "edits": [
                    {"range": plain_range(edit.range), "newText": edit.new_text}
                    for edit in diagram.edits_to_lsp(fix.edits)
                ],
            }
            for fix in diagnostic.fixes
        ],
    }


def plain_diagnostic(diagnostic: types.Diagnostic) -> dict[str, Any]:
    """A diagnostic as JSON has it; ten times as fast as the converter for messages of any kind."""
    plain: dict[str, Any] = {
        "range": plain_range(diagnostic.range),
        "message": diagnostic.message,
        "severity": int(diagnostic.severity or types.DiagnosticSeverity.Error),
        "source": diagnostic.source,
    }
    if diagnostic.code is not None:
        plain["code"] = diagnostic.code
    if diagnostic.code_description is not None:
        plain["codeDescription"] = {"href": diagnostic.code_description.href}
    if diagnostic.tags:
        plain["tags"] = [int(tag) for tag in diagnostic.tags]
    if diagnostic.related_information:
        plain["relatedInformation"] = [
            {
                "location": {"uri": related.location.uri, "range": plain_range(related.location.range)},
                "message": related.message,
            }
            for related in diagnostic.related_information
        ]
    if diagnostic.data is not None:
        plain["data"] = diagnostic.data
    return plain


def plain_range(place: types.Range) -> dict[str, dict[str, int]]:
    """A range as JSON has it."""
    return {
        "start": {"line": place.start.line, "character": place.start.character},
        "end": {"line": place.end.line, "character": place.end.character},
    }


def _related(diagram: OpenDiagram, related: Related) -> types.DiagnosticRelatedInformation | None:
    if related.file is None:
        location = types.Location(diagram.document.uri, diagram.to_lsp(related.range))
    else:
        resource = diagram.document.resource(related.file)
        if resource is None:
            return None
        location = types.Location(resource.uri, resource.to_lsp(related.range))
    return types.DiagnosticRelatedInformation(location, related.message)


@lru_cache(maxsize=512)
def rule_page(code: str, pattern: str = "") -> str | None:
    """The address of a rule's page: ``pattern`` with the code in it, or the page installed with Merrow; None without."""
    if pattern:
        return pattern.replace("{code}", code)
    import merrow_analysis.rules

    page = Path(merrow_analysis.rules.__file__).parent / "pages" / f"{code}.md"
    return page.as_uri() if page.is_file() else None
