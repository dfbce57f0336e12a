"""What is wrong with the parameters of Loops and Maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.definitions.labels.parameters import parse_label
from merrow_analysis.definitions.schema import LOOP_KEYS, MAP_KEYS, SUBGRAPH_KEYS, Fragment
from merrow_analysis.diagnostics import Diagnostic, Fix, Related
from merrow_analysis.graph.boxes.composites import CompositeKind, kind_of, parameters_of
from merrow_analysis.graph.flow import Subgraph
from merrow_analysis.graph.resolve import NodeParameter
from merrow_analysis.places.node_places import metadata_key_range, metadata_value_range
from merrow_analysis.rules.fixes.key_fixes import WrittenKeys
from merrow_analysis.rules.key_rules import (
    MALFORMED,
    WRONG_VALUE,
    KeyFinding,
    conflicts,
    label_findings,
    metadata_findings,
)
from merrow_analysis.rules.reporting import fix, report
from merrow_analysis.text import Range, TextEdit

_KEYS: Mapping[CompositeKind, Mapping[str, Fragment]] = {"loop": LOOP_KEYS, "map": MAP_KEYS}
_NAMES: Mapping[CompositeKind, str] = {"loop": "a Loop", "map": "a Map"}


def box_parameters(group: Subgraph) -> Iterator[Diagnostic]:
    """Findings about the title, the classes and the metadata of a subgraph."""
    kind = kind_of(group)
    findings = _findings(kind, group.title, tuple([metadata.body for metadata, _ in group.metadata]))
    for finding in findings:
        yield _diagnostic(group, finding)
    if kind == "map" and not any(finding.rule is WRONG_VALUE for finding in findings):
        yield from _bounds(group)


@lru_cache(maxsize=4096)
def _findings(kind: CompositeKind | None, title: str, bodies: tuple[str, ...]) -> tuple[KeyFinding, ...]:
    """What is wrong in what is written at a subgraph of this kind, the same for all that say the same."""
    what = "a subgraph" if kind is None else _NAMES[kind]
    allowed = SUBGRAPH_KEYS if kind is None else _KEYS[kind]
    docs = [parse_metadata(body) for body in bodies]
    findings: list[KeyFinding] = []
    for number, doc in enumerate(docs):
        findings += metadata_findings(doc, number, allowed, what, ())
    parts = parse_label(title) if kind is not None and "(" in title else None
    if parts is not None:
        written = {key: part for key, part in allowed.items() if key not in SUBGRAPH_KEYS}
        told = label_findings(parts, written, what, {key for doc in docs for key in doc.values})
        free = parts.operator_word not in ("Loop", "Map")
        findings += [finding for finding in told if finding.rule is not MALFORMED or not free]
        findings += conflicts(parts, docs, written)
    return tuple(findings)


def _bounds(group: Subgraph) -> Iterator[Diagnostic]:
    """More results wanted than there may be items."""
    parameters = parameters_of(group)
    least = parameters["min"].value if "min" in parameters else 1
    most = parameters["max"].value if "max" in parameters else MAP_KEYS["max"]["default"]
    if not isinstance(least, (int, float)) or not isinstance(most, (int, float)) or least <= most:
        return
    message = f"{group.id}: `min` is {least:g}, but there are at most {most:g} items; lower `min` or raise `max`."
    key = "min" if "min" in parameters else "max"
    place = value_range(group, key, parameters[key]) if key in parameters else group.range
    better = {"min": most, "max": least}
    written = [(name, value_range(group, name, parameters[name])) for name in ("min", "max") if name in parameters]
    fixes = [
        fix(f"Write {name}: {better[name]:g}", [TextEdit(where, f"{better[name]:g}")], safe=False)
        for name, where in written
        if where != group.range
    ]
    yield report(WRONG_VALUE, place, message, fixes=fixes)


def value_range(group: Subgraph, key: str, parameter: NodeParameter) -> Range:
    """Where the value of a composite's parameter stands."""
    if parameter.block is not None:
        metadata, block = group.metadata[parameter.block]
        return metadata_value_range(metadata, block, key)
    written = parse_label(group.title).parameters.get(key)
    return group.range if written is None else title_range(group, written.value_span)


def title_range(group: Subgraph, span: tuple[int, int]) -> Range:
    """Where a part of the title stands."""
    label, text = group.label, group.block.text
    if label is None:
        return group.range
    start = text.find(group.title, *label.span)
    return group.block.range(label.span if start < 0 else (start + span[0], start + span[1]))


def _diagnostic(group: Subgraph, finding: KeyFinding) -> Diagnostic:
    related: tuple[Related, ...] = ()
    if finding.block is None:
        place = title_range(group, finding.span)
        if finding.other is not None:
            metadata, block = group.metadata[finding.other]
            related = (Related(metadata_value_range(metadata, block, *finding.path), "the metadata says this"),)
    else:
        metadata, block = group.metadata[finding.block]
        where = metadata_key_range if finding.on_key else metadata_value_range
        place = where(metadata, block, *finding.path)
    fixes = _fixes(group, finding, place)
    return report(finding.rule, place, f"{group.id}: {finding.message}", related=related, fixes=fixes)


def _fixes(group: Subgraph, finding: KeyFinding, place: Range) -> Iterator[Fix]:
    yield from finding.fixes(written_keys_of_box(group), place)


def written_keys_of_box(group: Subgraph) -> WrittenKeys:
    """What a subgraph says."""
    label = group.label
    known = label is not None and group.block.text.find(group.title, *label.span) != -1
    return WrittenKeys(
        group.title if known else None, lambda span: title_range(group, span), group.metadata, drawn_elsewhere=True
    )
