"""Nodes in the text: declarations and classes that come, go, or name another operator."""

from __future__ import annotations

import re

from merrow_analysis.definitions.labels.parameters import LabelParts
from merrow_analysis.definitions.operators import OperatorSpec
from merrow_analysis.definitions.schema import MERMAID_NODE_KEYS
from merrow_analysis.edits.change import GraphChange, NewNode
from merrow_analysis.edits.replacements import CannotWriteError, Replacement
from merrow_analysis.edits.workflow_text import WorkflowText, WrittenStatement
from merrow_analysis.edits.yaml_write import quoted, word
from merrow_analysis.graph.flow import FlowNode
from merrow_analysis.graph.instructions import role_of
from merrow_analysis.places.node_places import label_range, metadata_key_range, metadata_value_range
from merrow_analysis.syntax.tree import Chain, ClassAssign, Click, Name, Style
from merrow_analysis.text import Range

_LABEL_VALUE = re.compile(r"[A-Za-z0-9_.-]+")


# New nodes


def write_added(workflow_text: WorkflowText, change: GraphChange) -> list[Replacement]:
    """Declare the nodes that come, each beside the one it is said to stand by, and give them their classes."""
    replacements: list[Replacement] = []
    anchors = {new.id: _anchor(workflow_text, change, new) for new in change.added}
    below: dict[int, tuple[WrittenStatement, list[str]]] = {}
    for new in change.added:
        anchor = anchors[new.id]
        below.setdefault(anchor.start, (anchor, []))[1].extend(_declaration(workflow_text, new, anchor))
    for anchor, lines in below.values():
        replacements.append(workflow_text.below(anchor, lines))
    return [*replacements, *_classes(workflow_text, change, anchors)]


def _anchor(workflow_text: WorkflowText, change: GraphChange, new: NewNode) -> WrittenStatement:
    """The statement that a new declaration follows: the declaration it stands beside, else the last one, else the
    first line.
    """
    by_id = {node.id: node for node in change.added}
    beside = new.beside
    while beside in by_id:
        beside = by_id[beside].beside
    node = workflow_text.flow.nodes.get(beside)
    place = workflow_text.declaration(node) if node is not None and beside not in change.removed else None
    if place is not None:
        return place
    for other in reversed(workflow_text.operator_nodes):
        place = workflow_text.declaration(other) if other.id not in change.removed else None
        if place is not None:
            return place
    return workflow_text.header


def _declaration(workflow_text: WorkflowText, new: NewNode, anchor: WrittenStatement) -> list[str]:
    values = new.values()
    suffix = ""
    if workflow_text.uses_classes and not _by_statement(workflow_text, anchor):
        suffix = f":::{workflow_text.class_name(new.spec)}"
    if workflow_text.by_metadata:
        return [f"{new.id}@{{ {', '.join(_pairs(values))} }}", *([f"{new.id}{suffix}"] if suffix else [])]
    in_label = {
        key: value
        for key, value in values.items()
        if key not in ("op", "prompt") and isinstance(value, str) and _LABEL_VALUE.fullmatch(value)
    }
    apart = {key: value for key, value in values.items() if key != "op" and key not in in_label}
    inside = ", ".join(f"{key}: {value}" for key, value in in_label.items())
    lines = [f'{new.id}["{new.spec.name}<br/>{f"({inside})" if inside else ""}"]{suffix}']
    if apart:
        lines.append(f"{new.id}@{{ {', '.join(_pairs(apart))} }}")
    return lines


def _pairs(values: dict[str, object]) -> list[str]:
    return [f"{key}: {_value(value)}" for key, value in values.items()]


def _value(value: object) -> str:
    text = word(value)
    if text is None:
        raise CannotWriteError("A parameter of the new node can't be written in metadata.")
    return text if not isinstance(value, str) or "\n" not in value else quoted(value, in_statement=True)


def _by_statement(workflow_text: WorkflowText, anchor: WrittenStatement) -> bool:
    """Whether new nodes get their classes by ``class X name``: where the file does, and such a line follows."""
    if not workflow_text.class_statements:
        return False
    return workflow_text.last(ClassAssign, after=anchor.end) is not None


