"""What there is to say about a thing of the language: operators, nodes, edges, classes, prompts, types, keys, rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.operators import INTERFACE_CLASS, TOOL, InputPort, OperatorSpec
from merrow_analysis.definitions.prompts import Prompt
from merrow_analysis.definitions.schema import (
    INTERFACE_KEYS,
    MERMAID_NODE_KEYS,
    NODE_KEYS,
    OPERATOR_KEYS,
    OUTPUT_KEYS,
    RETRIEVE_KEYS,
    Fragment,
)
from merrow_analysis.definitions.types import ANY, BUILT_IN, WORKFLOW, TypeTable, innermost
from merrow_analysis.definitions.validation import shown, wanted
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.ide.texts.markup import CodeSpan, Inline, Markup, shortened
from merrow_analysis.rules.pages import page_text
from merrow_analysis.rules.registry import Rule

_MOST_FIELDS = 20
"""Fields of a record, or kinds of a union, that a hover lists."""

KEYS: Mapping[str, Fragment] = {**MERMAID_NODE_KEYS, **NODE_KEYS, **OPERATOR_KEYS, **INTERFACE_KEYS}
"""Every key of a node's label or metadata, with its fragment of the schema."""


def port_text(port: InputPort) -> str:
    """A port as signatures write it: ``input*: Any...`` is required and takes many edges."""
    return f"{port.name}{'*' if port.required else ''}: {port.type}{'...' if port.many else ''}"


def signature_text(spec: OperatorSpec) -> str:
    """``Programmer(problem*: Problem, analysis: Text) -> output: Answer, code: Code``."""
    if spec is TOOL:
        return f"{spec.name}(parameters of the tool) -> results of the tool"
    inputs = ", ".join(port_text(port) for port in spec.inputs)
    outputs = ", ".join(f"{port.name}: {port.type}" for port in spec.outputs)
    return f"{spec.name}({inputs}) -> {outputs or 'one output per case'}"


def operator(spec: OperatorSpec) -> Markup:
    """An operator: its signature, what it does, how many sources it needs."""
    text = Markup().block(signature_text(spec))
    add_note(text, spec)
    if spec.is_ensemble:
        text.say(f"It needs {spec.sources} different sources that can be live together.")
    facts: list[Inline] = []
    if any(port.required for port in spec.inputs):
        facts.append((CodeSpan("*"), " marks inputs that must be fed."))
    if any(port.many for port in spec.inputs):
        facts.append((CodeSpan("..."), " marks inputs that take any number of edges."))
    return text.items(facts)


def add_note(text: Markup, spec: OperatorSpec) -> None:
    """Add what an operator does; a user's words are shown as they are, never as Markdown."""
    if spec.note and spec.built_in:
        text.say(spec.note)
    elif spec.note:
        text.block(shortened(spec.note))


def class_name(analysis: Analysis, name: str) -> Markup:
    """A class: the operator that it means, and how many nodes have it."""
    table = analysis.typed.operators if analysis.typed is not None else None
    definition = table.by_class(name) if table is not None else None
    text = Markup()
    if definition is not None:
        usual = (
            ()
            if name == definition.spec.class_name
            else (" (usually written ", CodeSpan(definition.spec.class_name), ")")
        )
        text.say("Class ", CodeSpan(name), ": operator ", CodeSpan(definition.spec.name), *usual, ".")
        text.join(operator(definition.spec))
    elif name.casefold() == INTERFACE_CLASS.casefold():
        text.say("Class ", CodeSpan(name), ": the inputs and outputs of the workflow.")
    else:
        text.say("Class ", CodeSpan(name), ": a style of the author's own.")
    nodes = [node.id for node in analysis.flow.nodes.values() if any(use.name.text == name for use in node.classes)]
    return text.say(*_nodes_named(nodes))


def _nodes_named(nodes: list[str], most: int = 8) -> Inline:
    if not nodes:
        return ("No node has it.",)
    line = [f"{len(nodes)} node{'s have' if len(nodes) > 1 else ' has'} it: "]
    for number, node in enumerate(nodes[:most]):
        line += [", " if number else "", CodeSpan(node)]
    line.append(", ..." if len(nodes) > most else ".")
    return tuple(line)


def type_name(types: TypeTable, name: str) -> Markup:
    """A type: what it is a kind of, or the words of an enumeration."""
    line: list[str] = [CodeSpan(name)]
    parent = types.parents.get(name)
    while parent is not None:
        line += [", a kind of ", CodeSpan(parent)]
        parent = types.parents.get(parent)
    text = Markup().say("Type ", *line, ".")
    if WORKFLOW in types.ancestors(name):
        text.say("A value is the text of a Mermaid flowchart that can be run by a Call. It is checked as it is read.")
    words = types.words.get(name)
    if words:
        text.say("Its values: ", *[piece for word in words for piece in (", ", CodeSpan(word))][1:], ".")
    fields = types.fields_of(name)
    if fields:
        text.say("A record. Its fields are further outputs of what gives one:")
        shown = list(fields.items())[:_MOST_FIELDS]
        more = [(f"{len(fields) - len(shown)} more",)] if len(fields) > len(shown) else []
        text.items([*((CodeSpan(f"{field}: {type_}"),) for field, type_ in shown), *more])
    kinds = types.kinds_of(name)
    if kinds:
        text.say("A union; a Decision on it has a case for each kind, which carries the value of that kind:")
        text.items([(CodeSpan(kind),) for kind in kinds[:_MOST_FIELDS]])
    return text


