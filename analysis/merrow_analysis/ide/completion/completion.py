"""Completion: what could be written at a place, the likeliest first. Documentation is worked out for the chosen item alone."""

from __future__ import annotations

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.schema import FRONT_MATTER
from merrow_analysis.ide.completion.comments import comment_items
from merrow_analysis.ide.completion.flow import statement_items
from merrow_analysis.ide.completion.front_matter import front_matter_items
from merrow_analysis.ide.completion.items import CompletionItems, Completions, Subject
from merrow_analysis.ide.completion.variables import variable_items
from merrow_analysis.ide.cursor.lookup import line_at
from merrow_analysis.ide.cursor.place import InComment, InFrontMatter, place_at
from merrow_analysis.ide.cursor.schema_walk import fragment_at
from merrow_analysis.ide.texts import describe
from merrow_analysis.ide.texts.box_text import WORD_TEXTS, drawing_fragment
from merrow_analysis.ide.texts.markup import Markup
from merrow_analysis.ide.texts.node_text import node_text, uses_of_prompt
from merrow_analysis.ide.texts.tool_text import tool_text
from merrow_analysis.rules.registry import find_rule
from merrow_analysis.text import Position


def complete(analysis: Analysis, position: Position) -> Completions:
    """What could be written at a position, in the order of how well it fits. Never raises."""
    items = CompletionItems(analysis, position, line_at(analysis, position.line))
    place = place_at(analysis, position)
    if variable_items(items):
        return Completions(items.sorted(), items.is_whole, items.path)
    if isinstance(place, InFrontMatter):
        front_matter_items(items, place)
    elif isinstance(place, InComment):
        comment_items(items, place)
    else:
        statement_items(items, place)
    return Completions(items.sorted(), items.is_whole, items.path)


def documentation(analysis: Analysis, subject: Subject) -> Markup | None:
    """What there is to say about the subject of a completion; None where it has gone since."""
    kind, name = subject[0], subject[-1]
    typed = analysis.typed
    if kind == "rule":
        rule = find_rule(name)
        return None if rule is None else describe.rule(rule)
    if kind == "key":
        return describe.parameter(name)
    if kind == "drawing-key":
        fragment = drawing_fragment(subject[1], name) if len(subject) == 3 else None
        return None if fragment is None else describe.key(name, fragment)
    if kind == "word":
        return WORD_TEXTS.get(name)
    if kind == "front":
        fragment = fragment_at(FRONT_MATTER, subject[1:])
        return None if fragment is None else describe.key(name, fragment)
    if kind == "class":
        return describe.class_name(analysis, name)
    if kind == "prompt":
        prompt = analysis.prompts.find(name)
        return None if prompt is None else describe.prompt(prompt, uses_of_prompt(analysis, name))
    if typed is None:
        return None
    if kind == "node":
        node = typed.by_id.get(name)
        return None if node is None else node_text(analysis, node)
    if kind in ("tool", "parameter"):
        return tool_text(analysis, subject[1]) or None
    if kind == "operator":
        spec = typed.operators.named(name)
        return None if spec is None else describe.operator(spec)
    if kind == "type":
        return describe.type_name(typed.types, name)
    if kind == "port" and len(subject) == 3:
        owner = typed.by_id.get(subject[1])
        port = next((port for port in owner.input_ports if port.name == name), None) if owner is not None else None
        return None if port is None or owner is None else describe.port(port, owner.spec)
    return None