def _classes(
    workflow_text: WorkflowText, change: GraphChange, anchors: dict[str, WrittenStatement]
) -> list[Replacement]:
    if not workflow_text.uses_classes:
        return []
    replacements: list[Replacement] = []
    lines: dict[int, tuple[WrittenStatement, list[str]]] = {}
    for new in change.added:
        anchor = anchors[new.id]
        if _by_statement(workflow_text, anchor):
            place = _class_place(workflow_text, new, anchor)
            lines.setdefault(place.start, (place, []))[1].append(f"class {new.id} {workflow_text.class_name(new.spec)}")
    for place, classes in lines.values():
        replacements.append(workflow_text.below(place, classes))
    return replacements


def _class_place(workflow_text: WorkflowText, new: NewNode, anchor: WrittenStatement) -> WrittenStatement:
    """The class line of the node beside, where it comes after the declaration, else the last class line."""
    last = workflow_text.class_assignments[-1]
    for written in workflow_text.class_assignments:
        if written.start >= anchor.end and any(name.text == new.beside for name in written.statement.ids):
            return written
    return last


def write_definitions(workflow_text: WorkflowText, change: GraphChange) -> list[Replacement]:
    """Define the classes that new operators bring, in the style of the published files."""
    specs: dict[str, OperatorSpec] = {}
    if workflow_text.uses_classes:
        specs.update((workflow_text.class_name(new.spec), new.spec) for new in change.added)
    for name, new in change.substituted.items():
        node = workflow_text.flow.nodes[name]
        if workflow_text.operator_class(node) is not None:
            specs[workflow_text.class_name(new.spec)] = new.spec
    missing = [name for name in specs if name not in workflow_text.flow.class_defs]
    if not missing:
        return []
    if workflow_text.class_definitions:
        place = workflow_text.class_definitions[-1]
        semicolon = ";" if workflow_text.text[place.end - 1 : place.end] == ";" else ""
        return [
            workflow_text.below(
                place, [f"classDef {name} {_look(workflow_text, specs[name])}{semicolon}" for name in missing]
            )
        ]
    place = _last_statement(workflow_text)
    return [workflow_text.below(place, [f"classDef {name} {specs[name].style}" for name in missing])]


def _last_statement(workflow_text: WorkflowText) -> WrittenStatement:
    """The last chain outside of any subgraph's end that may follow it: definitions may stand anywhere."""
    return workflow_text.chains[-1] if workflow_text.chains else workflow_text.header


def _look(workflow_text: WorkflowText, spec: OperatorSpec) -> str:
    """The operator's published colours, without the line width where the file's own definitions leave it out."""
    widths = any(
        "stroke-width" in style for place in workflow_text.class_definitions for style in place.statement.styles
    )
    parts = spec.style.split(",")
    return ",".join(part for part in parts if widths or not part.startswith("stroke-width"))


# Nodes that go


def write_removed(workflow_text: WorkflowText, change: GraphChange) -> list[Replacement]:
    """Take out what declares, styles or classes the nodes that go; their edges are `edge_writing`'s."""
    replacements: list[Replacement] = []
    for name in sorted(change.removed):
        node = workflow_text.flow.nodes[name]
        _refuse_links(workflow_text, node)
    if not change.removed:
        return replacements
    chains = {
        chain.start: chain for name in sorted(change.removed) for chain in workflow_text.edgeless_chains.get(name, ())
    }
    for chain in chains.values():
        replacements += _without_vertices(workflow_text, chain, change.removed)
    for written in workflow_text.class_assignments:
        replacements += without_names(workflow_text, written, written.statement.ids, change.removed)
    for written in workflow_text.statements(Style):
        if written.statement.id.text in change.removed:
            replacements.append(workflow_text.without(written))
    return replacements


def _refuse_links(workflow_text: WorkflowText, node: FlowNode) -> None:
    for written in workflow_text.statements(Click):
        if any(name.text == node.id for name in written.statement.ids):
            raise CannotWriteError(f"{node.id} has a link or a call of its own (`click`).")


