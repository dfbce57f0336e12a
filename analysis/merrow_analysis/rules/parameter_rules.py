"""What is wrong with the parameters of nodes: keys, values, label against metadata."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from merrow_analysis.definitions.metadata import MetaDoc, parse_metadata
from merrow_analysis.definitions.parameters import LabelParameter, LabelParts
from merrow_analysis.definitions.schema import (
    EDGE_KEYS,
    INTERFACE_KEYS,
    MERMAID_NODE_KEYS,
    NODE_KEYS,
    OPERATOR_KEYS,
    SUBGRAPH_KEYS,
    Fragment,
)
from merrow_analysis.definitions.settings import MACHINE_KEYS
from merrow_analysis.definitions.validation import Path, shown, violations
from merrow_analysis.diagnostics import Diagnostic, Fix, Related, Severity, Tag
from merrow_analysis.edits.parameters import Moved, rewrite
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.records import NodeRecord
from merrow_analysis.graph.resolve import Resolution
from merrow_analysis.places.node_places import label_part, label_start, metadata_key_range, metadata_value_range
from merrow_analysis.rules.configuration_rules import MACHINE_SETTING, machine_setting_message
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.registry import Family, Rule, Scope
from merrow_analysis.rules.reporting import fix, named, report
from merrow_analysis.suggest import closest
from merrow_analysis.syntax.tree import Block, Metadata
from merrow_analysis.text import Range, TextEdit

_FAMILY = Family[GraphContext](Scope.PARAMETER)
UNKNOWN_KEY = _FAMILY.rule(
    "MW304",
    "unknown-parameter",
    "A node, edge or subgraph has a key that means nothing.",
    Severity.ERROR,
    fix="sometimes",
)
WRONG_VALUE = _FAMILY.rule(
    "MW305", "wrong-parameter-value", "A parameter's value is of the wrong kind or out of range.", Severity.ERROR
)
CONFLICT = _FAMILY.rule(
    "MW306",
    "parameter-conflict",
    "A parameter is given differently by a node's label and its metadata, or by an edge as well.",
    Severity.WARNING,
    fix="sometimes",
)
REPEATED = _FAMILY.rule("MW307", "repeated-parameter", "A label gives a parameter twice.", Severity.ERROR)
IDLE = _FAMILY.rule(
    "MW406", "parameter-without-effect", "A parameter changes nothing at its operator.", Severity.HINT, fix="sometimes"
)
MALFORMED = _FAMILY.rule(
    "MW308", "malformed-parameters", "The parameters in a node's label can't be read.", Severity.WARNING
)

IDLE_WHERE_ASKED = frozenset({"role", "prompt", "samples", "returns", "format"})
"""Parameters that change nothing at a Decision that asks a model."""
_FRAGMENTS: Mapping[str, Fragment] = {**NODE_KEYS, **OPERATOR_KEYS}
_REMEMBERED = 20_000
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+(?: [A-Za-z0-9_.-]+)*")


@dataclass(frozen=True, slots=True)
class _Finding:
    """Something wrong, without its place. ``block`` counts the node's metadata blocks; None is the label.

    ``path`` leads to the place in the metadata, ``span`` is it in the label; ``on_key`` marks the key, not the value.
    ``other`` is the metadata block that says otherwise, ``near`` the word that replaces the marked one, ``superfluous``
    a parameter to be removed.
    """

    rule: Rule
    message: str
    block: int | None
    path: Path = ()
    span: tuple[int, int] = (0, 0)
    on_key: bool = False
    other: int | None = None
    near: str | None = None
    safe: bool = False
    superfluous: str | None = None


_FOUND: dict[int, tuple[Resolution, tuple[_Finding, ...]]] = {}
"""What was found for each resolution, which nodes that say the same share; kept alive so that ids stay theirs."""


@_FAMILY.checked_by
def check_parameters(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about the parameters of all nodes whose operator is known, and the keys of edges and subgraphs."""
    graph = context.graph
    resolutions = graph.resolutions
    wrong: dict[int, tuple[_Finding, ...]] = {}
    for shared, index in dict(zip(map(id, resolutions), range(len(resolutions)), strict=True)).items():
        known = _FOUND.get(shared)
        if known is None:
            known = _remember(resolutions[index], graph.core.records[index])
        if known[1]:
            wrong[shared] = known[1]
    for index in graph.ranked if wrong else ():
        findings = wrong.get(id(resolutions[index]))
        if findings:
            node = graph.node(index)
            start = label_start(node.flow)
            for finding in findings:
                yield _diagnostic(node, finding, start)
    for use in graph.flow.edge_metadata:
        yield from _only_drawn(use.metadata, use.block, EDGE_KEYS, "An edge")
    for subgraph in graph.flow.groups.values():
        for metadata, block in subgraph.metadata:
            yield from _only_drawn(metadata, block, SUBGRAPH_KEYS, "A subgraph, which only groups nodes,")


