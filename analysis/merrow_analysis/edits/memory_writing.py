"""What nodes remember, written where the node says its parameters."""

from __future__ import annotations

from merrow_analysis.definitions.settings import Memory
from merrow_analysis.edits.change import GraphChange
from merrow_analysis.edits.parameters import Moved, rewrite
from merrow_analysis.edits.replacements import CannotWriteError, Replacement
from merrow_analysis.edits.workflow_text import WorkflowText
from merrow_analysis.edits.yaml_write import word
from merrow_analysis.graph.nodes import TypedNode

_KEY = "memory"


def write_memories(workflow_text: WorkflowText, change: GraphChange) -> list[Replacement]:
    """The edits that write the memories of a change. Raises `CannotWriteError`."""
    places, replacements = workflow_text.places, []
    for name, memory in sorted(change.memories.items()):
        node = workflow_text.graph.by_id[name]
        place = workflow_text.declaration(node.flow)
        if place is not None:
            workflow_text.refuse_suppressed(place)
        edits = rewrite(node, _moved(node, memory))
        if edits is None:
            raise CannotWriteError(f"The parameters of {name} can't be rewritten.")
        replacements += [Replacement(places.offset(edit.start), places.offset(edit.end), new) for edit, new in edits]
    return replacements


def _moved(node: TypedNode, memory: Memory) -> Moved:
    """In the label where the memory is said there, or other parameters and none in metadata; else in metadata."""
    parameter = node.resolution.parameters.get(_KEY)
    parts = node.resolution.label_parts
    in_label = parts is not None and bool(parts.parameters or not node.flow.metadata)
    if parameter is not None:
        in_label = parameter.block is None
    gone = frozenset({_KEY}) if parameter is not None else frozenset()
    if in_label:
        return Moved(gone, label=(f"{_KEY}: {memory.text}",))
    return Moved(gone, metadata={_KEY: word(memory.text) or memory.text})
