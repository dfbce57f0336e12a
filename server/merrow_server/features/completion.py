"""Completion, with documentation for the item that the reader stops at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from merrow_analysis.ide.completion import completion as ide_completion
from merrow_analysis.ide.completion import paths as ide_paths
from merrow_analysis.text import TextEdit
from merrow_server.lsp import callers
from merrow_server.lsp.findings import cases_documents
from merrow_server.lsp.located import Located
from merrow_server.lsp.server import MerrowServer

if TYPE_CHECKING:
    from merrow_analysis.ide.completion.items import Completion, ItemKind

_TRIGGERS = [" ", ">", "|", ":", "{", "(", '"', "[", ",", "&", "%", "<", "/"]
_KINDS: dict[ItemKind, types.CompletionItemKind] = {
    "node": types.CompletionItemKind.Variable,
    "operator": types.CompletionItemKind.Function,
    "port": types.CompletionItemKind.Field,
    "class": types.CompletionItemKind.Class,
    "prompt": types.CompletionItemKind.Text,
    "key": types.CompletionItemKind.Property,
    "value": types.CompletionItemKind.Value,
    "arrow": types.CompletionItemKind.Operator,
    "keyword": types.CompletionItemKind.Keyword,
    "rule": types.CompletionItemKind.Constant,
    "type": types.CompletionItemKind.TypeParameter,
    "shape": types.CompletionItemKind.EnumMember,
    "file": types.CompletionItemKind.File,
}
_LONGEST_DETAIL = 60


def register(server: MerrowServer) -> None:
    options = types.CompletionOptions(trigger_characters=_TRIGGERS, resolve_provider=True)
    server.feature(types.TEXT_DOCUMENT_COMPLETION, options)(complete)
    server.feature(types.COMPLETION_ITEM_RESOLVE)(resolve)


async def complete(server: MerrowServer, params: types.CompletionParams) -> types.CompletionList | None:
    document = server.document(params.text_document.uri)
    if document is not None and document.kind == "cases":
        return cases_documents.complete(server, document, params.position)
    here = server.locate(params.text_document.uri, params.position)
    if here is None:
        return None
    completions = ide_completion.complete(here.analysis, here.position)
    items, is_whole = completions.items, completions.is_whole
    if completions.path is not None:
        version = here.document.version
        files, is_whole = await callers.callable_by(server, here.diagram)
        if here.document.version != version:
            return None
        items = ide_paths.file_items(completions.path, files)
    return types.CompletionList(not is_whole, [_item(here, item, params.position) for item in items])


def _item(here: Located, completion: Completion, position: types.Position) -> types.CompletionItem:
    supports = here.supports
    is_snippet = supports.snippets and completion.snippet is not None
    text = completion.snippet if is_snippet and completion.snippet is not None else completion.edit.new_text
    (edit,) = here.edits_to_lsp([TextEdit(completion.edit.range, text)])
    details = None
    if supports.label_details and completion.description:
        details = types.CompletionItemLabelDetails(description=completion.description)
    detail = completion.detail
    if not supports.label_details and completion.description:
        detail = f"{detail} ({completion.description})" if detail else completion.description
    data = None
    if completion.subject:
        place = {"line": position.line, "character": position.character}
        data = {"uri": here.document.uri, "position": place, "subject": list(completion.subject)}
    return types.CompletionItem(
        label=completion.label,
        label_details=details,
        kind=_KINDS[completion.kind],
        detail=_short(detail) or None,
        sort_text=completion.sort,
        filter_text=completion.filter_text,
        text_edit=edit,
        insert_text_format=types.InsertTextFormat.Snippet if is_snippet else types.InsertTextFormat.PlainText,
        insert_text_mode=types.InsertTextMode.AsIs if "\n" in text else None,
        data=data,
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_DETAIL else f"{text[: _LONGEST_DETAIL - 1]}…"


def resolve(server: MerrowServer, item: types.CompletionItem) -> types.CompletionItem:
    """The item with its documentation; as it is where its document has been closed since."""
    data = item.data
    if not isinstance(data, dict) or not isinstance(data.get("position"), dict):
        return item
    place = data["position"]
    position = types.Position(int(place.get("line", 0)), int(place.get("character", 0)))
    here = server.locate(str(data.get("uri", "")), position)
    if here is None:
        return item
    text = ide_completion.documentation(here.analysis, tuple(map(str, data.get("subject") or ("",))))
    if text is not None and text:
        markdown = here.supports.markdown_completion
        kind = types.MarkupKind.Markdown if markdown else types.MarkupKind.PlainText
        item.documentation = types.MarkupContent(kind, text.markdown() if markdown else text.plain())
    return item
