"""The cases that a command line means: files found, opened and checked, and cases chosen among theirs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from merrow_analysis.cases import ENDING
from merrow_analysis.cases.cases_reader import Case
from merrow_analysis.suggest import closest
from merrow_analysis.text import split_lines
from merrow_optimizer.evaluation.cases.results import CaseResult
from merrow_runtime.errors import RunFailure
from merrow_runtime.program.loading import configuration, load
from merrow_runtime.program.workspace import WorkspaceFinder
from merrow_runtime.store.location import state_folder
from merrow_server.cases.case_paths import cases_path, is_cases, workflow_name
from merrow_server.cases.checking import findings
from merrow_server.cases.suites import Suite, errors, recorded
from merrow_server.errors import InputError
from merrow_server.files import WORKFLOW_ENDINGS, discover, read_path, write_bytes
from merrow_server.reports.findings_report import FileReport

FAILED = "failed-cases.json"
"""Where the cases that were not well when they were last tested are kept, in the user's state folder."""


@dataclass
class Collected:
    """The suites that were found, with the ids that were asked for of each (None: all), and what is wrong."""

    suites: dict[Path, tuple[Suite, set[str] | None]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    reports: list[FileReport] = field(default_factory=list)


def collect(paths: Iterable[str]) -> Collected:
    """The cases files that paths stand for: ``PATH`` is a cases file, a workflow or a folder, ``PATH::ID`` one case."""
    collected = Collected()
    wanted: dict[Path, set[str] | None] = {}
    for given in paths:
        name, colons, case = given.partition("::")
        try:
            files = _files(name or ".", collected)
        except InputError as problem:
            collected.problems.append(str(problem))
            continue
        for file in files:
            ids = wanted.setdefault(file, {case} if colons else None)
            if ids is not None:
                wanted[file] = {*ids, case} if colons else None
    for file, ids in wanted.items():
        try:
            suite = _opened(file, collected)
        except RunFailure as problem:
            collected.problems.append(str(problem))
            continue
        if suite is None:
            continue
        known = [case.id for case in suite.file.cases]
        for missing in sorted((ids or set()) - set(known)):
            near = closest(missing, known)
            hint = f"Did you mean {file}::{near}?" if near else f"It has: {', '.join(known[:20]) or 'none'}."
            collected.problems.append(f"{file} has no case {missing}. {hint}")
        collected.suites[file] = suite, ids
    return collected


def _files(name: str, collected: Collected) -> list[Path]:
    if not Path(name).is_dir():
        file = Path(name)
        if file.exists() and not is_cases(name):
            if not name.lower().endswith(WORKFLOW_ENDINGS):
                raise InputError(f"{name} is neither a workflow nor a cases file (NAME{ENDING}).")
            file = cases_path(file)
            if not file.is_file():
                raise InputError(
                    f"{name} has no cases; write them in {file}, or make one of a run: merrow test --save RUN"
                )
        elif not file.exists():
            discovered = discover([name])
            raise InputError(next(iter(discovered.problems), f"There is no file or folder named {name}."))
        return [file]
    discovered = discover([name], None, (ENDING,))
    collected.problems += [
        problem for problem in discovered.problems if not problem.startswith("There is no workflow in ")
    ]
    return [target.path for target in discovered.targets if target.path is not None]


def _opened(path: Path, collected: Collected) -> Suite | None:
    """The suite of a cases file; None, with the findings, where it has errors. Raises `RunFailure`."""
    text = read_path(path, str(path)).text
    surroundings = WorkspaceFinder()
    config, relative, _ = configuration(surroundings, path)
    provider = surroundings.provider(path.absolute().parent)
    file, diagnostics = findings(text, path.absolute(), provider, config, relative)
    wrong = errors(diagnostics)
    if wrong:
        collected.reports.append(FileReport(str(path), split_lines(text), wrong))
        return None
    workflow = workflow_name(path.name, provider.exists)
    if workflow is None:
        raise InputError(f"There is no workflow beside {path}: NAME{ENDING} has the cases of NAME.mmd.")
    return Suite(path, file, load(path.with_name(workflow)), provider, recorded(path))


def select(
    collected: Collected, text: str | None, tags: Sequence[str], *, last_failed: bool
) -> list[tuple[Suite, list[Case]]]:
    """The cases of each suite that are meant, in the order of the files."""
    failed = _failed() if last_failed else {}
    chosen: list[tuple[Suite, list[Case]]] = []
    for path, (suite, ids) in collected.suites.items():
        before = set(failed.get(_key(path), ()))
        cases = [
            case
            for case in suite.file.cases
            if (ids is None or case.id in ids)
            and (text is None or text.casefold() in case.id.casefold())
            and (not tags or set(tags) & set(case.tags))
            and (not last_failed or case.id in before)
        ]
        chosen.append((suite, cases))
    return chosen


def remember(results: Iterable[tuple[Suite, CaseResult]]) -> None:
    """Keep which cases were not well, for ``--last-failed``; what was not tested now stays as it was."""
    failed = _failed()
    for suite, result in results:
        ids = [case for case in failed.get(_key(suite.path), []) if case != result.case.id]
        failed[_key(suite.path)] = ids if result.is_good else [*ids, result.case.id]
    kept = {path: ids for path, ids in failed.items() if ids}
    with suppress(InputError, OSError):  # It is a convenience: a folder that can't be written fails no test.
        state_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        write_bytes(state_folder() / FAILED, json.dumps(kept, indent=1).encode(), through_links=False)


def _key(path: Path) -> str:
    return os.path.abspath(path)  # noqa: PTH100 (as text)


def _failed() -> dict[str, list[str]]:
    try:
        failed = json.loads((state_folder() / FAILED).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(failed, dict):
        return {}
    return {path: [str(id_) for id_ in ids] for path, ids in failed.items() if isinstance(ids, list)}
