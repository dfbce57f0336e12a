"""Signature help: the parameters of a node while they are being typed, in its label or its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.operators import OperatorSpec
from merrow_analysis.definitions.schema import Fragment
from merrow_analysis.ide.completion.keys import operator_of, parameter_keys, typed_node
from merrow_analysis.ide.cursor.label_place import label_place
from merrow_analysis.ide.cursor.metadata_place import metadata_place
from merrow_analysis.ide.cursor.place import InStatement, place_at
from merrow_analysis.ide.texts import describe
from merrow_analysis.ide.texts.box_text import KEYS_BY_OPERATOR, drawing_keys, title_keys
from merrow_analysis.ide.texts.markup import Markup
from merrow_analysis.text import Position


@dataclass(frozen=True, slots=True)
class SignatureParameter:
    """One key: its place in the signature's label, and what it means."""

    key: str
    start: int
    end: int
    text: Markup


@dataclass(frozen=True, slots=True)
class SignatureHelp:
    """``label`` shows all keys; ``active`` is the number of the one at the cursor, None while no key is known yet."""

    label: str
    text: Markup
    parameters: tuple[SignatureParameter, ...]
    active: int | None


def signature_help(analysis: Analysis, position: Position) -> SignatureHelp | None:
    """The keys that may stand at a position; None outside labels and metadata of nodes and edges. Never raises."""
    place = place_at(analysis, position)
    if not isinstance(place, InStatement) or analysis.typed is None:
        return None
    typed = place.typed
    text = place.before[typed.inside :]
    if typed.expecting == "label":
        node = typed_node(analysis, typed.node)
        if node is not None and node.kind in ("input", "output", "decision"):
            return None
        shift = len(text) - len(text.lstrip(" \t").removeprefix('"'))
        here = label_place(text[shift:])
        if here.kind == "operator" or (here.kind == "text" and not here.key):
            return None
        spec = operator_of(analysis, typed.node, here.operator)
        keys = {key: part for key, part in parameter_keys(spec, node).items() if key != "op"}
        return _help(spec, keys, here.key or text[shift + here.start :])
    if typed.expecting == "title":
        return _title_help(analysis, typed.node, text)
    if typed.expecting != "metadata":
        return None
    inside = metadata_place(text)
    word = text[len(text) - inside.length :]
    key = inside.path[0] if inside.path else word
    drawing = drawing_keys(analysis, typed.node, inside.values.get("op", ""))
    if drawing is not None:
        name = "subgraph" if typed.node in analysis.flow.subgraphs else "edge"
        return _help(None, drawing, key, name=name)
    spec = operator_of(analysis, typed.node, inside.values.get("op", ""))
    return _help(spec, parameter_keys(spec, typed_node(analysis, typed.node)), key)


def _title_help(analysis: Analysis, name: str, text: str) -> SignatureHelp | None:
    """The parameters of a Loop or a Map, while its title is being typed."""
    here = label_place(text)
    box = None if analysis.typed is None else analysis.typed.composites.boxes.get(name)
    operator = here.operator if here.operator in KEYS_BY_OPERATOR or box is None else box.operator
    if operator not in KEYS_BY_OPERATOR or here.kind == "operator" or (here.kind == "text" and not here.key):
        return None
    return _help(None, title_keys(operator), here.key or text[here.start :], name=f"{operator} ")


def _help(spec: OperatorSpec | None, keys: Mapping[str, Fragment], key: str, *, name: str = "node") -> SignatureHelp:
    label = (spec.name if spec is not None else name) + "("
    parameters: list[SignatureParameter] = []
    active: int | None = None
    for number, (word, fragment) in enumerate(keys.items()):
        label += ", " if number else ""
        parameters.append(SignatureParameter(word, len(label), len(label) + len(word), describe.key(word, fragment)))
        label += word
        if word == key:
            active = number
    text = describe.operator(spec) if spec is not None else Markup()
    return SignatureHelp(label + ")", text, tuple(parameters), active)
