"""Every place in a file where something is named: nodes, edges, subgraphs, classes, prompts, operators, types with their
fields, tools, stores, and called files with their inputs and outputs.

Names are looked up block by block, and only in blocks whose text has the name at all, so nothing has to be built or kept
up to date between keystrokes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.definitions.labels.parameters import parse_label
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.places.box_places import EXPRESSIONS, paths_named, title_parameters
from merrow_analysis.places.edge_names import Word, fields_along, input_symbol, label_names, outputs_along, split
from merrow_analysis.places.front_names import front_matter_names, scalar_span, type_names
from merrow_analysis.places.node_places import source_span
from merrow_analysis.places.symbols import Kind, Occurrence, Role, Symbol, symbol
from merrow_analysis.places.template_places import templates_of
from merrow_analysis.syntax.tree import (
    Block,
    Broken,
    Chain,
    ClassAssign,
    ClassDef,
    Click,
    FrontMatter,
    Label,
    Name,
    Style,
    SubgraphStart,
    Vertex,
)
from merrow_analysis.text import Span
from merrow_analysis.tools.listed import PERSON, listed_tools

_ID = r"[^\W\d][\w]*"
_GUESSED = re.compile(
    rf"""(?:^|[;\n])[ \t]*(?:(?:class|style|click|subgraph)[ \t]+(?P<ids>{_ID}(?:,{_ID})*)
        | (?P<first>{_ID}))
      | [-=.][-=.>xo](?:\|[^|\n]*\|)?[ \t]*(?P<after>{_ID})
      | &[ \t]*(?P<beside>{_ID})""",
    re.VERBOSE,
)
"""Where node ids are in a statement that can't be read: at its beginning, after arrows, beside others."""

_QUOTED = re.compile(r'"[^"\n]*"?')

_STATEMENTS_WITH_NAMES = (Chain, ClassAssign, ClassDef, Style, Click, SubgraphStart, Broken, FrontMatter)


def occurrences_of(analysis: Analysis, wanted: Symbol) -> list[Occurrence]:
    """Every place of one thing, in the order of the text."""
    name = _written_name(wanted)
    any_case = wanted.kind in ("prompt", "agent", "validator", "operator", "type")
    folded = name.casefold()
    occurrences: list[Occurrence] = []
    for block in analysis.diagram.blocks:
        text = block.text
        if name in text or (any_case and folded in text.casefold()):
            occurrences += [place for place in occurrences_in(analysis, block) if place.symbol == wanted]
    return occurrences


def _written_name(wanted: Symbol) -> str:
    """What is in the text wherever a thing is named."""
    if wanted.kind == "field":
        return wanted.name.rpartition(".")[2]
    if wanted.kind in ("port", "input"):
        return wanted.name.rpartition(":")[2]
    return wanted.name.rpartition("/")[2] if wanted.kind == "file" else wanted.name


def declarations_of(analysis: Analysis, wanted: Symbol) -> list[Occurrence]:
    """Where a thing is declared or defined; the first mention of a node that nothing declares."""
    places = occurrences_of(analysis, wanted)
    declaring = [place for place in places if place.role != "reference"]
    if not declaring and wanted.kind == "node":
        return places[:1]
    return declaring


def occurrences_in(analysis: Analysis, block: Block) -> list[Occurrence]:
    """Everything named in one block, in the order of the text."""
    occurrences: list[Occurrence] = []
    names = _BlockNames(analysis, block)
    for statement in block.statements:
        if isinstance(statement, _STATEMENTS_WITH_NAMES):
            occurrences += names.of(statement)
    occurrences += _in_templates(analysis, block)
    occurrences.sort(key=lambda place: place.span)
    return occurrences


