"""Reads the label of an edge as ports or a case, by its source's outputs and its target's inputs; and says whether a Decision
decides by itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from merrow_analysis.definitions.operators import InputPort
from merrow_analysis.definitions.types import BOOL, Type, TypeTable
from merrow_analysis.graph.decisions import ELSE
from merrow_analysis.graph.placing.notation import EdgeLabel, read_label
from merrow_analysis.graph.placing.placement import Facts, NodeSignature


def label_of(
    text: str | None, source: NodeSignature, facts: Facts, ports: Mapping[str, InputPort], types: TypeTable
) -> EdgeLabel:
    """The parts of a label. At plain steps one that names no port is words for people, or all of it is the case."""
    label = read_label(text, from_decision=source.decision)
    if source.decision and source.has_value and source.passes is None:
        label = _with_field(label, source, types)
    if label.port is None and (label.output is None or source.decision):
        return label
    if label.port is not None and _has_port(label.port, facts, ports):
        return label
    if source.decision:
        whole = source.passes is not None or facts.plain
        return EdgeLabel(case=text.strip()) if whole and text is not None else label
    if label.port is None and label.output is not None:
        known = output_named(source, label.output, types) is not None
        return label if known or not (source.plain or facts.words) else EdgeLabel(words=text)
    words = facts.plain or facts.words or (facts.kind == "output" and source.plain)
    return EdgeLabel(words=text) if words else label


def _with_field(label: EdgeLabel, source: NodeSignature, types: TypeTable) -> EdgeLabel:
    """A label out of a Decision that names a field of the record which its case carries."""
    written = label.case or ""
    if label.after or (label.port is None and not written.endswith(":")):
        return label
    case, _, field = (part.strip() for part in written.removesuffix(":" if label.port is None else "").rpartition(":"))
    if not case or field_carried(source, case, field, types) is None:
        return label
    return EdgeLabel(field, label.port, case)


def field_carried(
    source: NodeSignature, case: str | None, field: str, types: TypeTable
) -> tuple[str, Type | None] | None:
    """A field of what a case carries, with its type as it arrives; None where that has no such field."""
    whole = (source.apart or source).carried(case)
    return None if whole is None else _field(source, whole, field, types)


def _has_port(name: str, facts: Facts, ports: Mapping[str, InputPort]) -> bool:
    if facts.plain and facts.kind == "decision" and name in facts.spec.ports:  # type: ignore[union-attr]
        return True
    return name in ports or any(name in port.variants for port in ports.values())


def is_decided(facts: Facts, incoming: tuple[tuple[str | None, NodeSignature], ...], types: TypeTable) -> bool:
    """Whether something decides without a model: an expression, a Bool that arrives, or at a plain diamond an enumeration
    or a union whose words or kinds are its ways out.
    """
    if facts.expression is not None:
        return True
    given: list[Type | None] = []
    for text, source in incoming:
        if source.decision:
            given += [source.value] if source.passes is None else [passed.type for passed in source.passes]
            continue
        label = read_label(text, from_decision=False)
        outputs = dict(source.outputs)
        named = None if label.output is None else output_named(source, label.output, types)
        if named is not None:
            given.append(named[1])
            continue
        bools = [type_ for type_ in outputs.values() if type_ is not None and types.fits(type_, BOOL)]
        given += bools[:1] if len(bools) == 1 else list(outputs.values())[:1]
    if any(type_ is not None and types.fits(type_, BOOL) for type_ in given):
        return True
    if not facts.plain or None in given:
        return False
    common = types.common(type_ for type_ in given if type_ is not None)
    words = types.words_of(common) or types.kinds_of(common)
    if words is None:
        return False
    ways = {ELSE if way is None else way.partition(":")[0].strip().casefold() for way in facts.ways}
    wanted = {word.casefold() for word in words}
    return ways <= wanted | {ELSE} and (ELSE in ways or wanted <= ways)


def output_named(source: NodeSignature, name: str, types: TypeTable) -> tuple[str, Type | None] | None:
    """An output by its name, or a field in one: ``advice``, ``place.city``."""
    first, dot, path = name.partition(".")
    output = next((output for output in source.outputs if output[0] == first), None)
    if not dot or output is None:
        return output
    whole = output[1] if source.apart is None else dict(source.apart.outputs).get(first, output[1])
    if whole is None:
        return output
    if source.apart is not None and first not in dict(source.apart.outputs):
        source = source._replace(apart=None)  # It is a field of the items already.
    field = _field(source, whole, path, types)
    return None if field is None else (name, field[1])


def _field(source: NodeSignature, whole: Type, path: str, types: TypeTable) -> tuple[str, Type | None] | None:
    """A field of a value with its type as it arrives. An edge with ``each`` takes the first list on the way apart; where
    there is none, its type is not known, which is told elsewhere.
    """
    if source.apart is None:
        type_ = types.field_at(whole, path)
        return None if type_ is None else (path, type_)
    item = types.field_of_items(whole, path.split("."))
    return None if item is None and types.field_at(whole, path) is None else (path, item)
