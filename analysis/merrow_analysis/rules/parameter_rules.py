"""What is wrong with the parameters of nodes: keys, values, label against metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from merrow_analysis.bounded.schema_forms import problem_of_schema
from merrow_analysis.definitions.labels.metadata import MetaDoc, parse_metadata
from merrow_analysis.definitions.schema import (
    EDGE_KEYS,
    INTERFACE_KEYS,
    MERMAID_NODE_KEYS,
    NODE_KEYS,
    OUTPUT_KEYS,
    RETRIEVE_KEYS,
    Fragment,
)
from merrow_analysis.diagnostics import Diagnostic, Fix, Related, Tag
from merrow_analysis.graph.instructions import agent_name
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.records import WrittenNode
from merrow_analysis.graph.resolve import Resolution
from merrow_analysis.places.node_places import label_part, label_start, metadata_key_range, metadata_value_range
from merrow_analysis.rules.box_parameters import box_parameters
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.key_fixes import written_keys_of
from merrow_analysis.rules.key_rules import (
    FAMILY,
    FRAGMENTS,
    IDLE,
    NOT_VALIDATED,
    REPEATED_EFFECT,
    WRONG_VALUE,
    KeyFinding,
    conflicts,
    label_findings,
    metadata_findings,
    only_drawn,
    removed,
)
from merrow_analysis.rules.reporting import named, report
from merrow_analysis.text import Range

IDLE_WHERE_ASKED = frozenset(
    {
        "role",
        "prompt",
        "template",
        "samples",
        "returns",
        "format",
        "agent",
        "aims",
        "validate",
        "attempts",
        "on_invalid",
    }
)
"""Parameters that change nothing at a Decision that asks a model."""
_ANSWER = "findings about parameters"


@FAMILY.checked_by
def check_parameters(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about the parameters of all nodes whose operator is known, and the keys of edges and subgraphs."""
    graph = context.graph
    resolutions = graph.resolutions
    # Nodes that say the same share a resolution.
    wrong: dict[Resolution, tuple[KeyFinding, ...]] = {}
    for index, resolution in enumerate(resolutions):
        known = resolution.answers.get(_ANSWER)
        if known is None:
            known = resolution.answers[_ANSWER] = _found(resolution, graph.core.records[index])
        if known:
            wrong[resolution] = known
    for index in graph.ranked if wrong else ():
        findings = wrong.get(resolutions[index])
        if findings:
            node = graph.node(index)
            start = label_start(node.flow)
            for finding in findings:
                yield _diagnostic(node, finding, start)
    for use in graph.flow.edge_metadata:
        yield from only_drawn(use.metadata, use.block, EDGE_KEYS, "An edge")
    for subgraph in graph.flow.groups.values():
        yield from box_parameters(subgraph)


def _found(resolution: Resolution, node: WrittenNode | None) -> tuple[KeyFinding, ...]:
    """What is wrong with the parameters of a node, and of all others that share its resolution."""
    if node is None or resolution.kind == "unknown" or not (resolution.parameters or resolution.label_parts):
        return ()
    return tuple(_find(resolution, [parse_metadata(metadata.body) for metadata, _ in node.metadata]))


def _find(resolution: Resolution, docs: list[MetaDoc]) -> Iterator[KeyFinding]:
    if resolution.kind in ("input", "output"):
        allowed: Mapping[str, Fragment] = INTERFACE_KEYS if resolution.kind == "input" else OUTPUT_KEYS
        what = f"an {resolution.kind} node"
    else:
        spec = resolution.spec
        keys = spec.allowed_parameters() if spec is not None else frozenset(NODE_KEYS)
        allowed = {key: FRAGMENTS.get(key, {}) for key in (*NODE_KEYS, *sorted(keys - NODE_KEYS.keys())) if key in keys}
        if spec is not None and spec.is_retrieve:
            allowed = {**allowed, **RETRIEVE_KEYS}
        what = spec.name if spec is not None else "a node"
    useful = allowed.keys() if resolution.spec is None else allowed.keys() & resolution.spec.useful_parameters()
    for index, doc in enumerate(docs):
        yield from metadata_findings(doc, index, allowed, what, MERMAID_NODE_KEYS, useful)
    yield from _idle(resolution)
    yield from _not_validated(resolution)
    yield from _repeated(resolution)
    yield from _no_schema(resolution)
    parts = resolution.label_parts
    if parts is not None and resolution.kind == "operator":
        overruled = {key for doc in docs for key in doc.values}
        yield from label_findings(parts, allowed, what, overruled, useful)
        yield from conflicts(parts, docs, allowed)


