"""Document colours, and how a picked one is written."""

from __future__ import annotations

from lsprotocol import types

from merrow_analysis.ide import colors as ide_colors
from merrow_analysis.ide import css_colors
from merrow_server.lsp.server import MerrowServer


def register(server: MerrowServer) -> None:
    server.feature(types.TEXT_DOCUMENT_DOCUMENT_COLOR)(document_color)
    server.feature(types.TEXT_DOCUMENT_COLOR_PRESENTATION)(color_presentation)


def document_color(server: MerrowServer, params: types.DocumentColorParams) -> list[types.ColorInformation]:
    return [
        types.ColorInformation(
            diagram.to_lsp(place.range),
            types.Color(place.color.red, place.color.green, place.color.blue, place.color.alpha),
        )
        for diagram in server.diagrams(params.text_document.uri)
        for place in ide_colors.colors(diagram.analysis)
    ]


def color_presentation(
    server: MerrowServer,  # noqa: ARG001
    params: types.ColorPresentationParams,
) -> list[types.ColorPresentation]:
    color = params.color
    written = ide_colors.presentations(css_colors.Color(color.red, color.green, color.blue, color.alpha))
    return [types.ColorPresentation(text, types.TextEdit(params.range, text)) for text in written]
