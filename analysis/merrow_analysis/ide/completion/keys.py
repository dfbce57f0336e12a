"""Completion of parameters: keys and values in a node's label and in ``@{ }``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.environments import SHIPPED
from merrow_analysis.definitions.operators import INTERFACE_CLASS, OperatorSpec
from merrow_analysis.definitions.schema import (
    INTERFACE_KEYS,
    MERMAID_NODE_KEYS,
    NODE_KEYS,
    OUTPUT_KEYS,
    RETRIEVE_KEYS,
    Fragment,
)
from merrow_analysis.definitions.types import NUMBER, Type, TypeTable
from merrow_analysis.definitions.validators import told
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.ide.completion.boxes import box_values, operator_of_title
from merrow_analysis.ide.completion.front_matter import add_memories, add_types
from merrow_analysis.ide.completion.items import CompletionItems
from merrow_analysis.ide.completion.paths import path_place
from merrow_analysis.ide.completion.tools import agent_tool_items, constant_items, tool_in_label, tool_items
from merrow_analysis.ide.cursor.label_place import label_place
from merrow_analysis.ide.cursor.metadata_place import metadata_place
from merrow_analysis.ide.cursor.place import InStatement
from merrow_analysis.ide.cursor.schema_walk import fragments_at, keys_at, words_at
from merrow_analysis.ide.texts.box_text import KEYS_BY_OPERATOR, drawing_keys
from merrow_analysis.ide.texts.describe import KEYS
from merrow_analysis.people.forms import UnanswerableError, form_of
from merrow_analysis.places.constant_places import WITH
from merrow_analysis.syntax.shapes import SHAPES, is_shape

_PROMPT_KEYS = ("role", "instruction")
_LIST_KEY = "tools"
_PATH_KEY = "workflow"
_DEADLINES = (("2h", "two hours"), ("2d", "two days"), ("1w", "a week"))


def _answerable(type_: Type, types: TypeTable) -> bool:
    """Whether a person can be asked for a value of a type."""
    try:
        form_of(type_, types)
    except UnanswerableError:
        return False
    return True


def parameter_keys(spec: OperatorSpec | None, node: TypedNode | None) -> dict[str, Fragment]:
    """The keys that a node may have, its operator's own first; all keys where the operator isn't known."""
    if spec is None and node is not None and node.kind in ("input", "output"):
        return dict(INTERFACE_KEYS if node.kind == "input" else OUTPUT_KEYS)
    allowed = spec.useful_parameters() if spec is not None else KEYS.keys() - MERMAID_NODE_KEYS.keys()
    own = () if spec is None else (spec.instruction_key or "", *sorted(spec.parameters))
    known = {**KEYS, **RETRIEVE_KEYS} if spec is not None and spec.is_retrieve else KEYS
    return {key: known[key] for key in (*own, *NODE_KEYS, *KEYS) if key in allowed and key in KEYS}


def operator_of(analysis: Analysis, node: str, word: str) -> OperatorSpec | None:
    """The operator of a node: what its label or metadata says on the line being typed, else what is known of it."""
    graph = analysis.typed
    if graph is None:
        return None
    operator = graph.operators.by_op(word.strip()) if word.strip() else None
    known = graph.by_id.get(node)
    own = known.spec if known is not None else None
    # What a Call may say depends on whether it names a file, what a Tool gives on its tool, what a Retrieve may on how it finds.
    is_own = (
        operator is not None
        and own is not None
        and (
            (operator.spec.is_call and own.is_call)
            or (operator.spec.is_tool and own.is_tool)
            or (operator.spec.is_retrieve and own.is_retrieve)
        )
    )
    return own if operator is None or is_own else operator.spec


def typed_node(analysis: Analysis, name: str) -> TypedNode | None:
    """The node with this id."""
    graph = analysis.typed
    return graph.by_id.get(name) if graph is not None else None


def label_items(items: CompletionItems, place: InStatement) -> None:
    """Items for a node's label: operators on its first line, then keys and values of parameters."""
    if items.analysis.typed is None:
        return
    typed = place.typed
    node = typed_node(items.analysis, typed.node)
    if node is not None and node.kind in ("input", "output", "decision"):
        return
    text = place.before[typed.inside :]
    shift = len(text) - len(text.lstrip(" \t").removeprefix('"'))
    here = label_place(text[shift:])
    length = len(text) - shift - here.start
    if here.kind == "operator":
        _operators(items, length)
    elif here.kind == "key":
        spec = operator_of(items.analysis, typed.node, here.operator)
        keys = parameter_keys(spec, node)
        _keys(items, {key: keys[key] for key in keys if key != "op"}, here.keys, length, spec)
    elif here.key == WITH:
        typed_text = text[shift + here.start :].removeprefix("'").removeprefix('"')
        constant_items(items, typed_text, tool_in_label(f"{text}{place.after}"), node)
    elif here.key == _LIST_KEY:
        agent_tool_items(items, text[shift + here.start :].removeprefix("'").removeprefix('"'))
    elif here.kind == "value":
        _values(items, (here.key,), length, node, in_label=True)


def _numbers(node: TypedNode) -> list[str]:
    """The fields by which a Select can order its items."""
    item = node.own_outputs.get("best") if node.spec is not None and node.spec.is_select else None
    fields = None if item is None else node.types.fields_of(item)
    return [name for name, type_ in (fields or {}).items() if node.types.fits(type_, NUMBER)]


def _operators(items: CompletionItems, length: int) -> None:
    graph = items.analysis.typed
    if graph is None:
        return
    for spec in graph.operators.specs.values():
        items.add(spec.name, "operator", items.range(length), detail=spec.note, subject=("operator", spec.name))


