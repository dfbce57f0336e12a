"""What the client can do: the capabilities that change what the server says, read once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lsprotocol import types


@dataclass(frozen=True, slots=True)
class Supports:
    """A client's abilities, each False (or empty) for a client that does not speak of it."""

    pull_diagnostics: bool = False
    refresh_diagnostics: bool = False
    refresh_semantic_tokens: bool = False
    refresh_inlay_hints: bool = False
    refresh_code_lenses: bool = False
    related_information: bool = False
    tags: frozenset[types.DiagnosticTag] = frozenset()
    code_description: bool = False
    diagnostic_data: bool = False
    diagnostic_version: bool = False
    configuration: bool = False
    watched_files: bool = False
    relative_patterns: bool = False
    configuration_registration: bool = False
    progress: bool = False
    document_changes: bool = False
    resource_operations: frozenset[str] = frozenset()
    change_annotations: bool = False
    apply_edit: bool = False
    creates_files: bool = False
    code_action_literals: bool = False
    code_action_data: bool = False
    code_action_preferred: bool = False
    code_action_disabled: bool = False
    code_action_resolve: frozenset[str] = frozenset()
    markdown_hover: bool = False
    markdown_completion: bool = False
    snippets: bool = False
    insert_replace: bool = False
    label_details: bool = False
    completion_resolve: frozenset[str] = frozenset()
    hierarchical_symbols: bool = False
    line_folding_only: bool = False
    folding_limit: int | None = None
    definition_links: bool = False
    prepare_rename: bool = False
    document_link_tooltips: bool = False
    parameter_label_offsets: bool = False
    asks_for_inputs: bool = False
    """``experimental.merrowInput``: it answers ``merrow/input``."""
    asks_people: bool = False
    """``experimental.merrowAsk``: it answers ``merrow/ask``, the questions of runs to people."""
    shows_runs: bool = False
    """``experimental.merrowRuns``: it shows what runs tell, and has a command ``merrow.showNode``."""


def read_supports(capabilities: types.ClientCapabilities) -> Supports:
    """The abilities in ``capabilities``."""

    def has(path: str) -> bool:
        return bool(_at(capabilities, path))

    published = _at(capabilities, "text_document.publish_diagnostics")
    pulled = _at(capabilities, "text_document.diagnostic")
    source = pulled if pulled is not None else published
    # Clients that pull may leave the details to the older capability.
    tags = _at(source, "tag_support.value_set") or _at(published, "tag_support.value_set") or ()

    def for_diagnostics(name: str) -> bool:
        return bool(_at(pulled, name) or _at(published, name))

    action = "text_document.code_action"
    completion = "text_document.completion.completion_item"
    experimental = capabilities.experimental if isinstance(capabilities.experimental, dict) else {}
    return Supports(
        pull_diagnostics=pulled is not None,
        refresh_diagnostics=has("workspace.diagnostics.refresh_support"),
        refresh_semantic_tokens=has("workspace.semantic_tokens.refresh_support"),
        refresh_inlay_hints=has("workspace.inlay_hint.refresh_support"),
        refresh_code_lenses=has("workspace.code_lens.refresh_support"),
        related_information=for_diagnostics("related_information"),
        tags=frozenset(tags),
        code_description=for_diagnostics("code_description_support"),
        diagnostic_data=for_diagnostics("data_support"),
        diagnostic_version=bool(_at(published, "version_support")),
        configuration=has("workspace.configuration"),
        watched_files=has("workspace.did_change_watched_files.dynamic_registration"),
        relative_patterns=has("workspace.did_change_watched_files.relative_pattern_support"),
        configuration_registration=has("workspace.did_change_configuration.dynamic_registration"),
        progress=has("window.work_done_progress"),
        document_changes=has("workspace.workspace_edit.document_changes"),
        resource_operations=frozenset(_at(capabilities, "workspace.workspace_edit.resource_operations") or ()),
        change_annotations=_at(capabilities, "workspace.workspace_edit.change_annotation_support") is not None,
        apply_edit=has("workspace.apply_edit"),
        creates_files=has("workspace.workspace_edit.document_changes")
        and types.ResourceOperationKind.Create
        in (_at(capabilities, "workspace.workspace_edit.resource_operations") or ()),
        code_action_literals=has(f"{action}.code_action_literal_support"),
        code_action_data=has(f"{action}.data_support"),
        code_action_preferred=has(f"{action}.is_preferred_support"),
        code_action_disabled=has(f"{action}.disabled_support"),
        code_action_resolve=frozenset(_at(capabilities, f"{action}.resolve_support.properties") or ()),
        markdown_hover=_prefers_markdown(_at(capabilities, "text_document.hover.content_format")),
        markdown_completion=_prefers_markdown(_at(capabilities, f"{completion}.documentation_format")),
        snippets=has(f"{completion}.snippet_support"),
        insert_replace=has(f"{completion}.insert_replace_support"),
        label_details=has(f"{completion}.label_details_support"),
        completion_resolve=frozenset(_at(capabilities, f"{completion}.resolve_support.properties") or ()),
        hierarchical_symbols=has("text_document.document_symbol.hierarchical_document_symbol_support"),
        folding_limit=_at(capabilities, "text_document.folding_range.range_limit"),
        line_folding_only=has("text_document.folding_range.line_folding_only"),
        definition_links=has("text_document.definition.link_support"),
        prepare_rename=has("text_document.rename.prepare_support"),
        document_link_tooltips=has("text_document.document_link.tooltip_support"),
        parameter_label_offsets=has(
            "text_document.signature_help.signature_information.parameter_information.label_offset_support"
        ),
        asks_for_inputs=experimental.get("merrowInput") is True,
        asks_people=experimental.get("merrowAsk") is True,
        shows_runs=experimental.get("merrowRuns") is True,
    )


def _prefers_markdown(formats: Any) -> bool:
    return types.MarkupKind.Markdown in (formats or ())


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = getattr(value, name, None)
        if value is None:
            return None
    return value
