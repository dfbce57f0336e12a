"""Settings and files around a workflow: what no shared file may say, files that can't be used, ``merrow.toml``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from merrow_analysis.definitions.libraries import read_library
from merrow_analysis.definitions.prompts import ResourceProblem
from merrow_analysis.definitions.settings import WorkflowSettings
from merrow_analysis.definitions.validation import Path
from merrow_analysis.definitions.validators import paths_of_files
from merrow_analysis.diagnostics import Diagnostic, Fix, Severity
from merrow_analysis.edits.front_entries import Front, write_value
from merrow_analysis.rules.configuration import Config, ConfigProblem
from merrow_analysis.rules.context import TextContext
from merrow_analysis.rules.registry import RuleFamily, Scope
from merrow_analysis.rules.reporting import fix, report
from merrow_analysis.text import Position, Range, TextEdit, split_lines

_FAMILY = RuleFamily[TextContext](Scope.TEXT)
MACHINE_SETTING = _FAMILY.rule(
    "MW501",
    "machine-setting-in-file",
    "A file that can be shared sets where requests go or what is executed, which is ignored.",
    Severity.WARNING,
    fix="sometimes",
)
UNUSABLE_FILE = _FAMILY.rule(
    "MW502",
    "unusable-file",
    "A prompt file, an operator library or the file of a check can't be used.",
    Severity.ERROR,
    fix="sometimes",
)
BAD_CONFIGURATION = _FAMILY.rule(
    "MW520",
    "bad-configuration",
    "A setting in `merrow.toml` is unknown or has a wrong value.",
    Severity.WARNING,
    fix="sometimes",
)
BAD_CASES = _FAMILY.rule(
    "MW521",
    "bad-cases",
    "A key or a value in a cases file is unknown or wrong.",
    Severity.ERROR,
    fix="sometimes",
)
UNFIT_CASE = _FAMILY.rule(
    "MW522",
    "unfit-case",
    "A case does not fit its workflow, or names a file that can't be read.",
    Severity.ERROR,
    fix="sometimes",
)


@_FAMILY.checked_by
def check_files(context: TextContext) -> Iterator[Diagnostic]:
    """Findings about files that the workflow uses, where it names them, else where the diagram begins."""
    for problem in context.problems:
        front, path = context.front, _path(context.settings, problem.path)
        if front is None or path is None:
            yield report(UNUSABLE_FILE, context.top, problem.message)
            continue
        place = _value_range(context.settings, front, path) or context.top
        yield report(UNUSABLE_FILE, place, problem.message, fixes=_other_file(problem, front, path))


def prompt_file_range(settings: WorkflowSettings, front: Front) -> Range | None:
    """Where the front matter names the file of prompts; None where it names none."""
    return None if settings.prompt_file is None else _value_range(settings, front, ("workflow", "prompts"))


def _value_range(settings: WorkflowSettings, front: Front, path: Path) -> Range | None:
    places, shift = settings.document.places(*path), front[0].body_span[0]
    return None if places is None else front[1].range((shift + places[1][0], shift + places[1][1]))


def _path(settings: WorkflowSettings, name: str) -> Path | None:
    """Where the front matter names a file."""
    if settings.prompt_file == name:
        return "workflow", "prompts"
    check = next(paths_of_files(settings.validators_said, name), None)
    if check is not None:
        return "workflow", "validators", *check
    if name not in settings.libraries:
        return None
    item: Path = ("workflow", "libraries", settings.libraries.index(name))
    return item[:2] if settings.document.places(*item) is None else item


def _other_file(problem: ResourceProblem, front: Front, path: Path) -> Iterator[Fix]:
    """Name a file of almost the same name that is there."""
    if problem.files is None or problem.files.exists(problem.path):
        return
    folder, _, name = problem.path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    endings = (ending,) if ending == "py" else (ending, "yaml", "yml")
    stems = (stem, stem.removesuffix("s"), f"{stem}s", stem.lower()) if dot else (name,)
    for other in dict.fromkeys(f"{base}.{last}" for base in stems for last in endings):
        near = f"{folder}/{other}" if folder else other
        edit = write_value(front, path, near) if near != problem.path and problem.files.exists(near) else None
        if edit is not None:
            yield fix(f"Write {near}", [edit], safe=False)
            return


def check_library(text: str, path: str) -> Iterator[Diagnostic]:
    """What is wrong first in an operator library that is checked itself; ``path`` is what it is called."""
    library = read_library(text, path)
    if library.problem is not None:
        line = text.count("\n", 0, library.offset)
        start = library.offset - (text.rfind("\n", 0, library.offset) + 1)
        written = [*split_lines(text), ""][line].rstrip("\r\n")
        place = Range(Position(line, start), Position(line, max(start, len(written))))
        yield report(UNUSABLE_FILE, place, library.problem)


def check_configuration(config: Config, text: str = "") -> Iterator[Diagnostic]:
    """Findings about the configuration, with ranges in its own file: whole lines without their ends.
    Fixes are those of its ``text``.
    """
    lines = split_lines(text)
    for problem in config.problems:
        line = lines[problem.line].rstrip("\r\n") if problem.line < len(lines) else ""
        place = Range(Position(problem.line, 0), Position(problem.line, len(line)))
        yield report(BAD_CONFIGURATION, place, problem.message, fixes=_respelled(problem, line))


def _respelled(problem: ConfigProblem, line: str) -> Iterator[Fix]:
    """Write the name that was probably meant, where the line has the misspelled one once."""
    if problem.near is None:
        return
    matches = list(re.finditer(rf"(?<![\w-]){re.escape(problem.word)}(?![\w-])", line))
    if len(matches) == 1:
        start, end = (Position(problem.line, column) for column in matches[0].span())
        yield fix(f"Write {problem.near}", [TextEdit(Range(start, end), problem.near)], safe=False)
