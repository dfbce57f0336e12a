"""A node or a class called otherwise, wherever it is named."""

from __future__ import annotations

from collections.abc import Iterable

from merrow_analysis.graph.flow import Flowchart, FlowNode
from merrow_analysis.syntax.tree import Block, ClassAssign, Click, Name, Statement, Style
from merrow_analysis.text import Range, TextEdit


def rename_node(node: FlowNode, new: str, statements: Iterable[tuple[Statement, Block]]) -> list[TextEdit]:
    """The edits that call a node otherwise where it is mentioned, and where ``statements`` class, style or link it."""
    places = {mention.range for mention in node.mentions}
    for statement, block in statements:
        names: Iterable[Name] = ()
        if isinstance(statement, ClassAssign | Click):
            names = statement.ids
        elif isinstance(statement, Style):
            names = (statement.id,)
        places.update(block.range(name.span) for name in names if name.text == node.id)
    return _written(new, places)


def rename_class(old: str, new: str, flow: Flowchart) -> list[TextEdit]:
    """The edits that call a class otherwise wherever it is given or defined."""
    given = [use for node in flow.nodes.values() for use in node.classes]
    given += [use for subgraph in flow.subgraphs.values() for use in subgraph.classes]
    places = {use.range for use in given if use.name.text == old}
    assigned = flow.class_assigns
    places.update(
        block.range(assignment.class_name.span) for assignment, block in assigned if assignment.class_name.text == old
    )
    places.update(definition.range for definition in flow.class_defs.get(old, ()))
    return _written(new, places)


def _written(new: str, places: set[Range]) -> list[TextEdit]:
    return [TextEdit(place, new) for place in sorted(places)]
