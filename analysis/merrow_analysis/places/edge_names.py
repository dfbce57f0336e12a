"""What the labels of edges name: fields of records, ports of declared operators, inputs and outputs of called files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from merrow_analysis.definitions.types import Type, TypeTable, innermost
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.places.symbols import Occurrence, Symbol, symbol
from merrow_analysis.syntax.tree import Arrow, Block
from merrow_analysis.text import Span


class Word(NamedTuple):
    """A name with its place in a block."""

    text: str
    span: Span


def field_symbol(record: Type, name: str) -> Symbol:
    """The field of a record that is declared under this name."""
    return symbol("field", f"{record}.{name}")


def port_symbol(path: str, name: str) -> Symbol:
    """The input or output of a called file; ``path`` is that of its `Callee`."""
    return symbol("port", f"{path}:{name}")


def input_symbol(operator: str, name: str) -> Symbol:
    """An input port of an operator that a workflow declares."""
    return symbol("input", f"{operator.casefold()}:{name}")


def record_of(types: TypeTable, type_: Type | None) -> Type | None:
    """The record whose fields a type, or the items of a list, have; None for any other."""
    if type_ is None:
        return None
    return next((name for name in types.ancestors(innermost(type_)) if name in types.records), None)


def fields_along(types: TypeTable, type_: Type | None, path: Iterable[Word], block: Block) -> Iterator[Occurrence]:
    """The fields that a path names, the first one of a record of type ``type_``, as far as there are any."""
    for word in path:
        record = record_of(types, type_)
        if record is None or word.text not in types.records[record]:
            return
        yield Occurrence(field_symbol(record, word.text), "reference", block, word.span, word.span)
        type_ = types.records[record][word.text]


def outputs_along(node: TypedNode, path: Sequence[Word], block: Block) -> Iterator[Occurrence]:
    """The fields that a path from one of a node's outputs names, and the output itself where a called file declares it."""
    if not path:
        return
    outputs, first = node.own_outputs, path[0]
    if first.text in outputs:
        callee = node.resolution.callee
        if callee is not None:
            yield Occurrence(port_symbol(callee.path, first.text), "reference", block, first.span, first.span)
        yield from fields_along(node.types, outputs[first.text], path[1:], block)
    else:
        yield from fields_along(node.types, next(iter(outputs.values()), None), path, block)


def label_names(
    graph: TypedGraph, block: Block, sources: Iterable[str], arrow: Arrow, targets: Sequence[str]
) -> Iterator[Occurrence]:
    """The fields and ports that the label of an arrow names, each once; an arrow may be several edges."""
    told: set[tuple[Symbol, Span]] = set()
    for source in sources:
        for target in targets:
            edge = _edge(graph, source, arrow, target)
            for occurrence in () if edge is None else _names(edge, arrow, block):
                if (occurrence.symbol, occurrence.span) not in told:
                    told.add((occurrence.symbol, occurrence.span))
                    yield occurrence


def _edge(graph: TypedGraph, source: str, arrow: Arrow, target: str) -> TypedEdge | None:
    ends = [graph.by_id.get(source), graph.by_id.get(target)]
    declared = ends[1] is not None and ends[1].spec is not None and not ends[1].spec.built_in
    if None in ends or not (declared or graph.types.records or any(end and end.resolution.callee for end in ends)):
        return None
    chart = graph.core.chart
    rows = chart.outgoing.get(source, ()), chart.incoming.get(target, ())
    for record in min(rows, key=len):
        if record.arrow is arrow and record.source == source and record.target == target:
            return None if record.carries_nothing else graph.edge(record)
    return None


def _names(edge: TypedEdge, arrow: Arrow, block: Block) -> Iterator[Occurrence]:
    label, source, target = edge.placed.label, edge.source, edge.target
    parts = label_parts(arrow, block)
    if label.port is not None and parts and parts[-1].text == label.port:
        yield from _port(target, parts.pop(), block)
    output = next((part for part in reversed(parts) if part.text == label.output), None)
    if output is None:
        return
    path = split(output)
    if source.kind == "decision":
        signature = source.placement.signature
        yield from fields_along(source.types, signature.carried(label.case), path, block)
    else:
        yield from outputs_along(source, path, block)


def _port(node: TypedNode, word: Word, block: Block) -> Iterator[Occurrence]:
    callee, spec = node.resolution.callee, node.spec
    if callee is not None and callee.inputs is not None:
        if any(port.name == word.text for port in callee.inputs):
            yield Occurrence(port_symbol(callee.path, word.text), "reference", block, word.span, word.span)
    elif spec is not None and not spec.built_in and not spec.is_call and word.text in spec.ports:
        yield Occurrence(input_symbol(spec.name, word.text), "reference", block, word.span, word.span)
    elif spec is not None and spec.is_pass:
        yield from fields_along(node.types, node.resolution.declared, (word,), block)


def label_parts(arrow: Arrow, block: Block) -> list[Word]:
    """The parts of a label between its colons, where its text is in the source as it is."""
    label = arrow.label
    at = -1 if label is None else block.text.find(label.text, *label.span)
    parts: list[Word] = []
    for part in label.text.split(":") if label is not None and at != -1 else ():
        first = at + len(part) - len(part.lstrip())
        parts.append(Word(part.strip(), (first, first + len(part.strip()))))
        at += len(part) + 1
    return parts


def split(path: Word) -> list[Word]:
    """The names of a path such as ``place.city``."""
    words: list[Word] = []
    start = path.span[0]
    for name in path.text.split("."):
        words.append(Word(name, (start, start + len(name))))
        start += len(name) + 1
    return words
