"""A node's parameters taken out of its label and metadata, or written there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from merrow_analysis.definitions.labels import label_text, metadata_body
from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.definitions.labels.parameters import parse_label
from merrow_analysis.edits.lines import without_statement
from merrow_analysis.graph.flow import Mention
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.syntax.parser import parse_diagram
from merrow_analysis.syntax.tree import Block, Chain, Metadata, Vertex
from merrow_analysis.text import Range, Span, TextEdit, equal_ends

_ID_BEFORE = re.compile(r"[^\s;]+\s*\Z")


@dataclass(frozen=True, slots=True)
class Moved:
    """What becomes of a node's parameters: keys taken out wherever they stand, then entries of metadata and label.

    Entries are written as they are to stand: YAML by key for the metadata, ``key: value`` for the label.
    """

    remove: frozenset[str] = frozenset()
    metadata: Mapping[str, str] = field(default_factory=dict)
    label: tuple[str, ...] = ()


def rewrite(node: TypedNode, moved: Moved, *, keep_metadata: bool = False) -> tuple[TextEdit, ...] | None:
    """The edits that move a node's parameters; None where its declarations don't allow it.

    With ``keep_metadata``, keys are taken out of the label alone.
    """
    here = declaration_of(node)
    if here is None:
        return None
    edits: list[TextEdit] = []
    label = here.vertex.label
    in_label = moved.remove & parse_label(label.text).parameters.keys() if label is not None else frozenset()
    if in_label or moved.label:
        edit = _edit_label(here, set(in_label), list(moved.label))
        if edit is None:
            return None
        edits.append(edit)
    waiting = dict(moved.metadata)
    for metadata, block in node.flow.metadata:
        own = metadata is here.vertex.metadata
        remove = [] if keep_metadata else [key for key in parse_metadata(metadata.body).values if key in moved.remove]
        if not remove and not (own and waiting):
            continue
        body = _new_body(block.text[slice(*metadata.body_span)], remove, waiting if remove or own else {})
        if body is None or metadata.body != block.text[slice(*metadata.body_span)]:
            return None
        waiting = {}
        edits.append(_edit_body(metadata, block, body))
    if waiting:
        at = here.vertex.span[1]
        entries = ", ".join(f"{key}: {value}" for key, value in waiting.items())
        edits.append(TextEdit(here.block.range((at, at)), f"@{{ {entries} }}"))
    return tuple(edits) if edits and _reads_back(node, here, moved, edits) else None


def without_entry(metadata: Metadata, block: Block, key: str, *, whole: bool) -> TextEdit | None:
    """The edit that takes an entry out of metadata, with the last one all of them; None where it can't be cut out.

    With ``whole``, a statement that says nothing else goes with its metadata: a mere id would be another node.
    """
    body = block.text[slice(*metadata.body_span)]
    left = None if body != metadata.body else metadata_body.without(body, key)
    if left is None or parse_metadata(left).values != {
        name: value for name, value in parse_metadata(body).values.items() if name != key
    }:
        return None
    if whole and not left.strip():
        begin, end = metadata.span
        id_span = _ID_BEFORE.search(block.text[:begin])
        return None if id_span is None else without_statement(block, (id_span.start(), end))
    return _edit_body(metadata, block, left)


def declaration_of(node: TypedNode) -> Mention | None:
    """Where a node's label stands; None where several declarations say it, since they must go on saying the same."""
    shaped = [mention for mention in node.flow.mentions if mention.vertex.shape is not None]
    if len(shaped) > 1:
        return None
    declaring = shaped or [mention for mention in node.flow.mentions if mention.declares] or node.flow.mentions
    return declaring[0] if declaring else None