def _only_drawn(metadata: Metadata, block: Block, allowed: Mapping[str, Fragment], what: str) -> Iterator[Diagnostic]:
    """Keys that mean nothing at something of which Merrow reads no metadata, and Mermaid those ``allowed``."""
    for key in parse_metadata(metadata.body).values:
        place = metadata_key_range(metadata, block, key)
        if key.casefold() in MACHINE_KEYS:
            yield report(MACHINE_SETTING, place, machine_setting_message(key))
        elif key not in allowed:
            message = f"{what} has no key `{key}`; {_hint(key, allowed)}"
            yield report(UNKNOWN_KEY, place, message, fixes=_rename(place, closest(key, allowed), safe=False))


def _remember(resolution: Resolution, node: NodeRecord | None) -> tuple[Resolution, tuple[_Finding, ...]]:
    """What is wrong with the parameters of a node, and of all others that share its resolution."""
    if len(_FOUND) > _REMEMBERED:
        _FOUND.clear()
    found: tuple[_Finding, ...] = ()
    if node is not None and resolution.kind != "unknown" and (resolution.parameters or resolution.label_parts):
        found = tuple(_find(resolution, [parse_metadata(metadata.body) for metadata, _ in node.metadata]))
    _FOUND[id(resolution)] = resolution, found
    return resolution, found


def _find(resolution: Resolution, docs: list[MetaDoc]) -> Iterator[_Finding]:
    if resolution.kind in ("input", "output"):
        allowed: Mapping[str, Fragment] = INTERFACE_KEYS
        what = f"an {resolution.kind} node"
    else:
        spec = resolution.spec
        keys = spec.allowed_parameters() if spec is not None else frozenset(NODE_KEYS)
        allowed = {
            key: _FRAGMENTS.get(key, {}) for key in (*NODE_KEYS, *sorted(keys - NODE_KEYS.keys())) if key in keys
        }
        what = spec.name if spec is not None else "a node"
    for index, doc in enumerate(docs):
        yield from _metadata_findings(doc, index, allowed, what)
    yield from _idle(resolution)
    parts = resolution.label_parts
    if parts is not None and resolution.kind == "operator":
        overruled = {key for doc in docs for key in doc.values}
        yield from _label_findings(parts, allowed, what, overruled)
        yield from _conflicts(parts, docs, allowed)


def _metadata_findings(doc: MetaDoc, index: int, allowed: Mapping[str, Fragment], what: str) -> Iterator[_Finding]:
    for key, value in doc.values.items():
        if key in allowed:
            for wrong in violations(allowed[key], value, (key,)):
                yield _Finding(WRONG_VALUE, _wrong(key, wrong.path, wrong.wanted, value), index, wrong.path)
        elif key in MERMAID_NODE_KEYS:
            continue
        elif key.casefold() in MACHINE_KEYS:
            yield _Finding(MACHINE_SETTING, machine_setting_message(key), index, (key,), on_key=True)
        else:
            near = _usable(closest(key, [*allowed, *MERMAID_NODE_KEYS]), value, allowed, doc.values)
            yield _Finding(UNKNOWN_KEY, _unknown(key, what, allowed), index, (key,), on_key=True, near=near)


def _usable(near: str | None, value: object, allowed: Mapping[str, Fragment], taken: Collection[str]) -> str | None:
    """``near`` where it is not given yet and takes ``value``: writing it would else put one finding in place of another."""
    if (
        near is None
        or near in taken
        or (near in allowed and any(True for _ in violations(allowed[near], value, (near,))))
    ):
        return None
    return near


def _idle(resolution: Resolution) -> Iterator[_Finding]:
    """Parameters that change nothing."""
    spec = resolution.spec
    for key, parameter in resolution.parameters.items() if spec is not None and spec.idle else ():
        if spec is None or key not in spec.idle or (resolution.ask is not None and key not in IDLE_WHERE_ASKED):
            continue
        why = "asks no model" if spec.computes else "says itself how the model is to answer"
        why = why if resolution.ask is None else "asks what its `ask` or its text says, once"
        message = f"`{key}` changes nothing: {spec.name} {why}; remove it."
        written = None if resolution.label_parts is None else resolution.label_parts.parameters.get(key)
        if parameter.block is not None:
            yield _Finding(IDLE, message, parameter.block, (key,), on_key=True, superfluous=key)
        elif written is not None:
            yield _Finding(IDLE, message, None, span=written.key_span, superfluous=key)