def metadata_items(items: CompletionItems, place: InStatement) -> None:
    """Items inside ``@{ }`` of a node, an edge or a subgraph."""
    here = metadata_place(place.before[place.typed.inside :])
    if here.path[-1:] == (_PATH_KEY,) and not here.is_key:
        items.path = path_place(items, here.length, in_label=False)
        return
    name = place.typed.node
    if here.path == (WITH,) and not here.is_key:
        typed_text = place.before[len(place.before) - here.length :]
        constant_items(items, typed_text, here.values.get("tool", ""), typed_node(items.analysis, name))
        return
    if here.path == (_LIST_KEY,) and not here.is_key:
        agent_tool_items(items, place.before[len(place.before) - here.length :].removeprefix("'"))
        return
    if here.in_text:
        return
    length = here.length
    drawing = drawing_keys(items.analysis, name, here.values.get("op", ""))
    if drawing is not None:
        operator = operator_of_title(items, name, here.values.get("op", ""))
        if here.is_key and not here.path:
            _keys(items, drawing, here.values, length, None, subject=("drawing-key", operator))
        elif not here.is_key and operator and here.path[-1] in KEYS_BY_OPERATOR[operator]:
            box_values(items, items.analysis.typed, name, operator, here.path[-1], length)
            return
        for word in () if here.is_key else words_at({"properties": drawing}, here.path):
            items.add(word, "value", items.range(length))
        return
    if not here.is_key:
        _values(items, here.path, length, typed_node(items.analysis, name))
        return
    if here.path:
        _keys(items, keys_at({"properties": KEYS}, here.path), here.values, length, None)
        return
    spec = operator_of(items.analysis, name, here.values.get("op", ""))
    _keys(items, parameter_keys(spec, typed_node(items.analysis, name)), here.values, length, spec)
    if here.values.get("op", "").casefold() != INTERFACE_CLASS.casefold():
        _keys(items, MERMAID_NODE_KEYS, here.values, length, None, rank=5)


def _keys(
    items: CompletionItems,
    keys: Mapping[str, Fragment],
    present: Iterable[str],
    length: int,
    spec: OperatorSpec | None,
    *,
    rank: int = 1,
    subject: tuple[str, ...] = ("key",),
) -> None:
    taken = set(present)
    place = items.range(length)
    followed = items.line[place.end.column :].lstrip().startswith(":")
    own = set() if spec is None else {spec.instruction_key, *spec.parameters}
    for name, fragment in keys.items():
        if name in taken:
            continue
        items.add(
            name,
            "key",
            place,
            rank=0 if name in own else rank,
            text=name if followed else f"{name}: ",
            detail=str(fragment.get("description", "")),
            subject=(*subject, name),
        )


def _values(
    items: CompletionItems, path: tuple[str, ...], length: int, node: TypedNode | None, *, in_label: bool = False
) -> None:
    place = items.range(length)
    analysis = items.analysis
    key = path[-1] if path else ""
    if key in _PROMPT_KEYS:
        for prompt in analysis.prompts.prompts.values():
            where = "front matter" if prompt.file is None else prompt.file
            items.add(prompt.name, "prompt", place, detail=where, subject=("prompt", prompt.name))
        return
    if key == "agent":
        for agent in analysis.settings.agents.values():
            items.add(agent.name, "value", place, detail=agent.role)
        return
    if "validate" in path:
        for validator in analysis.settings.validators.values():
            items.add(validator.name, "value", place, detail=", ".join(map(told, validator.checks)))
        return
    if key == _PATH_KEY and in_label:
        items.path = path_place(items, length, in_label=True)
    elif key in ("returns", "type"):
        is_human = node is not None and node.spec is not None and node.spec.is_human
        add_types(items, length, _answerable if key == "returns" and is_human else None)
    elif key == "tool":
        tool_items(items, length)
    elif key == "env":
        for environment in analysis.settings.environments.values():
            items.add(
                environment.name,
                "value",
                place,
                detail=environment.server or environment.gymnasium or environment.recipes or "",
            )
        for name, what in SHIPPED.items():
            items.add(name, "value", place, rank=1, detail=what)
    elif key == "store":
        adds = node is not None and node.spec is not None and node.spec.acts
        for store in analysis.settings.stores.values():
            if store.is_kept or not adds:
                items.add(
                    store.name, "value", place, detail=store.file or store.folder or "", subject=("store", store.name)
                )
    elif key == "by" and node is not None:
        for name in _numbers(node):
            items.add(name, "value", place, detail="field")
    elif key == "op":
        _operators(items, length)
        items.add(INTERFACE_CLASS, "operator", place, rank=1, detail="an input or output of the workflow")
    elif key == "shape" and not in_label:
        for shape in sorted(SHAPES):
            if is_shape(shape):
                items.add(shape, "shape", place)
    finds = node is not None and node.spec is not None and node.spec.is_retrieve
    for word in words_at({"properties": RETRIEVE_KEYS if finds and key in RETRIEVE_KEYS else KEYS}, path):
        items.add(word, "value", place)
    if path == ("memory",):
        add_memories(items, length, "" if in_label else '"')
    if path == ("deadline",):
        for duration, what in _DEADLINES:
            items.add(duration, "value", place, detail=what)
    for fragment in fragments_at({"properties": KEYS}, path)[:1]:
        if isinstance(fragment.get("default"), (int, float)) and not isinstance(fragment.get("default"), bool):
            items.add(str(fragment["default"]), "value", place, rank=1, detail="the default")
