"""Operators as whole pieces of a workflow: the node, its class and the edges that feed it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from merrow_analysis.definitions.environments import TEXTCRAFT
from merrow_analysis.definitions.operators import ENVIRONMENT_TASK, OperatorSpec
from merrow_analysis.definitions.types import NUMBER, Type, TypeTable, innermost
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.ide.completion.fitting import steps, values_of
from merrow_analysis.ide.completion.items import CompletionItems, escaped
from merrow_analysis.ide.completion.tools import pinned_tools
from merrow_analysis.tools.pinned_tools import KnownTool

_SOURCE = "SOURCE"
_NEAREST = 100
_NEW_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


class _Edge(NamedTuple):
    """An edge into the new node: its source, where one fits, and what its label says."""

    source: TypedNode | None
    label: str


def operator_items(items: CompletionItems, length: int, rank: int) -> None:
    """Add every operator of the workflow."""
    graph = items.analysis.typed
    if graph is None:
        return
    sources = _sources(items, graph)
    for spec in graph.operators.specs.values():
        node = _new_id(graph, spec)
        tool = _first_tool(items) if spec.is_tool or spec.is_agent else None
        spec = spec if tool is None or spec.is_agent else tool.spec(graph.types)
        lines = _lines(items, graph, sources, spec, node, "server.tool" if tool is None else tool.name)
        items.add(
            spec.name,
            "operator",
            items.range(length),
            rank=rank,
            text=f"\n{items.indent}".join(_plain(lines)),
            snippet=f"\n{items.indent}".join(_with_stops(lines)),
            detail=spec.note,
            description=f"node {node}",
            subject=("operator", spec.name),
        )


def _first_tool(items: CompletionItems) -> KnownTool | None:
    """The tool that a new node is written with: the first that the workflow may use, or that is pinned."""
    tools = pinned_tools(items.analysis)
    names = () if tools is None else (*items.analysis.settings.tools, *tools.pins.names())
    known = (tools.find(name) for name in names if tools is not None)
    return next((tool for tool in known if tool.problem is None), None)


def _sources(items: CompletionItems, graph: TypedGraph) -> list[TypedNode]:
    """The nodes that may feed a new one: inputs, and of those declared above the nearest."""
    above: list[TypedNode] = []
    inputs: list[TypedNode] = []
    for node in graph.nodes:
        if node.kind in ("output", "unknown", "decision") or node.flow.mentions[0].block.line > items.position.line:
            continue
        (inputs if node.kind == "input" else above).append(node)
    return [*inputs, *above[-_NEAREST:]]


def _new_id(graph: TypedGraph, spec: OperatorSpec) -> str:
    base = _NEW_WORD.sub("_", spec.name).upper()
    if base not in graph.flow.nodes and base.casefold() not in _RESERVED:
        return base
    number = 2
    while f"{base}_{number}" in graph.flow.nodes:
        number += 1
    return f"{base}_{number}"


_RESERVED = frozenset({"end", "graph", "flowchart", "subgraph", "class", "style", "click", "default"})


class _Stop(str):
    """A part of a line that the writer may change; equal ones change together."""

    __slots__ = ()


class _SnippetLine(NamedTuple):
    """A line of the piece. It is not ``complete`` where no source was found for an edge."""

    parts: tuple[str, ...]
    complete: bool = True


def _lines(
    items: CompletionItems, graph: TypedGraph, sources: list[TypedNode], spec: OperatorSpec, name: str, tool: str
) -> list[_SnippetLine]:
    node = _Stop(name)
    if spec.is_decision:
        lines = [_SnippetLine((node, "{", _Stop("passed?"), "}"))]
    elif spec.is_human:
        ask, answer = _Stop("Do you approve?"), _Stop("Bool")
        lines = [_SnippetLine((node, f"[\"{spec.name}<br/>(ask: '", ask, "', returns: ", answer, ')"]'))]
    elif spec.uses_store:
        stores = items.analysis.settings.stores.values()
        fitting = (store.name for store in stores if store.is_kept or not spec.acts)
        lines = [_SnippetLine((node, f'["{spec.name}<br/>(store: ', _Stop(next(fitting, "name")), ')"]'))]
    elif spec.is_tool:
        lines = [_SnippetLine((node, f'["{spec.name}<br/>(tool: ', _Stop(tool), ')"]'))]
    elif spec.is_environment:
        name_of = next(iter(items.analysis.settings.environments), TEXTCRAFT)
        lines = [_SnippetLine((node, f'["{spec.name}<br/>(env: ', _Stop(name_of), ')"]'))]
    elif spec.is_agent:
        role = _Stop("role")
        lines = [_SnippetLine((node, f'["{spec.name}<br/>(role: ', role, ", tools: '", _Stop(tool), "')\"]"))]
    elif spec.instruction_key is not None:
        key = spec.instruction_key
        lines = [_SnippetLine((node, f'["{spec.name}<br/>({key}: ', _Stop(key), ')"]'))]
    else:
        lines = [_SnippetLine((node, f'["{spec.name}<br/>"]'))]
    if spec.class_name not in items.analysis.flow.class_defs:
        lines.append(_SnippetLine((f"classDef {spec.class_name} {spec.style}",)))
    lines.append(_SnippetLine(("class ", node, f" {spec.class_name}")))
    for edge in _edges(sources, graph, spec):
        arrow = f" -->|{edge.label}| " if edge.label else " --> "
        source = edge.source.id if edge.source is not None else _SOURCE
        lines.append(_SnippetLine((_Stop(source), arrow, node), edge.source is not None))
    return lines


def _edges(sources: list[TypedNode], graph: TypedGraph, spec: OperatorSpec) -> Iterator[_Edge]:
    """An edge for each input that must be fed, from the source that fits best: one not used yet, the nearest above."""
    used: set[int] = set()
    for port in spec.inputs:
        if not port.required and not (spec.is_human and port.name == spec.bulk) and port is not ENVIRONMENT_TASK:
            continue
        count = spec.sources if port is spec.through else 1
        for _ in range(count):
            best: tuple[tuple[int, int, int], TypedNode, str] | None = None
            for source in sources:
                if source.index in used:
                    continue
                for number, value in enumerate(values_of(source)):
                    far = steps(value.type, port, graph.types)
                    if far is None or (spec.is_select and not _is_number(value.type, graph.types)):
                        continue
                    order = ((2 if number else 0) + bool(source.outgoing), far, -source.index)
                    if best is None or order < best[0]:
                        best = (order, source, value.output if number else "")
            label = "" if spec.bulk == port.name or spec.is_decision else port.name
            if best is None:
                yield _Edge(None, label)
                continue
            if count > 1:
                used.add(best[1].index)
            yield _Edge(best[1], f"{best[2]}:{port.name}" if best[2] else label)


def _is_number(type_: Type | None, types: TypeTable) -> bool:
    """Whether a Select that names no field can order such values."""
    return type_ is not None and types.fits(innermost(type_), NUMBER)


def _plain(lines: list[_SnippetLine]) -> list[str]:
    return ["".join(line.parts) for line in lines if line.complete]


def _with_stops(lines: list[_SnippetLine]) -> list[str]:
    """The lines as a snippet: the node's id is the first stop."""
    numbers: dict[str, int] = {}
    made: list[str] = []
    for line in lines:
        pieces = [
            f"${{{numbers.setdefault(part, len(numbers) + 1)}:{escaped(part)}}}"
            if isinstance(part, _Stop)
            else escaped(part)
            for part in line.parts
        ]
        made.append("".join(pieces))
    made[-1] += "$0"
    return made
