"""What lies beside a cases file: its workflow and its recording, by their names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from merrow_analysis.cases import ENDING
from merrow_runtime.program.workflow_files import DIAGRAM_SUFFIXES, MARKDOWN_SUFFIXES

RECORDING = ".replay.jsonl"


def is_cases(name: str) -> bool:
    """Whether a file of this name has cases."""
    return name.lower().endswith(ENDING)


def stem_of(name: str) -> str:
    """``NAME`` of ``NAME.cases.yaml``, and of ``NAME.mmd``."""
    return name[: -len(ENDING)] if is_cases(name) else name.rpartition(".")[0] or name


def workflow_name(name: str, exists: Callable[[str], bool]) -> str | None:
    """The name of the workflow that a cases file is of; None where there is none beside it."""
    stem = stem_of(name)
    candidates = (f"{stem}{ending}" for ending in (*DIAGRAM_SUFFIXES, *MARKDOWN_SUFFIXES))
    return next((candidate for candidate in candidates if exists(candidate)), None)


def cases_path(workflow: Path) -> Path:
    """Where the cases of a workflow are."""
    return workflow.with_name(stem_of(workflow.name) + ENDING)


def recording_path(cases: Path) -> Path:
    """Where the recording of the cases is."""
    return cases.with_name(stem_of(cases.name) + RECORDING)