def _without_vertices(workflow_text: WorkflowText, place: WrittenStatement, gone: frozenset[str]) -> list[Replacement]:
    statement: Chain = place.statement
    group = statement.groups[0]
    if all(vertex.name.text in gone for vertex in group):
        return [workflow_text.without(place)]
    workflow_text.refuse_suppressed(place)
    return _cut(
        workflow_text,
        place,
        [(vertex.span[0], workflow_text.vertex_end(vertex)) for vertex in group],
        [vertex.name.text in gone for vertex in group],
    )


def without_names(
    workflow_text: WorkflowText, place: WrittenStatement, names: tuple[Name, ...], gone: frozenset[str]
) -> list[Replacement]:
    """Take ids from a statement that lists them, or all of it where none is left. Raises `CannotWriteError`."""
    out = [name.text in gone for name in names]
    if not any(out):
        return []
    if all(out):
        return [workflow_text.without(place)]
    return _cut(workflow_text, place, [name.span for name in names], out)


def _cut(
    workflow_text: WorkflowText, place: WrittenStatement, spans: list[tuple[int, int]], out: list[bool]
) -> list[Replacement]:
    """Take entries out of a list, each with the separator before it, the first ones with the one after."""
    replacements: list[Replacement] = []
    first = out.index(False)
    for number, gone in enumerate(out):
        if not gone:
            continue
        if number < first:
            start, end = spans[number][0], spans[number + 1][0]
        else:
            start, end = spans[number - 1][1], spans[number][1]
        replacements.append(
            Replacement(workflow_text.offset(place.block, start), workflow_text.offset(place.block, end), "")
        )
    return replacements


# Nodes with another operator


def write_substituted(workflow_text: WorkflowText, change: GraphChange) -> list[Replacement]:
    """Name the new operator wherever a node named its old one, and take out parameters that it hasn't; of a node that keeps its
    operator, name the new role.
    """
    replacements: list[Replacement] = []
    for name, new in change.substituted.items():
        write_node = _substitute if workflow_text.graph.by_id[name].spec is not new.spec else _give_role
        replacements += write_node(workflow_text, workflow_text.flow.nodes[name], new)
    return replacements


def _give_role(workflow_text: WorkflowText, node: FlowNode, new: NewNode) -> list[Replacement]:
    typed = workflow_text.graph.by_id[node.id]
    role = role_of(typed)
    if role is None or new.role is None:
        raise CannotWriteError(f"{node.id} names no role that another could replace.")
    key, before = role
    parameter, parts = typed.resolution.parameters[key], typed.resolution.label_parts
    if parameter.block is not None:
        metadata, block = node.metadata[parameter.block]
        return [_replace(workflow_text, metadata_value_range(metadata, block, key), new.role, before)]
    if parts is None or node.label is None or parts.repeated or key not in parts.parameters:
        raise CannotWriteError(f"The label of {node.id} can't be rewritten.")
    return [_replace(workflow_text, label_range(node, parts.parameters[key].value_span), new.role, before)]


def _substitute(workflow_text: WorkflowText, node: FlowNode, new: NewNode) -> list[Replacement]:
    resolution = workflow_text.graph.by_id[node.id].resolution
    replacements: list[Replacement] = []
    for claim in resolution.claims:
        if claim.place == "op":
            metadata, block = node.metadata[claim.index]
            replacements.append(
                _replace(workflow_text, metadata_value_range(metadata, block, "op"), new.spec.name, claim.word)
            )
        elif claim.place == "label":
            label, parts = node.label, resolution.label_parts
            if label is None or parts is None:
                raise CannotWriteError(f"The label of {node.id} can't be rewritten.")
            replacements.append(
                _replace(workflow_text, label_range(node, parts.operator_span), new.spec.name, claim.word)
            )
        else:
            replacements += class_of(workflow_text, node, claim.index, workflow_text.class_name(new.spec))
    return [*replacements, *_parameters(workflow_text, node, new), *_new_parameters(workflow_text, node, new)]


