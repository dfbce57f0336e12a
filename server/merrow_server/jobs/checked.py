"""The text of an editor as a workflow that can be run."""

from __future__ import annotations

from pathlib import Path

from merrow_runtime.errors import RunFailure
from merrow_runtime.models.trust import WorkspaceValue
from merrow_runtime.program.loading import configuration
from merrow_runtime.program.workspace import WorkspaceFinder
from merrow_runtime.workflow import Workflow, check_workflow
from merrow_server.jobs.orders import EditorWorkflow


def check(text: EditorWorkflow) -> Workflow:
    """The workflow of a text, checked. Raises `UsageFailure` where it has errors."""
    return check_workflow(
        text.text,
        name=text.name,
        path=text.path,
        provider=text.provider,
        config=text.config,
        fence=text.fence,
        shared=() if text.file is None else _machine(text.file),
        analysis=text.analysis,
    )


def _machine(file: Path) -> tuple[WorkspaceValue, ...]:
    """Settings about the machine in a workflow's settings file."""
    try:
        return configuration(WorkspaceFinder(), file)[2]
    except RunFailure:
        return ()  # The editor has shown it.