def field(types: TypeTable, name: str) -> Markup:
    """A field of a record, ``Place.city``: its type and what that is."""
    record, _, own = name.rpartition(".")
    type_ = types.records.get(record, {}).get(own)
    if type_ is None:
        return Markup()
    text = Markup().block(f"{own}: {type_}").say("A field of record ", CodeSpan(record), ".")
    inner = innermost(type_)
    return text.join(type_name(types, inner)) if inner not in BUILT_IN else text


def key(name: str, fragment: Fragment) -> Markup:
    """A key of the front matter or of a node: its type, default and help."""
    text = Markup().block(f"{name}: {_expected(fragment)}")
    if fragment.get("description"):
        text.say(str(fragment["description"]))
    if "default" in fragment:
        text.say("Default: ", CodeSpan(str(shown(fragment["default"])).strip("`")), ".")
    return text


def _expected(fragment: Fragment) -> str:
    if not ({"type", "enum", "anyOf"} & fragment.keys()):
        return "any value"
    return wanted(fragment).replace("`", "")


def parameter(name: str, node: TypedNode | None = None) -> Markup | None:
    """A key of a node's label or metadata; ``default`` and ``op`` mean the same everywhere. None for an unknown key."""
    fragment = OUTPUT_KEYS.get(name) if node is not None and node.kind in ("input", "output") else None
    if node is not None and node.spec is not None and node.spec.is_retrieve:
        fragment = RETRIEVE_KEYS.get(name)
    fragment = fragment or KEYS.get(name)
    if fragment is None:
        return None
    text = key(name, fragment)
    return text if name != "workflow" or node is None else text.join(called_file(node))


def called_file(node: TypedNode) -> Markup:
    """The file that a node calls: its title and its signature, or why it can't be called."""
    callee, text = node.resolution.callee, Markup()
    if callee is None:
        return text
    if callee.inputs is not None and node.spec is not None:
        text.block(signature_text(node.spec))
    titled = "" if callee.title is None else f": {callee.title}"
    text.say("It runs ", CodeSpan(callee.path), f"{titled}.")
    return text if callee.problem is None else text.say(callee.problem)


def prompt(described: Prompt, uses: int | None = None) -> Markup:
    """A prompt: where it stands, its text, how many nodes use it."""
    where = "the front matter" if described.file is None else described.file
    line = f", line {described.range.start.line + 1}" if described.range is not None else ""
    text = Markup().say("Prompt ", CodeSpan(described.name), f" of {where}{line}.")
    text.block(shortened_prompt(described.text))
    if uses is not None:
        text.say("No node uses it." if uses == 0 else f"{uses} node{'s use' if uses > 1 else ' uses'} it.")
    return text


def shortened_prompt(text: str) -> str:
    """The beginning of a prompt."""
    return shortened(text) or "(empty)"


def port(input_port: InputPort, spec: OperatorSpec | None = None) -> Markup:
    """A port: its type, whether it must be fed, whether it takes many edges."""
    of = f" of {spec.name}" if spec is not None else ""
    text = Markup().block(f"{input_port.name}: {input_port.type}")
    must = "It must be fed" if input_port.required else "It may stay empty"
    many = "takes any number of edges" if input_port.many else "takes one edge"
    kind = "" if input_port.type != ANY else " Any value fits."
    return text.say(f"Input{of}. {must}, and {many}.{kind}")


def rule(described: Rule) -> Markup:
    """A rule: its summary, and the part of its page that says what it does and why."""
    text = Markup().say(
        CodeSpan(described.code), f" {described.name} ({described.severity.value}): {described.summary}"
    )
    page = page_text(described.code)
    for part in (page or "").split("\n## ")[1:3]:
        title, _, body = part.partition("\n")
        if title.strip().lower() not in ("wrong", "right", "how to configure"):
            text.say(*_page_prose(body))
    return text


def _page_prose(body: str) -> Inline:
    """The prose of a page, whose Markdown is the house's own: spans between single backticks are source."""
    pieces = " ".join(body.split()).split("`")
    return tuple(CodeSpan(piece) if number % 2 else piece for number, piece in enumerate(pieces) if piece)


def signature_of(node: TypedNode) -> str:
    """The signature of a node with the types worked out for it."""
    inputs = ", ".join(port_text(port) for port in node.input_ports)
    given = [f"{name}: {type_ or '?'}" for name, type_ in node.outputs.items()]
    most = len(node.own_outputs) + _MOST_FIELDS if node.cases is None else len(given)
    outputs = ", ".join([*given[:most], "..."] if len(given) > most else given)
    return f"{node.operator or node.id}({inputs}) -> {outputs or '()'}"


def literal(value: Any) -> CodeSpan:
    """A parameter's value as a reader would write it, short."""
    return CodeSpan(str(shown(value)).strip("`"))
