"""All that is written at a node, from which follows what it is; and which nodes are inputs and outputs by their names."""

from __future__ import annotations

from merrow_analysis.definitions.labels.step_text import words_of_id
from merrow_analysis.graph.drawings.drawing import ENTRY_POINT_ID, PROBLEM_ID, RETURN_ID, is_diamond, is_interface
from merrow_analysis.graph.language import GraphSettings
from merrow_analysis.graph.model import Graph
from merrow_analysis.graph.records import WrittenNode
from merrow_analysis.graph.resolve import NodeText, Role


def written(record: WrittenNode, special: dict[str, Role], graph: Graph) -> tuple[Role | None, NodeText]:
    """The part a node plays at the boundary of the workflow, and all that is written at it."""
    classes = tuple([use.name.text for use in record.classes])
    role = None if record.id in graph.results else special.get(record.id)
    if role is None and (record.metadata or classes) and is_interface(record):
        has_incoming = bool(graph.into(record.id))
        if has_incoming and graph.out_of(record.id):
            role = "through"
        else:
            role = "output" if has_incoming else "input"
    label, diamond = record.label, is_diamond(record)
    drawn = graph.kinds.get(record.id)
    text = None if label is None else label.text
    if label is None and not graph.reading.names:
        text = words_of_id(record.id) or (record.id if drawn == "step" else None)
    return role, NodeText(
        role,
        text,
        diamond,
        classes,
        tuple([metadata.body for metadata, _ in record.metadata]) if record.metadata else (),
        graph.reading,
        tuple([edge.label_text for edge in graph.chart.outgoing.get(record.id, ()) if not edge.carries_nothing])
        if diamond or drawn == "asks"
        else (),
        drawn,
    )


def special_nodes(settings: GraphSettings) -> dict[str, Role]:
    """Nodes that are inputs or outputs by their name."""
    special: dict[str, Role] = {PROBLEM_ID: "input", ENTRY_POINT_ID: "input", RETURN_ID: "output"}
    special.update(dict.fromkeys(settings.outputs or (), "output"))
    special.update(dict.fromkeys(settings.inputs or (), "input"))
    return special
