"""Cases files in an editor: what is wrong in them, what could be written, what words mean, and where the cases are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from merrow_analysis.diagnostics import Diagnostic
from merrow_server.lsp.documents import OpenDocument, path_of
from merrow_server.lsp.host import Host

if TYPE_CHECKING:
    from merrow_analysis.cases.cases_reader import CasesFile
    from merrow_analysis.cases.checking import CasesContext
    from merrow_analysis.ide.completion.items import Completion


def findings_of_cases(document: OpenDocument) -> list[Diagnostic]:
    """The findings about a document that is a cases file."""
    from merrow_server.cases.checking import findings

    context = document.context
    provider = None if document.path is None else context.provider
    path = document.path or Path(document.uri)
    return findings(document.text, path, provider, context.config, context.path)[1]


def _read(document: OpenDocument) -> tuple[CasesFile, CasesContext | None]:
    from merrow_analysis.cases.cases_reader import read_cases
    from merrow_server.cases.checking import beside

    file = read_cases(document.text)
    if document.path is None:
        return file, None
    context = document.context
    return file, beside(document.path.name, document.path.parent, context.provider, context.config)


def complete(server: Host, document: OpenDocument, position: types.Position) -> types.CompletionList:
    """What could be written at a position of a cases file."""
    from merrow_analysis.ide.cases_file import complete as complete_cases

    file, near = _read(document)
    completions = complete_cases(file, document.position_from_lsp(position), near)
    markdown = server.supports.markdown_completion
    return types.CompletionList(False, [_item(document, completion, markdown=markdown) for completion in completions])


def _item(document: OpenDocument, completion: Completion, *, markdown: bool) -> types.CompletionItem:
    kinds = {"key": types.CompletionItemKind.Property, "node": types.CompletionItemKind.Variable}
    form = types.MarkupKind.Markdown if markdown else types.MarkupKind.PlainText
    return types.CompletionItem(
        label=completion.label,
        kind=kinds.get(completion.kind, types.CompletionItemKind.Value),
        sort_text=completion.sort,
        documentation=types.MarkupContent(form, completion.detail) if completion.detail else None,
        text_edit=types.TextEdit(document.to_lsp(completion.edit.range), completion.edit.new_text),
        insert_text_format=types.InsertTextFormat.PlainText,
    )


def hover(server: Host, document: OpenDocument, position: types.Position) -> types.Hover | None:
    """What the word at a position of a cases file means."""
    from merrow_analysis.ide.cases_file import hover as hover_cases

    file, near = _read(document)
    tooltip = hover_cases(file, document.position_from_lsp(position), near)
    if tooltip is None:
        return None
    if server.supports.markdown_hover:
        content = types.MarkupContent(types.MarkupKind.Markdown, tooltip.text.markdown())
    else:
        content = types.MarkupContent(types.MarkupKind.PlainText, tooltip.text.plain())
    return types.Hover(content, document.to_lsp(tooltip.range))


@dataclass(frozen=True, slots=True)
class LocatedCases:
    """The cases of a workflow as the editor has them: a document, open or read from the disk."""

    path: Path
    document: OpenDocument
    file: CasesFile
    findings: list[Diagnostic]
    workflow: Path | None

    def place(self, span: tuple[int, int]) -> dict[str, Any]:
        """A span of the cases file as the client counts it."""
        return self.document.to_plain(self.file.range(span))


def cases_beside(server: Host, path: Path) -> OpenDocument | None:
    """The cases file at ``path``, or of the workflow there, as the editor has it; None where there is none."""
    from merrow_server.cases.case_paths import cases_path, is_cases
    from merrow_server.errors import InputError
    from merrow_server.files import read_path

    file = path if is_cases(path.name) else cases_path(path)
    uri = file.as_uri()
    document = server.document(uri)
    if document is not None and document.kind == "cases":
        return document
    if not file.is_file():
        return None
    try:
        text = read_path(file, str(file)).text
    except InputError:
        return None
    opened = OpenDocument(uri, text, encoding=server.encoding, path=file)
    opened.context = server.surroundings.context_of(opened)
    return opened


def located(server: Host, uri: str) -> LocatedCases | None:
    """The cases that are meant by the URI of a cases file or of its workflow; None where there are none."""
    from merrow_analysis.cases.cases_reader import read_cases
    from merrow_server.cases.case_paths import workflow_name

    path = path_of(uri)
    document = None if path is None else cases_beside(server, path)
    if document is None or document.path is None:
        return None
    provider = document.context.provider
    name = None if provider is None else workflow_name(document.path.name, provider.exists)
    return LocatedCases(
        document.path,
        document,
        read_cases(document.text),
        findings_of_cases(document),
        None if name is None else document.path.with_name(name),
    )
