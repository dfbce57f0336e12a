"""Hover: what stands under the pointer, and what it means."""

from __future__ import annotations

import re
from dataclasses import dataclass

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.labels.parameters import parse_label
from merrow_analysis.definitions.schema import FRONT_MATTER
from merrow_analysis.ide.cursor.lookup import (
    Spot,
    arrow_at,
    label_offset,
    metadata_key_at,
    occurrence_at,
    spot,
    touches,
    vertex_at,
)
from merrow_analysis.ide.cursor.schema_walk import fragment_at
from merrow_analysis.ide.cursor.yaml_place import entry_at
from merrow_analysis.ide.subgraphs import stretch_of
from merrow_analysis.ide.texts import describe
from merrow_analysis.ide.texts.box_text import box_text, drawing_keys, keys_of
from merrow_analysis.ide.texts.environment_text import environment_text
from merrow_analysis.ide.texts.markup import CodeSpan, Markup
from merrow_analysis.ide.texts.node_text import agent_text, edges_text, metrics_text, node_text, uses_of_prompt
from merrow_analysis.ide.texts.store_text import store_text
from merrow_analysis.ide.texts.tool_text import tool_text
from merrow_analysis.ide.texts.validator_text import validator_text
from merrow_analysis.ide.texts.variables import variable_text
from merrow_analysis.places.box_places import title_parameters
from merrow_analysis.places.symbols import Occurrence
from merrow_analysis.rules.registry import find_rule
from merrow_analysis.suppressions import has_suppression
from merrow_analysis.syntax.tree import Chain, Comment, FrontMatter, Header, SubgraphStart
from merrow_analysis.text import Position, Range

_RULE_WORD = re.compile(r"[A-Za-z][\w-]*")


@dataclass(frozen=True, slots=True)
class Hover:
    """What to show about the text of ``range``."""

    text: Markup
    range: Range


def hover(analysis: Analysis, position: Position) -> Hover | None:
    """What there is to say about the text at a position; None about free text. Never raises."""
    place = spot(analysis, position)
    if place is None:
        return None
    named = occurrence_at(analysis, position)
    if named is not None:
        text = _named(analysis, named)
        if text:
            return Hover(text, named.range)
    variable = variable_text(analysis, place)
    if variable is not None:
        return Hover(variable[0], place.block.range(variable[1]))
    statement = place.statement
    if isinstance(statement, Chain):
        return _in_chain(analysis, place, statement)
    if isinstance(statement, Header):
        end = statement.span[0] + len(statement.keyword)
        return Hover(metrics_text(analysis), place.block.range((statement.span[0], max(end, statement.span[1]))))
    if isinstance(statement, SubgraphStart):
        return _in_title(analysis, place, statement)
    if isinstance(statement, FrontMatter):
        return _in_front_matter(place, statement)
    if isinstance(statement, Comment) and has_suppression(place.block):
        return _rule(place, statement)
    return None


def _named(analysis: Analysis, named: Occurrence) -> Markup:
    kind, name, typed = named.symbol.kind, named.symbol.name, analysis.typed
    if kind == "class":
        return describe.class_name(analysis, name)
    if kind == "subgraph":
        box = None if typed is None else typed.composites.boxes.get(name)
        if box is not None:
            return box_text(analysis, box)
        members = analysis.flow.subgraphs.get(name)
        count = len(members.nodes) if members is not None else 0
        return Markup().say("Subgraph ", CodeSpan(name), f" with {count} member{'' if count == 1 else 's'}.")
    if typed is None:
        return Markup()
    if kind == "node":
        node = typed.by_id.get(name)
        return node_text(analysis, node) if node is not None else Markup()
    if kind == "edge":
        flow = analysis.flow.edge_ids.get(name)
        all_edges = (*typed.edges, *typed.again)
        return edges_text(typed, [edge for edge in all_edges if flow is not None and edge.flow is flow])
    if kind == "prompt":
        prompt = analysis.prompts.find(name)
        return describe.prompt(prompt, uses_of_prompt(analysis, name)) if prompt is not None else Markup()
    if kind == "agent":
        agent = analysis.settings.agents.get(name)
        return Markup() if agent is None else agent_text(analysis, agent)
    if kind == "validator":
        validator = analysis.settings.validators.get(name)
        return Markup() if validator is None else validator_text(analysis, validator)
    if kind == "operator":
        spec = typed.operators.named(name)
        return describe.operator(spec) if spec is not None else Markup()
    if kind == "field":
        return describe.field(typed.types, name)
    if kind == "input":
        operator, _, port = name.partition(":")
        spec = typed.operators.named(operator)
        return Markup() if spec is None or port not in spec.ports else describe.port(spec.ports[port], spec)
    if kind == "tool":
        return tool_text(analysis, name)
    if kind == "store":
        store = analysis.settings.stores.get(name)
        return Markup() if store is None else store_text(analysis, store)
    if kind == "environment":
        return environment_text(analysis.settings, name)
    if kind in ("file", "port"):
        return Markup()  # said of the parameter that names the file, and of the edge
    return describe.type_name(typed.types, name)