def _label_findings(
    parts: LabelParts, allowed: Mapping[str, Fragment], what: str, overruled: set[str]
) -> Iterator[_Finding]:
    for problem in parts.problems:
        yield _Finding(MALFORMED, problem.message, None, span=problem.span)
    for again in parts.repeated:
        message = f"`{again.key}` stands in this label twice; keep one of them."
        yield _Finding(REPEATED, message, None, span=again.key_span)
    for key, parameter in parts.parameters.items():
        if key in overruled:
            continue
        if key in allowed:
            value = _label_value(parameter, allowed[key])
            for wrong in violations(allowed[key], value, (key,)):
                span = parameter.value_span if parameter.text else parameter.key_span
                yield _Finding(WRONG_VALUE, _wrong(key, wrong.path, wrong.wanted, value), None, span=span)
        elif key.casefold() in MACHINE_KEYS:
            yield _Finding(MACHINE_SETTING, machine_setting_message(key), None, span=parameter.key_span)
        else:
            near = closest(key, allowed)
            if near is not None:
                taken = {*overruled, *parts.parameters}
                near = _usable(near, _label_value(parameter, allowed[near]), allowed, taken)
            yield _Finding(UNKNOWN_KEY, _unknown(key, what, allowed), None, span=parameter.key_span, near=near)


def _conflicts(parts: LabelParts, docs: list[MetaDoc], allowed: Mapping[str, Fragment]) -> Iterator[_Finding]:
    for key, parameter in parts.parameters.items():
        index = next((n for n in reversed(range(len(docs))) if key in docs[n].values), None)
        if index is None or key not in allowed:
            continue
        value = docs[index].values[key]
        if value == _label_value(parameter, allowed[key]):
            continue
        message = f"The label says `{key}: {parameter.text}`, the metadata {shown(value)}; the metadata counts."
        near = _as_plain_word(value)
        span = parameter.value_span if parameter.text else parameter.key_span
        yield _Finding(
            CONFLICT, message, None, (key,), span, other=index, near=near if parameter.text else None, safe=True
        )


def _as_plain_word(value: object) -> str | None:
    """A value as a label can say it without quotes; None for any other."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, (str, int, float)):
        return None
    text = str(value)
    return text if _PLAIN.fullmatch(text) and text not in ("nan", "inf", "-inf") else None


def _label_value(parameter: LabelParameter, fragment: Fragment) -> object:
    """A label's value as its key wants it: text for a key that is text, else what the text means."""
    return parameter.text if fragment.get("type") == "string" or "enum" in fragment else parameter.value


def _wrong(key: str, path: Path, wanted: str, value: object) -> str:
    for step in path[1:]:
        value = value[step]  # type: ignore[index]
    name = ".".join(str(step) for step in path) if len(path) > 1 else key
    if isinstance(value, str) and not value.strip():
        return f"`{name}` is empty; it must be {wanted}."
    return f"`{name}` must be {wanted}, not {shown(value)}."


def _unknown(key: str, what: str, allowed: Mapping[str, Fragment]) -> str:
    if key in _FRAGMENTS or key in INTERFACE_KEYS:
        return f"`{key}` means nothing at {what}; its keys are {_listed(allowed)}."
    article = what if what.startswith(("a ", "an ")) else f"operator {what}"
    return f"{article[:1].upper() + article[1:]} has no key `{key}`; {_hint(key, allowed)}"


def _hint(key: str, allowed: Mapping[str, Fragment]) -> str:
    near = closest(key, allowed)
    if near:
        return f"did you mean `{near}`?"
    return f"the keys are {_listed(allowed)}." if len(allowed) > 1 else f"the one key is {_listed(allowed)}."


def _listed(allowed: Mapping[str, Fragment]) -> str:
    return ", ".join(f"`{key}`" for key in allowed)


def _diagnostic(node: TypedNode, finding: _Finding, label: int | None) -> Diagnostic:
    """``label`` is where the text of the node's label begins in its block, as `label_start` says it."""
    message = f"{named(node)}: {finding.message}"
    related: tuple[Related, ...] = ()
    if finding.block is None:
        place = label_part(node.flow, finding.span, label)
        if finding.other is not None:
            metadata, block = node.flow.metadata[finding.other]
            related = (Related(metadata_value_range(metadata, block, *finding.path), "the metadata says this"),)
    else:
        metadata, block = node.flow.metadata[finding.block]
        where = metadata_key_range if finding.on_key else metadata_value_range
        place = where(metadata, block, *finding.path)
    # Of two labels only the last counts, and both must stay alike.
    alone = sum(mention.vertex.shape is not None for mention in node.flow.mentions) < 2 or finding.block is not None
    fixes = _rename(place, finding.near if alone else None, safe=finding.safe)
    tags: tuple[Tag, ...] = ()
    if finding.superfluous is not None:
        fixes, tags = _without(node, finding.superfluous), (Tag.UNNECESSARY,)
    return report(finding.rule, place, message, related=related, fixes=fixes, tags=tags)


def _without(node: TypedNode, key: str) -> tuple[Fix, ...]:
    """Not a safe fix: who wrote the parameter meant something by it, maybe at another node."""
    edits = rewrite(node, Moved(remove=frozenset({key})))
    return () if edits is None else (fix(f"Remove {key}", edits, safe=False),)


def _rename(place: Range, near: str | None, *, safe: bool) -> tuple[Fix, ...]:
    return () if near is None else (fix(f"Write {near}", [TextEdit(place, near)], safe=safe),)
