"""What is wrong in a cases file, by itself and beside its workflow, as findings with fixes."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from merrow_analysis.cases.cases_reader import Case, CasesFile, CasesProblem, Expectation
from merrow_analysis.cases.schema import EXPECTATION_KEYS
from merrow_analysis.definitions.provider import Provider, ResourceError
from merrow_analysis.diagnostics import Diagnostic, Fix
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.rules.declared.configuration_rules import BAD_CASES, UNFIT_CASE
from merrow_analysis.rules.registry import Rule
from merrow_analysis.rules.reporting import fix, report
from merrow_analysis.suggest import closest
from merrow_analysis.text import TextEdit

Refuses = Callable[[Case, Expectation], str | None]
"""Why a metric can't judge by an expectation, in a sentence; None where it can."""


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A field that a workflow does not return: a sentence, and the name that was probably meant."""

    message: str
    near: str | None


FaultOfField = Callable[[Expectation], UnknownField | None]
"""What is wrong with the field of an expectation; None where the workflow returns it."""


@dataclass(frozen=True, slots=True)
class CasesContext:
    """What is beside a cases file: the names of its inputs (True where one may be left out) and outputs as the workflow has
    them, None where it can't be read; how files are read, and what metrics say.
    """

    workflow: str | None = None
    inputs: dict[str, bool] | None = None
    outputs: tuple[str, ...] = ()
    provider: Provider | None = None
    refuses: Refuses | None = None
    field_fault: FaultOfField | None = None


def beside_workflow(
    name: str,
    graph: TypedGraph | None,
    provider: Provider | None,
    refuses: Refuses | None = None,
    field_fault: FaultOfField | None = None,
) -> CasesContext:
    """What is beside a cases file whose workflow is the file ``name``; ``graph`` is None where it is none that can be run."""
    if graph is None:
        return CasesContext(name, None, (), provider, refuses)
    inputs = {}
    for node in graph.inputs:
        default = node.resolution.parameters.get("default")
        inputs[node.id] = default is not None and default.value is not None
    return CasesContext(name, inputs, tuple(node.id for node in graph.outputs), provider, refuses, field_fault)


def check_cases(file: CasesFile, beside: CasesContext | None = None) -> list[Diagnostic]:
    """The findings about a cases file, in the order of the text; about its form alone where nothing is known ``beside`` it."""
    findings = [_finding(file, BAD_CASES, problem) for problem in file.problems]
    if beside is None or beside.field_fault is None:
        slips = [slip for case in file.cases for expectation in case.expect if (slip := _slip(expectation))]
        findings += [_finding(file, BAD_CASES, slip) for slip in slips]
    if beside is not None:
        if beside.workflow is None and not file.problems:
            first = CasesProblem(
                "There is no workflow beside this file: NAME.cases.yaml has the cases of NAME.mmd.", (0, len(file.text))
            )
            findings.append(_finding(file, UNFIT_CASE, first))
        for case in file.cases:
            findings += [_finding(file, rule, problem) for rule, problem in _of_case(case, beside)]
    # What the defaults say is wrong for each case that has it, and reported once.
    each = {(finding.range, finding.message): finding for finding in findings}
    return sorted(each.values(), key=lambda finding: finding.range)


def _finding(file: CasesFile, rule: Rule, problem: CasesProblem) -> Diagnostic:
    place = file.range(problem.span)

    def fixes() -> Iterator[Fix]:
        if problem.near is not None:
            yield fix(f"Write {problem.near}", [TextEdit(place, problem.near)], safe=False)

    return report(rule, place, problem.message, fixes=fixes() if problem.near is not None else ())


def _of_case(case: Case, beside: CasesContext) -> Iterator[tuple[Rule, CasesProblem]]:
    yield from ((UNFIT_CASE, problem) for problem in _inputs(case, beside))
    for expectation in case.expect:
        if expectation.output is not None and beside.outputs and expectation.output not in beside.outputs:
            near = closest(expectation.output, beside.outputs)
            hint = f"did you mean `{near}`?" if near else f"its outputs are {', '.join(beside.outputs)}."
            place = expectation.output_span or expectation.span
            yield (
                UNFIT_CASE,
                CasesProblem(f"The workflow has no output `{_short(expectation.output)}`; {hint}", place, near),
            )
        unknown = None if beside.field_fault is None or expectation.field is None else beside.field_fault(expectation)
        if unknown is not None:
            slip = _slip(expectation) if unknown.near is None else None
            place = expectation.field_span or expectation.span
            yield (BAD_CASES, slip) if slip else (UNFIT_CASE, CasesProblem(unknown.message, place, unknown.near))
            continue
        if expectation.metric in ("python", "json-schema") and isinstance(expectation.value, str):
            missing = _unreadable(expectation.value, beside)
            if missing is not None:
                yield UNFIT_CASE, CasesProblem(missing, expectation.span)
                continue
        why = None if beside.refuses is None else beside.refuses(case, expectation)
        if why is not None:
            yield BAD_CASES, CasesProblem(why, expectation.span)


def _slip(expectation: Expectation) -> CasesProblem | None:
    """The name of a field that looks like a metric's, where the workflow has no such field, or it is not known."""
    name = expectation.field
    near = None if name is None else closest(name, EXPECTATION_KEYS)
    if name is None or near is None:
        return None
    sentence = f"The key `{_short(name)}` means nothing here; did you mean `{near}`?"
    return CasesProblem(sentence, expectation.field_span or expectation.span, near)


def _inputs(case: Case, beside: CasesContext) -> Iterator[CasesProblem]:
    for given in case.inputs:
        missing = None if given.file is None else _unreadable(given.file, beside)
        if missing is not None:
            yield CasesProblem(missing, given.span)
    if beside.inputs is None:
        return
    folded = {name.casefold(): name for name in beside.inputs}
    named = {given.name.casefold() for given in case.inputs}
    for given in case.inputs:
        if given.name.casefold() not in folded:
            near = closest(given.name, [name for name in beside.inputs if name.casefold() not in named])
            hint = f"did you mean `{near}`?" if near else f"its inputs are {', '.join(beside.inputs) or 'none'}."
            yield CasesProblem(f"The workflow has no input `{_short(given.name)}`; {hint}", given.name_span, near)
    lacking = [name for name, optional in beside.inputs.items() if not optional and name.casefold() not in named]
    if lacking:
        which = f"inputs {', '.join(lacking)} have" if len(lacking) > 1 else f"input {lacking[0]} has"
        yield CasesProblem(
            f"In the case `{_short(case.id)}` the {which} no value; give one below `inputs:`, or a `default:` in the workflow.",
            case.span,
        )


def _unreadable(path: str, beside: CasesContext) -> str | None:
    """Why a file that a case names can't be read; None where it can."""
    if beside.provider is None:
        return None
    if posixpath.isabs(path):
        return f"`{_short(path)}` is an absolute path; name the file from the folder of the cases file."
    try:
        beside.provider.read(path)
    except ResourceError as problem:
        return str(problem)
    return None


def _short(word: str) -> str:
    return word if len(word) <= 60 else f"{word[:59]}…"
