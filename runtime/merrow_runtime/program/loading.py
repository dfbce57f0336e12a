"""From the path of a file to a workflow that can be run."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from merrow_analysis.bounded.toml import read_toml
from merrow_analysis.rules.configuration import Config, parse_configuration
from merrow_runtime.models.trust import WorkspaceValue, workspace_values
from merrow_runtime.program.workflow_files import file_target, read_path, the_diagram
from merrow_runtime.program.workspace import LARGEST_RESOURCE, PROJECT_FILE, WorkspaceFinder
from merrow_runtime.workflow import Workflow, check_workflow


def load(path: str | os.PathLike[str]) -> Workflow:
    """Read and check the workflow in a file; ``FILE.md#2`` is the second block of a Markdown file.

    Its settings are those of the nearest ``merrow.toml`` or ``pyproject.toml``; what it names is read from inside its
    workspace only. Raises `UsageFailure` (`InputError` where a file can't be read).
    """
    target = file_target(os.fspath(path))
    assert target.path is not None  # noqa: S101 (a file target always has one)
    text, fence = the_diagram(target, read_path(target.path, target.name).text)
    surroundings = WorkspaceFinder()
    config, relative, shared = configuration(surroundings, target.path)
    several = fence is not None and target.block is not None
    return check_workflow(
        text,
        name=f"{target.name}#{target.block}" if several else target.name,
        path=relative,
        provider=surroundings.provider(target.base),
        config=config,
        fence=fence,
        shared=shared,
    )


def configuration(surroundings: WorkspaceFinder, path: Path) -> tuple[Config, str, tuple[WorkspaceValue, ...]]:
    """The settings that a workflow file obeys, with the libraries' paths from its folder; its path from theirs; and what
    the settings file says of the machine.

    Raises `InputError` where the settings file can't be read.
    """
    base = path.absolute().parent
    file = surroundings.settings_file(base)
    folder = surroundings.root(base) if file is None else file.parent
    relative = Path(os.path.relpath(base / path.name, folder)).as_posix()
    if file is None:
        return Config(), relative, ()
    text = read_path(file, str(file), LARGEST_RESOURCE).text
    config = parse_configuration(text, in_pyproject=file.name == PROJECT_FILE)
    if config.libraries:
        beside = Path(os.path.relpath(folder, base))
        config = replace(config, libraries=tuple(os.path.normpath(beside / library) for library in config.libraries))
    return config, relative, _of_the_machine(text, file)


def _of_the_machine(text: str, file: Path) -> tuple[WorkspaceValue, ...]:
    try:
        table = read_toml(text)
    except ValueError:
        return ()  # `parse_configuration` has said so.
    if file.name == PROJECT_FILE:
        table = table.get("tool", {}).get("merrow", {})
    return tuple(workspace_values(table, file.name)) if isinstance(table, dict) else ()
