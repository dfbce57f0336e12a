"""Nodes that the front matter has made again."""

from __future__ import annotations

import re
from collections.abc import Iterator

from merrow_analysis.diagnostics import Diagnostic, Fix, Severity
from merrow_analysis.edits.front_entries import remove_entry
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.registry import RuleFamily, Scope
from merrow_analysis.rules.reporting import fix, report
from merrow_analysis.suggest import KnownNames
from merrow_analysis.text import TextEdit

_FAMILY = RuleFamily[GraphContext](Scope.PARAMETER)
UNKNOWN_REDO = _FAMILY.rule(
    "MW321", "unknown-redo", "`redo` names something that can't be made again.", Severity.ERROR, fix="sometimes"
)

_ITEM = re.compile(r"(.+)\[([1-9]\d*)\]")


@_FAMILY.checked_by
def check_redo(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about the names below `redo`."""
    nodes = context.graph.nodes if context.settings.redo else ()
    names = KnownNames(node.id for node in nodes if node.kind == "operator" or node.asks)
    for name in context.settings.redo:
        place = context.place_of(("redo", name))
        wrong = None if place is None else _wrong(context.graph, name, names)
        if place is not None and wrong is not None:
            message, near = wrong
            yield report(UNKNOWN_REDO, place, message, fixes=_repairs(context, name, near))


def _wrong(graph: TypedGraph, name: str, names: KnownNames) -> tuple[str, str | None] | None:
    """What is wrong with a name, and the id that it nearly is."""
    before, _, own = name.rpartition("/")
    if name in graph.by_id:
        before, own = "", name
    node = graph.by_id.get(own)
    if node is None:
        near = names.closest(own)
        hint = f" did you mean `{near}`?" if near else " name one that asks or computes something."
        return f"`redo`: there is no node `{own}`;{hint}", near
    if node.kind != "operator" and not node.asks:
        return f"`redo`: {own} asks and computes nothing, so that it can't be made again; name another node.", None
    boxes = graph.composites.around(own)[::-1]
    parts = before.split("/") if before else []
    if not parts:
        return None
    named = [match[1] if (match := _ITEM.fullmatch(part)) else part for part in parts]
    loop = next((box for box in boxes if graph.composites.boxes[box].kind == "loop"), None)
    if loop is not None:
        return (
            f"`redo`: {own} is in the Loop {loop}, and a single turn can't be made again; write `{own}` for all turns.",
            None,
        )
    if tuple(named) != boxes or not all(_ITEM.fullmatch(part) for part in parts):
        right = "/".join([*(f"{box}[1]" for box in boxes), own])
        return f"`redo`: `{name}` names no item that {own} is done for; write it as `{right}`.", None
    return None


def _repairs(context: GraphContext, name: str, near: str | None) -> Iterator[Fix]:
    place = context.place_of(("redo", name))
    if near is not None and place is not None and "/" not in name:
        yield fix(f"Write {near}", [TextEdit(place, near)], safe=False)
    edit = None if context.front is None else remove_entry(context.front, ("workflow", "redo", name))
    if edit is not None:
        yield fix(f"Remove {name} from `redo`", [edit], safe=False)
