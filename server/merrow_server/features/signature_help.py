"""Signature help for the parameters of a node."""

from __future__ import annotations

from lsprotocol import types

from merrow_analysis.ide.completion import signature_help as ide_signature
from merrow_server.lsp.server import MerrowServer


def register(server: MerrowServer) -> None:
    options = types.SignatureHelpOptions(trigger_characters=["(", "{", ",", ":"], retrigger_characters=[" "])
    server.feature(types.TEXT_DOCUMENT_SIGNATURE_HELP, options)(signature_help)


def signature_help(server: MerrowServer, params: types.SignatureHelpParams) -> types.SignatureHelp | None:
    here = server.locate(params.text_document.uri, params.position)
    shown = None if here is None else ide_signature.signature_help(here.analysis, here.position)
    if here is None or shown is None:
        return None
    supports = here.supports
    parameters = [
        types.ParameterInformation(
            label=(parameter.start, parameter.end) if supports.parameter_label_offsets else parameter.key,
            documentation=types.MarkupContent(types.MarkupKind.PlainText, parameter.text.plain()),
        )
        for parameter in shown.parameters
    ]
    text = types.MarkupContent(types.MarkupKind.PlainText, shown.text.plain()) if shown.text else None
    # Beyond the last parameter none is shown as the active one.
    active = shown.active if shown.active is not None else len(parameters)
    signature = types.SignatureInformation(shown.label, text, parameters, active)
    return types.SignatureHelp([signature], 0, active)
