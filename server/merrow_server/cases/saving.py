"""A run of the journal made a case: its inputs, and its outputs as what is expected, to be edited."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from merrow_analysis.cases.case_insertion import UnwritableCaseError, new_id, with_case
from merrow_analysis.cases.cases_reader import read_cases
from merrow_runtime.errors import InputError
from merrow_runtime.store.contract import RunRecord
from merrow_server.cases.case_paths import cases_path, is_cases
from merrow_server.files import SourceText, create, read_path, write


class Saved(NamedTuple):
    """A case that was added to ``file``; ``line`` has its id, from 1."""

    file: Path
    id: str
    line: int

    @property
    def sentence(self) -> str:
        """Where it is, and what to do with it."""
        return (
            f"{self.file}:{self.line} has the new case {self.id}, which expects exactly what the run gave; edit what must not"
            " be so strict."
        )


def save_run(record: RunRecord, file: Path) -> Saved:
    """Add a case made of a run to a cases file, which is made where it isn't there. Raises `RunFailure`."""
    outputs = record.outputs
    if record.status != "finished" or not outputs:
        raise InputError(f"Run {record.id} did not finish, so there is no output to expect; save one that did.")
    there = read_path(file, str(file)) if file.exists() else SourceText("")
    inputs = {name: value for name, value in record.snapshot.get("inputs", {}).items() if value is not None}
    case_id = new_id(there.text, inputs)
    try:
        text = with_case(there.text, case_id, inputs, outputs)
    except UnwritableCaseError as why:
        raise InputError(f"{file} can't take another case: {why}.") from None
    if file.exists():
        write(file, SourceText(text, there.bom))
    else:
        create(file, text)
    read = read_cases(text)
    line = next((read.range(case.span).start.line + 1 for case in read.cases if case.id == case_id), 1)
    return Saved(file, case_id, line)


def file_for(record: RunRecord, path: Path | None) -> Path:
    """The cases file at ``path`` (or of the workflow there), else that beside the run's workflow. Raises `RunFailure`."""
    if path is not None:
        return path if is_cases(path.name) else cases_path(path)
    workflow, mark, number = record.workflow.rpartition("#")
    if not mark or not number.isdecimal():
        workflow = record.workflow
    file = Path(workflow)
    if not file.is_file():
        raise InputError(f"The workflow of run {record.id} is not at {workflow} any more; name the cases file: PATH.")
    return cases_path(file)
