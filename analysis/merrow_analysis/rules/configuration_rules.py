"""Settings and files around a workflow: what no shared file may say, files that can't be used, ``merrow.toml``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from merrow_analysis.definitions.configuration import Config
from merrow_analysis.definitions.prompts import ResourceProblem
from merrow_analysis.definitions.settings import WorkflowSettings
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.rules.registry import register
from merrow_analysis.rules.reporting import report
from merrow_analysis.syntax.tree import Block, FrontMatter
from merrow_analysis.text import Position, Range

MACHINE_SETTING = register(
    "MW501",
    "machine-setting-in-file",
    "A file that can be shared says where requests go or what is executed; that is ignored.",
    Severity.WARNING,
)
UNUSABLE_FILE = register(
    "MW502", "unusable-file", "A prompt file or an operator library can't be used.", Severity.ERROR
)
BAD_CONFIGURATION = register(
    "MW520", "bad-configuration", "A setting in `merrow.toml` means nothing or has a wrong value.", Severity.WARNING
)


def machine_setting_message(key: str) -> str:
    """Why ``key`` is ignored, and where it belongs."""
    return (
        f"`{key}` is ignored in a file that can be shared; set it in the environment, in your own settings or on the"
        " command line."
    )


def check_files(
    settings: WorkflowSettings,
    front: tuple[FrontMatter, Block] | None,
    problems: Iterable[ResourceProblem],
    otherwise: Range,
) -> Iterator[Diagnostic]:
    """Findings about files that the workflow uses, where it names them; ``otherwise`` is the place for others."""
    for problem in problems:
        yield report(UNUSABLE_FILE, _place(settings, front, problem.path) or otherwise, problem.message)


def _place(settings: WorkflowSettings, front: tuple[FrontMatter, Block] | None, path: str) -> Range | None:
    if front is None:
        return None
    matter, block = front
    found = None
    if settings.prompt_file == path:
        found = settings.document.places("workflow", "prompts")
    elif path in settings.libraries:
        index = settings.libraries.index(path)
        found = settings.document.places("workflow", "libraries", index) or settings.document.places(
            "workflow", "libraries"
        )
    if found is None:
        return None
    start = matter.body_span[0]
    return block.range((start + found[1][0], start + found[1][1]))


def check_configuration(config: Config) -> Iterator[Diagnostic]:
    """Findings about the configuration, with ranges in its own file: whole lines."""
    for problem in config.problems:
        line = Range(Position(problem.line, 0), Position(problem.line + 1, 0))
        yield report(BAD_CONFIGURATION, line, problem.message)
