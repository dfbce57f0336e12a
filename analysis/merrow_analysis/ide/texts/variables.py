"""What a variable of a template stands for."""

from __future__ import annotations

from merrow_analysis.check import Analysis
from merrow_analysis.ide.cursor.lookup import Spot, touches
from merrow_analysis.ide.texts import describe
from merrow_analysis.ide.texts.markup import Markup
from merrow_analysis.places.template_places import templates_of
from merrow_analysis.text import Span


def variable_text(analysis: Analysis, place: Spot) -> tuple[Markup, Span] | None:
    """What there is to say of the variable at a place, and its span in the block; None where there is none."""
    if "{" not in place.block.text:
        return None
    for template in templates_of(analysis):
        if template.block is not place.block:
            continue
        for piece in template.written():
            if piece.kind == "variable" and touches(piece.span, place.offset):
                for node in template.nodes:
                    port = next((port for port in node.input_ports if port.name == piece.text), None)
                    if port is not None:
                        return describe.port(port, node.spec), piece.span
    return None