def _in_templates(analysis: Analysis, block: Block) -> Iterator[Occurrence]:
    """The ports of declared operators that the templates written in a block name."""
    if analysis.typed is None or "{" not in block.text:
        return
    seen: set[tuple[Symbol, Span]] = set()
    for template in templates_of(analysis):
        if template.block is not block:
            continue
        specs = [node.spec for node in template.nodes if node.spec is not None and not node.spec.built_in]
        for piece in template.written():
            start = block.text.find(piece.text, *piece.span)
            for spec in specs if piece.kind == "variable" else ():
                named, span = input_symbol(spec.name, piece.text), (start, start + len(piece.text))
                if piece.text in spec.ports and (named, span) not in seen:
                    seen.add((named, span))
                    yield Occurrence(named, "reference", block, span, span)


class _BlockNames:
    """The names in the statements of one block."""

    def __init__(self, analysis: Analysis, block: Block) -> None:
        self.analysis = analysis
        self.flow = analysis.flow
        self.typed = analysis.typed
        self.block = block

    def of(
        self, statement: Chain | ClassAssign | ClassDef | Style | Click | SubgraphStart | Broken | FrontMatter
    ) -> Iterator[Occurrence]:
        if isinstance(statement, Chain):
            yield from self._chain(statement)
        elif isinstance(statement, ClassAssign):
            yield from (self._id(name) for name in statement.ids)
            yield self._class(statement.class_name, "reference", statement.class_name.span)
        elif isinstance(statement, ClassDef):
            yield from (self._class(name, "definition", statement.span) for name in statement.names)
        elif isinstance(statement, Style):
            yield self._id(statement.id)
        elif isinstance(statement, Click):
            yield from (self._id(name) for name in statement.ids)
        elif isinstance(statement, SubgraphStart):
            if statement.id is not None:
                named = symbol("subgraph", statement.id.text)
                yield Occurrence(named, "declaration", self.block, statement.id.span, statement.span)
            if statement.title is not None and self.typed is not None and self.typed.composites:
                for parameter, (_, end) in title_parameters(self.block, statement.title):
                    if parameter.key in EXPRESSIONS:
                        start = end - (parameter.value_span[1] - parameter.value_span[0])
                        yield from self._expression((start, end))
        elif isinstance(statement, Broken):
            yield from self._guessed(statement)
        elif self.typed is not None:
            yield from front_matter_names(self.typed, statement, self.block)

    def kind_of(self, name: str) -> Kind:
        """What an id stands for: ids of nodes, subgraphs and edges are looked up in this order of Mermaid's."""
        if name in self.flow.subgraphs:
            return "subgraph"
        return "edge" if name in self.flow.edge_ids and name not in self.flow.nodes else "node"

    def _id(self, name: Name, role: Role = "reference", whole: Span | None = None) -> Occurrence:
        return Occurrence(symbol(self.kind_of(name.text), name.text), role, self.block, name.span, whole or name.span)

    def _class(self, name: Name, role: Role, whole: Span) -> Occurrence:
        operator = self.typed.operators.by_class(name.text) if self.typed is not None else None
        if operator is not None and not operator.spec.built_in:
            named = symbol("operator", operator.spec.name)
            return Occurrence(named, role, self.block, name.span, whole, suffix=name.text[-2:])
        return Occurrence(symbol("class", name.text), role, self.block, name.span, whole)

    def _chain(self, chain: Chain) -> Iterator[Occurrence]:
        for group in chain.groups:
            for vertex in group:
                yield from self._vertex(vertex)
        for arrow in chain.arrows:
            if arrow.edge_id is not None:
                named = symbol("edge", arrow.edge_id.text)
                yield Occurrence(named, "declaration", self.block, arrow.edge_id.span, arrow.span)
        for number, (group, arrow) in enumerate(zip(chain.groups, chain.arrows, strict=False)):
            if arrow.label is not None and self.typed is not None:
                yield from self._case(self.typed, group[-1].name.text, arrow.label)
                sources, targets = (
                    [end.name.text for end in ends] for ends in (group, *chain.groups[number + 1 :][:1])
                )
                yield from label_names(self.typed, self.block, sources, arrow, targets)

    def _case(self, typed: TypedGraph, source: str, label: Label) -> Iterator[Occurrence]:
        """The kind of a union that a case of a Decision is for."""
        handle = typed.core.handles.get(source)
        placement = None if handle is None else typed.placements[handle]
        if placement is None or placement.decided_by != "kinds" or placement.when is None:
            return
        at = self.block.text.find(label.text, *label.span)
        case = label.text.partition(":")[0]
        word = case.strip()
        kinds = typed.types.kinds_of(placement.when) or ()
        kind = next((kind for kind in kinds if kind.casefold() == word.casefold()), None)
        if kind is not None and at >= 0:
            start = at + len(case) - len(case.lstrip())
            span = (start, start + len(word))
            yield Occurrence(symbol("type", kind), "reference", self.block, span, span)

    def _vertex(self, vertex: Vertex) -> Iterator[Occurrence]:
        name, metadata = vertex.name, vertex.metadata
        whole = (vertex.span[0], metadata.span[1] if metadata is not None else vertex.span[1])
        declares = (vertex.shape is not None or metadata is not None) and self.kind_of(name.text) == "node"
        yield self._id(name, "declaration" if declares else "reference", whole)
        for class_name in vertex.classes:
            yield self._class(class_name, "reference", class_name.span)
        if metadata is not None and name.text in self.flow.subgraphs:
            document = parse_metadata(metadata.body)
            for key in EXPRESSIONS:
                if isinstance(document.values.get(key), str):
                    yield from self._expression(source_span(metadata, self.block, document.value_span(key)))
        if self.typed is None or name.text not in self.flow.nodes:
            return
        if vertex.label is not None:
            yield from self._label(name.text, vertex.label)
        if metadata is not None:
            document = parse_metadata(metadata.body)
            for key, value in document.values.items():
                if key in _NAMING_KEYS and isinstance(value, str):
                    place = source_span(metadata, self.block, document.value_span(key))
                    yield from self._value(name.text, key, value, scalar_span(self.block.text, place))
                elif key == "validate" and isinstance(value, list):
                    for number, item in enumerate(value):
                        place = source_span(metadata, self.block, document.places(key, number)[1])
                        yield from self._value(name.text, key, str(item), scalar_span(self.block.text, place))

    def _expression(self, place: Span) -> Iterator[Occurrence]:
        """The nodes that the ``until`` or ``best`` of a Loop names, and fields of what they give."""
        for path in paths_named(self.block.text, place):
            name, span = path[0]
            if name in self.flow.nodes and len(path) + self.block.text.startswith(".", span[1]) > 1:
                yield Occurrence(symbol("node", name), "reference", self.block, span, span)
                if self.typed is not None:
                    yield from outputs_along(self.typed.by_id[name], path[1:], self.block)

    def _condition(self, node: TypedNode, place: Span) -> Iterator[Occurrence]:
        """The fields of what it is given that the ``if:`` of a Decision reads."""
        for path in paths_named(self.block.text, place):
            feeds = (feed for edge in node.sources(path[0].text) for feed in edge.feeds)
            given = next((feed.type for feed in feeds if feed.port == path[0].text), None)
            yield from fields_along(node.types, given, path[1:], self.block)

    def _label(self, node: str, label: Label) -> Iterator[Occurrence]:
        known = None if self.typed is None else self.typed.by_id.get(node)
        if known is not None and known.resolution.label_is_text:
            return
        start, end = label.span
        at = self.block.text.find(label.text, start, end)
        if at == -1:
            return
        parts = parse_label(label.text)
        first, last = parts.operator_span
        yield from self._operator(parts.operator_word, (at + first, at + last))
        for parameter in parts.written:
            if parameter.key in _NAMING_KEYS and parameter.key not in ("op", "type"):
                first, last = parameter.value_span
                place = scalar_span(self.block.text, (at + first, at + last))
                yield from self._value(node, parameter.key, parameter.text, place)

    def _value(self, node: str, key: str, value: str, place: Span) -> Iterator[Occurrence]:
        """The names in the value of a parameter, where the value stands there as it is."""
        start, end = place
        written = self.block.text[start:end]
        inner = written.strip()
        if inner != value.strip() or not inner or self.typed is None:
            return
        start += written.index(inner)
        place = (start, start + len(inner))
        if key == "op":
            yield from self._operator(inner, place)
        elif key in ("returns", "type"):
            yield from type_names(self.typed, self.block, place)
        elif key == "agent":
            yield Occurrence(symbol("agent", inner), "reference", self.block, place, place)
        elif key == "validate":
            yield Occurrence(symbol("validator", inner), "reference", self.block, place, place)
        elif key in _READING_KEYS:
            yield from self._read(self.typed.by_id[node], key, Word(inner, place))
        elif key == "role" or self._takes_instruction(node):
            yield Occurrence(symbol("prompt", inner), "reference", self.block, place, place)

    def _read(self, node: TypedNode, key: str, value: Word) -> Iterator[Occurrence]:
        """What a node reads: the file that a Call runs, the tool that a Tool uses, a store, an environment, the field by which a
        Select orders, those in an ``if:``.
        """
        callee = node.resolution.callee
        if key == "tool" and node.spec is not None and node.spec.is_tool:
            yield Occurrence(symbol("tool", value.text), "reference", self.block, value.span, value.span)
        elif key == "store" and node.spec is not None and node.spec.uses_store:
            yield Occurrence(symbol("store", value.text), "reference", self.block, value.span, value.span)
        elif key == "env" and node.spec is not None and node.spec.is_environment:
            if value.text in self.analysis.settings.environments:  # else it is shipped, and nothing here names it
                yield Occurrence(symbol("environment", value.text), "reference", self.block, value.span, value.span)
        elif key == "tools" and node.spec is not None and node.spec.is_agent:
            start = value.span[0]
            for name, (begin, end) in listed_tools(value.text):
                if name != PERSON:
                    place = start + begin, start + end
                    yield Occurrence(symbol("tool", name), "reference", self.block, place, place)
        elif key == "workflow" and callee is not None:
            yield Occurrence(symbol("file", callee.path), "reference", self.block, value.span, value.span)
        elif key == "by" and node.spec is not None and node.spec.is_select:
            yield from fields_along(node.types, node.own_outputs.get("best"), split(value), self.block)
        elif key == "if" and node.kind == "decision":
            yield from self._condition(node, value.span)

    def _takes_instruction(self, node: str) -> bool:
        typed = self.typed
        spec = typed.by_id[node].spec if typed is not None else None
        return spec is not None and spec.instruction_key == "instruction"

    def _operator(self, word: str, place: Span) -> Iterator[Occurrence]:
        if self.typed is None or not word:
            return
        operator = self.typed.operators.by_op(word)
        if operator is not None:
            suffix = word[-2:] if operator.variant and not operator.spec.built_in else ""
            yield Occurrence(symbol("operator", operator.spec.name), "reference", self.block, place, place, suffix)

    def _guessed(self, statement: Broken) -> Iterator[Occurrence]:
        """Ids in a statement that can't be read, as far as other statements know them."""
        start, end = statement.span
        # Reading gave up somewhere in the statement; the rest of the block's lines was not read at all.
        if statement is self.block.statements[-1]:
            end = len(self.block.text)
        text = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), self.block.text[start:end])
        for match in _GUESSED.finditer(text):
            group = match.lastgroup or ""
            at = start + match.start(group)
            for word in match[group].split(","):
                if word in self.flow.nodes or word in self.flow.subgraphs:
                    yield self._id(Name(word, (at, at + len(word))))
                at += len(word) + 1


_READING_KEYS = frozenset({"workflow", "by", "if", "tool", "tools", "store", "env"})
_NAMING_KEYS = frozenset({"op", "role", "instruction", "agent", "validate", "returns", "type"}) | _READING_KEYS
"""Parameters whose values name other things."""
