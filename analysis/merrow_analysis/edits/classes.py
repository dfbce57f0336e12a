"""Classes given to nodes, and defined."""

from __future__ import annotations

from merrow_analysis.edits.lines import insert_line_after, without_statement
from merrow_analysis.graph.flow import Flowchart, FlowNode, declares
from merrow_analysis.graph.records import WrittenNode
from merrow_analysis.text import Range, TextEdit


def give_class(node: FlowNode, name: str, flow: Flowchart, *, name_after: str = "") -> TextEdit:
    """An edit that gives a node a class where it is declared, or else mentioned: ``:::name``.

    Mermaid takes one class there; where each place has one already, a ``class`` line below the whole flowchart gives it.
    ``name_after`` is the node's id where other edits of the same fix rename it.
    """
    number = class_place(node.record)
    if number is None:
        return insert_line_after(flow.last_block, f"class {name_after or node.id} {name};")
    mention = node.mentions[number]
    at = mention.block.position(mention.vertex.span[1])
    return TextEdit(Range(at, at), f":::{name}")


def class_place(record: WrittenNode) -> int | None:
    """The number of the mention of a node that `give_class` writes at; None where each of them has a class already."""
    free = [number for number, mention in enumerate(record.mentions) if not mention.vertex.classes]
    return next((number for number in free if declares(record.mentions[number].vertex)), free[0] if free else None)


def define_class(name: str, style: str, flow: Flowchart) -> TextEdit:
    """An edit that adds a ``classDef`` line below the last one, or below the whole flowchart where there is none.

    All definitions that one pass adds go to one place, so that a definition that several findings need is written once.
    """
    last = next(reversed(flow.class_defs.values()))[-1].block if flow.class_defs else flow.last_block
    return insert_line_after(last, f"classDef {name} {style};")


def undefine_class(name: str, flow: Flowchart) -> list[TextEdit] | None:
    """The edits that take all definitions of a class out; None where one of them can't be cut out."""
    edits: list[TextEdit] = []
    for use in flow.class_defs[name]:
        block, names = use.block, use.definition.names
        if len(names) == 1:
            edit = without_statement(block, use.definition.span)
        else:
            number = next(number for number, other in enumerate(names) if other.span == use.name.span)
            first = number == 0
            begin = use.name.span[0] if first else names[number - 1].span[1]
            end = names[1].span[0] if first else use.name.span[1]
            edit = TextEdit(block.range((begin, end)), "")
        if edit is None:
            return None
        edits.append(edit)
    return edits
