"""A case as a workflow file: its steps as nodes, each with an operator of its own or with one that it is mapped to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.definitions.operators import INTERFACE_CLASS, INTERFACE_STYLE
from merrow_analysis.definitions.types import Type
from merrow_analysis.fresh_ids import FreshIds
from merrow_optimizer.extraction.kinds import INPUTS, port_of
from merrow_optimizer.extraction.operators import ExtractedOperator, own_operator
from merrow_optimizer.extraction.steps import CaseStep, Steps, output_port, ports_of, spec_of

_SHAPES = {"PROBLEM": "Problem", "ENTRY_POINT": "entry_point", "TESTS": "tests"}


@dataclass(frozen=True, slots=True)
class TypedSteps:
    """The steps of a case with what each gives; ``inputs`` are the ids of the inputs that the case has."""

    steps: Steps
    kinds: Mapping[str, Type]
    inputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepEdge:
    """What flows from a step (by its name) or an input (by its id) into a port; ``step`` None: the result. ``output`` is named
    where the source has several.
    """

    source: str
    step: str | None
    port: str = ""
    output: str = ""


def edges(case: TypedSteps, mapped: Mapping[str, ExtractedOperator]) -> list[StepEdge] | None:
    """The edges of a case whose steps have these operators (those that are missing, their own); None where one doesn't fit."""
    kinds: dict[str, Type] = {
        **{name: INPUTS[name] for name in case.inputs},
        **case.kinds,
        **{name: operator.signature.output for name, operator in mapped.items()},
    }
    wires: list[StepEdge] = []
    for step in case.steps:
        into = _edges_into(step, kinds, mapped, case)
        if into is None:
            return None
        wires += into
    return [*wires, StepEdge(case.steps[-1].name, None, output=_output(case.steps[-1]))]


def _edges_into(
    step: CaseStep, kinds: Mapping[str, Type], mapped: Mapping[str, ExtractedOperator], case: TypedSteps
) -> list[StepEdge] | None:
    by_name = {other.name: other for other in case.steps}
    spec = spec_of(step)
    if spec is not None:
        fed = ports_of(step, spec, kinds)
        if {source for source, _ in fed} < set(step.reads):
            return None
        return [StepEdge(source, step.name, port.name, _output(by_name.get(source))) for source, port in fed]
    operator = mapped.get(step.name) or own_operator(step, kinds)
    wires: list[StepEdge] = []
    taken: dict[Type, int] = {}
    for source in step.reads:
        kind = operator.port(kinds[source])
        if kind is None or (taken.get(kind) and kind not in operator.many):
            return None
        taken[kind] = taken.get(kind, 0) + 1
        wires.append(StepEdge(source, step.name, port_of(kind), _output(by_name.get(source))))
    needed = {port.kind for port in operator.signature.inputs if not port.is_optional}
    return wires if needed <= taken.keys() else None


def _output(step: CaseStep | None) -> str:
    """The output of a built-in step that is meant, where it is not the default one."""
    spec = None if step is None else spec_of(step)
    if step is None or spec is None:
        return ""
    name = output_port(step, spec)[0]
    return "" if name == spec.outputs[0].name else name


def case_text(case: TypedSteps, mapped: Mapping[str, ExtractedOperator]) -> str | None:
    """The file of a case whose steps have these operators; None where one of them doesn't fit. Nothing of the problem
    or its solution is in it. Operators are declared in the front matter, so that the file can be run wherever it is.
    """
    wires = edges(case, mapped)
    if wires is None:
        return None
    names = FreshIds((extracted.name for extracted in mapped.values()), str.casefold)
    own: dict[str, ExtractedOperator] = {}
    for step in case.steps:
        if step.name not in mapped and step.built_in is None:
            operator = own_operator(step, case.kinds)
            own[step.name] = replace(operator, name=names.new(operator.name))
    operators = {**mapped, **own}
    return "".join(f"{line}\n" for line in _lines(case, operators, wires))


def _lines(case: TypedSteps, operators: Mapping[str, ExtractedOperator], wires: list[StepEdge]) -> Iterator[str]:
    ids = {step.name: f"S{number}" for number, step in enumerate(case.steps, 1)}
    declared = {extracted.name: extracted for step in case.steps if (extracted := operators.get(step.name)) is not None}
    yield from ("---", "workflow:")
    if declared:
        yield "  operators:"
        for operator in declared.values():
            yield from replace(operator, note="").declared("    ")
    else:
        yield "  version: 1"
    yield "---"
    yield "flowchart TD"
    used = [name for name in case.inputs if any(wire.source == name for wire in wires)]
    for name in used:
        yield f"    {name}([{_SHAPES[name]}])"
        if "[" in INPUTS[name]:
            yield f'    {name}@{{ type: "{INPUTS[name]}" }}'
    for step in case.steps:
        name = operators[step.name].name if step.built_in is None else step.built_in
        yield f'    {ids[step.name]}["{name}<br/>"]'
    yield "    RETURN([Answer])"
    for wire in wires:
        target = "RETURN" if wire.step is None else ids[wire.step]
        label = f"{wire.output}:{wire.port}" if wire.output else wire.port
        yield f"    {ids.get(wire.source, wire.source)} -->{f'|{label}|' if label else ''} {target}"
    yield f"    classDef {INTERFACE_CLASS} {INTERFACE_STYLE}"
    yield f"    class {','.join([*used, 'RETURN'])} {INTERFACE_CLASS}"


@lru_cache(maxsize=512)
def analysed(text: str) -> Analysis:
    """What the checker says of a file. Many cases have the same one, and each is checked and then run."""
    return analyse(text, as_workflow=True)


def problems_of(text: str) -> list[str]:
    """What the checker says is wrong with a file, each a sentence."""
    return [error.message for error in analysed(text).errors]
