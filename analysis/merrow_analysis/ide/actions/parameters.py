"""Parameters moved between a node's label and its metadata."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.definitions.labels import label_text
from merrow_analysis.definitions.labels.parameters import LabelParameter
from merrow_analysis.definitions.schema import MERMAID_NODE_KEYS
from merrow_analysis.edits.parameters import Moved, rewrite
from merrow_analysis.edits.yaml_write import word
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.ide.actions.actions import MOVE_PARAMETERS, Action, Edits, Request, possible
from merrow_analysis.ide.cursor.selection import selected_node
from merrow_analysis.ide.texts.describe import KEYS


def to_metadata(request: Request) -> Iterator[Action]:
    """Move the parameters of a label to the metadata."""
    node = selected_node(request.analysis, request.range)
    parts = node.resolution.label_parts if node is not None else None
    if node is None or node.kind != "operator" or parts is None or not parts.parameters:
        return
    yield from possible(f"Move the parameters of {node.id} to its metadata", MOVE_PARAMETERS, _to_metadata(node))


def _to_metadata(node: TypedNode) -> Edits | None:
    parts = node.resolution.label_parts
    entries: dict[str, str] = {}
    for key, parameter in (parts.parameters if parts is not None else {}).items():
        if node.resolution.parameters[key].block is not None:
            continue  # The metadata say it already, and count.
        written = word(_meant(key, parameter))
        if written is None:
            return None
        entries[key] = written
    keys = frozenset(parts.parameters) if parts is not None else frozenset()
    return rewrite(node, Moved(remove=keys, metadata=entries), keep_metadata=True)


def _meant(key: str, parameter: LabelParameter) -> object:
    """A label's value as its key wants it: text for a key that is text, else what the text means."""
    return parameter.text if _is_text(key) else parameter.value


def _is_text(key: str) -> bool:
    """Whether a key wants text, so that a label's value for it is text whatever it looks like."""
    fragment = KEYS.get(key, {})
    return fragment.get("type") == "string" or "enum" in fragment


def to_label(request: Request) -> Iterator[Action]:
    """Move the parameters of the metadata to the label."""
    node = selected_node(request.analysis, request.range)
    if node is None or node.kind != "operator" or node.flow.label is None or not _movable(node):
        return
    yield from possible(f"Move the parameters of {node.id} to its label", MOVE_PARAMETERS, _to_label(node))


def _movable(node: TypedNode) -> dict[str, str]:
    """The parameters in the metadata that a label can say, as it says them."""
    movable: dict[str, str] = {}
    for key, parameter in node.resolution.parameters.items():
        if parameter.block is None or key == "op" or key in MERMAID_NODE_KEYS:
            continue
        if isinstance(parameter.value, str) or not _is_text(key):
            written = label_text.parameter(key, parameter.value)
            if written is not None:
                movable[key] = written
    return movable


def _to_label(node: TypedNode) -> Edits | None:
    movable = _movable(node)
    return rewrite(node, Moved(remove=frozenset(movable), label=tuple(movable.values())))