def _new_parameters(workflow_text: WorkflowText, node: FlowNode, new: NewNode) -> list[Replacement]:
    """What the new operator says that the old one didn't, in metadata below the declaration."""
    resolution = workflow_text.graph.by_id[node.id].resolution
    old = resolution.spec
    instruction = None if old is None else old.instruction_key
    present = {"op", *resolution.parameters}
    if instruction in resolution.parameters:
        present.add(new.spec.instruction_key or "")
    values = {key: value for key, value in new.values().items() if key not in present}
    if not values:
        return []
    place = workflow_text.declaration(node)
    if place is None:
        raise CannotWriteError(f"{node.id} is declared in an edge, where its role can't be added.")
    return [workflow_text.below(place, [f"{node.id}@{{ {', '.join(_pairs(values))} }}"])]


def _replace(workflow_text: WorkflowText, place: Range, text: str, before: str) -> Replacement:
    """The edit of a name that must stand where it is said to; in quotes or not."""
    start, end = workflow_text.places.offset(place.start), workflow_text.places.offset(place.end)
    written = workflow_text.text[start:end]
    at = written.find(before)
    if at == -1 or written.strip("\"' ") != before:
        raise CannotWriteError(f"`{before}` is not in the text as it is read.")
    return Replacement(start + at, start + at + len(before), text)


def class_of(workflow_text: WorkflowText, node: FlowNode, index: int, class_name: str) -> list[Replacement]:
    """Give a node another class in the place of the one with this number."""
    use = node.classes[index]
    start = workflow_text.offset(use.block, use.name.span[0])
    end = workflow_text.offset(use.block, use.name.span[1])
    if use.statement is None or all(name.text == node.id for name in use.statement.ids):
        return [Replacement(start, end, class_name)]
    place = workflow_text.written(use.statement, use.block)
    replacements = without_names(workflow_text, place, use.statement.ids, frozenset({node.id}))
    return [*replacements, workflow_text.below(place, [f"class {node.id} {class_name}"])]


def _parameters(workflow_text: WorkflowText, node: FlowNode, new: NewNode) -> list[Replacement]:
    """Rename or take out the parameters that the new operator says otherwise or not at all."""
    resolution = workflow_text.graph.by_id[node.id].resolution
    wanted = new.values()
    instruction = None if resolution.spec is None else resolution.spec.instruction_key
    replacements: list[Replacement] = []
    for key, parameter in resolution.parameters.items():
        is_mermaids = parameter.block is not None and key in MERMAID_NODE_KEYS
        if key == "op" or is_mermaids or key in new.spec.allowed_parameters():
            continue
        renamed = new.spec.instruction_key if key == instruction else None
        if renamed is not None and wanted.get(renamed) is None:
            renamed = None
        if parameter.block is None:
            replacements += _label_parameter(workflow_text, node, resolution.label_parts, key, renamed)
        elif resolution.spec is not None:  # what an unknown operator says in metadata is left to the rules of keys
            metadata, block = node.metadata[parameter.block]
            if renamed is None:
                raise CannotWriteError(f"{node.id} says `{key}` in its metadata, which {new.spec.name} has not.")
            replacements.append(_replace(workflow_text, metadata_key_range(metadata, block, key), renamed, key))
    return replacements


def _label_parameter(
    workflow_text: WorkflowText, node: FlowNode, parts: LabelParts | None, key: str, renamed: str | None
) -> list[Replacement]:
    if parts is None or node.label is None or parts.repeated or key not in parts.parameters:
        raise CannotWriteError(f"The label of {node.id} can't be rewritten.")
    parameter = parts.parameters[key]
    if renamed is not None:
        return [_replace(workflow_text, label_range(node, parameter.key_span), renamed, key)]
    entries = list(parts.parameters.values())
    spans = [(entry.key_span[0], entry.value_span[1]) for entry in entries]
    number = entries.index(parameter)
    if len(entries) == 1:
        text = node.label.text
        start, end = text.rfind("(", 0, spans[0][0]), text.find(")", spans[0][1])
        if start == -1 or end == -1:
            raise CannotWriteError(f"The label of {node.id} can't be rewritten.")
        cut = (start, end + 1)
    elif number == 0:
        cut = (spans[0][0], spans[1][0])
    else:
        cut = (spans[number - 1][1], spans[number][1])
    place = label_range(node, cut)
    return [Replacement(workflow_text.places.offset(place.start), workflow_text.places.offset(place.end), "")]
