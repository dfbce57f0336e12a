"""Every feature for finding one's way, asked by pytest-lsp's client, which checks answers against its capabilities."""

from __future__ import annotations

import pytest
from lsprotocol import types
from pytest_lsp import LanguageClient

TEXT = """flowchart TD
    %% one
    %% two
    PROBLEM([Problem]):::Interface --> A
    A["Custom<br/>(role: solver)"]:::CustomOp --> RETURN([R]):::Interface
    classDef CustomOp fill:#ff0000
    classDef Interface fill:#eee
    click A "https://example.org/a"
"""


@pytest.mark.slow
async def test_every_feature_answers(client: LanguageClient) -> None:
    # The client of pytest-lsp knows no registration; nothing was awaited yet since the server asked for one.
    client.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda _: None)
    uri = (client.folder / "flow.mmd").as_uri()  # type: ignore[attr-defined]
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "mermaid", 1, TEXT)))
    document, place = types.TextDocumentIdentifier(uri), types.Position(4, 4)
    whole = types.Range(types.Position(0, 0), types.Position(99, 0))
    assert await client.text_document_definition_async(types.DefinitionParams(document, place))
    context = types.ReferenceContext(include_declaration=True)
    references = await client.text_document_references_async(
        types.ReferenceParams(context=context, text_document=document, position=place)
    )
    assert references
    assert len(references) == 3
    highlights = await client.text_document_document_highlight_async(types.DocumentHighlightParams(document, place))
    assert highlights
    assert await client.text_document_prepare_rename_async(types.PrepareRenameParams(document, place))
    edit = await client.text_document_rename_async(types.RenameParams(document, place, "SOLVE"))
    assert edit
    assert edit.document_changes
    assert await client.text_document_linked_editing_range_async(types.LinkedEditingRangeParams(document, place))
    symbols = await client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
    assert symbols
    assert isinstance(symbols[0], types.DocumentSymbol)
    assert await client.workspace_symbol_async(types.WorkspaceSymbolParams("A"))
    items = await client.text_document_prepare_call_hierarchy_async(types.CallHierarchyPrepareParams(document, place))
    assert items
    assert await client.call_hierarchy_incoming_calls_async(types.CallHierarchyIncomingCallsParams(items[0]))
    assert await client.call_hierarchy_outgoing_calls_async(types.CallHierarchyOutgoingCallsParams(items[0]))
    links = await client.text_document_document_link_async(types.DocumentLinkParams(document))
    assert links
    assert links[0].target == "https://example.org/a"
    assert await client.text_document_folding_range_async(types.FoldingRangeParams(document))
    assert await client.text_document_selection_range_async(types.SelectionRangeParams(document, [place]))
    colors = await client.text_document_document_color_async(types.DocumentColorParams(document))
    assert len(colors) == 2
    wanted = types.ColorPresentationParams(document, colors[0].color, colors[0].range)
    assert await client.text_document_color_presentation_async(wanted)
    tokens = await client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(document))
    assert tokens
    assert tokens.result_id
    known = types.SemanticTokensDeltaParams(document, tokens.result_id)
    delta = await client.text_document_semantic_tokens_full_delta_async(known)
    assert isinstance(delta, types.SemanticTokensDelta)
    part = await client.text_document_semantic_tokens_range_async(types.SemanticTokensRangeParams(document, whole))
    assert part
    assert list(part.data) == list(tokens.data)
    assert await client.text_document_inlay_hint_async(types.InlayHintParams(document, whole))
    lenses = await client.text_document_code_lens_async(types.CodeLensParams(document))
    assert lenses
    lens = await client.code_lens_resolve_async(lenses[-1])
    assert lens.command
    command = types.ExecuteCommandParams(lens.command.command, arguments=lens.command.arguments)
    assert await client.workspace_execute_command_async(command)
    assert client.messages
