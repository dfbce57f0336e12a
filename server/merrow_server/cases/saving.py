"""A run of the journal made a case: its inputs, and its outputs as what is expected, to be edited."""

from __future__ import annotations

from pathlib import Path

from merrow_analysis.cases.writing import UnwritableCaseError, new_id, with_case
from merrow_runtime.errors import InputError
from merrow_runtime.store.contract import RunRecord
from merrow_server.cases.files import cases_path, is_cases
from merrow_server.files import Source, create, read_path, write


def save_run(record: RunRecord, path: Path | None) -> str:
    """Add a case made of a run to the cases file at ``path`` (or of the workflow there), else to that beside its workflow;
    a sentence that says where it is. Raises `RunFailure`.
    """
    file = _file(record, path)
    outputs = record.outputs
    if record.status != "finished" or not outputs:
        raise InputError(f"Run {record.id} did not finish, so there is no output to expect; save one that did.")
    there = read_path(file, str(file)) if file.exists() else Source("")
    inputs = {name: value for name, value in record.snapshot.get("inputs", {}).items() if value is not None}
    case_id = new_id(there.text, inputs)
    try:
        text = with_case(there.text, case_id, inputs, outputs)
    except UnwritableCaseError as why:
        raise InputError(f"{file} can't take another case: {why}.") from None
    if file.exists():
        write(file, Source(text, there.bom))
    else:
        create(file, text)
    line = next((number for number, one in enumerate(text.splitlines(), 1) if f"id: {case_id}" in one), 1)
    return f"{file}:{line} has the new case {case_id}, which expects exactly what the run gave; edit what must not be so strict."


def _file(record: RunRecord, path: Path | None) -> Path:
    if path is not None:
        return path if is_cases(path.name) else cases_path(path)
    workflow, mark, number = record.workflow.rpartition("#")
    if not mark or not number.isdecimal():
        workflow = record.workflow
    found = Path(workflow)
    if not found.is_file():
        raise InputError(f"The workflow of run {record.id} is not at {workflow} any more; name the cases file: PATH.")
    return cases_path(found)
