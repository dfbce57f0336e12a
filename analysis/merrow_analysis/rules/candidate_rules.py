"""Flowcharts that look like workflows but are not read as ones: rule MW407 and its fix."""

from __future__ import annotations

import re
from collections.abc import Iterator

from merrow_analysis.definitions.operators import BUILT_IN_TABLE, INTERFACE_CLASS, INTERFACE_STYLE, OperatorSpec
from merrow_analysis.diagnostics import Diagnostic, Fix, Severity
from merrow_analysis.edits.classes import define_class, give_class
from merrow_analysis.edits.lines import indentation, insert_lines_after
from merrow_analysis.edits.renaming import rename_node
from merrow_analysis.graph.flow import Flow, FlowNode
from merrow_analysis.graph.model import PROBLEM_ID, RETURN_ID
from merrow_analysis.rules.context import TextContext
from merrow_analysis.rules.registry import Family, Scope
from merrow_analysis.rules.reporting import fix, listed, report
from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.tree import Block
from merrow_analysis.text import TextEdit

_FAMILY = Family[TextContext](Scope.TEXT)
LOOKS_LIKE_WORKFLOW = _FAMILY.rule(
    "MW407",
    "looks-like-workflow",
    "A flowchart names operators in its labels but is not read as a workflow.",
    Severity.HINT,
    fix="sometimes",
)

_PUBLISHED = re.compile(r"\s*(\w+)\s*<br[ \t]*/?[ \t]*>", re.IGNORECASE)
_NAMED_IDS = {PROBLEM_ID: "Problem", RETURN_ID: "Return"}


def published_operators(flow: Flow) -> dict[str, OperatorSpec]:
    """The nodes whose label begins as published files write it, ``Custom<br/>...``, with their operators.

    A bare name in a box, such as ``[Review]``, is a step of any flowchart and does not count.
    """
    found: dict[str, OperatorSpec] = {}
    for node in flow.nodes.values():
        match = _PUBLISHED.match(node.label.text) if node.label is not None else None
        spec = BUILT_IN_TABLE.named(match[1]) if match is not None else None
        if spec is not None:
            found[node.id] = spec
    return found


def why_not(flow: Flow) -> str:
    """Why a flowchart that does not say so itself is not a workflow, as part of a sentence."""
    missing = [name for name in _NAMED_IDS if name not in flow.nodes]
    operators = published_operators(flow)
    if operators:
        named = listed([f"{spec.name} at {name}" for name, spec in operators.items()])
        return f"its labels name operators ({named}), but it has no {listed(missing, 'or')}"
    return f"it has no {listed(missing, 'or')}, and no node names an operator by its class or an `op` key"


@_FAMILY.checked_by
def check_candidate(context: TextContext) -> Iterator[Diagnostic]:
    """The hint for a flowchart that is not a workflow and does not say that it is none."""
    flow, diagram = context.flow, context.diagram
    if context.graph is not None or context.settings.opted_out or diagram.header is None:
        return
    operators = published_operators(flow)
    if not operators:
        return
    header, block = diagram.header
    missing = listed([name for name in _NAMED_IDS if name not in flow.nodes])
    message = f"This looks like a workflow, but it lacks {missing}, so it is neither checked nor run."
    yield report(
        LOOKS_LIKE_WORKFLOW, block.range(header.span), message, fixes=[_made_one(flow, diagram, block, operators)]
    )


def _made_one(flow: Flow, diagram: Diagram, header: Block, operators: dict[str, OperatorSpec]) -> Fix:
    """Give the flowchart its input and output: a plain node at either end becomes one, else one is added below ``header``."""
    nodes = list(flow.nodes.values())
    indent = min((indentation(node.mentions[0].block) for node in nodes), key=len)
    taken: set[str] = set()
    edits: list[TextEdit] = []
    declared: list[str] = []
    edges: list[str] = []
    for wanted, label in _NAMED_IDS.items():
        known = flow.nodes.get(wanted)
        if known is not None:
            edits += _interface(known, wanted, flow)
            continue
        rim = [node for node in nodes if node.id not in taken and not _led(node, into=wanted == PROBLEM_ID)]
        plain = [node for node in rim if node.id not in operators and (node.incoming or node.outgoing)]
        if len(rim) == 1 and plain == rim:
            taken.add(rim[0].id)
            statements = ((statement, block) for block in diagram.blocks for statement in block.statements)
            edits += rename_node(rim[0], wanted, statements)
            edits += _interface(rim[0], wanted, flow)
            continue
        declared.append(f"{indent}{wanted}([{label}]):::{INTERFACE_CLASS}")
        for node in rim or nodes[:1]:
            edge = _into(node, operators) if wanted == PROBLEM_ID else f"{node.id} --> {RETURN_ID}"
            edges.append(f"{indent}{edge}")
    if declared:
        edits.append(insert_lines_after(header, declared))
    last = diagram.blocks[-1]
    if edges:
        edits.append(insert_lines_after(last, edges))
    if INTERFACE_CLASS not in flow.class_defs:
        edits.append(define_class(INTERFACE_CLASS, INTERFACE_STYLE, flow))
    return fix("Make it a workflow", edits, safe=False)


def _led(node: FlowNode, *, into: bool) -> bool:
    """Whether an edge that carries something leads into a node, or out of it."""
    return any(not edge.carries_nothing for edge in (node.incoming if into else node.outgoing))


def _into(node: FlowNode, operators: dict[str, OperatorSpec]) -> str:
    spec = operators.get(node.id)
    label = "|problem|" if spec is not None and any(port.name == "problem" for port in spec.inputs) else ""
    return f"{PROBLEM_ID} -->{label} {node.id}"


def _interface(node: FlowNode, wanted: str, flow: Flow) -> list[TextEdit]:
    if any(use.name.text.casefold() == INTERFACE_CLASS.casefold() for use in node.classes):
        return []
    return [give_class(node, INTERFACE_CLASS, flow, name_after=wanted)]