def _idle(resolution: Resolution) -> Iterator[KeyFinding]:
    """Parameters that change nothing."""
    for key, parameter in resolution.parameters.items():
        message = _why_idle(resolution, key, parameter.value)
        if message is None:
            continue
        written = None if resolution.label_parts is None else resolution.label_parts.parameters.get(key)
        if parameter.block is not None:
            repair = removed(key, parameter.block, safe=True)
            yield KeyFinding(IDLE, message, parameter.block, (key,), on_key=True, repair=repair, superfluous=True)
        elif written is not None:
            repair = removed(key, None, safe=True)
            yield KeyFinding(IDLE, message, None, span=written.key_span, repair=repair, superfluous=True)


def _why_idle(resolution: Resolution, key: str, value: object) -> str | None:
    """Why a parameter changes nothing, as a sentence; None for one that does."""
    spec = resolution.spec
    if spec is None:
        return None
    if key in spec.idle and (resolution.ask is None or key in IDLE_WHERE_ASKED):
        why = "asks no model" if not (spec.asks_model or spec.is_agent) else "says itself how the model is to answer"
        why = why if resolution.ask is None else "asks what its `ask` or its text says, once"
        return f"`{key}` changes nothing: {spec.name} {why}; remove it."
    if key == "memory" and value == "agent" and (agent_name(resolution) is None or resolution.ask is not None):
        return "`memory: agent` changes nothing: the node has no agent whose earlier results it could see; remove it."
    return None


_AGAIN = {
    "person": "a person would be asked again",
    "tool": "the tool would be used again",
    "store": "it would be stored again",
    "environment": "the action would be taken again",
}


def _repeated(resolution: Resolution) -> Iterator[KeyFinding]:
    """Parameters that would do again what has an effect beyond a model's answer."""
    spec = resolution.spec
    if spec is None or not spec.acts:
        return
    for key in sorted(spec.not_repeated & resolution.parameters.keys()):
        parameter = resolution.parameters[key]
        written = None if resolution.label_parts is None else resolution.label_parts.parameters.get(key)
        message = f"`{key}` can't be used at {spec.name}, since {_AGAIN[spec.effect]}; remove it."
        repair = removed(key, parameter.block)
        if parameter.block is not None:
            yield KeyFinding(REPEATED_EFFECT, message, parameter.block, (key,), on_key=True, repair=repair)
        elif written is not None:
            yield KeyFinding(REPEATED_EFFECT, message, None, span=written.key_span, repair=repair)


def _not_validated(resolution: Resolution) -> Iterator[KeyFinding]:
    """What is said of attempts where nothing is validated, or nobody tries again."""
    if resolution.kind == "decision":
        return
    validated = "validate" in resolution.parameters
    refused = frozenset[str]() if resolution.spec is None else resolution.spec.not_repeated
    for key in ("attempts",) if validated else ("attempts", "on_invalid"):
        parameter = None if key in refused else resolution.parameters.get(key)
        if parameter is None or (validated and resolution.kind != "output"):
            continue
        why = "at an output, where nobody tries again" if validated else "without `validate`"
        rest = "remove it." if validated else "name a validator, or remove it."
        message = f"`{key}` changes nothing {why}; {rest}"
        written = None if resolution.label_parts is None else resolution.label_parts.parameters.get(key)
        repair = removed(key, parameter.block)
        if parameter.block is not None:
            yield KeyFinding(
                NOT_VALIDATED, message, parameter.block, (key,), on_key=True, repair=repair, superfluous=True
            )
        elif written is not None:
            yield KeyFinding(NOT_VALIDATED, message, None, span=written.key_span, repair=repair, superfluous=True)


def _no_schema(resolution: Resolution) -> Iterator[KeyFinding]:
    """A `format` that is an object, but no JSON Schema: the node would fail before it asks."""
    parameter = resolution.parameters.get("format")
    if parameter is None or parameter.block is None or not isinstance(parameter.value, dict):
        return
    problem = problem_of_schema(parameter.value)
    if problem is not None:
        message = f"`format` is not a JSON Schema{problem.place and f' at {problem.place}'}: {problem.message}."
        yield KeyFinding(WRONG_VALUE, message, parameter.block, ("format",))


def _diagnostic(node: TypedNode, finding: KeyFinding, label: int | None) -> Diagnostic:
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
    tags = (Tag.UNNECESSARY,) if finding.superfluous else ()
    return report(finding.rule, place, message, related=related, fixes=_fixes(node, finding, place), tags=tags)


def _fixes(node: TypedNode, finding: KeyFinding, place: Range) -> Iterator[Fix]:
    yield from finding.fixes(written_keys_of(node), place)
