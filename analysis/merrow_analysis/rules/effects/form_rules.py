"""What people are asked for that no form can hold."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.definitions.types import BUILT_IN, TEXT, Type, TypeTable
from merrow_analysis.diagnostics import Applicability, Diagnostic, Fix, Severity
from merrow_analysis.edits.front_entries import add_entry
from merrow_analysis.edits.parameters import Moved, rewrite
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.people.forms import ANSWER, FLAT, MOST_FIELDS, UnanswerableError, form_of
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.fix_context import asked
from merrow_analysis.rules.registry import RuleFamily, Scope
from merrow_analysis.rules.reporting import named, parameter_range, report

_FAMILY = RuleFamily[GraphContext](Scope.PARAMETER)
UNANSWERABLE_FORM = _FAMILY.rule(
    "MW229",
    "unanswerable-form",
    "A Human returns a type that no form can ask a person for.",
    Severity.ERROR,
    fix="sometimes",
)
_DEEPEST = 4
"""Records inside each other whose fields become those of one."""


@_FAMILY.checked_by
def check_forms(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about what people are to answer."""
    graph = context.graph
    people = {
        resolution for resolution in set(graph.resolutions) if resolution.spec is not None and resolution.spec.is_human
    }
    for index in graph.ranked if people else ():
        declared = graph.resolutions[index].declared
        if graph.resolutions[index] not in people or declared is None or graph.types.is_broken(declared):
            continue
        try:
            form_of(declared, graph.types)
        except UnanswerableError as problem:
            node = graph.node(index)
            message = (
                f"{named(node)}: a person can't answer with {declared} in a form, since {problem}. A form has fields of "
                f"{FLAT}: let `returns` be one of these, or a record of them."
            )
            yield report(
                UNANSWERABLE_FORM, parameter_range(node, "returns"), message, fixes=_flat(context, node, declared)
            )


def _flat(context: GraphContext, node: TypedNode, declared: Type) -> Iterator[Fix]:
    """Declare a record with the fields of all records in the type, as flat ones, and have the node return that."""
    types = context.graph.types
    fields = dict(_fields(declared, types, "", 0))
    name = _free(types, f"{declared if types.fields_of(declared) is not None else node.id.capitalize()}Form")
    if not fields or len(fields) > MOST_FIELDS or name is None:
        return
    declaring = add_entry(context.front, "types", name, fields)
    returning = rewrite(node, Moved(frozenset({"returns"}), {"returns": name}))
    if declaring is not None and returning is not None:
        flat = Fix(f"Use a flat record: returns: {name}", (declaring, *returning), Applicability.UNSAFE)
        yield from asked(context).sound(UNANSWERABLE_FORM, [flat])


def _fields(type_: Type, types: TypeTable, before: str, depth: int) -> Iterator[tuple[str, Type]]:
    inner = types.fields_of(type_)
    if inner is None or depth == _DEEPEST:
        yield before or ANSWER, TEXT
        return
    for name, field in inner.items():
        path = f"{before}_{name}" if before else name
        try:
            form_of(field, types)
        except UnanswerableError:
            yield from _fields(field, types, path, depth + 1)
        else:
            yield from _fields(field, types, path, depth + 1) if types.fields_of(field) is not None else [(path, field)]


def _free(types: TypeTable, wanted: str) -> str | None:
    """A name for a type that none has yet."""
    names = (wanted, *(f"{wanted}{number}" for number in range(2, 10)))
    return next((name for name in names if name not in types.parents and name not in BUILT_IN), None)