def _edit_label(here: Mention, remove: set[str], add: list[str]) -> TextEdit | None:
    label, block = here.vertex.label, here.block
    if label is None or label.kind == "markdown":
        return None
    at = block.text.find(label.text, *label.span)
    text = label_text.without(label.text, remove) if remove else label.text
    if at == -1 or text is None:
        return None
    if add:
        text = label_text.with_parameters(text, add)
    if label.kind == "text" and add:
        return TextEdit(block.range(label.span), f'"{text}"')
    return _trimmed(block, (at, at + len(label.text)), label.text, text)


def _new_body(body: str, remove: list[str], entries: Mapping[str, str]) -> str | None:
    """A metadata body without some entries and with others, the first of which take the place of a removed one."""
    result: str | None = body
    for number, key in enumerate(remove):
        if result is None:
            return None
        if number == 0 and entries:
            result = metadata_body.replacing(result, key, entries)
        else:
            result = metadata_body.without(result, key)
    if not remove and entries and result is not None:
        result = metadata_body.with_entries(result, entries)
    return result


def _edit_body(metadata: Metadata, block: Block, body: str) -> TextEdit:
    if not body.strip():
        return TextEdit(block.range(metadata.span), "")
    return _trimmed(block, metadata.body_span, block.text[slice(*metadata.body_span)], body)


def _trimmed(block: Block, span: Span, old: str, new: str) -> TextEdit:
    """The edit that makes ``new`` of ``old``, without what both begin and end with."""
    front, back = equal_ends(old, new)
    place = Range(block.position(span[0] + front), block.position(span[1] - back))
    return TextEdit(place, new[front : len(new) - back])


def _reads_back(node: TypedNode, here: Mention, moved: Moved, edits: list[TextEdit]) -> bool:
    """Whether the node's declaration, edited, says what was meant: no metadata or label can be read differently."""
    block = here.block
    text = block.text
    own = [edit for edit in edits if block.line <= edit.range.start.line < block.line + block.line_count]
    spans = [(_offset(block, edit.range.start), _offset(block, edit.range.end), edit.new_text) for edit in own]
    for start, end, new in sorted(spans, reverse=True):
        text = text[:start] + new + text[end:]
    vertex = _vertex(text, node.id)
    if vertex is None or (vertex.shape, vertex.classes != ()) != (here.vertex.shape, here.vertex.classes != ()):
        return False
    values = parse_metadata(vertex.metadata.body).values if vertex.metadata is not None else {}
    parts = parse_label(vertex.label.text) if vertex.label is not None else None
    if parts is not None and (parts.problems or parts.operator_word != _operator_word(here.vertex)):
        return False
    wanted = parse_metadata(" " + ", ".join(f"{key}: {value}" for key, value in moved.metadata.items()) + " ").values
    in_own = here.vertex.metadata is not None or not any(
        moved.remove & parse_metadata(metadata.body).values.keys() for metadata, _ in node.flow.metadata
    )
    if in_own and any(values.get(key) != value for key, value in wanted.items()):
        return False
    parameters = parts.parameters if parts is not None else {}
    added = parse_label(f"X<br/>({', '.join(moved.label)})").parameters if moved.label else {}
    return all(key in parameters and parameters[key].value == parameter.value for key, parameter in added.items())


def _operator_word(vertex: Vertex) -> str:
    return parse_label(vertex.label.text).operator_word if vertex.label is not None else ""


def _offset(block: Block, position: tuple[int, int]) -> int:
    line, column = position
    at = 0
    for _ in range(line - block.line):
        at = block.text.index("\n", at) + 1 if "\n" in block.text[at:] else len(block.text)
    return at + column


def _vertex(text: str, node: str) -> Vertex | None:
    """The declaration of a node in a block's text read by itself."""
    declaration: Vertex | None = None
    for block in parse_diagram(f"flowchart TD\n{text}").blocks:
        for statement in block.statements:
            if isinstance(statement, Chain):
                for group in statement.groups:
                    for vertex in group:
                        declares = vertex.shape is not None or vertex.metadata is not None
                        if vertex.name.text == node and (declaration is None or declares):
                            declaration = vertex
    return declaration