def _in_chain(analysis: Analysis, place: Spot, chain: Chain) -> Hover | None:
    block, offset = place
    vertex = vertex_at(chain, offset)
    typed = analysis.typed
    if vertex is not None:
        node = typed.by_id.get(vertex.name.text) if typed is not None else None
        if vertex.metadata is not None and touches(vertex.metadata.span, offset):
            key_span = metadata_key_at(vertex.metadata, block, offset)
            if key_span is None:
                return None
            drawing = drawing_keys(analysis, vertex.name.text)
            if drawing is None:
                text = describe.parameter(key_span[0], node)
            else:
                text = describe.key(key_span[0], drawing[key_span[0]]) if key_span[0] in drawing else None
            return None if text is None else Hover(text, block.range(key_span[1]))
        in_label = label_offset(vertex, block, offset)
        if in_label is None or vertex.label is None or node is None or node.kind != "operator":
            return None
        if node.resolution.plain is not None:
            return Hover(node_text(analysis, node), block.range(vertex.label.span))
        for parameter in parse_label(vertex.label.text).parameters.values():
            if touches((parameter.key_span[0], parameter.value_span[1]), in_label):
                text = describe.parameter(parameter.key, node)
                shift = offset - in_label
                span = (shift + parameter.key_span[0], shift + parameter.key_span[1])
                return None if text is None else Hover(text, block.range(span))
        return None
    arrow = arrow_at(chain, offset)
    if arrow is None or typed is None:
        return None
    all_edges = (*typed.edges, *typed.again)
    edges = [edge for edge in all_edges if edge.flow.block is block and edge.flow.arrow is arrow]
    return Hover(edges_text(typed, edges), block.range(arrow.span)) if edges else None


def _in_title(analysis: Analysis, place: Spot, start: SubgraphStart) -> Hover | None:
    """A parameter in the title of a Loop or a Map; elsewhere in it the Loop or Map itself."""
    typed, block = analysis.typed, place.block
    stretch = stretch_of(analysis.diagram, start)
    box = None if typed is None or stretch is None else typed.composites.boxes.get(stretch.id)
    if box is None or start.title is None or not touches(start.title.span, place.offset):
        return None
    for parameter, (first, last) in title_parameters(block, start.title):
        if touches((first, last), place.offset) and parameter.key in keys_of(box):
            end = first + parameter.key_span[1] - parameter.key_span[0]
            return Hover(describe.key(parameter.key, keys_of(box)[parameter.key]), block.range((first, end)))
    return Hover(box_text(analysis, box), block.range(start.title.span))


def _in_front_matter(place: Spot, front: FrontMatter) -> Hover | None:
    start, end = front.body_span
    if not start <= place.offset <= end:
        return None
    entry = entry_at(place.block.text[start:end], place.offset - start)
    if entry is None:
        return None
    path, span = entry
    fragment = fragment_at(FRONT_MATTER, path)
    if fragment is None or not fragment.get("description"):
        return None
    return Hover(describe.key(path[-1], fragment), place.block.range((start + span[0], start + span[1])))


def _rule(place: Spot, comment: Comment) -> Hover | None:
    block = place.block
    for word in _RULE_WORD.finditer(block.text, *comment.span):
        if touches(word.span(), place.offset):
            rule = find_rule(word[0])
            return None if rule is None else Hover(describe.rule(rule), block.range(word.span()))
    return None
