"""``default:`` values that a run would refuse before its first call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from merrow_analysis.definitions.plain_values import is_json
from merrow_analysis.definitions.types import CODE, TEXT, Type, TypeTable, item_of
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.resolve import Resolution
from merrow_analysis.rules.context import TextContext
from merrow_analysis.rules.default_values import why_not
from merrow_analysis.rules.key_rules import WRONG_VALUE
from merrow_analysis.rules.registry import RuleFamily, Scope
from merrow_analysis.rules.reporting import listed, named, parameter_range, report

_FAMILY = RuleFamily[TextContext](Scope.TEXT)
MISSING_DEFAULT = _FAMILY.rule(
    "MW320",
    "missing-default",
    "A node that is to continue with its default has none.",
    Severity.ERROR,
)
VALUE_WITHOUT_JSON = _FAMILY.rule(
    "MW322", "value-without-json", "A parameter has a value that JSON does not have.", Severity.ERROR
)


_ANSWER = "whether its defaults are looked at"


@_FAMILY.checked_by
def check_defaults(context: TextContext) -> Iterator[Diagnostic]:
    """Findings about the defaults of inputs, of nodes and of Decisions, and about values that can't be kept."""
    workflow = context.workflow
    if workflow is None:
        return
    graph, on_error = workflow.graph, workflow.settings.on_error
    resolutions = graph.resolutions
    # Nodes that say the same share a resolution: few are looked at.
    all_of_them = on_error == "default"
    concerned = {
        resolution
        for resolution in set(resolutions)
        if all_of_them or (known := resolution.answers.get(_ANSWER)) or (known is None and _may_be_wrong(resolution))
    }
    for index in graph.ranked if concerned else ():
        if resolutions[index] not in concerned:
            continue
        node = graph.node(index)
        if node.kind == "input":
            yield from _input(node, graph.types)
        elif node.kind == "decision" or node.kind == "operator":
            parameter = node.resolution.parameters.get("on_error")
            continues = (on_error if parameter is None or parameter.value is None else parameter.value) == "default"
            if node.kind == "operator" and not node.asks:
                yield from _values(node)
                if continues:
                    yield from _operator(node, graph.types)
                elif node.spec is not None and node.spec.is_human:
                    # An evaluation answers with it in a person's place.
                    yield from _outputs(node, graph.types)
            elif continues:
                yield from _decision(node)


def _may_be_wrong(resolution: Resolution) -> bool:
    """What is kept in its answers."""
    parameters = resolution.parameters
    known = (
        "default" in parameters
        or "on_error" in parameters
        or not all(is_json(parameter.value) for parameter in parameters.values())
    )
    resolution.answers[_ANSWER] = known
    return known


def _input(node: TypedNode, types: TypeTable) -> Iterator[Diagnostic]:
    default, type_ = node.resolution.parameters.get("default"), node.resolution.declared
    if default is None or default.value is None or type_ is None:
        return
    if CODE in types.ancestors(type_) and not isinstance(default.value, (list, dict)):
        return  # an input takes whatever text is given for code
    yield from _unusable(node, default.value, type_, types, "", "; write another value or `type:`")


def _values(node: TypedNode) -> Iterator[Diagnostic]:
    spec = node.spec
    if spec is None:
        return
    for key in sorted((spec.parameters - {spec.instruction_key}) | {"returns" if spec.is_pass else "format"}):
        parameter = node.resolution.parameters.get(key)
        if parameter is not None and not is_json(parameter.value):
            message = (
                f"{named(node)}: `{key}` has a value that JSON does not have, such as .nan or .inf; write another one."
            )
            yield report(VALUE_WITHOUT_JSON, parameter_range(node, key), message)


def _operator(node: TypedNode, types: TypeTable) -> Iterator[Diagnostic]:
    """What is wrong with the outputs that a node continues with: a value of its first one, or a mapping of outputs to values."""
    default = node.resolution.parameters.get("default")
    if default is None or default.value is None:
        message = f"{named(node)}: `on_error: default` needs a `default:` to continue with; write one."
        yield report(MISSING_DEFAULT, parameter_range(node, "on_error"), message)
        return
    yield from _outputs(node, types)


def _outputs(node: TypedNode, types: TypeTable) -> Iterator[Diagnostic]:
    """What is wrong with a default that there is."""
    default = node.resolution.parameters.get("default")
    if default is None or default.value is None:
        return
    value = default.value
    if not is_json(value):
        message = (
            f"{named(node)}: `default` has a value that JSON does not have, such as .nan or .inf; write another one."
        )
        yield report(VALUE_WITHOUT_JSON, parameter_range(node, "default"), message)
        return
    outputs = {name: _single(node, type_) for name, type_ in node.own_outputs.items()}
    first = next(iter(outputs), None)
    if first is None:
        return
    whole = types.fields_of(outputs[first]) is not None and why_not(value, outputs[first], types) is None
    by_output = isinstance(value, Mapping) and bool(value) and value.keys() <= outputs.keys() and not whole
    given = value if isinstance(value, Mapping) and by_output else {first: value}
    for name in given:
        yield from _unusable(
            node, given[name], outputs[name], types, f" for its output {name}", "; write another value"
        )


def _single(node: TypedNode, type_: Type | None) -> Type:
    """The type of an output as one execution gives it."""
    if type_ is None:
        return TEXT
    return item_of(type_) or type_ if node.resolution.samples else type_


def _unusable(
    node: TypedNode, value: object, type_: Type, types: TypeTable, where: str, advice: str
) -> Iterator[Diagnostic]:
    why = why_not(value, type_, types)
    if why is not None:
        message = f"{named(node)}: its `default:`{where} must be of type {type_}, but {why}{advice}."
        yield report(WRONG_VALUE, parameter_range(node, "default"), message)


def _decision(node: TypedNode) -> Iterator[Diagnostic]:
    """What is wrong with the case that a Decision continues with."""
    cases = node.cases
    if cases is None or not (node.asks or node.resolution.expression is not None):
        return
    default = node.resolution.parameters.get("default")
    if default is not None and cases.named(default.value) is not None:
        return
    labels = listed((f"`{label}`" for label in cases.labels), "or")
    if default is None or default.value is None:
        message = f"{named(node)}: `on_error: default` needs a `default:` that is one of its cases, {labels}."
        yield report(MISSING_DEFAULT, parameter_range(node, "on_error"), message)
    else:
        message = f"{named(node)}: its `default:` must be one of its cases, {labels}."
        yield report(WRONG_VALUE, parameter_range(node, "default"), message)
