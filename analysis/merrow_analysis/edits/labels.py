"""What stands on an arrow, between bars."""

from __future__ import annotations

import re

from merrow_analysis.edits.replacements import CannotWriteError
from merrow_analysis.graph.nodes import TypedEdge
from merrow_analysis.text import TextEdit

_PLAIN = re.compile(r"[A-Za-z0-9_ .-]+(?::[A-Za-z0-9_ .-]*)?")
_SPACE = re.compile(r"\s*")


def between_bars(label: str) -> str:
    """A label as it is between bars, in quotes where it needs them. Raises `CannotWriteError`."""
    shown = _shown(label)
    if shown != label and '"' in label:
        raise CannotWriteError(f"The label {label} can't be written between bars.")
    return shown


def _shown(label: str) -> str:
    return label if _PLAIN.fullmatch(label) and label.strip() == label else f'"{label}"'


def takes_label(edge: TypedEdge) -> bool:
    """Whether a label can be written at an edge: Mermaid lets a comment follow an arrow, but not its label."""
    block, end = edge.flow.block, edge.flow.arrow.span[1]
    gap = _SPACE.match(block.text, end)
    return edge.flow.arrow.label is not None or gap is None or not block.text.startswith("%%", gap.end())


def write_label(edge: TypedEdge, text: str) -> TextEdit:
    """An edit that gives an edge's arrow this label, in place of the one it has."""
    label = edge.flow.arrow.label
    if label is not None:
        return TextEdit(edge.flow.block.range(label.span), text)
    block, end = edge.flow.block, edge.flow.arrow.span[1]
    shown = _shown(text)
    gap = _SPACE.match(block.text, end)
    if gap is not None and "\n" in gap.group():
        # Mermaid lets a line end after an arrow, but not after its label: the target moves up.
        return TextEdit(block.range((end, gap.end())), f"|{shown}| ")
    return TextEdit(block.range((end, end)), f"|{shown}|")
