"""What stands on an arrow, between bars."""

from __future__ import annotations

import re

from merrow_analysis.edits.replacements import CannotWriteError
from merrow_analysis.graph.nodes import TypedEdge
from merrow_analysis.text import TextEdit

_PLAIN = re.compile(r"[A-Za-z0-9_ .-]+(?::[A-Za-z0-9_ .-]*)?")
_SPACE = re.compile(r"\s*")
_ARROW = re.compile(r"(?P<line>--)-*(?:>|-)|(?P<thick>==)=*(?:>|=)|(?P<dotted>-)\.+->?")
_WITHIN = re.compile(r"(?!end$)[A-Za-z0-9_.:]+")
"""What may be written within an arrow as it is."""


def between_bars(label: str) -> str:
    """A label as it is between bars, in quotes where it needs them. Raises `CannotWriteError`."""
    shown = _shown(label)
    if shown != label and '"' in label:
        raise CannotWriteError(f"The label {label} can't be written between bars.")
    return shown


def _shown(label: str) -> str:
    return label if _PLAIN.fullmatch(label) and label.strip() == label else f'"{label}"'


def takes_label(edge: TypedEdge, text: str) -> bool:
    """Whether a label can be written at an edge: Mermaid lets a comment follow an arrow, but not a label between bars, and one
    within the arrow must be plain.
    """
    if edge.flow.arrow.label is not None or not _is_before_comment(edge):
        return True
    start, end = edge.flow.arrow.span
    return _ARROW.fullmatch(edge.flow.block.text, start, end) is not None and _WITHIN.fullmatch(text) is not None


def _is_before_comment(edge: TypedEdge) -> bool:
    block, end = edge.flow.block, edge.flow.arrow.span[1]
    gap = _SPACE.match(block.text, end)
    return gap is not None and block.text.startswith("%%", gap.end())


def write_label(edge: TypedEdge, text: str) -> TextEdit:
    """An edit that gives an edge's arrow this label, in place of the one it has."""
    label = edge.flow.arrow.label
    if label is not None:
        return TextEdit(edge.flow.block.range(label.span), text)
    block, (start, end) = edge.flow.block, edge.flow.arrow.span
    if _is_before_comment(edge):
        arrow = _ARROW.match(block.text, start, end)
        if arrow is not None and arrow["dotted"]:
            return TextEdit(block.range((start + 1, start + 1)), f". {text} ")
        return TextEdit(block.range((start, start)), f"{block.text[start : start + 2]} {text} ")
    shown = _shown(text)
    gap = _SPACE.match(block.text, end)
    if gap is not None and "\n" in gap.group():
        # Mermaid lets a line end after an arrow, but not after its label: the target moves up.
        return TextEdit(block.range((end, gap.end())), f"|{shown}| ")
    return TextEdit(block.range((end, end)), f"|{shown}|")
