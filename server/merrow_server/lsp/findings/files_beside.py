"""What is wrong in a file beside workflows that is open in an editor: settings, cases."""

from __future__ import annotations

from merrow_analysis.diagnostics import Diagnostic
from merrow_server.lsp.documents import OpenDocument


def findings_of_file(document: OpenDocument) -> list[Diagnostic]:
    """The findings about a document that is a settings file or a cases file, with places in it; none for any other."""
    if document.kind == "cases":
        from merrow_server.lsp.findings.cases_documents import findings_of_cases

        return findings_of_cases(document)
    if document.kind != "settings":
        return []
    from merrow_analysis.rules.configuration import parse_configuration
    from merrow_analysis.rules.declared.configuration_rules import check_configuration
    from merrow_server.workspace import PROJECT_FILE

    text = document.text
    config = parse_configuration(text, in_pyproject=document.uri.endswith(PROJECT_FILE))
    return list(config.apply(check_configuration(config, text)))
