"""What a search begins with: a file, or the shapes of solved cases beside an operator library."""

from __future__ import annotations

import json
from pathlib import Path

from merrow_analysis.definitions.libraries import read_library
from merrow_optimizer.evaluation.variants import with_memory, with_operators
from merrow_optimizer.extraction.extraction_report import START
from merrow_runtime.program.loading import load
from merrow_runtime.workflow import Workflow
from merrow_server.errors import InputError
from merrow_server.extractions.files import report_files
from merrow_server.files import Target, read

BUILT_IN = "built-in"
"""In place of a library: the built-in operators alone."""


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
    file: str | None, operators: str | None, memory: str | None
) -> tuple[Workflow, tuple[tuple[str, str], ...]]:
    """The workflow that a search begins with, and others to be scored first, each with what it is called: those of ``start/``
    beside the library ``operators``, whose operators all of them declare. Without ``file`` the commonest of them is the start.
    Raises `UsageFailure`.
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
        shapes = sorted(Path(operators).with_name(START).glob("*.mmd"), key=lambda one: (len(one.stem), one.stem))
    if file is None and not shapes:
        raise InputError(
            "Name the workflow to begin with, or a library with start/ beside it: merrow optimize FILE --dataset F."
        )

    def made(path: str) -> Workflow:
        workflow = with_operators(load(path), declared)
        return workflow if memory is None else with_memory(workflow, memory)

    start = made(file if file is not None else str(shapes[0]))
    others = shapes if file is not None else shapes[1:]
    return start, tuple((made(str(one)).text, f"the shape {one.name} of solved cases") for one in others)
