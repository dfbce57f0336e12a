"""What a search begins with: a file, or with an operator library a single Executor, and the shapes of solved cases beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from merrow_analysis.definitions.libraries import read_library
from merrow_analysis.syntax.parser import parse_diagram
from merrow_optimizer.evaluation.variants import with_memory, with_operators, with_temperature
from merrow_optimizer.extraction.executor import executor, inputs_for
from merrow_optimizer.extraction.extraction_report import START
from merrow_runtime.program.loading import load
from merrow_runtime.workflow import Workflow, check_workflow
from merrow_server.errors import InputError
from merrow_server.extractions.files import report_files
from merrow_server.files import Target, read

BUILT_IN = "built-in"
"""In place of a library: the built-in operators alone."""
WARM = 0.2
"""The temperature of a start without a file: at 0 an item that is answered again has the same answer, so that it counts once."""


def extracted_from(operators: str | None) -> frozenset[str]:
    """The digests of the problems that a library was drawn from, by the report beside it; none where there is no report."""
    if operators is None or operators == BUILT_IN:
        return frozenset()
    try:
        report = json.loads(report_files(Path(operators))[0].read_text(encoding="utf-8"))
        return frozenset(map(str, report["cases"]["problems"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return frozenset()


def start_of(
    file: str | None, operators: str | None, memory: str | None, temperature: float | None = None
) -> tuple[Workflow, tuple[tuple[str, str], ...]]:
    """The workflow that a search begins with, and others to be scored first, each with what it is called: those of ``start/``
    beside the library ``operators``, whose operators all of them declare. Without ``file`` a single Executor is the start, as
    A2Flow's, all remember everything unless ``memory`` says otherwise, and have the ``temperature``, else that of the shapes or
    `WARM`. Raises `UsageFailure`.
    """
    shapes: list[Path] = []
    declared = {}
    if operators is not None and operators != BUILT_IN:
        library = read_library(read(Target(operators, Path(operators))).text, operators)
        if library.problem is not None or not library.operators:
            raise InputError(library.problem or f"{operators} declares no operator.")
        if library.types:
            raise InputError(
                f"{operators} declares types, which a search can't add to its start; name it in `libraries:`."
            )
        declared = library.operators
        shapes = sorted(Path(operators).with_name(START).glob("*.mmd"), key=lambda path: (len(path.stem), path.stem))
    if file is None and not declared:
        raise InputError(
            "Name the workflow to begin with, or a library of operators: merrow optimize FILE --dataset F."
        )
    remembered = "all" if file is None and memory is None else memory

    def made(workflow: Workflow) -> Workflow:
        workflow = with_operators(workflow, declared)
        workflow = workflow if remembered is None else with_memory(workflow, remembered)
        given = WARM if file is None and temperature is None and not _has_temperature(workflow) else temperature
        return workflow if given is None else with_temperature(workflow, given)

    loaded = [(path, load(str(path))) for path in shapes]
    if file is not None:
        start = load(file)
    else:
        single = _executor(str(operators), [workflow for _, workflow in loaded], declared)
        # Where one step can't read all inputs, the commonest shape is the start.
        start = loaded.pop(0)[1] if single is None else single
    titled = [(made(workflow).text, f"the shape {path.name} of solved cases") for path, workflow in loaded]
    return made(start), tuple(titled)


def _has_temperature(workflow: Workflow) -> bool:
    """Whether a workflow's front matter says its temperature."""
    return workflow.analysis.settings.temperature is not None


def _executor(library: str, shapes: Sequence[Workflow], declared: Mapping[str, Any]) -> Workflow | None:
    """A single Executor with the inputs and the settings of the shapes, or else those that the operators suit; None where one
    step can't read all inputs.
    """
    inputs = [node.id for node in shapes[0].graph.inputs] if shapes else inputs_for(declared)
    text = executor(inputs)
    if text is None and shapes:
        return None
    front = parse_diagram(shapes[0].text).front_matter if shapes else None
    whole = ("" if front is None else front[1].text) + (text or "")
    return check_workflow(whole, name=str(Path(library).with_name("executor.mmd")))
