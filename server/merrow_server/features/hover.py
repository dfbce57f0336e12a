"""Hover: what stands under the pointer, in Markdown where the client draws it."""

from __future__ import annotations

from lsprotocol import types

from merrow_analysis.ide import code_lens as ide_code_lens
from merrow_analysis.ide import hover as ide_hover
from merrow_analysis.ide.texts import markup
from merrow_server.lsp.findings import cases_documents
from merrow_server.lsp.located import Located
from merrow_server.lsp.run_texts import ResultText, result_text
from merrow_server.lsp.server import MerrowServer


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_HOVER)(hover)


def hover(server: MerrowServer, params: types.HoverParams) -> types.Hover | None:
    document = server.document(params.text_document.uri)
    if document is not None and document.kind == "cases":
        return cases_documents.hover(server, document, params.position)
    here = server.locate(params.text_document.uri, params.position)
    if here is None:
        return None
    tooltip = ide_hover.hover(here.analysis, here.position)
    if tooltip is None:
        return None
    result = result_text(server, here)
    if tooltip.range == ide_code_lens.header_range(here.analysis):
        result = ResultText(_evaluated(server, here))
    if here.supports.markdown_hover:
        content = types.MarkupContent(
            types.MarkupKind.Markdown, tooltip.text.join(result.text).markdown() + result.link
        )
    else:
        content = types.MarkupContent(types.MarkupKind.PlainText, tooltip.text.join(result.text).plain())
    return types.Hover(content, here.to_lsp(tooltip.range))


def _evaluated(server: MerrowServer, here: Located) -> markup.Markup:
    """The last evaluation of the workflow, and what it was of; nothing where there is none."""
    text = markup.Markup()
    last = server.last_evaluations.of(here.diagram, here.document.diagrams.index(here.diagram) + 1)
    if last is not None:
        from merrow_server.evaluations.evaluation_words import facts, last_text

        text.say(last_text(last)).items([(f"{name}: ", markup.CodeSpan(value)) for name, value in facts(last)])
    return text
